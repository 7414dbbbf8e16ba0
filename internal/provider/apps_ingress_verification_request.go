package provider

import (
	"net/netip"
	"slices"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

// verification is what a configuration wants to be tried.
type verification struct {
	namespace string
	publish   appsingress.Publish
	given     probe.Request // what the configuration says by itself; an address that is zero is to be read
	network   netip.Prefix  // of the VLAN; zero: it is to be read
}

// request is what is to be tried, with what the configuration leaves to the servers' objects taken from there.
func (v verification) request(servers appsingress.Servers) probe.Request {
	network := v.network
	if !network.IsValid() {
		network = servers.DNS.Network
	}
	r := v.given
	r.VLAN = v.vlan(servers.DNS, network)
	r.Pod = v.pod(servers.DNS, network)
	r.Proxy = v.proxy(servers, network)
	r.Public.Certain = true // there is none unless it was given
	return r
}

// vlan is the DNS server as the VLAN sees it, which has a record only for an address. Who is in the VLAN can test the endpoint, too.
func (v verification) vlan(dns appsingress.DNSServer, network netip.Prefix) probe.Resolver {
	r := v.given.VLAN
	r.Expected = v.given.IP
	r.Inside = networks(network)
	r.Certain = r.Server.IsValid() || v.names(probe.VLANDNS, probe.EndpointHTTP, probe.EndpointHTTPS)
	if r.Server.IsValid() || v.hostnameOnly() || dns.Name.IsZero() {
		return r
	}
	r.Server = dns.VLAN
	switch {
	case dns.Err != nil:
		r.Missing = serverUnread(dnsServerNoun, dns.Name, dns.Err)
	case !dns.VLAN.IsValid():
		r.Missing = serverLacks(dnsServerNoun, dns.Name, "spec.networkConfig.serverIP")
	}
	return r
}

// pod is the DNS server as the pod network sees it. It answers with the proxy, and only for an ingress that the VLAN's view has a
// record of.
func (v verification) pod(dns appsingress.DNSServer, network netip.Prefix) probe.Resolver {
	r := v.given.Pod
	r.Outside = networks(network)
	r.Certain = r.Server.IsValid() || v.names(probe.PodDNS)
	if v.hostnameOnly() {
		return r
	}
	r.Expected = v.given.Proxy.Address
	if !r.Expected.IsValid() {
		r.Expected = dns.InternalProxy
	}
	known := r.Server.IsValid() && r.Expected.IsValid()
	if !r.Server.IsValid() {
		r.Server = dns.Pod
	}
	switch {
	case known || dns.Name.IsZero():
	case dns.Err != nil:
		r.Missing = serverUnread(dnsServerNoun, dns.Name, dns.Err)
	case r.Expected.IsValid() && !r.Server.IsValid():
		r.Missing = serverLacks(dnsServerNoun, dns.Name, "status.serviceClusterIP")
	}
	return r
}

// proxy is Envoy as the pod network reaches it, or, when the pod network has no way of its own, as the VLAN does.
func (v verification) proxy(servers appsingress.Servers, network netip.Prefix) probe.Proxy {
	p := v.given.Proxy
	p.Certain = p.Address.IsValid() || v.names(probe.ProxyHTTP, probe.ProxyHTTPS)
	dns, proxy := servers.DNS, servers.Proxy
	switch {
	case p.Address.IsValid():
	case dns.InternalProxy.IsValid():
		p.Address, p.Outside = dns.InternalProxy, networks(network)
	case proxy.VLAN.IsValid():
		p.Address, p.Inside = proxy.VLAN, networks(network)
	case proxy.Err != nil:
		p.Missing = serverUnread(proxyServerNoun, proxy.Name, proxy.Err)
	case !proxy.Name.IsZero():
		p.Missing = serverLacks(proxyServerNoun, proxy.Name, "spec.networkConfig.serverIP")
	case dns.Err != nil:
		p.Missing = serverUnread(dnsServerNoun, dns.Name, dns.Err)
	}
	return p
}

// names says that the configuration asks for one of these paths by its name.
func (v verification) names(paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return slices.Contains(v.given.Only, path) })
}

// hostnameOnly says that the ingress has an endpoint that is no address, of which oooi publishes no record.
func (v verification) hostnameOnly() bool { return !v.given.IP.IsValid() && v.given.Hostname != "" }

func networks(network netip.Prefix) []netip.Prefix {
	if !network.IsValid() {
		return nil
	}
	return []netip.Prefix{network}
}
