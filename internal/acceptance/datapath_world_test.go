package acceptance

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

const (
	appName  = "hello.apps.demo.clusters.example.com"
	vlanDNS  = netlab.DNSAddress + ":53"
	podDNS   = netlab.DNSClusterIP + ":53"
	silence  = 300 * time.Millisecond // how long an answer to an ARP request is waited for
	nxdomain = "NXDOMAIN"
)

// newDataPath is a world with networks: the workers are on a VLAN and run MetalLB's speaker and a router, CoreDNS and Envoy
// do what the DNSServer and the ProxyServer say.
func newDataPath(t *testing.T, changes ...func(*setup)) *world {
	t.Helper()
	testcluster.SkipWithout(t, netlab.DataPathAvailable())
	w := newWorld(t, append([]func(*setup){networks}, changes...)...)
	w.settled()
	return w
}

// newAttachedDataPath is newDataPath with an Infra, and the operator that works for it.
func newAttachedDataPath(t *testing.T) *world {
	t.Helper()
	w := newDataPath(t, patientOperator)
	w.infra()
	return w
}

func networks(s *setup) { s.networks = true }

// startLab starts the networks. API servers are on the loopback of this machine: the clients get a way there.
func (w *world) startLab(s setup) {
	w.t.Helper()
	dnsServer, proxyServer := dnsName, proxyName
	if s.Oooi != nil {
		dnsServer, proxyServer = infraDNS, infraProxy
	}
	lab, err := netlab.StartDataPath(w.t.Context(), netlab.Options{
		Hosted: w.pair.Hosted.REST(testcluster.UserSimulator), Kubeconfig: w.pair.Hosted.Kubeconfig(testcluster.UserMetalLB),
		Domain: clusterName + "." + baseDomain, LogDir: w.t.TempDir(), Logf: w.t.Logf,
	}, netlab.Published{
		Management:  w.pair.Management.REST(testcluster.UserSimulator),
		DNSServer:   types.NamespacedName{Namespace: "clusters", Name: dnsServer},
		ProxyServer: types.NamespacedName{Namespace: "clusters", Name: proxyServer},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(lab.Close)
	w.lab = lab
	for _, cluster := range []*testcluster.Cluster{w.pair.Management, w.pair.Hosted} {
		address, err := url.Parse(cluster.URL)
		if err != nil {
			w.t.Fatal(err)
		}
		port, err := strconv.Atoi(address.Port())
		if err != nil {
			w.t.Fatal(err)
		}
		for _, client := range []*netlab.Namespace{lab.Client, lab.PodClient} {
			if err := client.Relay(w.t.Context(), port); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func (w *world) workers() []simulator.Node {
	var nodes []simulator.Node
	for _, worker := range w.lab.Workers {
		nodes = append(nodes, simulator.Node{Name: worker.Name})
	}
	return nodes
}

// inside is Terraform on a machine of a network. What it looks up it asks for by itself: a resolver that it reaches through a
// socket in the file system would be that of the real machine.
func (w *world) inside(client *netlab.Namespace, config string) *cli {
	w.t.Helper()
	c := newCLI(w.t, config, "GODEBUG=netdns=go")
	c.inside = client
	return c
}

// view is one of the two networks, with what its clients are told.
type view struct {
	client *netlab.Namespace
	server string
	record string
}

func (w *world) views(vip string) map[string]view {
	return map[string]view{
		"VLAN":        {w.lab.Client, vlanDNS, vip},
		"pod network": {w.lab.PodClient, podDNS, netlab.ProxyClusterIP},
	}
}

// resolves checks what both views say of names below the wildcard, and of others.
func (w *world) resolves(ctx context.Context, vip string) error {
	var wrong []error
	for where, view := range w.views(vip) {
		for name, want := range map[string]string{
			appName: view.record, "a.b.c.apps.demo." + baseDomain: view.record, "HeLLo.APPS.demo." + baseDomain: view.record,
			"apps.demo." + baseDomain: nxdomain, "helloapps.demo." + baseDomain: nxdomain, "hello.xapps.demo." + baseDomain: nxdomain,
			"hello.apps.other." + baseDomain: nxdomain, "demo." + baseDomain: nxdomain, appName + ".example.com": nxdomain,
		} {
			if got, err := view.client.LookupA(ctx, view.server, name); err != nil || got != want {
				wrong = append(wrong, fmt.Errorf("%s: %s is %q, want %q: %w", where, name, got, want, errOr(err)))
			}
		}
	}
	return errors.Join(wrong...)
}

// flows checks that the router answers on both ways, and with its own certificate.
func (w *world) flows(ctx context.Context, vip string) error {
	var wrong []error
	for where, view := range w.views(vip) {
		for _, scheme := range []string{"http", "https"} {
			got, err := w.lab.Fetch(ctx, view.client, view.client.Resolve(view.server), scheme+"://"+appName+"/")
			switch {
			case err != nil || !strings.HasPrefix(got.String(), "200 "+scheme+" "+appName+" from worker-"):
				wrong = append(wrong, fmt.Errorf("%s: %s: got %q: %w", where, scheme, got.String(), errOr(err)))
			case scheme == "https" && !w.lab.Certificate.Equal(got.Certificate):
				wrong = append(wrong, fmt.Errorf("%s: the certificate is not the router's", where))
			}
		}
	}
	return errors.Join(wrong...)
}

// reached waits until everything works at an address, and logs how long that took.
func (w *world) reached(vip string) {
	w.t.Helper()
	w.eventually("names resolve", func(ctx context.Context) error { return w.resolves(ctx, vip) })
	w.eventually("bytes flow", func(ctx context.Context) error { return w.flows(ctx, vip) })
}

// announced waits until exactly one machine on the VLAN answers for an address.
func (w *world) announced(vip string) {
	w.t.Helper()
	w.eventually("one answers for "+vip, func(ctx context.Context) error {
		owners, err := w.lab.Client.WhoHas(ctx, netlab.VLANLink, netip.MustParseAddr(vip), silence)
		if err == nil && len(owners) != 1 {
			err = fmt.Errorf("%d do: %v", len(owners), owners)
		}
		return err
	})
}

// deserted checks that nothing leads to an address any more.
func (w *world) deserted(vip string) {
	w.t.Helper()
	w.eventually("nobody answers for "+vip, func(ctx context.Context) error {
		owners, err := w.lab.Client.WhoHas(ctx, netlab.VLANLink, netip.MustParseAddr(vip), silence)
		if len(owners) > 0 {
			return fmt.Errorf("%v do", owners)
		}
		return err
	})
	for _, port := range []string{"80", "443"} {
		for name, client := range map[string]*netlab.Namespace{"client": w.lab.Client, "proxy": w.lab.Proxy} {
			// Who remembers the hardware address still gets an answer until the worker has heard, too.
			w.eventually(fmt.Sprintf("%s:%s does not answer the %s", vip, port, name), func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
				defer cancel()
				conn, err := client.Dial(ctx, "tcp", vip+":"+port)
				if err == nil {
					return errors.Join(errors.New("it does"), conn.Close())
				}
				return nil
			})
		}
	}
}

// eventually waits until a check holds.
func (w *world) eventually(what string, check func(context.Context) error) {
	w.t.Helper()
	const interval = 20 * time.Millisecond
	start := time.Now()
	var last error
	err := wait.PollUntilContextTimeout(w.t.Context(), interval, patience, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		w.t.Fatalf("%s: %v: %v", what, err, last)
	}
	w.t.Logf("%s: after %s", what, time.Since(start).Round(time.Millisecond))
}

// errOr is an error also where there is none: the value was wrong.
func errOr(err error) error {
	if err == nil {
		return errors.New("wrong")
	}
	return err
}
