package acceptance

import (
	"fmt"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

const (
	nothing = plancheck.ResourceActionNoop
	inPlace = plancheck.ResourceActionUpdate
	replace = plancheck.ResourceActionDestroyBeforeCreate
)

// update is one apply in the life of an ingress.
type update struct {
	name       string
	before     func()   // what happens behind Terraform's back before it
	config     []change // on top of the updates before
	action     plancheck.ResourceActionType
	unknown    []string                     // what its plan leaves open
	downstream plancheck.ResourceActionType // what its plan does to the resource that follows the address
	planned    func()                       // what happens between plan and apply
	check      func() error
}

// updates creates an ingress and takes it through the updates. After each one a plan is empty.
func (w *world) updates(base []change, updates ...update) {
	w.t.Helper()
	var f follower
	created := f.step(w.t, update{
		name: "create", action: plancheck.ResourceActionCreate, unknown: unknownAll(), downstream: plancheck.ResourceActionCreate,
	})
	created.Config = w.config(base...)
	steps := []resource.TestStep{created}
	config := base
	for _, u := range updates {
		config = append(config, u.config...)
		step := f.step(w.t, u)
		step.Config = w.config(config...)
		steps = append(steps, step)
	}
	w.test(steps...)
}

// step is the step of an update, without its configuration.
func (f *follower) step(t interface{ Log(...any) }, u update) resource.TestStep {
	checks := []plancheck.PlanCheck{
		plancheck.ExpectResourceAction(address, u.action),
		plancheck.ExpectResourceAction(downstream, u.downstream),
		f.expect(u.unknown...),
	}
	if u.planned != nil {
		checks = append(checks, planCheck(func(*tfjson.Plan) error {
			u.planned()
			return nil
		}))
	}
	return resource.TestStep{
		PreConfig: func() {
			t.Log("update: " + u.name)
			if u.before != nil {
				u.before()
			}
		},
		ConfigPlanChecks: resource.ConfigPlanChecks{
			PreApply:             checks,
			PostApplyPostRefresh: []plancheck.PlanCheck{f.settle()},
		},
		Check: func(state *terraform.State) error {
			if err := followed(state); err != nil || u.check == nil {
				return err
			}
			if err := u.check(); err != nil {
				return fmt.Errorf("%s: %w", u.name, err)
			}
			return nil
		},
	}
}

// followed checks that the downstream resource has the address of the ingress: it is neither stale nor empty.
func followed(state *terraform.State) error {
	ingress := state.RootModule().Resources[address].Primary.Attributes
	want := ingress["external_ip"]
	if want == "" {
		want = ingress["external_hostname"]
	}
	if got := state.RootModule().Resources[downstream].Primary.Attributes["output"]; got != want || want == "" {
		return fmt.Errorf("the downstream resource has %q, the ingress %q", got, want)
	}
	return nil
}
