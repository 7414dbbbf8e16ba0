package probe_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

// webServer is an HTTP server; with a certificate, an HTTPS server.
func webServer(tb testing.TB, certificate *tls.Certificate, handler http.HandlerFunc) uint16 {
	tb.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if certificate == nil {
		server.Start()
	} else {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}
		server.StartTLS()
	}
	tb.Cleanup(server.Close)
	return portOf(server.Listener.Addr().String())
}

// certificate makes one that signs itself, and a pool that trusts it.
func certificate(tb testing.TB, template x509.Certificate) (*tls.Certificate, *x509.CertPool) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1)
	template.NotBefore = time.Now().Add(-48 * time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(48 * time.Hour)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign
	template.BasicConstraintsValid, template.IsCA = true, true
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func wildcard() x509.Certificate { return x509.Certificate{DNSNames: []string{"*." + domain}} }

func text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func stuck(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "https://login.example.com/", http.StatusFound)
}

// flushed answers with a part of the body and keeps the rest.
func flushed(part string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, part)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// endless never stops writing.
func endless(w http.ResponseWriter, r *http.Request) {
	piece := strings.Repeat("x", 1<<16)
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
	}
}

// says reads a request and writes what it is told to, whatever that is.
func says(what string) func(net.Conn) {
	return func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, what)
		}
	}
}

// reset lets the other side see a reset instead of an end.
func reset(conn net.Conn) {
	_, _ = http.ReadRequest(bufio.NewReader(conn))
	if conn, ok := conn.(*net.TCPConn); ok {
		_ = conn.SetLinger(0)
	}
}

func cutAtOnce(net.Conn) {}

func cutAfterHello(conn net.Conn) { _, _ = conn.Read(make([]byte, 1<<16)) }

