package probe

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStand(t *testing.T) {
	t.Parallel()

	var (
		here      = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("127.0.0.0/8")}
		elsewhere = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
		all       = standing{routed: true, member: true, silenceCounts: true}
		noRoute   = &net.OpError{Op: "dial", Net: "udp", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}
	)
	tests := []struct {
		name  string
		place Location
		err   error
		want  standing
	}{
		{"anywhere", Location{}, nil, all},
		{"inside", Location{Inside: here}, nil, all},
		{"inside, and not in another", Location{Inside: here, Outside: elsewhere}, nil, all},
		{"elsewhere", Location{Inside: elsewhere}, nil, standing{routed: true}},
		{"outside", Location{Outside: here}, nil, standing{routed: true}},
		{"inside and outside", Location{Inside: here, Outside: here}, nil, standing{routed: true, silenceCounts: true}},
		{"not outside", Location{Outside: elsewhere}, nil, standing{routed: true, member: true}},
		{"certainly", Location{Inside: elsewhere, Outside: here, Certain: true}, nil, all},
		{"no route", Location{}, noRoute, standing{}},
		{"no route, from inside", Location{Inside: here}, noRoute, standing{}},
		{"no route to the host", Location{}, syscall.EHOSTUNREACH, standing{}},
		{"no address of that family", Location{}, syscall.EADDRNOTAVAIL, standing{}},
		{"no route, but certainly", Location{Certain: true}, noRoute, all},
		{"another error", Location{Inside: here}, io.EOF, standing{routed: true}},
		{"another error, from anywhere", Location{}, io.EOF, all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCheck(Request{})
			if tt.err != nil {
				c.local = func(context.Context, string) (netip.Addr, error) {
					return netip.Addr{}, fmt.Errorf("looking: %w", tt.err)
				}
			}
			if got := c.stand(t.Context(), tt.place, "127.0.0.1:53"); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// To find out where this machine stands, the host name of an endpoint is looked up. A resolver that is silent leaves the time of
// the others to them.
func TestStandTakesNoLongerThanAnAttempt(t *testing.T) {
	t.Parallel()

	c := newCheck(Request{Attempt: Attempt{Timeout: time.Millisecond}})
	c.local = func(ctx context.Context, _ string) (netip.Addr, error) {
		<-ctx.Done()
		return netip.Addr{}, fmt.Errorf("looking: %w", ctx.Err())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got, want := c.stand(ctx, Location{}, "lb.example.com:80"), (standing{routed: true, member: true, silenceCounts: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if ctx.Err() != nil {
		t.Error("it took all the time there is")
	}
}

// Without a route nothing is asked: the servers that these paths lead to would refuse.
func TestNoRoute(t *testing.T) {
	t.Parallel()

	const port = 9
	loopback := netip.MustParseAddr("127.0.0.1")
	server := Resolver{Server: netip.AddrPortFrom(loopback, port), Expected: loopback}
	c := newCheck(Request{
		Domain: "apps.demo.clusters.example.com", IP: loopback, HTTP: port, HTTPS: port,
		VLAN: server, Pod: server, Public: server, Proxy: Proxy{Address: loopback},
	})
	c.local = func(context.Context, string) (netip.Addr, error) { return netip.Addr{}, syscall.ENETUNREACH }
	for _, path := range c.paths(t.Context()) {
		want := Path{Name: path.Name, Result: NotTestable, Expected: path.Expected, Message: textNoRoute}
		if diff := cmp.Diff(want, path); diff != "" || path.Expected == "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestFaultOf(t *testing.T) {
	t.Parallel()

	call := func(number syscall.Errno) error {
		return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", number)}
	}
	tests := []struct {
		name string
		err  error
		want fault
	}{
		{"refused", call(syscall.ECONNREFUSED), faultRefused},
		{"refused on Windows", call(windowsRefused), faultRefused},
		{"reset", call(syscall.ECONNRESET), faultCut},
		{"broken pipe", call(syscall.EPIPE), faultCut},
		{"end", io.EOF, faultCut},
		{"end in the middle", io.ErrUnexpectedEOF, faultCut},
		{"no route", call(syscall.EHOSTUNREACH), faultUnreachable},
		{"no network", call(syscall.ENETUNREACH), faultUnreachable},
		{"firewall", call(syscall.EPERM), faultBlocked},
		{"given up by the kernel", call(syscall.ETIMEDOUT), faultLate},
		{"deadline of the connection", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, faultLate},
		{"deadline", context.DeadlineExceeded, faultLate},
		{"cancelled", context.Canceled, faultLate},
		{"no such host", &net.DNSError{IsNotFound: true}, faultUnknownHost},
		{"lookup in vain", &net.DNSError{IsTimeout: true}, faultHostNotFound},
		{"anything", errors.New("anything"), faultOther},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := faultOf(fmt.Errorf("doing something: %w", tt.err)); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// Every text for what goes wrong, also for what cannot be made to go wrong on this machine alone.
func TestBrokenWeb(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name     string
		at       stage
		err      error
		silent   bool
		observed string
		message  string
	}{
		{"silence", connecting, os.ErrDeadlineExceeded, true, seenNothing, "while connecting: see whether the address"},
		{"nobody", connecting, syscall.EHOSTUNREACH, true, seenNothing, "while connecting: see whether the address"},
		{"silence in the middle", handshaking, os.ErrDeadlineExceeded, false, seenNothing, "while doing the TLS handshake: the endpoint takes"},
		{"firewall", connecting, syscall.EACCES, false, seenBlocked, "does not let the connection out"},
		{"too many files", connecting, syscall.EMFILE, false, seenUnmade, "cannot make the connection"},
		{"no such host", connecting, &net.DNSError{IsNotFound: true}, false, seenNoHost, "does not know the host name"},
		{"lookup in vain", connecting, &net.DNSError{IsTimeout: true}, true, seenNoLookup, "cannot look up"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := brokenWeb(tt.at, tt.err, endpointWords)
			if got.ok || got.silent != tt.silent || got.observed != tt.observed || !strings.Contains(got.message, tt.message) {
				t.Errorf("%+v", got)
			}
			for _, counts := range []bool{true, false} {
				want := Failed
				if tt.silent && !counts {
					want = NotTestable
				}
				if path := judge(Path{}, got, counts); path.Result != want {
					t.Errorf("silence counts %t: %+v", counts, path)
				}
			}
		})
	}
}

// What this machine has no means for is not said of the server.
func TestDNSWithoutMeans(t *testing.T) {
	t.Parallel()

	server := Resolver{Server: netip.AddrPortFrom(netip.MustParseAddr("fe80::1%no-such-link"), 53)}
	_, err := ask(t.Context(), server, "console.apps.demo.clusters.example.com")
	for _, err := range []error{err, fmt.Errorf("connecting: %w", syscall.EMFILE)} {
		got := brokenDNS(err, dnsWords[VLANDNS])
		if got.ok || got.late || got.silent || got.observed != seenUnmade || !strings.Contains(got.message, "cannot make the connection") {
			t.Errorf("%v: %+v", err, got)
		}
	}
}

// hasty has answered and closed before it was asked.
type hasty struct {
	net.Conn

	answer io.Reader
}

func (h hasty) Write([]byte) (int, error)       { return 0, syscall.EPIPE }
func (h hasty) Read(buffer []byte) (int, error) { return h.answer.Read(buffer) }
func (h hasty) Close() error                    { return nil }

// An answer counts also where the request did not get through any more.
func TestAnswerBeforeTheRequest(t *testing.T) {
	t.Parallel()

	c := newCheck(Request{Domain: "apps.demo.clusters.example.com"})
	for answer, want := range map[string]string{
		"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n": "HTTP 408", "SSH-2.0-OpenSSH\r\n": seenNoHTTP, "": seenCut,
	} {
		s := site{port: 80, words: endpointWords}
		request, err := c.request(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		got := c.fetch(hasty{answer: strings.NewReader(answer)}, s, request, "")
		if got.observed != want || got.ok != strings.HasPrefix(want, "HTTP ") {
			t.Errorf("%q: %+v", answer, got)
		}
	}
}

func TestUsualPortsAreNotInTheHost(t *testing.T) {
	t.Parallel()

	c := newCheck(Request{Domain: "apps.demo.clusters.example.com", Label: "console", HTTP: 80, HTTPS: 443})
	for _, path := range []string{EndpointHTTP, EndpointHTTPS} {
		request, err := c.request(t.Context(), c.endpoint(path))
		if err != nil {
			t.Fatal(err)
		}
		if request.Host != "console.apps.demo.clusters.example.com" || request.Method != http.MethodGet {
			t.Errorf("%s %s", request.Method, request.Host)
		}
	}
}

func TestDistrustOfNothing(t *testing.T) {
	t.Parallel()

	c := newCheck(Request{})
	if got := c.distrust([]*x509.Certificate{}); got == "" {
		t.Error("no certificate is trusted")
	}
}

func TestLateness(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	found := Attempt{Count: 3}.run(ctx, true, func(context.Context) finding {
		t.Error("an attempt without time")
		return finding{}
	})
	if found.ok || found.silent || found.message != textOutOfTime {
		t.Errorf("%+v", found)
	}
}

// Silence is worth another attempt where it counts, and after an answer.
func TestAttemptsAtSilence(t *testing.T) {
	t.Parallel()

	silence, answer := finding{silent: true}, finding{observed: "an answer"}
	for _, tt := range []struct {
		name   string
		counts bool
		found  []finding
		want   int
	}{
		{"it counts", true, []finding{silence, silence, silence}, 3},
		{"it does not", false, []finding{silence, silence, silence}, 1},
		{"it does not, but there was an answer", false, []finding{answer, silence, silence}, 3},
	} {
		attempts := 0
		Attempt{Count: len(tt.found)}.run(t.Context(), tt.counts, func(context.Context) finding {
			attempts++
			return tt.found[attempts-1]
		})
		if attempts != tt.want {
			t.Errorf("%s: %d attempts, want %d", tt.name, attempts, tt.want)
		}
	}
}
