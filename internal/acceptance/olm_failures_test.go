package acceptance

import (
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// condition is the status of a condition of the Subscription.
func (w *world) condition(conditionType string) string {
	w.t.Helper()
	subscription := w.hosted.get(subscriptions, operators, "metallb-operator")
	if subscription == nil {
		return ""
	}
	for _, condition := range list(subscription, "status", "conditions") {
		if condition["type"] == conditionType {
			status, _ := condition["status"].(string)
			return status
		}
	}
	return ""
}

// unresolved has OLM report that it cannot resolve, and waits until the Subscription says so.
func (w *world) unresolved() {
	w.t.Helper()
	failure := simulator.Failure{Reason: "ConstraintsNotSatisfiable", Message: "no operators found"}
	w.sims.OLM.SetFaults(simulator.OLMFaults{ResolutionFailed: &failure})
	w.hosted.await("ResolutionFailed", func() bool { return w.condition("ResolutionFailed") == "True" })
}

// awaitCSV waits until the operator's CSV has a phase, and the API serves what came with it.
func (w *world) awaitCSV(phase string) {
	w.t.Helper()
	const csv = "metallb-operator.v4.18.0-202601010000"
	w.hosted.await("a CSV that has "+phase, func() bool {
		obj := w.hosted.get(csvs, operators, csv)
		if obj == nil || !w.hosted.serves(metallbs) || !w.hosted.serves(pools) || !w.hosted.serves(advertisements) {
			return false
		}
		status, _ := obj.Object["status"].(map[string]any)
		return status["phase"] == phase
	})
}

// A resolution that fails for a while is waited out. What OLM has given up ends the apply at once, with OLM's own words; when the
// cause is gone the next apply succeeds, also where OLM itself would not try again. With the operator installed, a resolution that
// fails is no drift.
func TestOLMGivesUp(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.OLM = &simulator.OLMOptions{UnpackTimeout: 1} })
	olm := w.sims.OLM
	olm.SetFaults(simulator.OLMFaults{ResolutionFailed: &simulator.Failure{Reason: "ConstraintsNotSatisfiable", Message: "not yet"}})
	c := newCLI(t, w.config())
	apply := c.start(applyFlags()...)
	w.hosted.await("ResolutionFailed", func() bool { return w.condition("ResolutionFailed") == "True" })
	if err := w.sims.Nodes.Drain(w.hosted.ctx(), "worker-1"); err != nil {
		t.Fatal(err)
	}
	olm.SetFaults(simulator.OLMFaults{})
	output, code := apply.wait()
	c.failed(output, code, []string{
		"Step 2 of 7: operator", "Subscription openshift-operators/metallb-operator failed: BundleUnpackFailed",
		"Job was active longer than specified deadline", "terraform untaint",
	})
	if err := w.sims.Nodes.Cordon(w.hosted.ctx(), "worker-1", false); err != nil {
		t.Fatal(err)
	}

	olm.SetFaults(simulator.OLMFaults{InstallPlanFailed: &simulator.Failure{Reason: "InstallComponentFailed", Message: "quota exceeded"}})
	c.must("untaint", address)
	c.fails([]string{"Step 2 of 7: operator", "InstallPlanFailed", "InstallComponentFailed", "quota exceeded"}, applyFlags()...)

	olm.SetFaults(simulator.OLMFaults{CSVFailed: &simulator.Failure{Reason: "ComponentUnhealthy", Message: "the image cannot be pulled"}})
	w.awaitCSV("Failed")
	c.fails([]string{
		"Step 2 of 7: operator", "ClusterServiceVersion openshift-operators/metallb-operator.v4.18.0-202601010000 failed",
		"ComponentUnhealthy", "the image cannot be pulled",
	}, applyFlags()...)

	olm.SetFaults(simulator.OLMFaults{})
	w.awaitCSV("Succeeded")
	c.apply()
	c.unchanged()
	w.unresolved()
	c.unchanged()
	c.config(w.config(set("service.labels", object("team", "apps"))))
	c.apply()
	c.destroy()
}

// A package or a channel that no catalog has is told in OLM's words. Once it is right, the Subscription to the wrong package is gone.
func TestOLMFindsNothing(t *testing.T) {
	w := newWorld(t)
	impatient := []change{set("timeouts.create", text("3s")), set("timeouts.update", text("3s"))}
	config := func(changes ...change) string { return w.config(append(changes, impatient...)...) }
	c := newCLI(t, config(set("metallb.subscription", `{ package = "metal-operator" }`)))
	c.fails([]string{
		"ResolutionFailed", "no operators found in package metal-operator in the catalog redhat-operators", "timeouts.create gives more",
	}, applyFlags()...)
	c.must("untaint", address)

	c.config(config(set("metallb.subscription", `{ channel = "beta" }`)))
	c.fails([]string{"no operators found in channel beta of package metallb-operator", "timeouts.update gives more"}, applyFlags()...)
	if w.hosted.get(subscriptions, operators, "metal-operator") != nil {
		t.Error("the Subscription to the wrong package is still there")
	}
	c.config(config(set("metallb.subscription", `{ source = "redhat-operatorz" }`)))
	c.fails([]string{
		"CatalogSource openshift-marketplace/redhat-operatorz does not exist", "openshift-marketplace/community-operators",
	}, applyFlags()...)

	c.config(w.config())
	c.apply()
	c.unchanged()
	c.destroy()
	if w.hosted.get(subscriptions, operators, "metallb-operator") != nil {
		t.Error("the Subscription is still there")
	}
}

// A Subscription of somebody else with Manual approval: its InstallPlan is theirs to approve, and the wait says so. An upgrade that
// waits for approval beside the installed version is no drift.
func TestOLMWaitsForApproval(t *testing.T) {
	w := newWorld(t)
	w.settled()
	w.hosted.create(subscriptions, operators, "metallb-operator", map[string]any{
		"name": "metallb-operator", "channel": "stable", "source": "redhat-operators", "sourceNamespace": "openshift-marketplace",
		"installPlanApproval": "Manual",
	})
	plan := ""
	w.hosted.await("an InstallPlan", func() bool {
		status, _ := w.at(subscriptions).must().Object["status"].(map[string]any)
		reference, _ := status["installPlanRef"].(map[string]any)
		plan, _ = reference["name"].(string)
		return plan != ""
	})
	c := newCLI(t, w.config(set("timeouts.create", text("3s"))))
	recorded := w.hosted.requests()
	c.fails([]string{"InstallPlan " + plan + " has to be approved", "timeouts.create gives more"}, applyFlags()...)
	nothingWritten(t, "while an InstallPlan waits for approval", recorded)

	w.hosted.patch(installPlans, operators, plan, map[string]any{"spec": map[string]any{"approved": true}})
	w.awaitCSV("Succeeded")
	c.must("untaint", address)
	c.config(w.config())
	c.apply()
	const newer = "metallb-operator.v4.19.0-202602020000"
	w.sims.OLM.OfferUpgrade(newer)
	w.hosted.await("a plan to upgrade", func() bool {
		status, _ := w.at(subscriptions).must().Object["status"].(map[string]any)
		return status["currentCSV"] == newer && status["state"] == "UpgradePending"
	})
	recorded = w.hosted.requests()
	c.unchanged()
	c.config(w.config(set("service.labels", object("team", "apps"))))
	c.apply()
	c.unchanged()
	for _, write := range recorded.writes() {
		if write.Object.Group == subscriptions.Group {
			t.Errorf("written with an upgrade pending: %s", write)
		}
	}
	c.destroy()
	w.at(subscriptions).must()
}
