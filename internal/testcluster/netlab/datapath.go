package netlab

import (
	"context"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

const dnsPort = 53

// Published names the objects of a management cluster that an ingress is published in. They need not exist yet.
type Published struct {
	Management             *rest.Config
	DNSServer, ProxyServer types.NamespacedName
}

// DataPath is a lab with all that leads to an ingress: CoreDNS and Envoy as the published objects say, and the DNS of the
// rest of the world.
type DataPath struct {
	*Lab

	Outside *Upstream

	coreDNS *CoreDNS
	envoy   *Envoy
}

// DataPathAvailable says why a data path cannot be made on this machine, or nil.
func DataPathAvailable() error {
	if err := Available(); err != nil {
		return err
	}
	for _, program := range []string{coreDNSProgram, envoyProgram} {
		if _, err := testcluster.Binary(program); err != nil {
			return err
		}
	}
	return nil
}

// StartDataPath starts a lab and its servers. The context only bounds the start.
func StartDataPath(ctx context.Context, options Options, published Published) (*DataPath, error) {
	lab, err := Start(ctx, options)
	if err != nil {
		return nil, err
	}
	d := &DataPath{Lab: lab}
	if err := d.serve(ctx, published); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *DataPath) serve(ctx context.Context, published Published) error {
	config := rest.CopyConfig(published.Management)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if d.Outside, err = StartUpstream(ctx, d.Upstream, netip.AddrPortFrom(netip.IPv4Unspecified(), dnsPort)); err != nil {
		return err
	}
	d.coreDNS, err = StartCoreDNS(ctx, CoreDNSOptions{
		Namespace: d.DNS, ServerIP: netip.MustParseAddr(DNSAddress), ClusterIP: netip.MustParseAddr(DNSClusterIP),
		Client: client, Object: published.DNSServer, LogDir: d.options.LogDir, Logf: d.options.Logf,
	})
	if err != nil {
		return err
	}
	d.envoy, err = StartEnvoy(ctx, EnvoyOptions{
		Namespace: d.Proxy, Resolver: netip.AddrPortFrom(netip.MustParseAddr(UpstreamPodAddress), dnsPort),
		Client: client, Object: published.ProxyServer, LogDir: d.options.LogDir, Logf: d.options.Logf,
	})
	return err
}

// Close ends everything.
func (d *DataPath) Close() {
	if d.envoy != nil {
		d.envoy.Close()
	}
	if d.coreDNS != nil {
		d.coreDNS.Close()
	}
	if d.Outside != nil {
		d.Outside.Close()
	}
	d.Lab.Close()
}
