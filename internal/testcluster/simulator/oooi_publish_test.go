package simulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

func specList(u *unstructured.Unstructured, name string) []any {
	all, _, _ := unstructured.NestedSlice(u.Object, "spec", name)
	return all
}

func TestOooiPublishes(t *testing.T) {
	s := startOooi(t, simulator.OooiOptions{NameLength: 3})
	// An Infra without attachments has a ProxyServer, which needs a backend.
	s.eventually(proxyServers, clusters, "vlan-proxy", "a backend", func(u *unstructured.Unstructured) bool {
		return u != nil && len(specList(u, "backends")) == 1 && metav1.GetControllerOf(u).Kind == "Infra"
	})
	s.ready("demo")
	wantBackends := []any{
		map[string]any{
			"name": "dem-api", "hostname": "api." + demoDomain, "alternateHostnames": []any{"api-int." + demoDomain},
			"port": int64(6443), "targetService": "kube-apiserver", "targetPort": int64(6443), "targetNamespace": "clusters-demo",
			"protocol": "TCP", "timeoutSeconds": int64(30),
		},
		map[string]any{
			"name": "dem-apps-http", "hostname": "*.apps." + demoDomain, "port": int64(80), "targetService": firstOfApps,
			"targetPort": int64(80), "targetNamespace": "default", "protocol": "TCP", "timeoutSeconds": int64(30),
		},
		map[string]any{
			"name": "dem-apps-https", "hostname": "*.apps." + demoDomain, "port": int64(443), "targetService": firstOfApps,
			"targetPort": int64(443), "targetNamespace": "default", "protocol": "TCP", "timeoutSeconds": int64(30),
		},
	}
	wantEntries := []any{
		map[string]any{"hostname": "api." + demoDomain, "ip": "198.51.100.4"},
		map[string]any{"hostname": "api-int." + demoDomain, "ip": "198.51.100.4"},
		map[string]any{"hostname": "*.apps." + demoDomain, "ip": firstOfApps},
	}
	compare := func() {
		t.Helper()
		s.eventually(dnsServers, clusters, "vlan-dns", "its entries", func(u *unstructured.Unstructured) bool {
			return cmp.Equal(wantEntries, specList(u, "staticEntries"))
		})
		s.eventually(proxyServers, clusters, "vlan-proxy", "its backends", func(u *unstructured.Unstructured) bool {
			return cmp.Equal(wantBackends, specList(u, "backends"))
		})
	}
	compare()

	// What others put there does not last.
	s.patch(dnsServers, clusters, "vlan-dns", `{"spec":{"staticEntries":[{"hostname":"a.example.com","ip":"198.51.100.9"}],"cacheTTL":"9s"}}`)
	s.patch(proxyServers, clusters, "vlan-proxy", `{"spec":{"logLevel":"debug"}}`)
	s.eventually(dnsServers, clusters, "vlan-dns", "reverted", field("30s", "spec", "cacheTTL"))
	s.eventually(proxyServers, clusters, "vlan-proxy", "reverted", field("", "spec", "logLevel"))
	s.delete(dnsServers, clusters, "vlan-dns")
	s.eventually(dnsServers, clusters, "vlan-dns", "made again", there)
	compare()

	for reason, same := range map[string][]string{
		"DuplicateHostname": {"spec", "dns", "clusterName"}, "DuplicateHostedCluster": {"spec", "hostedClusterRef", "name"},
	} {
		twin := attachment("twin")
		unstructured.RemoveNestedField(twin.Object, "spec", "appsIngress")
		if err := unstructured.SetNestedField(twin.Object, "demo", same...); err != nil {
			t.Fatal(err)
		}
		s.create(attachments, twin)
		infra := s.eventually(infras, clusters, "vlan", reason, condition("Ready", "False", reason))
		conditions, _, _ := unstructured.NestedSlice(infra.Object, "status", "conditions")
		if message := fmt.Sprint(conditions...); !strings.Contains(message, "demo") || !strings.Contains(message, "twin") {
			t.Errorf("the message does not name both: %s", message)
		}
		s.publishedIs("demo", "")
		s.steadily(attachments, clusters, "demo", "the phase stays", readyAt(firstOfApps))
		s.delete(attachments, clusters, "twin")
		s.eventually(infras, clusters, "vlan", "Ready", condition("Ready", "True", ""))
		compare()
	}

	s.delete(infras, clusters, "vlan")
	s.eventually(dnsServers, clusters, "vlan-dns", "gone", gone)
	s.eventually(proxyServers, clusters, "vlan-proxy", "gone", gone)
	s.touch("demo")
	s.steadily(attachments, clusters, "demo", "the phase stays", readyAt(firstOfApps))
}
