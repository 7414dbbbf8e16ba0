package provider

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// published puts somebody else's entry and backend for the wildcard into the shared lists.
func (s *stage) published() {
	const wildcard = "*.apps.demo.example.com"
	s.management.put(pathDNS, "DNSServer", object{"spec": object{"staticEntries": []any{object{"hostname": wildcard, "ip": "192.0.2.7"}}}})
	s.management.put(pathProxy, "ProxyServer", object{"spec": object{"backends": []any{
		object{"name": "router", "hostname": wildcard, "port": int64(443)}, object{"name": "other"},
	}}})
}

// conflicting has the API server name the fields of an object that somebody else has set.
func (s *stage) conflicting(path string, fields ...string) {
	causes := make([]metav1.StatusCause, 0, len(fields))
	for _, field := range fields {
		causes = append(causes, metav1.StatusCause{
			Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "kubectl" using v1`, Field: field,
		})
	}
	s.hosted.answer("PATCH "+path, http.StatusConflict, metav1.StatusReasonConflict, "Apply failed with conflicts", causes...)
}

// A story for each thing of somebody else.
func TestStoriesOfForeignObjects(t *testing.T) {
	by := func(ingress string) object {
		return object{"metadata": object{"annotations": object{"oooi.densityops.com/apps-ingress": ingress}}}
	}
	tell(t, "stories_foreign", []story{
		{"a Service with other values", func(s *stage) {
			s.hosted.put(pathService, "Service", nil)
			s.conflicting(pathService, ".spec.type", ".spec.externalTrafficPolicy")
		}},
		{"everything", func(s *stage) {
			s.hosted.put(pathPool, "IPAddressPool", nil)
			s.hosted.put(pathAdvertisement, "L2Advertisement", nil)
			s.hosted.put(pathService, "Service", nil)
			s.conflicting(pathPool, ".spec.autoAssign")
			s.published()
		}},
		{"the Service of another ingress", func(s *stage) { s.hosted.put(pathService, "Service", by("clusters/other")) }},
		{"the Service of another ingress, and a pool", func(s *stage) {
			s.hosted.put(pathService, "Service", by("clusters/other"))
			s.hosted.put(pathPool, "IPAddressPool", nil)
		}},
		{"a pool, and a range that another pool has", func(s *stage) {
			s.hosted.put(pathPool, "IPAddressPool", nil)
			s.hosted.put(pathMetalLB+"/ipaddresspools/other", "IPAddressPool", object{
				"spec": object{"addresses": []any{"192.0.2.210/32"}},
			})
		}},
		{"entries, on update", func(s *stage) {
			s.verb = verbUpdate
			s.published()
		}},
	})
}

// A story for each value that does not fit what is in the clusters.
func TestStoriesOfRefusedValues(t *testing.T) {
	meaning := object{"spec": object{
		"name": "metallb-operator", "channel": "beta", "source": "redhat-operators", "sourceNamespace": "openshift-marketplace",
	}}
	tell(t, "stories_refused", []story{
		{"no OLM", func(s *stage) { s.hosted.unknown = []string{"/apis/operators.coreos.com/"} }},
		{"a Subscription elsewhere", func(s *stage) {
			delete(s.hosted.objects, pathCSV)
			s.hosted.put("/apis/operators.coreos.com/v1alpha1/namespaces/metallb-system/subscriptions/metallb", "Subscription", meaning)
		}},
		{"another Subscription", func(s *stage) { s.hosted.put(pathOLM+"/subscriptions/metallb", "Subscription", meaning) }},
		{"a Subscription with another meaning", func(s *stage) { s.hosted.put(pathSubscription, "Subscription", meaning) }},
		{"a MetalLB elsewhere", func(s *stage) {
			s.hosted.put("/apis/metallb.io/v1beta1/namespaces/metallb-system/metallbs/metallb", "MetalLB", nil)
		}},
		{"an orphan CSV", func(s *stage) { s.hosted.put(pathCSV, "ClusterServiceVersion", nil) }},
		{"no OperatorGroup", func(s *stage) { delete(s.hosted.objects, pathGroup+"global-operators") }},
		{"two OperatorGroups, and no catalog", func(s *stage) {
			s.hosted.put(pathGroup+"second", "OperatorGroup", nil)
			delete(s.hosted.objects, pathCatalog)
		}},
		{"another catalog", func(s *stage) { s.spec.MetalLB.Subscription.Source = "mirror" }},
		{"a MetalLB of another class", func(s *stage) {
			s.hosted.put(pathMetalLB+"/metallbs/metallb", "MetalLB", object{"spec": object{"loadBalancerClass": "example.com/lb"}})
		}},
		{"no MetalLB to use", func(s *stage) {
			s.spec.MetalLB.Install = false
			s.hosted.unknown = []string{"/apis/metallb.io/"}
		}},
		{"a range that another pool has", func(s *stage) {
			s.hosted.put(pathMetalLB+"/ipaddresspools/other", "IPAddressPool", object{
				"spec": object{"addresses": []any{"192.0.2.210/32"}},
			})
		}},
		{"no DNSServer and no ProxyServer", func(s *stage) {
			delete(s.management.objects, pathDNS)
			delete(s.management.objects, pathProxy)
		}},
		{"an infra_ref without Infra", func(s *stage) {
			s.spec.Infra = "shared"
			delete(s.management.objects, pathDNS)
		}},
		{"a DNSServer of an Infra", func(s *stage) {
			s.management.put(pathDNS, "DNSServer", object{"metadata": object{"ownerReferences": []any{object{
				"apiVersion": "hostedcluster.densityops.com/v1alpha1", "kind": "Infra", "name": "shared", "uid": "u", "controller": true,
			}}}})
		}},
	})
}
