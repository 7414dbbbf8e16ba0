package acceptance

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/certificates"
)

// nameServer is a DNS server on loopback, over UDP and TCP.
func nameServer(t *testing.T, handler dns.HandlerFunc) string {
	t.Helper()
	for {
		packets := udpPort(t)
		address := packets.LocalAddr().String()
		streams, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			continue // another has this port
		}
		serveDNS(t, &dns.Server{PacketConn: packets, Handler: handler})
		serveDNS(t, &dns.Server{Listener: streams, Handler: handler})
		return address
	}
}

// udpOnly is a DNS server that refuses TCP.
func udpOnly(t *testing.T, handler dns.HandlerFunc) string {
	t.Helper()
	for {
		packets := udpPort(t)
		address := netip.MustParseAddrPort(packets.LocalAddr().String())
		if _, err := closedPort(t, address.Port()); err != nil {
			continue
		}
		serveDNS(t, &dns.Server{PacketConn: packets, Handler: handler})
		return address.String()
	}
}

// udpPort takes packets, and says nothing by itself.
func udpPort(t *testing.T) net.PacketConn {
	t.Helper()
	packets, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = packets.Close() })
	return packets
}

func serveDNS(t *testing.T, server *dns.Server) {
	t.Helper()
	started, ended := make(chan struct{}), make(chan struct{})
	server.NotifyStartedFunc = func() { close(started) }
	go func() {
		defer close(ended)
		_ = server.ActivateAndServe()
	}()
	<-started
	t.Cleanup(func() {
		_ = server.Shutdown()
		<-ended
	})
}

// answering is the handler of a server with this address for every name; without one, there is no such name.
func answering(address func() string) dns.HandlerFunc {
	return func(w dns.ResponseWriter, question *dns.Msg) {
		reply := new(dns.Msg).SetReply(question)
		if a := net.ParseIP(address()); a == nil {
			reply.Rcode = dns.RcodeNameError
		} else {
			header := dns.RR_Header{Name: question.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}
			reply.Answer = []dns.RR{&dns.A{Hdr: header, A: a}}
		}
		_ = w.WriteMsg(reply)
	}
}

func always(address string) dns.HandlerFunc { return answering(func() string { return address }) }

// truncating has no room for an answer over UDP.
func truncating(whole dns.HandlerFunc) dns.HandlerFunc {
	return func(w dns.ResponseWriter, question *dns.Msg) {
		if w.RemoteAddr().Network() == "tcp" {
			whole(w, question)
			return
		}
		reply := new(dns.Msg).SetReply(question)
		reply.Truncated = true
		_ = w.WriteMsg(reply)
	}
}

// closedPort refuses connections, and nobody else gets it: it is the near end of a connection. 0 is any.
func closedPort(t *testing.T, port uint16) (uint16, error) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port))}
	conn, err := dialer.DialContext(t.Context(), "tcp", silentPort(t).String())
	if err != nil {
		return 0, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	return netip.MustParseAddrPort(conn.LocalAddr().String()).Port(), nil
}

func mustClosedPort(t *testing.T) uint16 {
	t.Helper()
	port, err := closedPort(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// silentPort has connections taken, by the kernel, and nothing said.
func silentPort(t *testing.T) netip.AddrPort {
	t.Helper()
	return netip.MustParseAddrPort(tcpPort(t).Addr().String())
}

func tcpPort(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// cuttingPort ends each connection at its first byte.
func cuttingPort(t *testing.T) uint16 {
	t.Helper()
	listener := tcpPort(t)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1))
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return netip.MustParseAddrPort(listener.Addr().String()).Port()
}

// router answers like an application behind a router; with a certificate, over TLS.
func router(t *testing.T, pairs ...tls.Certificate) uint16 {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // who does not like a certificate hangs up
	if len(pairs) > 0 {
		server.TLS = &tls.Config{Certificates: pairs, MinVersion: tls.VersionTLS12}
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return netip.MustParseAddrPort(server.Listener.Addr().String()).Port()
}

// newAuthority signs certificates.
func newAuthority(t *testing.T) *certificates.Authority {
	t.Helper()
	authority, err := certificates.NewAuthority("ingress-operator")
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

// issue makes a certificate for a name, valid until a time; zero: long enough.
func issue(t *testing.T, authority *certificates.Authority, name string, until time.Time) tls.Certificate {
	t.Helper()
	certificate, err := authority.Issue(certificates.Request{Hosts: []string{name}, NotAfter: until})
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