// mute takes all and says nothing.
func mute(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// demanding is an HTTPS server that lets nobody in without a certificate. With TLS 1.3 a client hears that only when it waits for
// the answer.
func demanding(version uint16) func(*testing.T) uint16 {
	return func(t *testing.T) uint16 {
		t.Helper()
		certificate, _ := certificate(t, wildcard())
		server := httptest.NewUnstartedServer(text(200, ""))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.TLS = &tls.Config{
			Certificates: []tls.Certificate{*certificate}, ClientAuth: tls.RequireAnyClientCert, MinVersion: version, MaxVersion: version,
		}
		server.StartTLS()
		t.Cleanup(server.Close)
		return portOf(server.Listener.Addr().String())
	}
}

type webCase struct {
	name     string
	port     func(*testing.T) uint16
	web      probe.Web
	short    bool
	result   probe.Result
	expected string // default: any answer
	observed string
	message  string
}

func TestHTTP(t *testing.T) {
	t.Parallel()

	web := func(handler http.HandlerFunc) func(*testing.T) uint16 {
		return func(t *testing.T) uint16 { t.Helper(); return webServer(t, nil, handler) }
	}
	tcp := func(handle func(net.Conn)) func(*testing.T) uint16 {
		return func(t *testing.T) uint16 { t.Helper(); return tcpServer(t, handle) }
	}
	tests := []webCase{
		{name: "an answer", port: web(text(200, "hello")), result: probe.OK, observed: "HTTP 200"},
		{name: "no route", port: web(text(503, "")), result: probe.OK, observed: "HTTP 503"},
		{name: "a redirect is not followed", port: web(redirect), result: probe.OK, observed: "HTTP 302"},
		{name: "a status", port: web(text(204, "")), web: probe.Web{Status: 204}, result: probe.OK, expected: "HTTP 204", observed: "HTTP 204"},
		{
			name: "another status", port: web(text(404, "")), web: probe.Web{Status: 200},
			result: probe.Failed, expected: "HTTP 200", observed: "HTTP 404", message: "the answer is HTTP 404 instead of HTTP 200",
		},
		{
			name: "no route, which is expected", port: web(text(503, "")), web: probe.Web{Status: 200},
			result: probe.Failed, expected: "HTTP 200", observed: "HTTP 503", message: "no route for the name",
		},
		{
			name: "a redirect for a status", port: web(redirect), web: probe.Web{Status: 200},
			result: probe.Failed, expected: "HTTP 200", observed: "HTTP 302", message: "a redirect",
		},
		{
			name: "a body", port: web(text(200, "<h1>Hello\nworld")), web: probe.Web{Status: 200, Body: "Hello\nworld"},
			result: probe.OK, expected: `HTTP 200 with "Hello\nworld"`, observed: "HTTP 200",
		},
		{
			name: "the end of a long body", port: web(text(200, strings.Repeat("x", 4090)+"the text")), web: probe.Web{Body: "the text"},
			result: probe.OK, expected: `an HTTP answer with "the text"`, observed: "HTTP 200",
		},
		{
			name: "another body", port: web(text(200, "Bye")), web: probe.Web{Body: "Hello"},
			result: probe.Failed, expected: `an HTTP answer with "Hello"`, observed: "HTTP 200 without the text", message: "something else answers",
		},
		{
			name: "a body without end", port: web(endless), web: probe.Web{Body: "Hello"},
			result: probe.Failed, expected: `an HTTP answer with "Hello"`, observed: "HTTP 200 without the text", message: "something else answers",
		},
		{
			name: "what is wanted is there before the end of the body", port: web(flushed("Hello")), web: probe.Web{Body: "Hello"},
			result: probe.OK, expected: `an HTTP answer with "Hello"`, observed: "HTTP 200",
		},
		{name: "the body does not matter", port: web(flushed("Hello")), result: probe.OK, observed: "HTTP 200"},
		{
			name: "a slow body", port: web(flushed("Hel")), web: probe.Web{Body: "Hello"}, short: true,
			result: probe.Failed, expected: `an HTTP answer with "Hello"`, observed: "HTTP 200, then no answer", message: "while reading the body",
		},
		{
			name: "a body that is cut", port: tcp(says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nHel")), web: probe.Web{Body: "Hello"},
			result: probe.Failed, expected: `an HTTP answer with "Hello"`, observed: "HTTP 200, then connection closed or reset", message: "ends it",
		},
		{
			name: "slow headers", port: web(stuck), short: true,
			result: probe.Failed, observed: "no answer", message: "while waiting for the answer",
		},
		{
			name: "half a header", port: tcp(says("HTTP/1.1 200")),
			result: probe.Failed, observed: "connection closed or reset", message: "ends it",
		},
		{
			name: "a word before the answer", port: tcp(says("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")),
			result: probe.OK, observed: "HTTP 200",
		},
		{name: "an old answer", port: tcp(says("HTTP/1.0 400 Bad Request\r\n\r\n")), result: probe.OK, observed: "HTTP 400"},
		{
			name: "another protocol", port: tcp(says("SSH-2.0-OpenSSH_9.9\r\n")),
			result: probe.Failed, observed: "not HTTP", message: "does not speak HTTP",
		},
		{
			name: "headers without end", port: tcp(says("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20))),
			result: probe.Failed, observed: "connection closed or reset", message: "ends it",
		},
		{name: "cut at once", port: tcp(cutAtOnce), result: probe.Failed, observed: "connection closed or reset", message: "ends it"},
		{name: "cut after the request", port: tcp(says("")), result: probe.Failed, observed: "connection closed or reset", message: "ends it"},
		{name: "reset", port: tcp(reset), result: probe.Failed, observed: "connection closed or reset", message: "ends it"},
		{name: "mute", port: tcp(mute), short: true, result: probe.Failed, observed: "no answer", message: "says no more"},
		{
			name: "closed", port: func(t *testing.T) uint16 { t.Helper(); return closedTCP(t) },
			result: probe.Failed, observed: "connection refused", message: "nothing listens",
		},
		{
			name: "a path that is none", port: web(text(200, "")), web: probe.Web{Path: "/\x7f"},
			result: probe.Failed, message: "not valid in a URL",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			request := probe.Request{
				Domain: domain, IP: loopback, HTTP: tt.port(t), Web: tt.web,
				Proxy: probe.Proxy{Address: loopback},
			}
			// Far away, so that only what comes back can fail it.
			request.VLAN.Inside, request.Proxy.Inside = another, another
			got := verifyWeb(t, request, tt)
			compareWeb(t, got[probe.EndpointHTTP], tt)
			compareWeb(t, got[probe.ProxyHTTP], tt)
			for _, name := range []string{probe.EndpointHTTPS, probe.ProxyHTTPS} {
				if path := got[name]; path.Result != probe.NotConfigured {
					t.Errorf("%+v", path)
				}
			}
		})
	}
}

func TestHTTPS(t *testing.T) {
	t.Parallel()

	web := func(template x509.Certificate, handler http.HandlerFunc) func(*testing.T) uint16 {
		return func(t *testing.T) uint16 {
			t.Helper()
			certificate, _ := certificate(t, template)
			return webServer(t, certificate, handler)
		}
	}
	tcp := func(handle func(net.Conn)) func(*testing.T) uint16 {
		return func(t *testing.T) uint16 { t.Helper(); return tcpServer(t, handle) }
	}
	const forWildcard = ", certificate for *." + domain
	tests := []webCase{
		{name: "an answer", port: web(wildcard(), text(200, "")), result: probe.OK, observed: "HTTP 200" + forWildcard},
		{
			name: "another status", port: web(wildcard(), text(404, "")), web: probe.Web{Status: 200},
			result: probe.Failed, expected: "HTTP 200", observed: "HTTP 404" + forWildcard, message: "the answer is HTTP 404 instead of HTTP 200",
		},
		{
			name: "another body", port: web(wildcard(), text(200, "Bye")), web: probe.Web{Body: "Hello"},
			result: probe.Failed, expected: `an HTTP answer with "Hello"`, observed: "HTTP 200 without the text" + forWildcard,
			message: "something else answers",
		},
		{
			name: "a certificate for many",
			port: web(x509.Certificate{
				DNSNames: []string{"d.example.com", "C.example.com", "b.example.com", "a.example.com", "b.example.com"},
			}, text(200, "")),
			result: probe.OK, observed: "HTTP 200, certificate for a.example.com, b.example.com, c.example.com and 1 more",
		},
		{
			name:   "a certificate with a common name only",
			port:   web(x509.Certificate{Subject: pkix.Name{CommonName: "ingress\u202e operator"}}, text(200, "")),
			result: probe.OK, observed: "HTTP 200, certificate for ingress? operator",
		},
		{
			name:   "a certificate with a very long name",
			port:   web(x509.Certificate{Subject: pkix.Name{CommonName: strings.Repeat("é", 200)}}, text(200, "")),
			result: probe.OK, observed: "HTTP 200, certificate for " + strings.Repeat("é", 100) + "…",
		},
		{
			name: "a certificate without a name", port: web(x509.Certificate{}, text(200, "")),
			result: probe.OK, observed: "HTTP 200, certificate without a name",
		},
		{
			name: "slow headers", port: web(wildcard(), stuck), short: true,
			result: probe.Failed, observed: "no answer", message: "while waiting for the answer",
		},
		{name: "cut at once", port: tcp(cutAtOnce), result: probe.Failed, observed: "TLS handshake cut", message: "ends it"},
		{name: "cut after the hello", port: tcp(cutAfterHello), result: probe.Failed, observed: "TLS handshake cut", message: "ends it"},
		{name: "mute", port: tcp(mute), short: true, result: probe.Failed, observed: "no answer", message: "while doing the TLS handshake"},
		{
			name: "HTTP without TLS", port: func(t *testing.T) uint16 { t.Helper(); return webServer(t, nil, text(200, "")) },
			result: probe.Failed, observed: "not TLS", message: "does not speak TLS",
		},
		{
			name: "rejected", port: func(t *testing.T) uint16 {
				t.Helper()
				return tcpServer(t, func(conn net.Conn) {
					_ = tls.Server(conn, &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
						return nil, fmt.Errorf("not for you")
					}}).HandshakeContext(t.Context())
				})
			},
			result: probe.Failed, observed: "TLS handshake failed", message: "do not agree on TLS",
		},
		{
			name: "a client certificate is demanded", port: demanding(tls.VersionTLS13),
			result: probe.Failed, observed: "TLS handshake failed", message: "client certificates",
		},
		{
			name: "a client certificate is demanded, with an old version", port: demanding(tls.VersionTLS12),
			result: probe.Failed, observed: "TLS handshake failed", message: "client certificates",
		},
		{
			name: "closed", port: func(t *testing.T) uint16 { t.Helper(); return closedTCP(t) },
			result: probe.Failed, observed: "connection refused", message: "nothing listens",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			request := probe.Request{
				Domain: domain, IP: loopback, HTTPS: tt.port(t), Web: tt.web,
				Proxy: probe.Proxy{Address: loopback},
			}
			request.VLAN.Inside, request.Proxy.Inside = another, another
			got := verifyWeb(t, request, tt)
			compareWeb(t, got[probe.EndpointHTTPS], tt)
			compareWeb(t, got[probe.ProxyHTTPS], tt)
		})
	}
}

