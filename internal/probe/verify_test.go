package probe_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

var clusterIP = netip.MustParseAddr("127.0.0.1")

// healthy is a request whose paths are all OK.
func healthy(tb testing.TB) probe.Request {
	tb.Helper()
	server := handled(records("@ 60 IN A 127.0.0.1")).start(tb)
	resolver := probe.Resolver{Server: server, Expected: clusterIP}
	made, _ := certificate(tb, wildcard())
	return probe.Request{
		Domain: domain, IP: loopback, VLAN: resolver, Pod: resolver, Public: resolver,
		HTTP: webServer(tb, nil, text(http.StatusServiceUnavailable, "")), HTTPS: webServer(tb, made, text(http.StatusOK, "")),
		Proxy:   probe.Proxy{Address: clusterIP},
		Attempt: probe.Attempt{Timeout: patient},
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()

	request := healthy(t)
	got := verify(t, request)
	server := request.VLAN.Server.String()
	plain, secured := fmt.Sprintf("127.0.0.1:%d", request.HTTP), fmt.Sprintf("127.0.0.1:%d", request.HTTPS)
	const answer, secure = "an HTTP answer", "HTTP 200, certificate for *." + domain
	want := map[string]probe.Path{}
	for _, path := range []probe.Path{
		{Name: probe.VLANDNS, Asked: server, Expected: "127.0.0.1", Observed: "127.0.0.1"},
		{Name: probe.EndpointHTTP, Asked: plain, Expected: answer, Observed: "HTTP 503"},
		{Name: probe.EndpointHTTPS, Asked: secured, Expected: answer, Observed: secure},
		{Name: probe.PodDNS, Asked: server, Expected: "127.0.0.1", Observed: "127.0.0.1"},
		{Name: probe.ProxyHTTP, Asked: plain, Expected: answer, Observed: "HTTP 503"},
		{Name: probe.ProxyHTTPS, Asked: secured, Expected: answer, Observed: secure},
		{Name: probe.PublicDNS, Asked: server, Expected: "127.0.0.1", Observed: "127.0.0.1"},
	} {
		path.Result = probe.OK
		want[path.Name] = path
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is not to be checked is not asked for, and said to be left out.
func TestVerifyOnly(t *testing.T) {
	t.Parallel()

	request := healthy(t)
	request.Only = []string{probe.PodDNS, probe.ProxyHTTPS}
	request.VLAN.Server, request.Public.Server = netip.AddrPort{}, netip.AddrPort{}
	for name, path := range verify(t, request) {
		want := probe.Path{Name: name, Result: probe.NotConfigured, Message: "it is not among the paths to check"}
		switch asked := name == probe.PodDNS || name == probe.ProxyHTTPS; {
		case asked && path.Result != probe.OK:
			t.Errorf("%+v", path)
		case !asked && path != want:
			t.Errorf("got %+v, want %+v", path, want)
		}
	}
	request.Only = []string{}
	if paths := probe.Verify(t.Context(), request); probe.Healthy(paths) {
		t.Errorf("healthy without any path: %+v", paths)
	}
}

// results are the verdicts, in order.
func results(got map[string]probe.Path) []probe.Result {
	var found []probe.Result
	for _, name := range order {
		found = append(found, got[name].Result)
	}
	return found
}

// A public address that is expected is that, also of an endpoint that is a host name: a NAT may be in front of it.
func TestPublicAddressOfAHostName(t *testing.T) {
	t.Parallel()

	request := probe.Request{Domain: domain, Hostname: "lb.example.com", Public: probe.Resolver{
		Server: handled(records("@ 60 IN A 192.0.2.11")).start(t), Expected: endpoint,
	}}
	got := verify(t, request)[probe.PublicDNS]
	if got.Result != probe.Failed || got.Expected != endpoint.String() || !strings.Contains(got.Message, "192.0.2.11 instead of 192.0.2.10") {
		t.Errorf("%+v", got)
	}
	request.Public.Expected = netip.MustParseAddr("192.0.2.11")
	if got := verify(t, request)[probe.PublicDNS]; got.Result != probe.OK || got.Observed != "192.0.2.11" {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsNotAsked(t *testing.T) {
	t.Parallel()

	const (
		ok, bad, none = probe.OK, probe.Failed, probe.NotConfigured
		missing       = "the Service of the DNS server cannot be read"
	)
	tests := []struct {
		name    string
		change  func(*probe.Request)
		want    []probe.Result
		message map[string]string
	}{
		{
			"nothing at all", func(r *probe.Request) { *r = probe.Request{} },
			[]probe.Result{none, none, none, none, none, none, none},
			map[string]string{probe.VLANDNS: "no DNS server", probe.EndpointHTTP: "no port", probe.PublicDNS: "no public resolver"},
		},
		{
			"no endpoint yet", func(r *probe.Request) {
				r.IP, r.Pod.Expected, r.Public.Expected = netip.Addr{}, netip.Addr{}, netip.Addr{}
			},
			[]probe.Result{bad, bad, bad, bad, bad, bad, bad},
			map[string]string{
				probe.VLANDNS: "no endpoint yet", probe.EndpointHTTPS: "no endpoint yet", probe.PodDNS: "no endpoint yet",
				probe.ProxyHTTP: "no endpoint yet",
			},
		},
		{ // which address the public is given is known without the ingress
			"no endpoint yet, and a public address", func(r *probe.Request) { r.IP, r.Pod.Expected = netip.Addr{}, netip.Addr{} },
			[]probe.Result{bad, bad, bad, bad, bad, bad, ok},
			nil,
		},
		{
			"no endpoint yet, and no other path", func(r *probe.Request) {
				*r = probe.Request{Domain: domain, VLAN: r.VLAN, HTTP: r.HTTP, Proxy: probe.Proxy{Location: probe.Location{Missing: missing}}}
			},
			[]probe.Result{bad, bad, none, none, bad, none, none},
			map[string]string{probe.ProxyHTTP: missing},
		},
		{
			"no pod view", func(r *probe.Request) { r.Pod.Expected, r.Proxy = netip.Addr{}, probe.Proxy{} },
			[]probe.Result{ok, ok, ok, none, none, none, ok},
			map[string]string{
				probe.PodDNS:    "no internal proxy address: the pod view has no answer of its own",
				probe.ProxyHTTP: "no proxy is known",
			},
		},
		{
			"nothing expected", func(r *probe.Request) { r.VLAN.Expected, r.Public.Expected = netip.Addr{}, netip.Addr{} },
			[]probe.Result{none, ok, ok, ok, ok, ok, none},
			map[string]string{probe.VLANDNS: "no address is expected", probe.PublicDNS: "no address is expected"},
		},
		{
			"objects that cannot be read", func(r *probe.Request) { r.VLAN.Missing, r.Proxy.Missing = missing, missing },
			[]probe.Result{bad, ok, ok, ok, bad, bad, ok},
			map[string]string{probe.VLANDNS: missing, probe.ProxyHTTPS: missing},
		},
		{
			"servers that are not there", func(r *probe.Request) { r.VLAN, r.Public = probe.Resolver{}, probe.Resolver{} },
			[]probe.Result{none, ok, ok, ok, ok, ok, none},
			nil,
		},
		{
			"no HTTPS", func(r *probe.Request) { r.HTTPS = 0 },
			[]probe.Result{ok, ok, none, ok, ok, none, ok},
			map[string]string{probe.EndpointHTTPS: "no port"},
		},
		{
			"a host name", func(r *probe.Request) { r.IP, r.Hostname, r.VLAN.Missing = netip.Addr{}, "localhost", missing },
			[]probe.Result{none, ok, ok, none, ok, ok, ok},
			map[string]string{probe.VLANDNS: "host name", probe.PodDNS: "host name"},
		},
		{
			"a label that is none", func(r *probe.Request) { r.Label = "with a space" },
			[]probe.Result{bad, bad, bad, bad, bad, bad, bad},
			map[string]string{probe.VLANDNS: "no valid domain name"},
		},
		{
			"a label that is too long", func(r *probe.Request) { r.Label = strings.Repeat("x", 64) },
			[]probe.Result{bad, bad, bad, bad, bad, bad, bad},
			map[string]string{probe.EndpointHTTP: "no valid domain name"},
		},
		{
			"a domain that is too long", func(r *probe.Request) { r.Domain = strings.Repeat("a.", 127) + "example.com" },
			[]probe.Result{bad, bad, bad, bad, bad, bad, bad},
			map[string]string{probe.PodDNS: "no valid domain name"},
		},
		{
			"letters of both cases", func(r *probe.Request) { r.Label, r.Domain = "Console", strings.ToUpper(domain) },
			[]probe.Result{ok, ok, ok, ok, ok, ok, ok},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			request := healthy(t)
			tt.change(&request)
			got := verify(t, request)
			if diff := cmp.Diff(tt.want, results(got)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			for name, message := range tt.message {
				if !strings.Contains(got[name].Message, message) {
					t.Errorf("%s: %q, want %q in it", name, got[name].Message, message)
				}
			}
			for name, path := range got {
				if path.Result == probe.NotConfigured && (path.Expected != "" || path.Observed != "") {
					t.Errorf("%s: %+v", name, path)
				}
			}
		})
	}
}

// What the DNS paths say from inside, from outside and from anywhere: of a server that would answer, and of one that is silent.
func TestDNSFromElsewhere(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name        string
		place       probe.Location
		asked       bool
		answering   probe.Result
		silent      probe.Result
		ofSilence   string
		ofNotAsking string
	}{
		{"anywhere", probe.Location{}, true, probe.OK, probe.Failed, "nothing comes back", ""},
		{"inside", probe.Location{Inside: inside}, true, probe.OK, probe.Failed, "nothing comes back", ""},
		{"elsewhere", probe.Location{Inside: another}, false, probe.NotTestable, probe.NotTestable, "another view", "another view"},
		{"outside", probe.Location{Outside: inside}, false, probe.NotTestable, probe.NotTestable, "another view", "another view"},
		{"not outside", probe.Location{Outside: another}, true, probe.OK, probe.NotTestable, "does not seem to be in that network", ""},
		{"certainly", probe.Location{Inside: another, Outside: inside, Certain: true}, true, probe.OK, probe.Failed, "nothing comes back", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			answering := handled(func(w dns.ResponseWriter, question *dns.Msg) {
				asked.Add(1)
				records("@ 60 IN A 192.0.2.10")(w, question)
			}).start(t)
			request := probe.Request{
				Domain: domain, IP: endpoint,
				VLAN: probe.Resolver{Server: answering, Expected: endpoint, Location: tt.place},
			}
			got := verify(t, request)[probe.VLANDNS]
			if got.Result != tt.answering || !strings.Contains(got.Message, tt.ofNotAsking) || got.Expected != "192.0.2.10" {
				t.Errorf("of a server that answers: %+v", got)
			}
			if (asked.Load() > 0) != tt.asked {
				t.Errorf("asked %d times", asked.Load())
			}

			request.VLAN.Server = handled(silence).start(t)
			request.Attempt = probe.Attempt{Timeout: short, Count: 2}
			got = verify(t, request)[probe.VLANDNS]
			if got.Result != tt.silent || !strings.Contains(got.Message, tt.ofSilence) || got.Expected != "192.0.2.10" {
				t.Errorf("of a silent server: %+v", got)
			}

			// Whoever answers something is there.
			request.VLAN.Server, request.Attempt.Timeout = closedUDP(t), patient
			got = verify(t, request)[probe.VLANDNS]
			want := probe.Failed
			if !tt.asked {
				want = probe.NotTestable
			}
			if got.Result != want {
				t.Errorf("of a server that refuses: %+v", got)
			}
		})
	}
}

func TestAttempts(t *testing.T) {
	t.Parallel()

	t.Run("DNS is right at last", func(t *testing.T) {
		t.Parallel()
		var asked atomic.Int32
		server := handled(func(w dns.ResponseWriter, question *dns.Msg) {
			if asked.Add(1) < 3 {
				rcode(dns.RcodeNameError)(w, question)
				return
			}
			records("@ 60 IN A 192.0.2.10")(w, question)
		}).start(t)
		paths := probe.Verify(t.Context(), probe.Request{
			Domain: domain, IP: endpoint, VLAN: probe.Resolver{Server: server, Expected: endpoint},
			Attempt: probe.Attempt{Timeout: patient, Count: 10, Pause: time.Millisecond},
		})
		if got := byName(t, paths)[probe.VLANDNS]; got.Result != probe.OK || asked.Load() != 3 {
			t.Errorf("%+v after %d questions", got, asked.Load())
		}
	})
	t.Run("HTTP stays wrong", func(t *testing.T) {
		t.Parallel()
		var asked atomic.Int32
		port := webServer(t, nil, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.WriteHeader(http.StatusNotFound)
		})
		paths := probe.Verify(t.Context(), probe.Request{
			Domain: domain, IP: loopback, HTTP: port, Web: probe.Web{Status: http.StatusOK},
			Attempt: probe.Attempt{Timeout: patient, Count: 3, Pause: time.Millisecond},
		})
		if got := byName(t, paths)[probe.EndpointHTTP]; got.Result != probe.Failed || got.Observed != "HTTP 404" || asked.Load() != 3 {
			t.Errorf("%+v after %d requests", got, asked.Load())
		}
	})
	t.Run("silence after an answer says nothing new", func(t *testing.T) {
		t.Parallel()
		var asked atomic.Int32
		server := handled(func(w dns.ResponseWriter, question *dns.Msg) {
			if asked.Add(1) == 1 {
				rcode(dns.RcodeNameError)(w, question)
			}
		}).start(t)
		place := probe.Location{Outside: another} // where silence alone would prove nothing
		paths := probe.Verify(t.Context(), probe.Request{
			Domain: domain, IP: endpoint, VLAN: probe.Resolver{Server: server, Expected: endpoint, Location: place},
			Attempt: probe.Attempt{Timeout: longer, Count: 2},
		})
		if got := byName(t, paths)[probe.VLANDNS]; got.Result != probe.Failed || got.Observed != "NXDOMAIN" || asked.Load() != 2 {
			t.Errorf("%+v after %d questions", got, asked.Load())
		}
	})
	t.Run("one by default", func(t *testing.T) {
		t.Parallel()
		var asked atomic.Int32
		server := handled(func(w dns.ResponseWriter, question *dns.Msg) {
			asked.Add(1)
			rcode(dns.RcodeNameError)(w, question)
		}).start(t)
		probe.Verify(t.Context(), probe.Request{Domain: domain, IP: endpoint, VLAN: probe.Resolver{Server: server, Expected: endpoint}})
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

// What is silent on all paths may not hold up anybody longer than the context lets it.
func TestDeadline(t *testing.T) {
	t.Parallel()

	const bound = 5 * time.Second
	deaf := func(t *testing.T) probe.Request {
		t.Helper()
		resolver := probe.Resolver{Server: handled(silence).start(t), Expected: endpoint}
		port := tcpServer(t, mute)
		return probe.Request{
			Domain: domain, IP: loopback, VLAN: resolver, Pod: resolver, Public: resolver,
			HTTP: port, HTTPS: port, Proxy: probe.Proxy{Address: loopback},
		}
	}
	wrong := func(t *testing.T) probe.Request {
		t.Helper()
		resolver := probe.Resolver{Server: handled(rcode(dns.RcodeNameError)).start(t), Expected: endpoint}
		port := closedTCP(t)
		return probe.Request{
			Domain: domain, IP: loopback, VLAN: resolver, Pod: resolver, Public: resolver,
			HTTP: port, HTTPS: port, Proxy: probe.Proxy{Address: loopback},
		}
	}
	ended := func(t *testing.T) context.Context {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ctx
	}
	soon := func(t *testing.T) context.Context { t.Helper(); return limited(t, 300*time.Millisecond) }
	later := func(t *testing.T) context.Context { t.Helper(); return limited(t, longer) }
	tests := []struct {
		name      string
		request   func(*testing.T) probe.Request
		ctx       func(*testing.T) context.Context
		attempt   probe.Attempt
		dns, http string
	}{
		{"silence", deaf, soon, probe.Attempt{Timeout: time.Minute}, "no answer", "no answer"},
		{"silence, many times", deaf, soon, probe.Attempt{Timeout: 20 * time.Millisecond, Count: 1 << 30}, "no answer", "no answer"},
		{"a long pause", wrong, later, probe.Attempt{Count: 2, Pause: time.Hour}, "NXDOMAIN", "connection refused"},
		{"over before it begins", deaf, ended, probe.Attempt{}, "no answer", "no answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			request := tt.request(t)
			request.Attempt = tt.attempt
			// Not to know whether this machine may ask is no excuse for a lack of time.
			request.VLAN.Outside, request.Pod.Outside, request.Public.Outside = another, another, another
			certain := tt.attempt.Count > 2 // else silence is not tried again
			request.VLAN.Certain, request.Pod.Certain, request.Public.Certain = certain, certain, certain
			var before []probe.Path
			for range 2 {
				began := time.Now()
				paths := probe.Verify(tt.ctx(t), request)
				if took := time.Since(began); took > bound {
					t.Errorf("took %s", took)
				}
				if before != nil {
					if diff := cmp.Diff(before, paths); diff != "" {
						t.Errorf("a second run differs:\n%s", diff)
					}
				}
				before = paths
				for name, path := range byName(t, paths) {
					observed := tt.http
					if strings.HasSuffix(name, "_dns") {
						observed = tt.dns
					}
					if path.Result != probe.Failed || path.Observed != observed || !strings.Contains(path.Message, "time given was not enough") {
						t.Errorf("%+v", path)
					}
				}
			}
		})
	}
}

// One after the other, seven silent paths would take seven times as long as the context lets them.
func TestSideBySide(t *testing.T) {
	t.Parallel()

	const paths = 3
	var together atomic.Int32
	all := make(chan struct{})
	server := handled(func(w dns.ResponseWriter, question *dns.Msg) {
		if together.Add(1) == paths {
			close(all)
		}
		<-all // none is answered before all are asked
		records("@ 60 IN A 192.0.2.10")(w, question)
	}).start(t)
	resolver := probe.Resolver{Server: server, Expected: endpoint}
	got := byName(t, probe.Verify(t.Context(), probe.Request{
		Domain: domain, IP: endpoint, VLAN: resolver, Pod: resolver, Public: resolver, Attempt: probe.Attempt{Timeout: patient},
	}))
	for _, name := range []string{probe.VLANDNS, probe.PodDNS, probe.PublicDNS} {
		if got[name].Result != probe.OK {
			t.Errorf("%+v", got[name])
		}
	}
}

func TestHealthy(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		results []probe.Result
		want    bool
	}{
		{"nothing", nil, false},
		{"all OK", []probe.Result{probe.OK, probe.OK}, true},
		{"one OK", []probe.Result{probe.NotConfigured, probe.NotTestable, probe.OK}, true},
		{"one failed", []probe.Result{probe.OK, probe.Failed, probe.OK}, false},
		{"not tested", []probe.Result{probe.NotConfigured, probe.NotTestable}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var paths []probe.Path
			for _, result := range tt.results {
				paths = append(paths, probe.Path{Result: result})
			}
			if got := probe.Healthy(paths); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	request := healthy(b)
	for b.Loop() {
		if paths := probe.Verify(b.Context(), request); !probe.Healthy(paths) {
			b.Fatalf("%+v", paths)
		}
	}
}
