package acceptance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The names of what the ingress makes, as drift lines show them.
const (
	serviceLine       = "Service openshift-ingress/oooi-ingress: "
	subscriptionLine  = "Subscription openshift-operators/metallb-operator: "
	metallbLine       = "MetalLB openshift-operators/metallb: "
	poolLine          = "IPAddressPool openshift-operators/apps-pool: "
	advertisementLine = "L2Advertisement openshift-operators/advertise-apps-pool: "
	dnsLine           = "DNSServer clusters/vlan-dns: "
	proxyLine         = "ProxyServer clusters/vlan-proxy: "

	// The marks of what the ingress makes.
	ingressMark = "oooi.densityops.com/apps-ingress"
	managedBy   = "app.kubernetes.io/managed-by"
)

// breakage is something done behind Terraform's back, with the drift lines that have to tell of it.
type breakage struct {
	name  string
	do    func()
	lines []string
}

// round is one run of Terraform over breakages that do not touch each other.
type round struct {
	name   string
	breaks []breakage

	// address says that what decides the address has drifted: it is unknown until the repair.
	address bool
	// remade says that the API server gives the Service a new cluster IP or node port.
	remade bool
}

// step breaks, and expects that the plan names every difference and repairs it, and that the repair leaves every object as it
// was before.
func (w *world) step(config string, r round) resource.TestStep {
	var before map[string]any
	var want []string
	for _, b := range r.breaks {
		want = append(want, b.lines...)
	}
	return resource.TestStep{
		PreConfig: func() {
			before = w.own(r.remade)
			for _, b := range r.breaks {
				w.t.Logf("%s: %s", r.name, b.name)
				b.do()
			}
		},
		Config: config,
		ConfigPlanChecks: resource.ConfigPlanChecks{
			PreApply: []plancheck.PlanCheck{drifted{lines: want, address: r.address}},
		},
		Check: func(*terraform.State) error {
			if diff := cmp.Diff(before, w.own(r.remade)); diff != "" {
				return fmt.Errorf("%s: not repaired (-before +after):\n%s", r.name, diff)
			}
			return nil
		},
	}
}

// drifted expects that the refresh named these differences, and that the plan repairs them in place.
type drifted struct {
	lines   []string
	address bool   // the address is unknown until the repair
	moved   bool   // the address is another one now, which is known
	ip      string // external_ip after the refresh; empty: not compared
}

// CheckPlan implements plancheck.PlanCheck.
func (d drifted) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	change := plannedFor(req.Plan, address)
	if change == nil || !change.Actions.Update() {
		resp.Error = fmt.Errorf("the plan does not update %s: %+v", address, change)
		return
	}
	after, _ := change.After.(map[string]any)
	before, _ := change.Before.(map[string]any)
	unknown, _ := change.AfterUnknown.(map[string]any)
	resp.Error = errors.Join(
		differs("phase and drift after the refresh", []any{"Degraded", sorted(anys(d.lines))}, []any{before["phase"], sorted(before["drift"])}),
		differs("planned phase and drift", []any{"Ready", []string{}}, []any{after["phase"], sorted(after["drift"])}),
		differs("the address is unknown", d.address, unknown["external_ip"] == true),
	)
	if d.ip != "" {
		resp.Error = errors.Join(resp.Error, differs("external_ip after the refresh", any(d.ip), before["external_ip"]))
	}
	follows := plannedFor(req.Plan, downstream)
	if resp.Error == nil && follows != nil && follows.Actions.NoOp() == (d.address || d.moved) {
		resp.Error = fmt.Errorf("the resource that uses the address plans %v", follows.Actions)
	}
}

func plannedFor(plan *tfjson.Plan, address string) *tfjson.Change {
	for _, change := range plan.ResourceChanges {
		if change.Address == address {
			return change.Change
		}
	}
	return nil
}

func differs(what string, want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("%s (-want +got):\n%s", what, diff)
	}
	return nil
}

