package probe_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

const (
	domain  = "apps.demo.clusters.example.com"
	short   = 100 * time.Millisecond // for what has to run out
	longer  = 500 * time.Millisecond // for what has to run out after something else
	patient = 30 * time.Second       // for what must not, on a busy machine either
)

var (
	loopback = netip.MustParseAddr("127.0.0.1")
	inside   = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	another  = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
	order    = []string{
		probe.VLANDNS, probe.EndpointHTTP, probe.EndpointHTTPS, probe.PodDNS, probe.ProxyHTTP, probe.ProxyHTTPS, probe.PublicDNS,
	}
)

// verify checks twice: the same situation has to give the same paths, all of them, in order.
func verify(t *testing.T, request probe.Request) map[string]probe.Path {
	t.Helper()
	if request.Attempt.Timeout == 0 {
		request.Attempt.Timeout = patient
	}
	var (
		runs    [2][]probe.Path
		running sync.WaitGroup
	)
	for i := range runs {
		running.Go(func() { runs[i] = probe.Verify(t.Context(), request) })
	}
	running.Wait()
	if diff := cmp.Diff(runs[0], runs[1]); diff != "" {
		t.Errorf("a second run differs:\n%s", diff)
	}
	return byName(t, runs[0])
}

func byName(t *testing.T, paths []probe.Path) map[string]probe.Path {
	t.Helper()
	var names []string
	found := map[string]probe.Path{}
	for _, path := range paths {
		names = append(names, path.Name)
		found[path.Name] = path
		if (path.Result == probe.OK) != (path.Message == "") {
			t.Errorf("%s is %s with the message %q", path.Name, path.Result, path.Message)
		}
		switch path.Result {
		case probe.OK, probe.Failed, probe.NotConfigured, probe.NotTestable:
		default:
			t.Errorf("%s has the result %q", path.Name, path.Result)
		}
	}
	if diff := cmp.Diff(order, names); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	return found
}

// dnsServer answers on a port of its own.
type dnsServer struct {
	networks []string // default: both
	dns.HandlerFunc
}

func (s dnsServer) start(tb testing.TB) netip.AddrPort {
	tb.Helper()
	if s.networks == nil {
		s.networks = []string{"udp", "tcp"}
	}
	const tries = 20
	for range tries {
		packets, err := new(net.ListenConfig).ListenPacket(tb.Context(), "udp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		address := packets.LocalAddr().String()
		streams, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", address)
		if err != nil {
			_ = packets.Close() // another has this port
			continue
		}
		for _, network := range s.networks {
			server := &dns.Server{Handler: s.HandlerFunc}
			if network == "udp" {
				server.PacketConn = packets
			} else {
				server.Listener = streams
			}
			serve(tb, server)
		}
		// The port of the network that it does not serve stays taken, and silent.
		tb.Cleanup(func() { _, _ = packets.Close(), streams.Close() })
		return netip.MustParseAddrPort(address)
	}
	tb.Fatal("no port is free in UDP and TCP")
	return netip.AddrPort{}
}

func serve(tb testing.TB, server *dns.Server) {
	tb.Helper()
	started, ended := make(chan struct{}), make(chan struct{})
	server.NotifyStartedFunc = func() { close(started) }
	go func() {
		defer close(ended)
		_ = server.ActivateAndServe()
	}()
	<-started
	tb.Cleanup(func() {
		_ = server.Shutdown()
		<-ended
	})
}

// reply makes a handler of what is to be written into an answer.
func reply(write func(question dns.Question, answer *dns.Msg)) dns.HandlerFunc {
	return func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		write(question.Question[0], answer)
		_ = w.WriteMsg(answer)
	}
}

// records answers with these, "@" being the name that is asked for.
func records(zone ...string) dns.HandlerFunc {
	return reply(func(question dns.Question, answer *dns.Msg) {
		for _, line := range zone {
			record, err := dns.NewRR("$ORIGIN " + question.Name + "\n" + line)
			if err != nil {
				panic(err)
			}
			answer.Answer = append(answer.Answer, record)
		}
	})
}

func rcode(code int) dns.HandlerFunc {
	return reply(func(_ dns.Question, answer *dns.Msg) { answer.Rcode = code })
}

func silence(dns.ResponseWriter, *dns.Msg) {}

func isTCP(w dns.ResponseWriter) bool { return w.RemoteAddr().Network() == "tcp" }

// tcpServer gives each connection to the function, and closes it then.
func tcpServer(t *testing.T, handle func(net.Conn)) uint16 {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				handle(conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return portOf(listener.Addr().String())
}

func portOf(address string) uint16 { return netip.MustParseAddrPort(address).Port() }

// closedTCP is a port that refuses connections, and that nobody else gets: it is the near end of a connection.
func closedTCP(t *testing.T) uint16 {
	t.Helper()
	port, err := nearEnd(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func nearEnd(t *testing.T, port uint16) (uint16, error) {
	t.Helper()
	release := make(chan struct{})
	far := tcpServer(t, func(net.Conn) { <-release })
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(loopback, port))}
	conn, err := dialer.DialContext(t.Context(), "tcp", netip.AddrPortFrom(loopback, far).String())
	t.Cleanup(func() { close(release) })
	if err != nil {
		return 0, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	return portOf(conn.LocalAddr().String()), nil
}

// truncatingServer truncates over UDP, and refuses TCP.
func truncatingServer(t *testing.T) netip.AddrPort {
	t.Helper()
	for {
		packets, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := netip.MustParseAddrPort(packets.LocalAddr().String())
		if _, err := nearEnd(t, address.Port()); err != nil {
			_ = packets.Close() // another has this port
			continue
		}
		serve(t, &dns.Server{PacketConn: packets, Handler: truncating(nil)})
		return address
	}
}

// closedUDP refuses packets: it is connected to another.
func closedUDP(t *testing.T) netip.AddrPort {
	t.Helper()
	dialer := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(loopback, 0))}
	conn, err := dialer.DialContext(t.Context(), "udp", "127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return netip.MustParseAddrPort(conn.LocalAddr().String())
}

// limited gives a context that ends soon.
func limited(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}
