package netlab

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// dig asks a DNS server from inside of a namespace; the answer is its code and the addresses.
func dig(ctx context.Context, n *Namespace, network, server, name string, kind uint16) (string, error) {
	reply, err := exchange(ctx, n, network, server, name, kind)
	if err != nil {
		return "", err
	}
	values := []string{dns.RcodeToString[reply.Rcode]}
	for _, record := range reply.Answer {
		values = append(values, strings.TrimPrefix(record.String(), record.Header().String()))
	}
	return strings.Join(values, " "), nil
}

func exchange(ctx context.Context, n *Namespace, network, server, name string, kind uint16) (*dns.Msg, error) {
	conn, err := n.Dial(ctx, network, netip.AddrPortFrom(netip.MustParseAddr(server), 53).String())
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing is left to read
	if err := conn.SetDeadline(time.Now().Add(askTimeout)); err != nil {
		return nil, err
	}
	question := new(dns.Msg)
	question.SetQuestion(dns.Fqdn(name), kind)
	wire := &dns.Conn{Conn: conn}
	if err := wire.WriteMsg(question); err != nil {
		return nil, err
	}
	return wire.ReadMsg()
}

const (
	vlanClient, podClient = "203.0.113.99", "198.18.0.99"
	dnsVLAN, dnsPods      = "203.0.113.53", "198.18.0.53"
	world                 = "203.0.113.1" // the upstream server
)

// dnsLab is a CoreDNS between a VLAN and a pod network, and a world with one name.
type dnsLab struct {
	vlan, pods *Namespace
	upstream   *Upstream
	object     custom
	logged     *logged
}

// logged is what a program's follower had to say.
type logged struct {
	mutex sync.Mutex
	lines []string
}

func (l *logged) add(format string, args ...any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *logged) about(text string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.ContainsFunc(l.lines, func(line string) bool { return strings.Contains(line, text) })
}

func (l *logged) all() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.lines)
}