func anys(lines []string) []any {
	all := make([]any, 0, len(lines))
	for _, line := range lines {
		all = append(all, line)
	}
	return all
}

func sorted(list any) []string {
	items, _ := list.([]any)
	lines := make([]string, 0, len(items))
	for _, item := range items {
		lines = append(lines, fmt.Sprint(item))
	}
	slices.Sort(lines)
	return lines
}

// place is where an object of the ingress is, or one that it publishes in.
type place struct {
	live            live
	kind            kind
	namespace, name string
}

func (w *world) places() []place {
	const operators = "openshift-operators"
	return []place{
		{w.hosted, subscriptions, operators, "metallb-operator"},
		{w.hosted, metallbs, operators, "metallb"},
		{w.hosted, pools, operators, poolName},
		{w.hosted, advertisements, operators, "advertise-" + poolName},
		{w.hosted, services, "openshift-ingress", "oooi-ingress"},
		{w.management, dnsServers, "clusters", dnsName},
		{w.management, proxyServers, "clusters", proxyName},
	}
}

// at is the place of an object of a kind.
func (w *world) at(k kind) place {
	places := w.places()
	return places[slices.IndexFunc(places, func(p place) bool { return p.kind == k })]
}

// own is what somebody wrote of the objects of the ingress. When the Service is made anew, what the API server gives it is left out,
// and so is what MetalLB notes on it.
func (w *world) own(remade bool) map[string]any {
	w.t.Helper()
	all := map[string]any{}
	for _, p := range w.places() {
		obj := p.must()
		spec, _ := obj.Object["spec"].(map[string]any)
		if p.kind == services && remade {
			for _, given := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
				delete(spec, given)
			}
			spec["ports"] = withoutNodePorts(list(obj, "spec", "ports"))
		}
		all[p.kind.name] = map[string]any{
			"labels": obj.GetLabels(), "annotations": obj.GetAnnotations(), "finalizers": obj.GetFinalizers(),
			"owners": obj.GetOwnerReferences(), "spec": spec,
		}
	}
	return all
}

func withoutNodePorts(ports []map[string]any) []any {
	kept := make([]any, 0, len(ports))
	for _, port := range ports {
		delete(port, "nodePort")
		kept = append(kept, port)
	}
	slices.SortFunc(kept, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return kept
}

func (p place) must() *unstructured.Unstructured { return p.live.must(p.kind, p.namespace, p.name) }

func (p place) patch(patch map[string]any) { p.live.patch(p.kind, p.namespace, p.name, patch) }

func (p place) json(patch ...map[string]any) { p.live.patchJSON(p.kind, p.namespace, p.name, patch) }

// spec edits fields of an object's spec by hand.
func (p place) spec(pairs ...any) { p.patch(map[string]any{"spec": tree(pairs...)}) }

// annotate and label set a value, or take it off when it is nil.
func (p place) annotate(pairs ...any) {
	p.patch(map[string]any{"metadata": map[string]any{"annotations": tree(pairs...)}})
}

func (p place) label(pairs ...any) {
	p.patch(map[string]any{"metadata": map[string]any{"labels": tree(pairs...)}})
}

// entries edits a list in an object's spec by hand.
func (p place) entries(field string, edit func([]map[string]any) []map[string]any) {
	p.spec(field, edit(list(p.must(), "spec", field)))
}

// gone deletes the object and waits until it is gone.
func (p place) gone() {
	p.live.t.Helper()
	p.live.delete(p.kind, p.namespace, p.name)
	p.live.await("the end of "+p.name, func() bool { return p.live.get(p.kind, p.namespace, p.name) == nil })
}

func tree(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return out
}

// awaitAddress waits until MetalLB has given the Service this address; empty: has taken it away.
func (w *world) awaitAddress(want string) {
	w.t.Helper()
	w.hosted.await("the Service's address "+want, func() bool {
		got := ""
		for _, entry := range list(w.at(services).must(), "status", "loadBalancer", "ingress") {
			got, _ = entry["ip"].(string)
		}
		return got == want
	})
}
