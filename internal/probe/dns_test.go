package probe_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

var endpoint = netip.MustParseAddr("192.0.2.10")

// dnsCase is a DNS server and what is said of it.
type dnsCase struct {
	name     string
	server   dnsServer
	tcp      bool
	silent   bool // the attempt has to run out
	result   probe.Result
	observed string
	message  string // is part of it
}

func TestDNSAnswers(t *testing.T) {
	t.Parallel()

	many := []string{"@ 60 IN A 192.0.2.200"}
	for i := range 150 {
		many = append(many, fmt.Sprintf("@ 60 IN A 198.51.100.%d", i))
	}
	tests := []dnsCase{
		{name: "right", server: handled(records("@ 60 IN A 192.0.2.10")), result: probe.OK, observed: "192.0.2.10"},
		{
			name: "right, twice", server: handled(records("@ 60 IN A 192.0.2.10", "@ 90 IN A 192.0.2.10")),
			result: probe.OK, observed: "192.0.2.10",
		},
		{
			name: "wrong", server: handled(records("@ 60 IN A 192.0.2.9")), result: probe.Failed, observed: "192.0.2.9",
			message: "it answers 192.0.2.9 instead of 192.0.2.10",
		},
		{
			name:   "several, the right one among them",
			server: handled(records("@ 60 IN A 192.0.2.100", "@ 60 IN A 192.0.2.10", "@ 60 IN A 192.0.2.9")),
			result: probe.Failed, observed: "192.0.2.9, 192.0.2.10, 192.0.2.100", message: "instead of 192.0.2.10",
		},
		{
			name:   "an alias",
			server: handled(records("lb.example.com. 60 IN A 192.0.2.10", "@ 60 IN CNAME LB.example.com.")),
			result: probe.OK, observed: "lb.example.com → 192.0.2.10",
		},
		{
			name: "an alias of an alias, elsewhere",
			server: handled(records("@ 60 IN CNAME a.example.com.", "a.example.com. 60 IN CNAME b.example.com.",
				"b.example.com. 60 IN A 192.0.2.11")),
			result: probe.Failed, observed: "a.example.com → b.example.com → 192.0.2.11", message: "instead of 192.0.2.10",
		},
		{
			name:   "an alias without an address",
			server: handled(records("@ 60 IN CNAME lb.example.com.")),
			result: probe.Failed, observed: "lb.example.com → no A record", message: "no wildcard entry is loaded",
		},
		{
			name:   "an alias of itself",
			server: handled(records("@ 60 IN CNAME @")),
			result: probe.Failed, observed: "*." + domain + " → no A record", message: "no wildcard entry is loaded",
		},
		{
			name: "aliases in a circle",
			server: handled(records("@ 60 IN CNAME b.example.com.", "b.example.com. 60 IN CNAME c.example.com.",
				"c.example.com. 60 IN CNAME b.example.com.")),
			result: probe.Failed, observed: "b.example.com → c.example.com → b.example.com → no A record", message: "no wildcard entry is loaded",
		},
		{
			name: "another domain below which everything is the same",
			server: handled(reply(func(question dns.Question, answer *dns.Msg) {
				label, _, _ := strings.Cut(question.Name, ".")
				answer.Answer = []dns.RR{&dns.CNAME{
					Hdr:    dns.RR_Header{Name: question.Name, Rrtype: dns.TypeCNAME, Class: dns.ClassINET},
					Target: strings.ToUpper(label) + ".other.example.com.",
				}}
			})),
			result: probe.Failed, observed: "*.other.example.com → no A record", message: "*." + domain,
		},
		{
			name: "addresses of another name only", server: handled(records("other.example.com. 60 IN A 192.0.2.10")),
			result: probe.Failed, observed: "no A record", message: "no wildcard entry is loaded",
		},
		{
			name: "another kind of record", server: handled(records("@ 60 IN AAAA 2001:db8::1", `@ 60 IN TXT "192.0.2.10"`)),
			result: probe.Failed, observed: "no A record", message: "no wildcard entry is loaded",
		},
		{
			name: "no such name", server: handled(rcode(dns.RcodeNameError)),
			result: probe.Failed, observed: "NXDOMAIN", message: "no wildcard entry is loaded",
		},
		{
			name: "no such record", server: handled(rcode(dns.RcodeSuccess)),
			result: probe.Failed, observed: "no A record", message: "no wildcard entry is loaded",
		},
		{
			name: "out of order", server: handled(rcode(dns.RcodeServerFailure)),
			result: probe.Failed, observed: "SERVFAIL", message: "could not find an answer",
		},
		{
			name: "not served", server: handled(rcode(dns.RcodeRefused)),
			result: probe.Failed, observed: "REFUSED", message: "does not serve this name",
		},
		{
			name: "not known at all", server: handled(rcode(dns.RcodeNotImplemented)),
			result: probe.Failed, observed: "NOTIMP", message: "rejects the question",
		},
		{name: "a code without a name", server: handled(rcode(12)), result: probe.Failed, observed: "RCODE 12", message: "rejects the question"},
		{
			name: "a way from one alias to the next that does not end",
			server: handled(records("@ 60 IN CNAME a.example.com.", "a.example.com. 60 IN CNAME b.example.com.",
				"b.example.com. 60 IN CNAME c.example.com.", "c.example.com. 60 IN CNAME d.example.com.",
				"d.example.com. 60 IN CNAME e.example.com.", "e.example.com. 60 IN CNAME f.example.com.")),
			result:   probe.Failed,
			observed: "a.example.com → b.example.com → c.example.com → d.example.com → e.example.com → … → no A record",
			message:  "no wildcard entry is loaded",
		},
		{
			name: "an address of another class", server: handled(records("@ 60 CH A 192.0.2.10")),
			result: probe.Failed, observed: "no A record", message: "no wildcard entry is loaded",
		},
		{
			name:   "two aliases of one name, in any order",
			server: handled(records("@ 60 IN CNAME z.example.com.", "@ 60 IN CNAME a.example.com.", "a.example.com. 60 IN A 192.0.2.10")),
			result: probe.OK, observed: "a.example.com → 192.0.2.10",
		},
		{
			name: "of a version that there is not",
			server: handled(func(w dns.ResponseWriter, question *dns.Msg) {
				answer := new(dns.Msg).SetRcode(question, dns.RcodeBadVers)
				answer.SetEdns0(512, false)
				_ = w.WriteMsg(answer)
			}),
			result: probe.Failed, observed: "BADVERS", message: "rejects the question",
		},
		{name: "silent", server: handled(silence), silent: true, result: probe.Failed, observed: "no answer", message: "nothing comes back"},
		{
			name: "silent over TCP", server: handled(silence), tcp: true,
			silent: true, result: probe.Failed, observed: "no answer", message: "stops answering",
		},
		{
			name: "an answer that is too large for UDP", server: handled(truncating(records(many...))),
			result:   probe.Failed,
			observed: "192.0.2.200, 198.51.100.0, 198.51.100.1, 198.51.100.2, 198.51.100.3, 198.51.100.4, 198.51.100.5, 198.51.100.6 and 143 more",
			message:  "instead of",
		},
		{name: "truncated", server: handled(truncating(records("@ 60 IN A 192.0.2.10"))), result: probe.OK, observed: "192.0.2.10"},
		{
			name: "truncated over TCP, too", server: handled(reply(func(_ dns.Question, answer *dns.Msg) { answer.Truncated = true })),
			result: probe.Failed, observed: "truncated answer", message: "open for TCP",
		},
		{
			name: "truncated and silent over TCP", silent: true,
			server: handled(func(w dns.ResponseWriter, question *dns.Msg) {
				if !isTCP(w) {
					truncating(nil)(w, question)
				}
			}),
			result: probe.Failed, observed: "truncated answer", message: "open for TCP",
		},
		{name: "without EDNS, not understood", server: handled(noEDNS(dns.RcodeFormatError, false)), result: probe.OK, observed: "192.0.2.10"},
		{
			name: "without EDNS, and without the question", server: handled(noEDNS(dns.RcodeFormatError, true)),
			result: probe.OK, observed: "192.0.2.10",
		},
		{
			name: "without EDNS, not implemented", server: handled(noEDNS(dns.RcodeNotImplemented, false)),
			result: probe.OK, observed: "192.0.2.10",
		},
		{name: "without EDNS, of another version", server: handled(noEDNS(dns.RcodeBadVers, false)), result: probe.OK, observed: "192.0.2.10"},
		{
			name: "over TCP only", server: dnsServer{networks: []string{"tcp"}, HandlerFunc: records("@ 60 IN A 192.0.2.10")}, tcp: true,
			result: probe.OK, observed: "192.0.2.10",
		},
		{
			name: "over TCP, cut", server: handled(closing), tcp: true,
			result: probe.Failed, observed: "connection closed or reset", message: "closes the connection",
		},
		{
			name: "no DNS message", server: handled(raw(strings.Repeat("x", 40))),
			result: probe.Failed, observed: "malformed answer", message: "no DNS server",
		},
		{name: "less than a header", server: handled(raw("x")), result: probe.Failed, observed: "malformed answer", message: "no DNS server"},
		{
			name: "less than a header, over TCP", server: handled(raw("x")), tcp: true,
			result: probe.Failed, observed: "malformed answer", message: "no DNS server",
		},
		{
			name: "with another ID", server: handled(changed(func(answer *dns.Msg) { answer.Id++ })),
			silent: true, result: probe.Failed, observed: "answer to another question", message: "does not answer the question",
		},
		{
			name: "to another name", server: handled(changed(func(answer *dns.Msg) { answer.Question[0].Name = "other.example.com." })),
			silent: true, result: probe.Failed, observed: "answer to another question", message: "does not answer the question",
		},
		{
			name: "to another type", server: handled(changed(func(answer *dns.Msg) { answer.Question[0].Qtype = dns.TypeAAAA })),
			silent: true, result: probe.Failed, observed: "answer to another question", message: "does not answer the question",
		},
		{
			name: "without the question", server: handled(changed(func(answer *dns.Msg) { answer.Question = nil })),
			silent: true, result: probe.Failed, observed: "answer to another question", message: "does not answer the question",
		},
		{
			name: "an echo", server: handled(changed(func(answer *dns.Msg) { answer.Response = false })),
			silent: true, result: probe.Failed, observed: "answer to another question", message: "does not answer the question",
		},
		{
			name: "to another question, over TCP", server: handled(changed(func(answer *dns.Msg) { answer.Id++ })), tcp: true,
			silent: true, result: probe.Failed, observed: "answer to another question", message: "does not answer the question",
		},
		{
			name:   "in other letters",
			server: handled(changed(func(answer *dns.Msg) { answer.Question[0].Name = strings.ToUpper(answer.Question[0].Name) })),
			result: probe.OK, observed: "192.0.2.10",
		},
		{
			name: "a forged one before the right one", result: probe.OK, observed: "192.0.2.10",
			server: handled(func(w dns.ResponseWriter, question *dns.Msg) {
				forged := new(dns.Msg).SetReply(question)
				forged.Id++
				_ = w.WriteMsg(forged)
				records("@ 60 IN A 192.0.2.10")(w, question)
			}),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			request := probe.Request{
				Domain: domain, IP: endpoint,
				VLAN: probe.Resolver{Server: tt.server.start(t), Expected: endpoint, TCP: tt.tcp},
			}
			if tt.silent {
				request.Attempt.Timeout = longer
			}
			compareDNS(t, verify(t, request)[probe.VLANDNS], tt)
		})
	}
}

