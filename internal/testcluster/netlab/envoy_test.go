package netlab

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// TestEnvoyAcceptsItsFiles has Envoy itself look at the configuration, as one file: it looks at no others in that mode.
func TestEnvoyAcceptsItsFiles(t *testing.T) {
	t.Parallel()
	skipWithout(t, nil, envoyProgram)
	program, err := testcluster.Binary(envoyProgram)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := readProxyServer(withSpec(t, fullProxyServer))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	content, err := envoyBootstrap(folder, "proxy")
	if err != nil {
		t.Fatal(err)
	}
	var bootstrap object
	if err := json.Unmarshal(content, &bootstrap); err != nil {
		t.Fatal(err)
	}
	static := map[string][]object{
		"listeners": listeners(spec), "clusters": clusters(spec, netip.MustParseAddrPort("198.51.100.1:53")),
	}
	for _, resources := range static {
		for _, resource := range resources {
			delete(resource, "@type")
		}
	}
	bootstrap["static_resources"] = static
	delete(bootstrap, "dynamic_resources")
	if content, err = json.Marshal(bootstrap); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "all.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), program, "--mode", "validate", "--config-path", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

const (
	proxyAddress, vip, otherVIP = "203.0.113.10", "203.0.113.200", "203.0.113.201"

	labProxyServer = `
networkConfig: {serverIP: 203.0.113.10}
backends:
- {name: demo-api, hostname: api.demo.clusters.example.com, alternateHostnames: [api-int.demo.clusters.example.com], port: 6443,
   targetService: api, targetPort: 6443, targetNamespace: clusters-demo}
- {name: demo-apps-http, hostname: "*.apps.demo.clusters.example.com", port: 80,
   targetService: 203.0.113.200, targetPort: 80, targetNamespace: default}
- {name: demo-apps-https, hostname: "*.apps.demo.clusters.example.com", port: 443,
   targetService: 203.0.113.200, targetPort: 443, targetNamespace: default}
- {name: other-apps-https, hostname: "*.apps.other.clusters.example.com", port: 443,
   targetService: lb.example.net, targetPort: 443, targetNamespace: default}
`
)

// proxyLab is an Envoy between a client and two web servers, and a world that knows names of theirs.
type proxyLab struct {
	client      *Namespace
	upstream    *Upstream
	object      custom
	logged      *logged
	certificate *x509.Certificate // of the web servers
}

func newProxyLab(t *testing.T) proxyLab {
	t.Helper()
	needNetwork(t, envoyProgram)
	pair := testcluster.Start(t)
	hosts := wires(t, map[string][]string{
		"proxy": {proxyAddress}, "client": {vlanClient}, "web": {vip}, "other": {otherVIP}, "world": {world},
	})
	lab := proxyLab{client: hosts["client"], object: proxyServerObject(pair), logged: &logged{}}
	for name, addresses := range map[string][]string{
		"web": {vip + ":80", vip + ":443"}, "other": {otherVIP + ":80", otherVIP + ":443", otherVIP + ":6443"},
	} {
		for _, address := range addresses {
			lab.certificate = cmp.Or(serveWeb(t, hosts[name], address), lab.certificate)
		}
	}
	resolver := netip.AddrPortFrom(address(t, world), 53)
	var err error
	if lab.upstream, err = StartUpstream(t.Context(), hosts["world"], resolver); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.upstream.Close)
	lab.upstream.Set("lb.example.net", otherVIP)
	lab.upstream.Set("api.clusters-demo.svc", otherVIP)
	envoy, err := StartEnvoy(t.Context(), EnvoyOptions{
		Namespace: hosts["proxy"], Resolver: resolver,
		Client: pair.Management.Dynamic(testcluster.UserAdmin), Object: lab.object.name, Logf: lab.logged.add,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Close)
	return lab
}

// serveWeb says at an address which one it is; with TLS, unless at port 80. It returns its certificate, which httptest has
// the same for all.
func serveWeb(t *testing.T, n *Namespace, address string) *x509.Certificate {
	t.Helper()
	listener, err := n.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, address)
	}))
	_ = server.Listener.Close() // it would be outside
	server.Listener = listener
	if strings.HasSuffix(address, ":80") {
		server.Start()
	} else {
		server.StartTLS()
	}
	t.Cleanup(server.Close)
	return server.Certificate()
}

