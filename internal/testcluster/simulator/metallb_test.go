package simulator_test

import (
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// startMetalLB runs the whole hosted cluster with the real MetalLB controller up to an installed operator.
func startMetalLB(t *testing.T, operand func(pair *testcluster.Pair) simulator.StartOperand) *fixture {
	t.Helper()
	s := start(t, func(pair *testcluster.Pair, config *simulator.Config) {
		config.Hosted = pair.Hosted.REST(testcluster.UserSimulator)
		config.Workers = worker()
		config.OLM = &simulator.OLMOptions{CRDs: metalLBCRDs(t)}
		config.MetalLB = &simulator.MetalLBOperatorOptions{Start: operand(pair)}
	})
	s.create(subscriptions, subscription())
	s.csvIs(defaultCSV, "Succeeded", field("Succeeded", "status", "phase"))
	s.subscriptionIs("installed", field(defaultCSV, "status", "installedCSV"))
	return s
}

// startRealMetalLB is startMetalLB with MetalLB's own controller.
func startRealMetalLB(t *testing.T) *fixture {
	t.Helper()
	binary, err := testcluster.Binary("metallb-controller")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "metallb.log")
	return startMetalLB(t, func(pair *testcluster.Pair) simulator.StartOperand {
		return simulator.RealController{
			Binary: binary, Kubeconfig: pair.Hosted.Kubeconfig(testcluster.UserMetalLB), Namespace: operatorNamespace, LogFile: log,
		}.Start
	})
}

func metallb(name string, spec map[string]any) *unstructured.Unstructured {
	return newObject("metallb.io/v1beta1", "MetalLB", operatorNamespace, name, spec)
}

func advertisement(poolName string) *unstructured.Unstructured {
	return newObject("metallb.io/v1beta1", "L2Advertisement", operatorNamespace, "advertise-"+poolName,
		map[string]any{"ipAddressPools": []any{poolName}})
}

func (f *fixture) addressIs(name, want string) {
	f.t.Helper()
	f.eventually(services, ingressNamespace, name, "the address "+want,
		func(u *unstructured.Unstructured) bool { return address(u) == want })
}

func TestMetalLBAllocates(t *testing.T) {
	s := startRealMetalLB(t)
	s.create(metallbs, metallb("other", map[string]any{}))
	s.eventually(metallbs, operatorNamespace, "other", "a refused name",
		condition("Degraded", "True", "IncorrectMetallbResourceName"))
	s.create(pools, pool("apps", "192.0.2.10-192.0.2.12"))
	s.create(advertisements, advertisement("apps"))
	s.create(services, service("ingress", "apps"))
	s.steadily(services, ingressNamespace, "ingress", "no address without MetalLB",
		func(u *unstructured.Unstructured) bool { return address(u) == "" })

	s.create(metallbs, metallb("metallb", map[string]any{}))
	s.eventually(metallbs, operatorNamespace, "metallb", "Available", condition("Available", "True", ""))
	s.addressIs("ingress", "192.0.2.10")

	// A paused MetalLB leaves the old address in place after the range has moved.
	if err := s.PauseMetalLB(0); err != nil {
		t.Fatal(err)
	}
	s.patch(pools, operatorNamespace, "apps", `{"spec":{"addresses":["192.0.2.20-192.0.2.22"]}}`)
	s.steadily(services, ingressNamespace, "ingress", "the old address stays",
		func(u *unstructured.Unstructured) bool { return address(u) == "192.0.2.10" })
	if err := s.ResumeMetalLB(); err != nil {
		t.Fatal(err)
	}
	s.addressIs("ingress", "192.0.2.20")

	if err := s.BlinkServiceStatus(t.Context(), ingressNamespace, "ingress", 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	s.eventually(services, ingressNamespace, "ingress", "no address", func(u *unstructured.Unstructured) bool { return address(u) == "" })
	s.addressIs("ingress", "192.0.2.20")

	if last, ok := s.Timeline().Last(simulator.AddressAssigned); !ok || last.Detail != "192.0.2.20" {
		t.Errorf("the timeline ends with %+v", last)
	}
	if _, ok := s.Timeline().First(simulator.MetalLBRunning); !ok {
		t.Error("the timeline does not tell of MetalLB")
	}
}

func TestMetalLBOperatorRemoves(t *testing.T) {
	s := startRealMetalLB(t)
	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{NeverRemoves: true})
	s.create(metallbs, metallb("metallb", map[string]any{}))
	s.eventually(metallbs, operatorNamespace, "metallb", "Available", condition("Available", "True", ""))

	s.delete(metallbs, operatorNamespace, "metallb")
	s.steadily(metallbs, operatorNamespace, "metallb", "the finalizer holds it", there)
	if s.MetalLB.Operand() == nil {
		t.Error("MetalLB stopped before its object went")
	}
	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{})
	s.eventually(metallbs, operatorNamespace, "metallb", "gone", gone)
	if s.MetalLB.Operand() != nil {
		t.Error("MetalLB outlived its object")
	}

	// Without its CSV the operator does nothing any more.
	s.delete(csvs, operatorNamespace, defaultCSV)
	s.create(metallbs, metallb("metallb", map[string]any{}))
	s.steadily(metallbs, operatorNamespace, "metallb", "nobody looks at it", func(u *unstructured.Unstructured) bool {
		return u != nil && u.Object["status"] == nil && len(u.GetFinalizers()) == 0
	})
}

func TestMetalLBOperatorFailures(t *testing.T) {
	s := startRealMetalLB(t)
	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{Degraded: "no image"})
	s.create(metallbs, metallb("metallb", map[string]any{"loadBalancerClass": "example.com/a"}))
	s.eventually(metallbs, operatorNamespace, "metallb", "Degraded", condition("Degraded", "True", "OperandFailed"))
	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{NeverStarts: true})
	s.eventually(metallbs, operatorNamespace, "metallb", "Progressing", condition("Progressing", "True", ""))
	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{})
	s.eventually(metallbs, operatorNamespace, "metallb", "Available", condition("Available", "True", ""))

	s.create(pools, pool("apps", "192.0.2.10-192.0.2.12"))
	s.create(services, service("plain", "apps"))
	classed := service("classed", "apps")
	_ = unstructured.SetNestedField(classed.Object, "example.com/a", "spec", "loadBalancerClass")
	s.create(services, classed)
	s.addressIs("classed", "192.0.2.10")
	s.addressIs("plain", "")

	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{RefuseSpec: true})
	s.patch(metallbs, operatorNamespace, "metallb", `{"spec":{"loadBalancerClass":null}}`)
	s.steadily(services, ingressNamespace, "plain", "the refused spec is not carried out",
		func(u *unstructured.Unstructured) bool { return address(u) == "" })
	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{})
	s.eventually(services, ingressNamespace, "plain", "an address", func(u *unstructured.Unstructured) bool { return address(u) != "" })
}