func compareDNS(t *testing.T, got probe.Path, tt dnsCase) {
	t.Helper()
	want := probe.Path{
		Name: got.Name, Result: tt.result, Asked: got.Asked, Expected: endpoint.String(), Observed: tt.observed, Message: got.Message,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(got.Message, tt.message) {
		t.Errorf("message %q, want %q in it", got.Message, tt.message)
	}
}

func TestDNSClosedPorts(t *testing.T) {
	t.Parallel()

	t.Run("UDP", func(t *testing.T) {
		t.Parallel()
		got := verify(t, probe.Request{Domain: domain, IP: endpoint, Pod: probe.Resolver{Server: closedUDP(t), Expected: endpoint}})
		compareDNS(t, got[probe.PodDNS], dnsCase{result: probe.Failed, observed: "connection refused", message: "nothing listens"})
	})
	t.Run("TCP", func(t *testing.T) {
		t.Parallel()
		server := netip.AddrPortFrom(loopback, closedTCP(t))
		got := verify(t, probe.Request{Domain: domain, IP: endpoint, Public: probe.Resolver{Server: server, Expected: endpoint, TCP: true}})
		compareDNS(t, got[probe.PublicDNS], dnsCase{result: probe.Failed, observed: "connection refused", message: "nothing listens"})
	})
	t.Run("TCP of a server that truncates", func(t *testing.T) {
		t.Parallel()
		got := verify(t, probe.Request{Domain: domain, IP: endpoint, VLAN: probe.Resolver{Server: truncatingServer(t), Expected: endpoint}})
		compareDNS(t, got[probe.VLANDNS], dnsCase{result: probe.Failed, observed: "truncated answer", message: "open for TCP"})
	})
}

func TestDNSQuestion(t *testing.T) {
	t.Parallel()

	for _, label := range []string{"", "console"} {
		t.Run("label "+label, func(t *testing.T) {
			t.Parallel()
			var lock sync.Mutex
			names := map[string]bool{}
			server := dnsServer{HandlerFunc: func(w dns.ResponseWriter, question *dns.Msg) {
				lock.Lock()
				defer lock.Unlock()
				names[question.Question[0].Name] = true
				edns := question.IsEdns0()
				if len(question.Question) != 1 || question.Question[0].Qtype != dns.TypeA || !question.RecursionDesired ||
					edns == nil || edns.UDPSize() != 1232 {
					t.Errorf("question: %s", question)
				}
				records("@ 60 IN A 192.0.2.10")(w, question)
			}}
			verify(t, probe.Request{
				Domain: domain + ".", Label: label, IP: endpoint,
				VLAN: probe.Resolver{Server: server.start(t), Expected: endpoint},
			})

			lock.Lock()
			defer lock.Unlock()
			if label != "" {
				if diff := cmp.Diff(map[string]bool{label + "." + domain + ".": true}, names); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				return
			}
			if len(names) != 2 {
				t.Errorf("two runs asked for %v, not for a new name each", names)
			}
			for name := range names {
				if !strings.HasPrefix(name, "oooi-") || !strings.HasSuffix(name, "."+domain+".") {
					t.Errorf("asked for %s", name)
				}
			}
		})
	}
}

func TestPublicDNSOfHostname(t *testing.T) {
	t.Parallel()

	const host = "lb.example.com"
	// zone answers for the host name with one half, for all others with the other.
	zone := func(ofHost, ofName []string) dnsServer {
		return handled(func(w dns.ResponseWriter, question *dns.Msg) {
			if question.Question[0].Name == host+"." {
				records(ofHost...)(w, question)
				return
			}
			records(ofName...)(w, question)
		})
	}
	tests := []struct {
		name     string
		server   dnsServer
		silent   bool
		result   probe.Result
		observed string
		message  string
	}{
		{"an alias", zone(nil, []string{"@ 60 IN CNAME lb.example.com.", "lb.example.com. 60 IN A 192.0.2.77"}), false, probe.OK, host, ""},
		{"an alias that the server does not follow", zone(nil, []string{"@ 60 IN CNAME LB.example.com."}), false, probe.OK, host, ""},
		{
			"on the way to another", zone(nil, []string{"@ 60 IN CNAME lb.example.com.", "lb.example.com. 60 IN CNAME x.example.net."}),
			false, probe.OK, host + " → x.example.net", "",
		},
		{
			"the same addresses",
			zone([]string{"@ 60 IN A 192.0.2.1", "@ 60 IN A 192.0.2.2"}, []string{"@ 60 IN A 192.0.2.2", "@ 60 IN A 192.0.2.1"}),
			false, probe.OK, "the addresses of " + host, "",
		},
		{
			"other addresses", zone([]string{"@ 60 IN A 192.0.2.1"}, []string{"@ 60 IN A 192.0.2.2"}),
			false, probe.Failed, "192.0.2.2", "no alias of lb.example.com and has not its addresses",
		},
		{
			"another alias", zone([]string{"@ 60 IN A 192.0.2.1"}, []string{"@ 60 IN CNAME old.example.com.", "old.example.com. 60 IN A 192.0.2.2"}),
			false, probe.Failed, "old.example.com → 192.0.2.2", "no alias of lb.example.com",
		},
		{"a host name without address", zone(nil, []string{"@ 60 IN A 192.0.2.2"}), false, probe.Failed, "192.0.2.2", "has no address there"},
		{"nothing on both sides", zone(nil, nil), false, probe.Failed, "no A record", "missing in the public zone"},
		{"no such name", handled(rcode(dns.RcodeNameError)), false, probe.Failed, "NXDOMAIN", "missing in the public zone"},
		{
			"an alias of nothing", handled(reply(func(question dns.Question, answer *dns.Msg) {
				answer.Rcode = dns.RcodeNameError
				answer.Answer = []dns.RR{&dns.CNAME{
					Hdr:    dns.RR_Header{Name: question.Name, Rrtype: dns.TypeCNAME, Class: dns.ClassINET},
					Target: "lb.example.com.",
				}}
			})), false, probe.Failed, "lb.example.com → NXDOMAIN", "missing in the public zone",
		},
		{
			"silent for the host name", handled(func(w dns.ResponseWriter, question *dns.Msg) {
				if question.Question[0].Name != host+"." {
					records("@ 60 IN A 192.0.2.2")(w, question)
				}
			}), true, probe.Failed, "no answer", "stops answering",
		},
		{"silent", handled(silence), true, probe.Failed, "no answer", "nothing comes back"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := tt.server.start(t)
			request := probe.Request{
				Domain: domain, Hostname: host,
				VLAN: probe.Resolver{Server: server}, Pod: probe.Resolver{Server: server}, Public: probe.Resolver{Server: server},
			}
			if tt.silent {
				request.Attempt.Timeout = longer
			}
			got := verify(t, request)
			want := probe.Path{Name: probe.PublicDNS, Result: tt.result, Asked: server.String(), Expected: host, Observed: tt.observed}
			want.Message = got[probe.PublicDNS].Message
			if diff := cmp.Diff(want, got[probe.PublicDNS]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.Contains(want.Message, tt.message) {
				t.Errorf("message %q, want %q in it", want.Message, tt.message)
			}
			for _, name := range []string{probe.VLANDNS, probe.PodDNS} {
				if path := got[name]; path.Result != probe.NotConfigured || path.Expected != "" || !strings.Contains(path.Message, "host name") {
					t.Errorf("%+v", path)
				}
			}
		})
	}
}

func handled(handler dns.HandlerFunc) dnsServer { return dnsServer{HandlerFunc: handler} }

// truncating answers over UDP that the answer does not fit.
func truncating(whole dns.HandlerFunc) dns.HandlerFunc {
	return func(w dns.ResponseWriter, question *dns.Msg) {
		if isTCP(w) {
			whole(w, question)
			return
		}
		answer := new(dns.Msg).SetReply(question)
		answer.Truncated = true
		_ = w.WriteMsg(answer)
	}
}

// noEDNS rejects what has EDNS in it.
func noEDNS(code int, bare bool) dns.HandlerFunc {
	return func(w dns.ResponseWriter, question *dns.Msg) {
		if question.IsEdns0() == nil {
			records("@ 60 IN A 192.0.2.10")(w, question)
			return
		}
		answer := new(dns.Msg).SetRcode(question, code)
		if bare {
			answer.Question = nil
		}
		if code == dns.RcodeBadVers {
			answer.SetEdns0(512, false)
		}
		_ = w.WriteMsg(answer)
	}
}

func changed(change func(*dns.Msg)) dns.HandlerFunc {
	return func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		record, err := dns.NewRR(question.Question[0].Name + " 60 IN A 192.0.2.10")
		if err != nil {
			panic(err)
		}
		answer.Answer = []dns.RR{record}
		change(answer)
		_ = w.WriteMsg(answer)
	}
}

func raw(packet string) dns.HandlerFunc {
	return func(w dns.ResponseWriter, _ *dns.Msg) { _, _ = w.Write([]byte(packet)) }
}

func closing(w dns.ResponseWriter, _ *dns.Msg) { _ = w.Close() }
