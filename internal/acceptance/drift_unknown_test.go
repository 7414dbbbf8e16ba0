package acceptance

import (
	"regexp"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// difference is something done behind Terraform's back, and what the plan of its repair leaves open.
type difference struct {
	name    string
	do      func()
	unknown []string
	repair  func() // what has to happen before the repair can end
}

// What a repair may change is unknown in its plan, and nothing else: a downstream resource neither churns nor is stale.
func TestDriftLeavesOpenWhatItsRepairMayChange(t *testing.T) {
	w := newWorld(t)
	terraform := newCLI(t, w.config(set("service.labels", object("team", "apps"))))
	terraform.apply()
	f := follower{settled: terraform.values(address)}
	for _, d := range slices.Concat(w.serviceDifferences(), w.metallbDifferences(), w.otherDifferences(), w.addressDifferences()) {
		d.do()
		terraform.must("plan", "-input=false", "-no-color", "-out=saved")
		plan := terraform.planned("saved", address)
		if err := f.compare(plan.After, plan.AfterUnknown, d.unknown); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
		if actions := terraform.planned("saved", downstream).Actions[0]; (actions == "no-op") == slices.Contains(d.unknown, "external_ip") {
			t.Errorf("%s: the downstream resource plans %s", d.name, actions)
		}
		if d.repair != nil {
			d.repair()
		}
		terraform.must("apply", "-input=false", "-no-color", "saved")
	}
	terraform.unchanged()
	terraform.destroy()
}

func (w *world) serviceDifferences() []difference {
	edit := func(patch map[string]any) func() {
		return func() { w.hosted.patch(services, serviceNamespace, serviceName, patch) }
	}
	annotate := func(key, value string) func() {
		return edit(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	}
	return []difference{
		{name: "Service deleted", unknown: unknownAddress(), do: func() { w.hosted.delete(services, serviceNamespace, serviceName) }},
		{name: "type", unknown: unknownAddress(), do: edit(map[string]any{"spec": map[string]any{"type": "NodePort"}})},
		{name: "class", unknown: unknownAddress(), do: w.remakeWithClass},
		{name: "pool's annotation", unknown: unknownAddress(), do: annotate("metallb.io/address-pool", "nowhere")},
		{name: "pool's old annotation", unknown: unknownAddress(), do: annotate("metallb.universe.tf/address-pool", "nowhere")},
		{name: "label", do: edit(map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "other"}}})},
		{name: "selector", do: edit(map[string]any{"spec": map[string]any{"selector": map[string]any{"more": "x"}}})},
	}
}

// remakeWithClass puts a Service in the place of the real one that differs in its class, which cannot be edited.
func (w *world) remakeWithClass() {
	service := w.service()
	w.hosted.delete(services, serviceNamespace, serviceName)
	w.must(unstructured.SetNestedField(service.Object, "example.com/other", "spec", "loadBalancerClass"))
	w.hosted.remake(services, service, "clusterIP", "clusterIPs")
}

func (w *world) metallbDifferences() []difference {
	const namespace = "openshift-operators"
	return []difference{
		{name: "pool deleted", unknown: unknownAddress(), do: func() { w.hosted.delete(pools, namespace, poolName) }},
		{name: "range", unknown: unknownAddress(), do: func() {
			w.hosted.patch(pools, namespace, poolName, map[string]any{"spec": map[string]any{"addresses": []any{poolRange, "203.0.113.1/32"}}})
		}},
		{name: "MetalLB deleted", unknown: unknownAddress(), do: func() { w.hosted.delete(metallbs, namespace, "metallb") }},
		{name: "MetalLB's class", unknown: unknownAddress(), do: func() {
			w.hosted.patch(metallbs, namespace, "metallb", map[string]any{"spec": map[string]any{"loadBalancerClass": "example.com/other"}})
		}},
		{name: "advertisement deleted", do: func() { w.hosted.delete(advertisements, namespace, "advertise-"+poolName) }},
		{name: "automatic assignment", do: func() {
			w.hosted.patch(pools, namespace, poolName, map[string]any{"spec": map[string]any{"autoAssign": true}})
		}},
	}
}

func (w *world) otherDifferences() []difference {
	const namespace = "openshift-operators"
	return []difference{
		{name: "record", unknown: unknownPublication(), do: func() {
			w.management.patch(dnsServers, "clusters", dnsName, map[string]any{"spec": map[string]any{
				"staticEntries": []any{map[string]any{"hostname": wildcard, "ip": "203.0.113.1"}},
			}})
		}},
		{name: "backend", unknown: unknownPublication(), do: func() {
			w.management.patchJSON(proxyServers, "clusters", proxyName, []any{map[string]any{"op": "remove", "path": "/spec/backends/1"}})
		}},
		{name: "Subscription edited", unknown: unknownOperator(), do: func() {
			w.hosted.patch(subscriptions, namespace, "metallb-operator", map[string]any{"spec": map[string]any{"channel": "candidate"}})
		}},
		{name: "Subscription and its CSV deleted", unknown: unknownOperator(), do: func() {
			w.hosted.delete(subscriptions, namespace, "metallb-operator")
			w.hosted.delete(csvs, namespace, "metallb-operator.v4.18.0-202601010000")
		}},
	}
}

// addressDifferences move the address; they come last, because it does not come back.
func (w *world) addressDifferences() []difference {
	return []difference{
		{
			name: "an address that does not fit", unknown: unknownAddress(),
			do: func() {
				w.must(w.sims.PauseMetalLB(0))
				w.hosted.send(services, serviceNamespace, serviceName, types.MergePatchType, map[string]any{"status": map[string]any{
					"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "203.0.113.1"}}},
				}}, "status")
			},
			repair: func() { w.must(w.sims.ResumeMetalLB()) },
		},
		{name: "a pin", unknown: unknownAddress(), do: func() {
			w.hosted.patch(services, serviceNamespace, serviceName, map[string]any{"metadata": map[string]any{
				"annotations": map[string]any{"metallb.io/loadBalancerIPs": "198.51.100.210"},
			}})
		}},
	}
}

// A create that never got an address, continued: what the clusters know already stays known, and the rest is open.
func TestCreateContinuedLeavesOpenWhatIsMissing(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.throughProxy = true })
	terraform := newCLI(t, w.config())
	w.sims.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{NeverStarts: true})
	// The Service is written, and the wait for its address is refused.
	watched := regexp.QuoteMeta("/services/" + serviceName)
	proxy := w.pair.Hosted.Proxy()
	proxy.Add(testcluster.Match{Verbs: []string{testcluster.VerbPatch}, Path: watched}, func(e testcluster.Exchange) {
		e.Forward.ServeHTTP(e.Writer, e.Request)
		proxy.Add(testcluster.Match{Path: watched}, testcluster.Answer(403, "Forbidden", "no"))
	})
	terraform.fails(nil, "apply", "-auto-approve", "-input=false", "-no-color")
	proxy.Clear()
	terraform.must("untaint", address)
	f := follower{settled: terraform.values(address)}
	terraform.must("plan", "-input=false", "-no-color", "-out=saved")
	plan := terraform.planned("saved", address)
	if err := f.compare(plan.After, plan.AfterUnknown, unknownAddress()); err != nil {
		t.Error(err)
	}
	w.sims.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{})
	terraform.must("apply", "-input=false", "-no-color", "saved")
	w.must(w.checkPublished(firstIP, firstIP, 80, 443))
	terraform.unchanged()
	terraform.destroy()
}
