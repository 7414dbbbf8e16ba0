package netlab

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/miekg/dns"
)

const (
	upstreamTTL   = 1 // nobody shall remember what a test has changed
	longestCNAMEs = 8
)

// Upstream is the DNS of the rest of the world: a resolver that knows the names a test tells it, and no others.
type Upstream struct {
	Address netip.AddrPort

	servers []*dns.Server
	serving sync.WaitGroup

	mutex sync.RWMutex
	names map[string][]string
}

// StartUpstream listens at an address of the namespace, UDP and TCP, until Close. The context only bounds the start.
func StartUpstream(ctx context.Context, namespace *Namespace, address netip.AddrPort) (*Upstream, error) {
	packets, err := namespace.ListenPacket(ctx, "udp", address.String())
	if err != nil {
		return nil, fmt.Errorf("starting the upstream DNS: %w", err)
	}
	listener, err := namespace.Listen(ctx, "tcp", address.String())
	if err != nil {
		_ = packets.Close() // nothing was read
		return nil, fmt.Errorf("starting the upstream DNS: %w", err)
	}
	u := &Upstream{Address: address, names: map[string][]string{}}
	u.servers = []*dns.Server{
		{PacketConn: packets, Handler: dns.HandlerFunc(u.answer)},
		{Listener: listener, Handler: dns.HandlerFunc(u.answer)},
	}
	for _, server := range u.servers {
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		u.serving.Go(func() { _ = server.ActivateAndServe() }) // it serves from a socket that is open: it ends with Close
		<-started
	}
	return u, nil
}

// Close ends the resolver.
func (u *Upstream) Close() {
	for _, server := range u.servers {
		_ = server.Shutdown() // the only error is that it has ended
	}
	u.serving.Wait()
}

// Set makes a name have these addresses, and no others. What is not an IP address is the name that it is an alias of.
// "*.example.com" is every name below example.com that was not set itself. Without addresses the name is forgotten.
func (u *Upstream) Set(name string, addresses ...string) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if len(addresses) == 0 {
		delete(u.names, dns.CanonicalName(name))
		return
	}
	u.names[dns.CanonicalName(name)] = slices.Clone(addresses)
}

// lookup finds what was set for a name, or for the closest wildcard above it.
func (u *Upstream) lookup(name string) ([]string, bool) {
	u.mutex.RLock()
	defer u.mutex.RUnlock()
	name = dns.CanonicalName(name)
	addresses, known := u.names[name]
	for !known && name != "" {
		_, name, _ = strings.Cut(name, ".")
		addresses, known = u.names["*."+name]
	}
	return addresses, known
}

func (u *Upstream) answer(w dns.ResponseWriter, request *dns.Msg) {
	reply := new(dns.Msg)
	reply.SetReply(request)
	reply.Authoritative = true
	reply.RecursionAvailable = true
	if len(request.Question) == 1 {
		question := request.Question[0]
		reply.Answer, reply.Rcode = u.records(question.Name, question.Qtype)
	} else {
		reply.Rcode = dns.RcodeFormatError
	}
	_ = w.WriteMsg(reply) // who has gone needs no answer
}

// records follow aliases to their end, as a resolver does for its clients.
func (u *Upstream) records(name string, kind uint16) ([]dns.RR, int) {
	var records []dns.RR
	for range longestCNAMEs {
		values, known := u.lookup(name)
		if !known {
			return records, dns.RcodeNameError
		}
		alias := ""
		for _, value := range values {
			if address, err := netip.ParseAddr(value); err != nil {
				alias = dns.Fqdn(value)
				records = append(records, &dns.CNAME{Hdr: header(name, dns.TypeCNAME), Target: alias})
			} else if record := addressRecord(name, address); record.Header().Rrtype == kind {
				records = append(records, record)
			}
		}
		if alias == "" || kind == dns.TypeCNAME {
			return records, dns.RcodeSuccess
		}
		name = alias
	}
	return records, dns.RcodeServerFailure
}

func addressRecord(name string, address netip.Addr) dns.RR {
	if address.Is4() {
		return &dns.A{Hdr: header(name, dns.TypeA), A: address.AsSlice()}
	}
	return &dns.AAAA{Hdr: header(name, dns.TypeAAAA), AAAA: address.AsSlice()}
}

func header(name string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: upstreamTTL}
}
