package netlab

import (
	"crypto/x509"
	"errors"
	"net/netip"
	"os"
	"syscall"
	"testing"
)

func TestLookupA(t *testing.T) {
	t.Parallel()
	needNetwork(t)
	n := newTestNamespace(t)
	server := netip.MustParseAddrPort("127.0.0.1:53")
	if _, err := n.LookupA(t.Context(), server.String(), "one.example.com"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("without a server: %v", err)
	}
	upstream, err := StartUpstream(t.Context(), n, server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	upstream.Set("two.example.com", "198.51.100.2", "198.51.100.1", "2001:db8::1")
	upstream.Set("alias.example.com", "two.example.com")
	upstream.Set("six.example.com", "2001:db8::1")
	for name, want := range map[string]string{
		"two.example.com": "198.51.100.1 198.51.100.2", "alias.example.com": "198.51.100.1 198.51.100.2",
		"six.example.com": "", "none.example.com": "NXDOMAIN",
	} {
		if got, err := n.LookupA(t.Context(), server.String(), name); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	needNetwork(t)
	n := newTestNamespace(t)
	own, other := testRouterCertificate(t), testRouterCertificate(t)
	router := newRouter("worker-1", "apps.example.com", own.leaf)
	for scheme, address := range map[string]string{"http": "127.0.0.1:80", "https": "127.0.0.1:443"} {
		server, err := router.serve(t.Context(), n, netip.MustParseAddrPort(address), scheme)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
	}
	lab, at := &Lab{CA: own.ca}, To(netip.MustParseAddr("127.0.0.1"))
	if got, err := lab.Fetch(t.Context(), n, at, "http://hello.apps.example.com/"); err != nil ||
		got.String() != "200 http hello.apps.example.com from worker-1\n" || got.Certificate != nil {
		t.Errorf("HTTP: %s, %v", got, err)
	}
	if got, err := lab.Fetch(t.Context(), n, at, "https://hello.apps.example.com/"); err != nil ||
		got.String() != "200 https hello.apps.example.com from worker-1\n" || !got.Certificate.Equal(own.leaf.Leaf) {
		t.Errorf("HTTPS: %s, %v", got, err)
	}
	var unknown x509.UnknownAuthorityError
	if _, err := (&Lab{CA: other.ca}).Fetch(t.Context(), n, at, "https://hello.apps.example.com/"); !errors.As(err, &unknown) {
		t.Errorf("with another authority: %v", err)
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	needNetwork(t)
	n := newTestNamespace(t)
	file, err := os.Open(n.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	mine, err := n.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if other, err := file.Stat(); err != nil || !os.SameFile(mine, other) {
		t.Errorf("%s is another namespace: %v", n.Path(), err)
	}
}

func newTestNamespace(t *testing.T) *Namespace {
	t.Helper()
	n, err := NewNamespace(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

func testRouterCertificate(t *testing.T) *routerCertificate {
	t.Helper()
	made, err := newRouterCertificate("*.apps.example.com")
	if err != nil {
		t.Fatal(err)
	}
	return made
}
