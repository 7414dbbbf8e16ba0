package acceptance

import (
	"errors"
	"regexp"
	"testing"
	"time"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
)

// A MetalLB that is slow to move the address is waited for. One that never does is an error that leaves the state as it was, and the
// next apply goes on from there.
func TestMetalLBSlowToMoveTheAddress(t *testing.T) {
	const late, never = "198.51.100.60", "198.51.100.80"
	w := newWorld(t)
	lateRange := set("metallb.ip_address_pool_range", text("198.51.100.60-198.51.100.70"))
	neverRange := set("metallb.ip_address_pool_range", text("198.51.100.80-198.51.100.90"))
	short := set("timeouts", object("update", "6s"))
	var f follower
	moved := f.step(t, update{
		name: "MetalLB pauses", action: inPlace, unknown: unknownAddress(), downstream: inPlace,
		planned: func() { w.must(w.sims.PauseMetalLB(5 * time.Second)) },
		check:   func() error { return w.has(late) },
	})
	moved.Config = w.config(lateRange)
	stuck := f.step(t, update{
		name: "MetalLB stops", action: inPlace, unknown: unknownAddress(), downstream: inPlace,
		planned: func() { w.must(w.sims.PauseMetalLB(0)) },
	})
	stuck.Config, stuck.ExpectError = w.config(neverRange, short), regexp.MustCompile(`timeouts\.update`)
	again := f.step(t, update{
		name: "MetalLB goes on", action: inPlace, unknown: unknownAddress(), downstream: inPlace,
		check: func() error { return w.has(never) },
	})
	again.Config = w.config(neverRange)
	again.ConfigPlanChecks.PreApply = append(again.ConfigPlanChecks.PreApply, keptState(late, "198.51.100.60-198.51.100.70"), planCheck(
		func(*tfjson.Plan) error { return w.sims.ResumeMetalLB() }))
	w.test(resource.TestStep{Config: w.config()}, moved, stuck, again)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// keptState checks what the state has before an update: a failed one before it has left it alone.
func keptState(address, addresses string) plancheck.PlanCheck {
	return planCheck(func(plan *tfjson.Plan) error {
		change, err := plannedChange(plan)
		if err != nil {
			return err
		}
		before := attributes(change.Before)
		return errors.Join(
			differs("the address in the state", any(address), before["external_ip"]),
			differs("the range in the state", any(addresses), attributes(before["metallb"])["ip_address_pool_range"]),
		)
	})
}
