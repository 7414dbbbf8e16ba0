package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
)

// startNetworks makes the VLAN of the workers and the pod network, with CoreDNS and Envoy in both.
func (c *clusters) startNetworks(ctx context.Context, logDir string) (err error) {
	dnsServer, proxyServer := dnsName, proxyName
	if c.attachment {
		dnsServer, proxyServer = infraName+"-dns", infraName+"-proxy"
	}
	c.lab, err = netlab.StartDataPath(ctx, netlab.Options{
		Hosted: c.pair.Hosted.REST(testcluster.UserSimulator), Kubeconfig: c.pair.Hosted.Kubeconfig(testcluster.UserMetalLB),
		Domain: clusterName + "." + baseDomain, LogDir: logDir,
	}, netlab.Published{
		Management:  c.pair.Management.REST(testcluster.UserSimulator),
		DNSServer:   types.NamespacedName{Namespace: "clusters", Name: dnsServer},
		ProxyServer: types.NamespacedName{Namespace: "clusters", Name: proxyServer},
	})
	return err
}

// view is one of the two networks, as its clients see it.
type view struct {
	name   string
	client *netlab.Namespace
	server string // DNS
}

func (d *demo) vlan() view { return view{"VLAN", d.clusters.lab.Client, netlab.DNSAddress} }
func (d *demo) pods() view { return view{"pod network", d.clusters.lab.PodClient, netlab.DNSClusterIP} }

// hints are commands for another terminal that ask from inside of the networks. Those that do not work here are left out.
func (d *demo) hints(ctx context.Context) {
	const timeout = 5 * time.Second
	said := false
	for _, at := range []struct {
		view
		address string
	}{{d.vlan(), movedAddress}, {d.pods(), netlab.ProxyClusterIP}} {
		for _, ask := range []string{
			fmt.Sprintf("dig +short %s @%s", appName, at.server),
			fmt.Sprintf("curl --resolve %[1]s:80:%[2]s http://%[1]s/", appName, at.address),
		} {
			command := fmt.Sprintf("nsenter --net=%s %s", at.client.Path(), ask)
			args := strings.Fields(command)
			ctx, cancel := context.WithTimeout(ctx, timeout)
			err := exec.CommandContext(ctx, args[0], args[1:]...).Run()
			cancel()
			if err != nil {
				continue
			}
			if !said {
				d.say("    or, as root, from inside of the networks:")
				said = true
			}
			d.say("    %s   # %s", command, at.name)
		}
	}
}
