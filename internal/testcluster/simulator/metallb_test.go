package simulator_test

import (
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// startMetalLB runs the whole hosted cluster with the real MetalLB controller up to an installed operator.
func startMetalLB(t *testing.T, operand simulator.StartOperand) *simulator.Simulators {
	t.Helper()
	if cluster.missing != "" {
		t.Skip(cluster.missing)
	}
	if operand == nil {
		operand = realController(t).Start
	}
	s := start(t, simulator.Config{
		Hosted: cluster.config, Workers: worker(),
		OLM:     &simulator.OLMOptions{CRDs: metalLBCRDs(t)},
		MetalLB: &simulator.MetalLBOperatorOptions{Start: operand},
	})
	mustCreate(t, subscriptions, subscription())
	csvIs(t, defaultCSV, "Succeeded", field("Succeeded", "status", "phase"))
	subscriptionIs(t, "installed", field(defaultCSV, "status", "installedCSV"))
	return s
}

func realController(t *testing.T) simulator.RealController {
	t.Helper()
	return simulator.RealController{
		Binary: filepath.Join(binFolder, "metallb-controller"), Kubeconfig: cluster.kubeconfig,
		Namespace: operatorNamespace, LogFile: filepath.Join(t.TempDir(), "metallb.log"),
	}
}

func metallb(name string, spec map[string]any) *unstructured.Unstructured {
	return newObject("metallb.io/v1beta1", "MetalLB", operatorNamespace, name, spec)
}

func advertisement(poolName string) *unstructured.Unstructured {
	return newObject("metallb.io/v1beta1", "L2Advertisement", operatorNamespace, "advertise-"+poolName,
		map[string]any{"ipAddressPools": []any{poolName}})
}

func addressIs(t *testing.T, name, want string) {
	t.Helper()
	eventually(t, services, ingressNamespace, name, "the address "+want,
		func(u *unstructured.Unstructured) bool { return address(u) == want })
}

func TestMetalLBAllocates(t *testing.T) {
	s := startMetalLB(t, nil)
	mustCreate(t, metallbs, metallb("other", map[string]any{}))
	eventually(t, metallbs, operatorNamespace, "other", "a refused name",
		condition("Degraded", "True", "IncorrectMetallbResourceName"))
	mustCreate(t, pools, pool("apps", "192.0.2.10-192.0.2.12"))
	mustCreate(t, advertisements, advertisement("apps"))
	mustCreate(t, services, service("ingress", "apps"))
	steadily(t, services, ingressNamespace, "ingress", "no address without MetalLB",
		func(u *unstructured.Unstructured) bool { return address(u) == "" })

	mustCreate(t, metallbs, metallb("metallb", map[string]any{}))
	eventually(t, metallbs, operatorNamespace, "metallb", "Available", condition("Available", "True", ""))
	addressIs(t, "ingress", "192.0.2.10")

	// A paused MetalLB leaves the old address in place after the range has moved.
	if err := s.PauseMetalLB(0); err != nil {
		t.Fatal(err)
	}
	mustPatch(t, pools, operatorNamespace, "apps", `{"spec":{"addresses":["192.0.2.20-192.0.2.22"]}}`)
	steadily(t, services, ingressNamespace, "ingress", "the old address stays",
		func(u *unstructured.Unstructured) bool { return address(u) == "192.0.2.10" })
	if err := s.ResumeMetalLB(); err != nil {
		t.Fatal(err)
	}
	addressIs(t, "ingress", "192.0.2.20")

	if err := s.BlinkServiceStatus(t.Context(), ingressNamespace, "ingress", 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	eventually(t, services, ingressNamespace, "ingress", "no address", func(u *unstructured.Unstructured) bool { return address(u) == "" })
	addressIs(t, "ingress", "192.0.2.20")

	if last, ok := s.Timeline().Last(simulator.AddressAssigned); !ok || last.Detail != "192.0.2.20" {
		t.Errorf("the timeline ends with %+v", last)
	}
	if _, ok := s.Timeline().First(simulator.MetalLBRunning); !ok {
		t.Error("the timeline does not tell of MetalLB")
	}
}

func TestMetalLBOperatorRemoves(t *testing.T) {
	s := startMetalLB(t, nil)
	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{NeverRemoves: true})
	mustCreate(t, metallbs, metallb("metallb", map[string]any{}))
	eventually(t, metallbs, operatorNamespace, "metallb", "Available", condition("Available", "True", ""))

	mustDelete(t, metallbs, operatorNamespace, "metallb")
	steadily(t, metallbs, operatorNamespace, "metallb", "the finalizer holds it", func(u *unstructured.Unstructured) bool { return u != nil })
	if s.MetalLB.Operand() == nil {
		t.Error("MetalLB stopped before its object went")
	}
	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{})
	eventually(t, metallbs, operatorNamespace, "metallb", "gone", gone)
	if s.MetalLB.Operand() != nil {
		t.Error("MetalLB outlived its object")
	}

	// Without its CSV the operator does nothing any more.
	mustDelete(t, csvs, operatorNamespace, defaultCSV)
	mustCreate(t, metallbs, metallb("metallb", map[string]any{}))
	steadily(t, metallbs, operatorNamespace, "metallb", "nobody looks at it", func(u *unstructured.Unstructured) bool {
		return u != nil && u.Object["status"] == nil && len(u.GetFinalizers()) == 0
	})
}

func TestMetalLBOperatorFailures(t *testing.T) {
	s := startMetalLB(t, nil)
	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{Degraded: "no image"})
	mustCreate(t, metallbs, metallb("metallb", map[string]any{"loadBalancerClass": "example.com/a"}))
	eventually(t, metallbs, operatorNamespace, "metallb", "Degraded", condition("Degraded", "True", "OperandFailed"))
	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{NeverStarts: true})
	eventually(t, metallbs, operatorNamespace, "metallb", "Progressing", condition("Progressing", "True", ""))
	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{})
	eventually(t, metallbs, operatorNamespace, "metallb", "Available", condition("Available", "True", ""))

	mustCreate(t, pools, pool("apps", "192.0.2.10-192.0.2.12"))
	mustCreate(t, services, service("plain", "apps"))
	classed := service("classed", "apps")
	_ = unstructured.SetNestedField(classed.Object, "example.com/a", "spec", "loadBalancerClass")
	mustCreate(t, services, classed)
	addressIs(t, "classed", "192.0.2.10")
	addressIs(t, "plain", "")

	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{RefuseSpec: true})
	mustPatch(t, metallbs, operatorNamespace, "metallb", `{"spec":{"loadBalancerClass":null}}`)
	steadily(t, services, ingressNamespace, "plain", "the refused spec is not carried out",
		func(u *unstructured.Unstructured) bool { return address(u) == "" })
	s.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{})
	eventually(t, services, ingressNamespace, "plain", "an address", func(u *unstructured.Unstructured) bool { return address(u) != "" })
}
