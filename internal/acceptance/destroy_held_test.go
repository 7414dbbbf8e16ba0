package acceptance

import (
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

const keepFinalizer = "example.com/keep"

func destroyFlags(more ...string) []string {
	return append([]string{"destroy", "-auto-approve", "-input=false", "-no-color"}, more...)
}

// stays runs a destroy that has to fail with these texts and to keep the ingress in the state.
func (c *cli) stays(texts []string, flags ...string) {
	c.t.Helper()
	output := c.fails(append(texts, "The apps ingress was not removed", "the state is kept"), destroyFlags(flags...)...)
	if c.values(address) == nil {
		c.t.Errorf("the ingress is not in the state any more:\n%s", output)
	}
}

// finalizers sets those of an object by hand.
func (p place) finalizers(names ...any) {
	p.patch(map[string]any{"metadata": map[string]any{"finalizers": names}})
}

// A destroy ends inside its time when something does not go, says what and what holds it, and keeps the state; the next one goes
// on. What it removed is no obstacle to the next create.
func TestDestroyEndsWhenSomethingStays(t *testing.T) {
	w := newWorld(t)
	c := newCLI(t, w.config(set("timeouts.delete", text("4s"))))
	c.apply()

	w.at(services).finalizers(keepFinalizer)
	c.stays([]string{
		"in time", "Step 5 of 7: service", "Service openshift-ingress/oooi-ingress keeps finalizers " + keepFinalizer,
		"timeouts.delete gives more",
	})
	w.at(services).finalizers()

	w.nothingRuns()
	w.at(pools).annotate(adoptedMark, "true")
	w.must(w.sims.Admission.WebhookNotReady(w.hosted.ctx()))
	c.stays([]string{"in time", "release IPAddressPool openshift-operators/apps-pool", "failed calling webhook"})
	w.must(w.sims.Admission.WebhookReady(w.hosted.ctx(), 0))
	w.at(pools).annotate(adoptedMark, nil)
	w.must(w.sims.Admission.WebhookNotReady(w.hosted.ctx()))

	c.stays([]string{
		"in time", "Step 3 of 7: MetalLB", "MetalLB openshift-operators/metallb keeps finalizers metallb.openshift.io/operand",
	})
	if w.hosted.get(pools, "openshift-operators", poolName) != nil {
		t.Error("the pool waits for what comes after it")
	}

	w.sims.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{})
	c.destroy()
	for _, k := range []kind{services, pools, advertisements, metallbs, subscriptions} {
		if p := w.at(k); w.hosted.get(k, p.namespace, p.name) != nil {
			t.Errorf("%s is left", k.name)
		}
	}

	w.must(w.sims.Admission.Off(w.hosted.ctx()))
	w.must(w.sims.Nodes.Cordon(w.hosted.ctx(), "worker-1", false))
	c.apply()
	c.unchanged()
	c.config(w.config())
	c.apply()
	c.destroy()
}

// nothingRuns leaves no worker, so that MetalLB's operator can do nothing any more.
func (w *world) nothingRuns() {
	w.t.Helper()
	w.must(w.sims.Nodes.Drain(w.hosted.ctx(), "worker-1"))
	w.sims.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{NeverRemoves: true})
}
