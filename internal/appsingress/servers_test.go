package appsingress

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// apiWith serves these objects by the end of their path, and says of every other one that it is not there.
func apiWith(t *testing.T, objects map[string]any) *kube.Cluster {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		path := strings.TrimPrefix(r.URL.Path, "/apis/hostedcluster.densityops.com/v1alpha1")
		answer, found := objects[path]
		if !found {
			answer = apierrors.NewNotFound(dnsServerKind().GroupResource(), path).Status()
		}
		if status, failed := answer.(metav1.Status); failed {
			w.WriteHeader(int(status.Code))
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return kube.NewCluster("management cluster", func(context.Context) (*rest.Config, error) {
		return &rest.Config{Host: server.URL}, nil
	})
}

func served(kind, name string, networkConfig, status map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "hostedcluster.densityops.com/v1alpha1", "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": "clusters"},
		"spec":     map[string]any{"networkConfig": networkConfig}, "status": status,
	}
}

func TestReadServers(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(proxyServerKind().GroupResource(), "vlan100-proxy", errors.New("no")).Status()
	cluster := apiWith(t, map[string]any{
		"": map[string]any{"resources": []any{map[string]any{"name": "dnsservers"}, map[string]any{"name": "proxyservers"}}},
		"/namespaces/clusters/dnsservers/vlan100-dns": served("DNSServer", "vlan100-dns", map[string]any{
			"serverIP": "198.51.100.3", "internalProxyIP": "203.0.113.9", "secondaryNetworkCIDR": "198.51.100.1/24", "dnsPort": 5353,
		}, map[string]any{"serviceClusterIP": "203.0.113.10"}),
		"/namespaces/clusters/dnsservers/bare":            served("DNSServer", "bare", map[string]any{"serverIP": "198.51.100.3"}, nil),
		"/namespaces/clusters/dnsservers/odd":             served("DNSServer", "odd", map[string]any{"serverIP": "soon", "dnsPort": 70000}, nil),
		"/namespaces/clusters/proxyservers/vlan100-proxy": served("ProxyServer", "x", map[string]any{"serverIP": "198.51.100.4"}, nil),
		"/namespaces/clusters/proxyservers/secret":        forbidden,
	})
	name := func(text string) NamespacedName { return NamespacedName{Namespace: "clusters", Name: text} }
	for _, test := range []struct {
		publish Publish
		want    Servers
	}{
		{Publish{}, Servers{}},
		{DefaultPublish("vlan100"), Servers{
			DNS: DNSServer{
				Name: name("vlan100-dns"), VLAN: netip.MustParseAddrPort("198.51.100.3:5353"),
				Pod:     netip.MustParseAddrPort("203.0.113.10:5353"),
				Network: netip.MustParsePrefix("198.51.100.0/24"), InternalProxy: netip.MustParseAddr("203.0.113.9"),
			},
			Proxy: ProxyServer{Name: name("vlan100-proxy"), VLAN: netip.MustParseAddr("198.51.100.4")},
		}},
		{Publish{DNSServer: "bare"}, Servers{
			DNS: DNSServer{Name: name("bare"), VLAN: netip.MustParseAddrPort("198.51.100.3:53")},
		}},
		{Publish{DNSServer: "odd", ProxyServer: "secret"}, Servers{
			DNS: DNSServer{Name: name("odd")}, Proxy: ProxyServer{Name: name("secret"), Err: cmpopts.AnyError},
		}},
		{DefaultPublish("other"), Servers{
			DNS:   DNSServer{Name: name("other-dns"), Err: cmpopts.AnyError},
			Proxy: ProxyServer{Name: name("other-proxy"), Err: cmpopts.AnyError},
		}},
	} {
		got := ReadServers(t.Context(), cluster, "clusters", test.publish)
		diff := cmp.Diff(test.want, got, cmpopts.EquateErrors(), cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}, netip.Prefix{}))
		if diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.publish, diff)
		}
	}
}

// What failed can be told apart by what reads it.
func TestReadServersErrors(t *testing.T) {
	t.Parallel()
	kinds := map[string]any{"resources": []any{map[string]any{"name": "dnsservers"}}}
	missing := ReadServers(t.Context(), apiWith(t, map[string]any{"": kinds}), "clusters", DefaultPublish("vlan100"))
	if absent := (*NotFoundError)(nil); !errors.As(missing.DNS.Err, &absent) || IsNotServed(missing.DNS.Err) {
		t.Errorf("an object that is not there: %v", missing.DNS.Err)
	}
	if !IsNotServed(missing.Proxy.Err) {
		t.Errorf("a kind that is not served: %v", missing.Proxy.Err)
	}
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	away := kube.NewCluster("management cluster", func(context.Context) (*rest.Config, error) {
		return &rest.Config{Host: server.URL}, nil
	})
	refused := ReadServers(t.Context(), away, "clusters", DefaultPublish("vlan100"))
	if !kube.IsTransient(refused.DNS.Err) || !kube.IsTransient(refused.Proxy.Err) {
		t.Errorf("a cluster that is away: %+v", refused)
	}
}
