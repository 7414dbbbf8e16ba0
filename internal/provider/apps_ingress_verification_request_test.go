package provider

import (
	"context"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

// published are servers that say everything.
func published() appsingress.Servers {
	return appsingress.Servers{
		DNS: appsingress.DNSServer{
			Name: appsingress.NamespacedName{Namespace: "clusters", Name: "vlan100-dns"},
			VLAN: netip.MustParseAddrPort("192.0.2.3:53"), Pod: netip.MustParseAddrPort("203.0.113.10:53"),
			Network: netip.MustParsePrefix("192.0.2.0/24"), InternalProxy: netip.MustParseAddr("203.0.113.20"),
		},
		Proxy: appsingress.ProxyServer{
			Name: appsingress.NamespacedName{Namespace: "clusters", Name: "vlan100-proxy"}, VLAN: netip.MustParseAddr("192.0.2.4"),
		},
	}
}

// wantedRequest is what a verification of an ingress at 192.0.2.200 asks when its servers say everything.
func wantedRequest() probe.Request {
	vlan := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	return probe.Request{
		Domain: "apps.demo.example.com", IP: netip.MustParseAddr("192.0.2.200"), HTTP: 80, HTTPS: 443,
		VLAN: probe.Resolver{
			Server: netip.MustParseAddrPort("192.0.2.3:53"), Expected: netip.MustParseAddr("192.0.2.200"),
			Location: probe.Location{Inside: vlan},
		},
		Pod: probe.Resolver{
			Server: netip.MustParseAddrPort("203.0.113.10:53"), Expected: netip.MustParseAddr("203.0.113.20"),
			Location: probe.Location{Outside: vlan},
		},
		Public: probe.Resolver{Location: probe.Location{Certain: true}},
		Proxy:  probe.Proxy{Address: netip.MustParseAddr("203.0.113.20"), Location: probe.Location{Outside: vlan}},
	}
}

func TestVerificationRequest(t *testing.T) {
	t.Parallel()
	unread := context.DeadlineExceeded
	const (
		dnsUnread   = "the DNSServer clusters/vlan100-dns could not be read: the management cluster did not answer in time"
		proxyUnread = "the ProxyServer clusters/vlan100-proxy could not be read: the management cluster did not answer in time"
	)
	for name, test := range map[string]struct {
		given   func(v *verification)
		servers func(s *appsingress.Servers)
		want    func(r *probe.Request)
	}{
		"everything is read": {},
		"nothing is published": {
			servers: func(s *appsingress.Servers) { *s = appsingress.Servers{} },
			want: func(r *probe.Request) {
				r.VLAN = probe.Resolver{Expected: r.IP}
				r.Pod, r.Proxy = probe.Resolver{}, probe.Proxy{}
			},
		},
		"a given server is certain": {
			given: func(v *verification) {
				v.given.VLAN.Server = netip.MustParseAddrPort("192.0.2.33:5353")
				v.given.Pod.Server = netip.MustParseAddrPort("203.0.113.11:5353")
				v.given.Proxy.Address = netip.MustParseAddr("203.0.113.21")
			},
			want: func(r *probe.Request) {
				r.VLAN.Server, r.VLAN.Certain = netip.MustParseAddrPort("192.0.2.33:5353"), true
				r.Pod.Server, r.Pod.Certain = netip.MustParseAddrPort("203.0.113.11:5353"), true
				r.Pod.Expected = netip.MustParseAddr("203.0.113.21")
				r.Proxy = probe.Proxy{Address: r.Pod.Expected, Location: probe.Location{Certain: true}}
			},
		},
		"what is given needs no server": {
			given: func(v *verification) {
				v.given.VLAN.Server = netip.MustParseAddrPort("192.0.2.3:53")
				v.given.Pod.Server = netip.MustParseAddrPort("203.0.113.10:53")
				v.given.Proxy.Address = netip.MustParseAddr("203.0.113.20")
				v.network = netip.MustParsePrefix("192.0.2.0/24")
			},
			servers: func(s *appsingress.Servers) {
				s.DNS, s.Proxy = appsingress.DNSServer{Name: s.DNS.Name, Err: unread}, appsingress.ProxyServer{Name: s.Proxy.Name, Err: unread}
			},
			want: func(r *probe.Request) {
				r.VLAN.Certain, r.Pod.Certain = true, true
				r.Proxy.Location = probe.Location{Certain: true}
			},
		},
		"another network": {
			given: func(v *verification) { v.network = netip.MustParsePrefix("198.51.100.0/24") },
			want: func(r *probe.Request) {
				other := []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
				r.VLAN.Inside, r.Pod.Outside, r.Proxy.Outside = other, other, other
			},
		},
		"the network is not known": {
			servers: func(s *appsingress.Servers) { s.DNS.Network = netip.Prefix{} },
			want:    func(r *probe.Request) { r.VLAN.Inside, r.Pod.Outside, r.Proxy.Outside = nil, nil, nil },
		},
		"the pod network has no way of its own": {
			servers: func(s *appsingress.Servers) { s.DNS.InternalProxy = netip.Addr{} },
			want: func(r *probe.Request) {
				r.Pod.Expected = netip.Addr{}
				r.Proxy = probe.Proxy{Address: netip.MustParseAddr("192.0.2.4"), Location: probe.Location{Inside: r.VLAN.Inside}}
			},
		},
		"servers that have no address yet": {
			servers: func(s *appsingress.Servers) { s.DNS.VLAN, s.DNS.Pod = netip.AddrPort{}, netip.AddrPort{} },
			want: func(r *probe.Request) {
				r.VLAN.Server, r.Pod.Server = netip.AddrPort{}, netip.AddrPort{}
				r.VLAN.Missing = "the DNSServer clusters/vlan100-dns has no address in spec.networkConfig.serverIP"
				r.Pod.Missing = "the DNSServer clusters/vlan100-dns has no address in status.serviceClusterIP"
			},
		},
		"a proxy that has no address": {
			servers: func(s *appsingress.Servers) { s.DNS.InternalProxy, s.Proxy.VLAN = netip.Addr{}, netip.Addr{} },
			want: func(r *probe.Request) {
				r.Pod.Expected = netip.Addr{}
				r.Proxy = probe.Proxy{Location: probe.Location{
					Missing: "the ProxyServer clusters/vlan100-proxy has no address in spec.networkConfig.serverIP",
				}}
			},
		},
		"nothing can be read": {
			servers: func(s *appsingress.Servers) {
				s.DNS, s.Proxy = appsingress.DNSServer{Name: s.DNS.Name, Err: unread}, appsingress.ProxyServer{Name: s.Proxy.Name, Err: unread}
			},
			want: func(r *probe.Request) {
				r.VLAN = probe.Resolver{Expected: r.IP, Location: probe.Location{Missing: dnsUnread}}
				r.Pod = probe.Resolver{Location: probe.Location{Missing: dnsUnread}}
				r.Proxy = probe.Proxy{Location: probe.Location{Missing: proxyUnread}}
			},
		},
		"only a DNSServer, which cannot be read": {
			servers: func(s *appsingress.Servers) {
				*s = appsingress.Servers{DNS: appsingress.DNSServer{Name: s.DNS.Name, Err: unread}}
			},
			want: func(r *probe.Request) {
				r.VLAN = probe.Resolver{Expected: r.IP, Location: probe.Location{Missing: dnsUnread}}
				r.Pod = probe.Resolver{Location: probe.Location{Missing: dnsUnread}}
				r.Proxy = probe.Proxy{Location: probe.Location{Missing: dnsUnread}}
			},
		},
		"a given pod server whose answer cannot be read": {
			given: func(v *verification) { v.given.Pod.Server = netip.MustParseAddrPort("203.0.113.11:53") },
			servers: func(s *appsingress.Servers) {
				s.DNS = appsingress.DNSServer{Name: s.DNS.Name, Network: s.DNS.Network, Err: unread}
			},
			want: func(r *probe.Request) {
				r.VLAN.Server, r.VLAN.Missing = netip.AddrPort{}, dnsUnread
				r.Pod = probe.Resolver{
					Server:   netip.MustParseAddrPort("203.0.113.11:53"),
					Location: probe.Location{Missing: dnsUnread, Outside: r.Pod.Outside, Certain: true},
				}
				r.Proxy = probe.Proxy{Address: netip.MustParseAddr("192.0.2.4"), Location: probe.Location{Inside: r.VLAN.Inside}}
			},
		},
		"a host name has no record": {
			given: func(v *verification) { v.given.IP, v.given.Hostname = netip.Addr{}, "lb.example.com" },
			want: func(r *probe.Request) {
				r.IP, r.Hostname = netip.Addr{}, "lb.example.com"
				r.VLAN.Server, r.VLAN.Expected = netip.AddrPort{}, netip.Addr{}
				r.Pod.Server, r.Pod.Expected = netip.AddrPort{}, netip.Addr{}
			},
		},
		"the pod network's paths, by name": {
			given: func(v *verification) { v.given.Only = []string{probe.PodDNS, probe.ProxyHTTPS} },
			want: func(r *probe.Request) {
				r.Only = []string{probe.PodDNS, probe.ProxyHTTPS}
				r.Pod.Certain, r.Proxy.Certain = true, true
			},
		},
		"the endpoint, by name": {
			given: func(v *verification) { v.given.Only = []string{probe.EndpointHTTP} },
			want: func(r *probe.Request) {
				r.Only = []string{probe.EndpointHTTP}
				r.VLAN.Certain = true
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := verification{given: probe.Request{
				Domain: "apps.demo.example.com", IP: netip.MustParseAddr("192.0.2.200"), HTTP: 80, HTTPS: 443,
			}}
			servers, want := published(), wantedRequest()
			if test.given != nil {
				test.given(&v)
			}
			if test.servers != nil {
				test.servers(&servers)
			}
			if test.want != nil {
				test.want(&want)
			}
			diff := cmp.Diff(want, v.request(servers), cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}, netip.Prefix{}))
			if diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}