// fetch asks the proxy for a page of a host, and makes sure that TLS is ended by the web server: only that has its key.
func (l proxyLab) fetch(ctx context.Context, url string, port uint16) (string, error) {
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return l.client.Dial(ctx, network, netip.AddrPortFrom(netip.MustParseAddr(proxyAddress), port).String())
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(state tls.ConnectionState) error {
			if !l.certificate.Equal(state.PeerCertificates[0]) {
				return errors.New("not the certificate of the web server")
			}
			return nil
		}},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := (&http.Client{Transport: transport, Timeout: 2 * time.Second}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func (l proxyLab) leads(url string, port uint16, want string) func(context.Context) error {
	return func(ctx context.Context) error {
		got, err := l.fetch(ctx, url, port)
		if err == nil && got != want {
			err = fmt.Errorf("%s leads to %s, not to %s", url, got, want)
		}
		return err
	}
}

func (l proxyLab) refuses(port uint16) func(context.Context) error {
	return func(ctx context.Context) error {
		if _, err := l.fetch(ctx, "http://foo.apps.demo.clusters.example.com", port); !errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("port %d: %w", port, err)
		}
		return nil
	}
}

const appURL, otherURL = "https://" + app, "https://foo.apps.other.clusters.example.com"

func TestEnvoyRoutesByName(t *testing.T) {
	t.Parallel()
	lab := newProxyLab(t)
	if err := lab.refuses(443)(t.Context()); err != nil {
		t.Errorf("without a ProxyServer: %v", err)
	}
	lab.object.create(t, labProxyServer)
	eventually(t, "created", lab.leads(appURL, 443, vip+":443"))
	eventually(t, "target that is a name", lab.leads(otherURL, 443, otherVIP+":443"))
	eventually(t, "target that is a Service", lab.leads("https://api.demo.clusters.example.com", 6443, otherVIP+":6443"))
	for _, c := range []struct {
		url  string
		port uint16
		want string // empty: the connection is closed
	}{
		{"https://a.b.c.apps.demo.clusters.example.com", 443, vip + ":443"},
		{"https://FOO.apps.DEMO.clusters.example.com", 443, vip + ":443"},
		{"https://api.demo.clusters.example.com", 6443, otherVIP + ":6443"},
		{"https://api-int.demo.clusters.example.com", 6443, otherVIP + ":6443"},
		{"https://api.demo.clusters.example.com", 443, ""},
		{"https://apps.demo.clusters.example.com", 443, ""},
		{"https://foo.xapps.demo.clusters.example.com", 443, ""},
		{"https://203.0.113.10", 443, ""}, // no name at all
		{"http://" + app, 443, ""},        // no TLS
		{"http://" + app, 80, vip + ":80"},
		{"http://whatever.example.org", 80, vip + ":80"},
	} {
		got, err := lab.fetch(t.Context(), c.url, c.port)
		closed := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
		if got != c.want || closed != (c.want == "") {
			t.Errorf("%s at port %d: %q, %v; want %q", c.url, c.port, got, err, c.want)
		}
	}
}

func TestEnvoyFollowsItsObject(t *testing.T) {
	t.Parallel()
	lab := newProxyLab(t)
	lab.object.create(t, labProxyServer)
	eventually(t, "created", lab.leads(appURL, 443, vip+":443"))

	lab.object.replace(t, strings.ReplaceAll(labProxyServer, vip, otherVIP))
	eventually(t, "target changed", lab.leads(appURL, 443, otherVIP+":443"))
	eventually(t, "target changed at port 80", lab.leads("http://"+app, 80, otherVIP+":80"))

	lab.upstream.Set("lb.example.net", vip)
	eventually(t, "target that is a name has moved", lab.leads(otherURL, 443, vip+":443"))

	twice := strings.ReplaceAll(labProxyServer, "*.apps.other", "*.apps.demo")
	lab.object.replace(t, twice)
	eventually(t, "refusal reported", func(context.Context) error {
		if !lab.logged.about("refused") {
			return fmt.Errorf("logged: %q", lab.logged.all())
		}
		return nil
	})
	if err := lab.leads(otherURL, 443, vip+":443")(t.Context()); err != nil {
		t.Errorf("after a refusal: %v", err)
	}

	lab.object.replace(t, strings.ReplaceAll(labProxyServer, "port: 443,", "port: 8443,"))
	eventually(t, "port added", lab.leads(appURL, 8443, vip+":443"))
	eventually(t, "port removed", lab.refuses(443))

	lab.object.remove(t)
	eventually(t, "removed", lab.refuses(8443))
	eventually(t, "removed at port 80", lab.refuses(80))
	lab.object.create(t, labProxyServer)
	eventually(t, "created again", lab.leads(appURL, 443, vip+":443"))
}
