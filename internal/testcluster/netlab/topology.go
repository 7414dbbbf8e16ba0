package netlab

import (
	"context"
	"fmt"
	"net/netip"

	"golang.org/x/sync/errgroup"
)

// The networks of a lab: the VLAN, and what stands for the pods' network with its cluster IPs. Nothing leads from one to
// the other. Load balancers may have the addresses of the VLAN from .100 on.
const (
	VLAN       = "198.51.100.0/24"
	PodNetwork = "203.0.113.0/24"

	VLANLink = "vlan0" // what a host calls its link to the VLAN
	PodLink  = "pod0"  // and that to the pod network
)

// The addresses of a lab's hosts.
const (
	ClientAddress      = "198.51.100.10"
	DNSAddress         = "198.51.100.3"
	ProxyAddress       = "198.51.100.4"
	UpstreamAddress    = "198.51.100.5"
	firstWorkerAddress = "198.51.100.21"

	PodClientAddress   = "203.0.113.10"
	DNSClusterIP       = "203.0.113.53"
	ProxyClusterIP     = "203.0.113.80"
	UpstreamPodAddress = "203.0.113.2"

	prefixLength   = 24
	defaultWorkers = 2
	maxWorkers     = 20
)

// host is a namespace to be, with its addresses; without one it has no link to that network.
type host struct {
	name      string
	vlan, pod string
	namespace **Namespace
}

// wire makes the switch and all hosts, and links them.
func (l *Lab) wire(ctx context.Context, workers int) error {
	hosts := []host{
		{"client", ClientAddress, "", &l.Client},
		{"pod-client", "", PodClientAddress, &l.PodClient},
		{"dns", DNSAddress, DNSClusterIP, &l.DNS},
		{"proxy", ProxyAddress, ProxyClusterIP, &l.Proxy},
		{"upstream", UpstreamAddress, UpstreamPodAddress, &l.Upstream},
	}
	address := netip.MustParseAddr(firstWorkerAddress)
	for i := range workers {
		worker := newWorker(address)
		l.Workers = append(l.Workers, worker)
		hosts = append(hosts, host{fmt.Sprintf("worker-%d", i+1), address.String(), "", &worker.Namespace})
		address = address.Next()
	}
	var err error
	if l.wires, err = l.newNamespace(ctx, "switch"); err != nil {
		return err
	}
	commands := []string{
		"link add " + VLANLink + " type bridge", "link set " + VLANLink + " up",
		"link add " + PodLink + " type bridge", "link set " + PodLink + " up",
	}
	for _, h := range hosts {
		if *h.namespace, err = l.newNamespace(ctx, h.name); err != nil {
			return err
		}
		commands = append(commands, h.cable(VLANLink, h.vlan)...)
		commands = append(commands, h.cable(PodLink, h.pod)...)
	}
	if err := l.wires.ip(ctx, commands...); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, h := range hosts {
		group.Go(func() error { return h.setUp(ctx) })
	}
	return group.Wait()
}

// cable are the switch's commands for a link of the host. The ends of the pair are made where they belong: not even for a
// moment is one of them a link of the machine.
func (h host) cable(link, address string) []string {
	if address == "" {
		return nil
	}
	return []string{
		fmt.Sprintf("link add %s type veth peer name %s netns %s", h.port(link), link, (*h.namespace).Path()),
		fmt.Sprintf("link set %s master %s up", h.port(link), link),
	}
}

// port is the name of the switch's end of a link.
func (h host) port(link string) string { return switchPort(h.name, link) }

func switchPort(host, link string) string { return host + "-" + link }

// setUp gives the host its addresses. It is no router, and answers for an address only on the link that has it: a worker
// has those of load balancers on its loopback, and MetalLB answers for them.
func (h host) setUp(ctx context.Context) error {
	for _, setting := range []struct{ name, value string }{
		{"net/ipv4/ip_forward", "0"}, // a new namespace has it from the machine
		{"net/ipv4/conf/all/arp_ignore", "1"},
		{"net/ipv4/conf/all/arp_announce", "2"},
	} {
		if err := (*h.namespace).sysctl(setting.name, setting.value); err != nil {
			return err
		}
	}
	var commands []string
	for link, address := range map[string]string{VLANLink: h.vlan, PodLink: h.pod} {
		if address != "" {
			commands = append(commands, fmt.Sprintf("addr add %s/%d dev %s", address, prefixLength, link), "link set "+link+" up")
		}
	}
	return (*h.namespace).ip(ctx, commands...)
}