// A connection that is reset as soon as it is there may be known to be so before it is known to be there. That is no other finding.
func TestResetAtOnce(t *testing.T) {
	t.Parallel()

	port := tcpServer(t, func(conn net.Conn) {
		if conn, ok := conn.(*net.TCPConn); ok {
			_ = conn.SetLinger(0)
		}
	})
	request := probe.Request{Domain: domain, IP: loopback, HTTP: port, HTTPS: port, Attempt: probe.Attempt{Timeout: patient}}
	const often = 300 // it is one of twenty
	for range often {
		got := byName(t, probe.Verify(t.Context(), request))
		compareWeb(t, got[probe.EndpointHTTP], webCase{result: probe.Failed, observed: "connection closed or reset", message: "ends it"})
		compareWeb(t, got[probe.EndpointHTTPS], webCase{result: probe.Failed, observed: "TLS handshake cut", message: "ends it"})
		if t.Failed() {
			return
		}
	}
}

func verifyWeb(t *testing.T, request probe.Request, tt webCase) map[string]probe.Path {
	t.Helper()
	if tt.short {
		request.Attempt.Timeout = longer
	}
	return verify(t, request)
}

func compareWeb(t *testing.T, got probe.Path, tt webCase) {
	t.Helper()
	if tt.expected == "" {
		tt.expected = "an HTTP answer"
	}
	want := probe.Path{
		Name: got.Name, Result: tt.result, Asked: got.Asked, Expected: tt.expected, Observed: tt.observed, Message: got.Message,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(got.Message, tt.message) {
		t.Errorf("message %q, want %q in it", got.Message, tt.message)
	}
}

func TestCertificateHasToBeValid(t *testing.T) {
	t.Parallel()

	const forWildcard = "certificate for *." + domain
	tests := []struct {
		name     string
		template x509.Certificate
		trusted  bool
		result   probe.Result
		observed string
		message  string
	}{
		{"valid", wildcard(), true, probe.OK, "HTTP 200, " + forWildcard, ""},
		{"of an unknown authority", wildcard(), false, probe.Failed, forWildcard, "unknown authority"},
		{
			"expired",
			x509.Certificate{DNSNames: []string{"*." + domain}, NotAfter: time.Now().Add(-24 * time.Hour)},
			true, probe.Failed, forWildcard, "expired",
		},
		{
			"for another name",
			x509.Certificate{DNSNames: []string{"*.apps.other.example.com"}},
			true, probe.Failed, "certificate for *.apps.other.example.com", "another name than *." + domain,
		},
		{
			"not for a server",
			x509.Certificate{DNSNames: []string{"*." + domain}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
			true, probe.Failed, forWildcard, "not valid for a server",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			certificate, roots := certificate(t, tt.template)
			if !tt.trusted {
				roots = x509.NewCertPool()
			}
			got := verify(t, probe.Request{
				Domain: domain, IP: loopback, HTTPS: webServer(t, certificate, text(200, "")),
				Web: probe.Web{Verify: true, Roots: roots},
			})[probe.EndpointHTTPS]
			compareWeb(t, got, webCase{result: tt.result, observed: tt.observed, message: tt.message})
		})
	}
}

// A certificate that is made for the name when it is asked for has the random label in it, which no text may have.
func TestCertificateOnDemand(t *testing.T) {
	t.Parallel()

	server := httptest.NewUnstartedServer(text(200, ""))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		made, _ := certificate(t, x509.Certificate{DNSNames: []string{hello.ServerName}})
		return made, nil
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	got := verify(t, probe.Request{Domain: domain, IP: loopback, HTTPS: portOf(server.Listener.Addr().String())})
	compareWeb(t, got[probe.EndpointHTTPS], webCase{result: probe.OK, observed: "HTTP 200, certificate for *." + domain})
}

// seen is what a server has seen of a request.
type seen struct{ SNI, Host, URI, Method, Proto string }

func TestRequest(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, path, uri string
	}{
		{"no path", "", "/"},
		{"a path", "/healthz?full=1", "/healthz?full=1"},
		{"a path without a slash", "healthz", "/healthz"},
		{"a path that looks like a host", "//other.example.com/", "//other.example.com/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var lock sync.Mutex
			requests := map[seen]int{}
			handler := func(w http.ResponseWriter, r *http.Request) {
				lock.Lock()
				defer lock.Unlock()
				one := seen{Host: r.Host, URI: r.RequestURI, Method: r.Method, Proto: r.Proto}
				if r.TLS != nil {
					one.SNI = r.TLS.ServerName
				}
				requests[one]++
				w.WriteHeader(http.StatusOK)
			}
			certificate, _ := certificate(t, wildcard())
			plain, secure := webServer(t, nil, handler), webServer(t, certificate, handler)
			// The first leads to the endpoint by its name, the second by its address.
			for _, request := range []probe.Request{{Hostname: "localhost"}, {IP: loopback, Hostname: "ignored.invalid"}} {
				request.Domain, request.Label, request.Web.Path = domain, "console", tt.path
				request.HTTP, request.HTTPS = plain, secure
				got := verify(t, request)
				compareWeb(t, got[probe.EndpointHTTP], webCase{result: probe.OK, observed: "HTTP 200"})
				compareWeb(t, got[probe.EndpointHTTPS], webCase{result: probe.OK, observed: "HTTP 200, certificate for *." + domain})
			}

			lock.Lock()
			defer lock.Unlock()
			name := "console." + domain
			want := map[seen]int{
				{Host: fmt.Sprintf("%s:%d", name, plain), URI: tt.uri, Method: http.MethodGet, Proto: "HTTP/1.1"}:             4,
				{SNI: name, Host: fmt.Sprintf("%s:%d", name, secure), URI: tt.uri, Method: http.MethodGet, Proto: "HTTP/1.1"}: 4,
			}
			if diff := cmp.Diff(want, requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// The end of a body that nobody wants is not waited for.
func TestUnwantedBody(t *testing.T) {
	t.Parallel()

	began := time.Now()
	got := verify(t, probe.Request{Domain: domain, IP: loopback, HTTP: webServer(t, nil, flushed("Hello"))})
	compareWeb(t, got[probe.EndpointHTTP], webCase{result: probe.OK, observed: "HTTP 200"})
	if took := time.Since(began); took > patient/2 {
		t.Errorf("took %s", took)
	}
}
