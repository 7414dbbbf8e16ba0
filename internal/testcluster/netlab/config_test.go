package netlab

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what is made now (go test -run %s -update writes it anew), -want +got:\n%s", file, t.Name(), diff)
	}
}

// withSpec is an object with a spec and nothing else.
func withSpec(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("spec:\n  "+strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

const fullDNSServer = `
networkConfig:
  serverIP: 203.0.113.53
  proxyIP: 203.0.113.10
  internalProxyIP: 198.18.0.10
  secondaryNetworkCIDR: 203.0.113.0/24
  dnsPort: 53
hostedClusterDomain: clusters.example.com
staticEntries:
- {hostname: "*.apps.demo.clusters.example.com", ip: 203.0.113.200}
- {hostname: api.demo.clusters.example.com, ip: 203.0.113.10}
- {hostname: "*.special.apps.demo.clusters.example.com", ip: 203.0.113.201}
- {hostname: API.demo.clusters.example.com., ip: 203.0.113.11}
upstreamDNS: [198.51.100.1, 198.51.100.2]
cacheTTL: 45s
`

func TestCorefile(t *testing.T) {
	t.Parallel()
	legs := []netip.Addr{netip.MustParseAddr("203.0.113.53"), netip.MustParseAddr("198.18.0.53")}
	for name, spec := range map[string]string{
		"full": fullDNSServer,
		// Without an address for pods they get no static answers, and without the network of the VLAN all are pods.
		"no-internal-proxy": strings.ReplaceAll(fullDNSServer, "internalProxyIP:", "ignored:"),
		"no-vlan":           strings.ReplaceAll(fullDNSServer, "secondaryNetworkCIDR:", "ignored:"),
		"empty":             "{}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, err := readDNSServer(withSpec(t, spec))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".corefile", corefile(spec, legs))
		})
	}
}

func TestDNSServerIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"directive as host name": {"api.demo", `"x} forward . 192.0.2.1`},
		"wildcard inside":        {"api.demo.clusters.example.com", `api.*.example.com`},
		"address of pods":        {"198.18.0.10", "proxy"},
		"network":                {"203.0.113.0/24", "203.0.113.0"},
		"address of an entry":    {"203.0.113.201", "203.0.113"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := withSpec(t, fullDNSServer)
			replaceStrings(object.Object, change[0], change[1])
			spec, err := readDNSServer(object)
			if err == nil {
				t.Errorf("accepted as %+v", spec)
			}
		})
	}
}

// replaceStrings replaces a part of every string.
func replaceStrings(value any, from, to string) any {
	switch value := value.(type) {
	case string:
		return strings.ReplaceAll(value, from, to)
	case []any:
		for i := range value {
			value[i] = replaceStrings(value[i], from, to)
		}
	case map[string]any:
		for key := range value {
			value[key] = replaceStrings(value[key], from, to)
		}
	}
	return value
}

const fullProxyServer = `
networkConfig: {serverIP: 203.0.113.10}
backends:
- name: demo-api
  hostname: API.demo.clusters.example.com
  alternateHostnames: [api-int.demo.clusters.example.com]
  port: 6443
  targetService: kube-apiserver
  targetPort: 6443
  targetNamespace: clusters-demo
  protocol: TCP
  timeoutSeconds: 30
- {name: demo-apps-http, hostname: "*.apps.demo.clusters.example.com", port: 80, targetService: 203.0.113.200, targetPort: 80,
   targetNamespace: default, protocol: TCP, timeoutSeconds: 30}
- {name: demo-apps-https, hostname: "*.apps.demo.clusters.example.com", port: 443, targetService: 203.0.113.200, targetPort: 443,
   targetNamespace: default, protocol: TCP, timeoutSeconds: 30}
- {name: other-apps-http, hostname: "*.apps.other.clusters.example.com", port: 80, targetService: lb.example.net, targetPort: 80,
   targetNamespace: default, protocol: TCP, timeoutSeconds: 5}
- {name: other-apps-https, hostname: "*.apps.other.clusters.example.com", port: 443, targetService: lb.example.net, targetPort: 8443,
   targetNamespace: default, protocol: TCP, timeoutSeconds: 5}
- {name: left-out, hostname: x, port: 53, targetService: 203.0.113.53, targetPort: 53, targetNamespace: default, protocol: UDP,
   timeoutSeconds: 1}
`

func envoyFiles(t *testing.T, spec string) (listenersFile, clustersFile string) {
	t.Helper()
	read, err := readProxyServer(withSpec(t, spec))
	if err != nil {
		t.Fatal(err)
	}
	files := [2]string{}
	for i, resources := range [][]object{listeners(read), clusters(read, netip.MustParseAddrPort("198.51.100.1:53"))} {
		content, err := envoyResources("1", resources)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = string(content) + "\n"
	}
	return files[0], files[1]
}

func TestEnvoyResources(t *testing.T) {
	t.Parallel()
	listenersFile, clustersFile := envoyFiles(t, fullProxyServer)
	golden(t, "listeners.json", listenersFile)
	golden(t, "clusters.json", clustersFile)
	none, _ := envoyFiles(t, "{}")
	if !strings.Contains(none, `"resources": []`) {
		t.Errorf("without a backend: %s", none)
	}
}
