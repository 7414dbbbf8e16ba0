package simulator_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

func TestFakeLoadBalancer(t *testing.T) {
	var fake *simulator.FakeLoadBalancer
	s := startMetalLB(t, func(pair *testcluster.Pair) simulator.StartOperand {
		fake = simulator.NewFakeLoadBalancer(pair.Hosted.Dynamic(testcluster.UserSimulator), simulator.FakeLoadBalancerOptions{
			Answer: simulator.Always(simulator.Ingress{Hostname: "lb.example.com"}),
		}, t.Logf)
		return fake.Start
	})
	s.create(metallbs, metallb("metallb", map[string]any{}))
	s.create(services, service("foreign", ""))
	dual := service("ingress", "apps")
	_ = unstructured.SetNestedField(dual.Object, "PreferDualStack", "spec", "ipFamilyPolicy")
	s.create(services, dual)

	ip := func(ip string) map[string]any { return map[string]any{"ip": ip, "ipMode": "VIP"} }
	becomes := func(want ...any) {
		t.Helper()
		s.eventually(services, ingressNamespace, "ingress", "the answer",
			func(u *unstructured.Unstructured) bool { return cmp.Equal(ingress(u), want) })
	}
	becomes(map[string]any{"hostname": "lb.example.com"})
	fake.SetAnswer(simulator.Always(simulator.Ingress{IP: "2001:db8::1"}, simulator.Ingress{IP: "192.0.2.1"}))
	becomes(ip("2001:db8::1"), ip("192.0.2.1"))
	fake.SetAnswer(simulator.Always(simulator.Ingress{IP: "192.0.2.1"}, simulator.Ingress{IP: "2001:db8::1"}))
	becomes(ip("192.0.2.1"), ip("2001:db8::1"))
	fake.SetAnswer(simulator.Always(simulator.Ingress{}))
	becomes(map[string]any{})

	// It reacts to what a Service asks for.
	fake.SetAnswer(func(service *unstructured.Unstructured) []simulator.Ingress {
		return []simulator.Ingress{{Hostname: service.GetAnnotations()["metallb.io/address-pool"] + ".example.com"}}
	})
	becomes(map[string]any{"hostname": "apps.example.com"})
	s.patch(services, ingressNamespace, "ingress", `{"metadata":{"annotations":{"metallb.io/address-pool":"other"}}}`)
	becomes(map[string]any{"hostname": "other.example.com"})
	s.steadily(services, ingressNamespace, "foreign", "a Service without a pool is left alone",
		func(u *unstructured.Unstructured) bool { return len(ingress(u)) == 0 })
}