func newDNSLab(t *testing.T) dnsLab {
	t.Helper()
	needNetwork(t, coreDNSProgram)
	pair := testcluster.Start(t)
	hosts := wires(t, map[string][]string{
		"dns": {dnsVLAN, dnsPods}, "vlan": {vlanClient}, "pods": {podClient}, "world": {world},
	})
	upstream, err := StartUpstream(t.Context(), hosts["world"], netip.AddrPortFrom(address(t, world), 53))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	upstream.Set("www.example.org", "192.0.2.80")
	lab := dnsLab{vlan: hosts["vlan"], pods: hosts["pods"], upstream: upstream, object: dnsServerObject(pair), logged: &logged{}}
	server, err := StartCoreDNS(t.Context(), CoreDNSOptions{
		Namespace: hosts["dns"], ServerIP: address(t, dnsVLAN), ClusterIP: address(t, dnsPods),
		Client: pair.Management.Dynamic(testcluster.UserAdmin), Object: lab.object.name, Logf: lab.logged.add,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return lab
}

const labDNSServer = `
networkConfig: {serverIP: 203.0.113.53, proxyIP: 203.0.113.10, internalProxyIP: 198.18.0.10, secondaryNetworkCIDR: 203.0.113.0/24}
hostedClusterDomain: clusters.example.com
staticEntries:
- {hostname: "*.apps.demo.clusters.example.com", ip: 203.0.113.200}
- {hostname: api.demo.clusters.example.com, ip: 203.0.113.10}
upstreamDNS: [203.0.113.1]
`

func (l dnsLab) answers(n *Namespace, server, name string, kind uint16, want string) func(context.Context) error {
	return func(ctx context.Context) error {
		got, err := dig(ctx, n, "udp", server, name, kind)
		if err == nil && got != want {
			err = fmt.Errorf("%s at %s: %s, not %s", name, server, got, want)
		}
		return err
	}
}

func (l dnsLab) onVLAN(name, want string) func(context.Context) error {
	return l.answers(l.vlan, dnsVLAN, name, dns.TypeA, want)
}

func (l dnsLab) inPods(name, want string) func(context.Context) error {
	return l.answers(l.pods, dnsPods, name, dns.TypeA, want)
}

const app = "foo.apps.demo.clusters.example.com"

func TestCoreDNSAnswersByView(t *testing.T) {
	t.Parallel()
	lab := newDNSLab(t)
	if err := lab.onVLAN(app, "SERVFAIL")(t.Context()); err != nil {
		t.Errorf("without a DNSServer: %v", err)
	}
	lab.object.create(t, labDNSServer)
	eventually(t, "created", lab.onVLAN(app, "NOERROR 203.0.113.200"))

	for _, c := range []struct {
		name      string
		kind      uint16
		vlan, pod string
	}{
		{app, dns.TypeA, "NOERROR 203.0.113.200", "NOERROR 198.18.0.10"},
		{"a.b.c.apps.demo.clusters.example.com", dns.TypeA, "NOERROR 203.0.113.200", "NOERROR 198.18.0.10"},
		{"FOO.apps.DEMO.clusters.example.com", dns.TypeA, "NOERROR 203.0.113.200", "NOERROR 198.18.0.10"},
		{"api.demo.clusters.example.com", dns.TypeA, "NOERROR 203.0.113.10", "NOERROR 198.18.0.10"},
		{app, dns.TypeAAAA, "NOERROR", "NOERROR"},
		{app, dns.TypeTXT, "NOERROR", "NOERROR"},
		{"apps.demo.clusters.example.com", dns.TypeA, "NXDOMAIN", "NXDOMAIN"},
		{"foo.xapps.demo.clusters.example.com", dns.TypeA, "NXDOMAIN", "NXDOMAIN"},
		{"x.api.demo.clusters.example.com", dns.TypeA, "NXDOMAIN", "NXDOMAIN"},
		{"foo.apps.demo.clusters.example.com.example.org", dns.TypeA, "NXDOMAIN", "NXDOMAIN"},
		{"www.example.org", dns.TypeA, "NOERROR 192.0.2.80", "NOERROR 192.0.2.80"},
	} {
		for _, view := range []struct {
			from         *Namespace
			server, want string
		}{
			{lab.vlan, dnsVLAN, c.vlan}, {lab.pods, dnsPods, c.pod},
		} {
			for _, network := range []string{"udp", "tcp"} {
				got, err := dig(t.Context(), view.from, network, view.server, c.name, c.kind)
				if err != nil || got != view.want {
					t.Errorf("%s %s at %s (%s): %s, %v; want %s", c.name, dns.TypeToString[c.kind], view.server, network, got, err, view.want)
				}
			}
		}
	}
	reply, err := exchange(t.Context(), lab.vlan, "udp", dnsVLAN, app, dns.TypeA)
	if err != nil || !reply.Authoritative || reply.Answer[0].Header().Ttl != 30 {
		t.Errorf("%v, %v", reply, err)
	}
	eventually(t, "status", func(context.Context) error {
		if got, _, _ := unstructured.NestedString(lab.object.get(t).Object, "status", "serviceClusterIP"); got != dnsPods {
			return fmt.Errorf("serviceClusterIP is %q", got)
		}
		return nil
	})
}

func TestCoreDNSFollowsItsObject(t *testing.T) {
	t.Parallel()
	lab := newDNSLab(t)
	lab.object.create(t, labDNSServer)
	eventually(t, "created", lab.onVLAN(app, "NOERROR 203.0.113.200"))

	lab.object.replace(t, strings.ReplaceAll(labDNSServer, "203.0.113.200", "203.0.113.201"))
	eventually(t, "address changed", lab.onVLAN(app, "NOERROR 203.0.113.201"))

	// Without an address for pods, they are told what the rest of the world says.
	lab.upstream.Set(app, "192.0.2.7")
	lab.object.replace(t, strings.ReplaceAll(labDNSServer, "internalProxyIP: 198.18.0.10, ", ""))
	eventually(t, "address for pods removed", lab.inPods(app, "NOERROR 192.0.2.7"))
	if err := lab.onVLAN(app, "NOERROR 203.0.113.200")(t.Context()); err != nil {
		t.Error(err)
	}

	lab.object.replace(t, strings.ReplaceAll(labDNSServer, "[203.0.113.1]", "[nowhere]"))
	eventually(t, "refusal reported", func(context.Context) error {
		if !lab.logged.about("refused") {
			return fmt.Errorf("logged: %q", lab.logged.all())
		}
		return nil
	})
	if err := lab.onVLAN("www.example.org", "NOERROR 192.0.2.80")(t.Context()); err != nil {
		t.Errorf("after a refusal: %v", err)
	}

	lab.object.replace(t, strings.ReplaceAll(labDNSServer, "*.apps.demo", "*.apps.other"))
	eventually(t, "entry replaced", lab.onVLAN("foo.apps.other.clusters.example.com", "NOERROR 203.0.113.200"))
	lab.upstream.Set(app)
	eventually(t, "its entry removed", lab.onVLAN(app, "NXDOMAIN")) // both of CoreDNS's instances may answer while they change places

	lab.object.remove(t)
	eventually(t, "removed", lab.onVLAN("foo.apps.other.clusters.example.com", "SERVFAIL"))
	lab.object.create(t, labDNSServer)
	eventually(t, "created again", lab.onVLAN(app, "NOERROR 203.0.113.200"))
}

// A reload that nobody waits for any more may still come. What CoreDNS works by is not known then: the next one is never left out.
func TestCoreDNSReloadsAfterALateReload(t *testing.T) {
	t.Parallel()
	needNetwork(t, coreDNSProgram)
	n := wires(t, map[string][]string{"dns": {dnsVLAN}})["dns"]
	program, err := testcluster.Binary(coreDNSProgram)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := newFolder(coreDNSProgram, "conf")
	if err != nil {
		t.Fatal(err)
	}
	c := &CoreDNS{options: CoreDNSOptions{Namespace: n, ServerIP: address(t, dnsVLAN)}, managed: managed{folder: folder}}
	t.Cleanup(c.Close)
	if err := c.start(t.Context(), program); err != nil {
		t.Fatal(err)
	}
	before := c.loaded
	spec, err := readDNSServer(withSpec(t, strings.Replace(labDNSServer, "internalProxyIP: 198.18.0.10, ", "", 1)))
	if err != nil {
		t.Fatal(err)
	}

	if err := c.process.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.load(ctx, corefile(spec, c.listen())); err == nil {
		t.Fatal("a paused CoreDNS has reloaded")
	}
	if err := c.process.Resume(); err != nil {
		t.Fatal(err)
	}
	answers := func(want string) func(context.Context) error {
		return dnsLab{}.answers(n, dnsVLAN, app, dns.TypeA, want)
	}
	eventually(t, "reloaded late", answers("NOERROR 203.0.113.200"))
	if err := c.load(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	eventually(t, "reloaded again", answers("SERVFAIL"))
}

func TestUpstream(t *testing.T) {
	t.Parallel()
	needNetwork(t)
	hosts := wires(t, map[string][]string{"world": {world}, "client": {vlanClient}})
	upstream, err := StartUpstream(t.Context(), hosts["world"], netip.AddrPortFrom(address(t, world), 53))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	upstream.Set("lb.example.net", "192.0.2.1", "192.0.2.2", "2001:db8::1")
	upstream.Set("*.example.net", "192.0.2.3")
	upstream.Set("www.example.org", "LB.example.net.")
	upstream.Set("loop.example.org", "loop.example.org")
	for _, c := range []struct {
		name string
		kind uint16
		want string
	}{
		{"lb.example.net", dns.TypeA, "NOERROR 192.0.2.1 192.0.2.2"},
		{"lb.example.net", dns.TypeAAAA, "NOERROR 2001:db8::1"},
		{"a.b.EXAMPLE.net", dns.TypeA, "NOERROR 192.0.2.3"},
		{"a.example.net", dns.TypeAAAA, "NOERROR"},
		{"example.net", dns.TypeA, "NXDOMAIN"},
		{"www.example.org", dns.TypeA, "NOERROR LB.example.net. 192.0.2.1 192.0.2.2"},
		{"www.example.org", dns.TypeCNAME, "NOERROR LB.example.net."},
		{"example.org", dns.TypeA, "NXDOMAIN"},
	} {
		for _, network := range []string{"udp", "tcp"} {
			if got, err := dig(t.Context(), hosts["client"], network, world, c.name, c.kind); err != nil || got != c.want {
				t.Errorf("%s (%s): %s, %v; want %s", c.name, network, got, err, c.want)
			}
		}
	}
	if got, err := dig(t.Context(), hosts["client"], "tcp", world, "loop.example.org", dns.TypeA); !strings.HasPrefix(got, "SERVFAIL") {
		t.Errorf("an endless alias: %s, %v", got, err)
	}
	upstream.Set("*.example.net")
	if got, err := dig(t.Context(), hosts["client"], "udp", world, "a.example.net", dns.TypeA); got != "NXDOMAIN" {
		t.Errorf("forgotten: %s, %v", got, err)
	}
}
