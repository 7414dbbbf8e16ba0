package acceptance

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
)

// What an update may leave open, by what it changes.
func unknownAddress() []string {
	return append(unknownPublication(), "external_ip", "external_hostname")
}

func unknownPublication() []string { return append(unknownNothing(), "dns_records", "proxy_backends") }

func unknownNothing() []string { return []string{"reason", "message"} }

func unknownOperator() []string { return append(unknownNothing(), "installed_csv") }

func unknownAll() []string { return append(unknownAddress(), "installed_csv") }

// planCheck is a check of a plan.
type planCheck func(*tfjson.Plan) error

// CheckPlan implements plancheck.PlanCheck.
func (c planCheck) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	resp.Error = c(req.Plan)
}

// follower follows the ingress from plan to plan: what it had when nothing was to do any more is what the next plan must keep.
type follower struct{ settled map[string]any }

// expect checks that a plan leaves exactly these values open, and that every other computed one is known and as it was.
func (f *follower) expect(unknown ...string) plancheck.PlanCheck {
	return planCheck(func(plan *tfjson.Plan) error {
		change, err := plannedChange(plan)
		if err != nil {
			return err
		}
		if f.settled == nil && change.Before != nil {
			f.settled = attributes(change.Before)
		}
		return f.compare(attributes(change.After), change.AfterUnknown, unknown)
	})
}

func (f *follower) compare(after map[string]any, afterUnknown any, unknown []string) error {
	want := slices.Sorted(slices.Values(unknown))
	if diff := cmp.Diff(want, openIn(afterUnknown, ""), cmp.Transformer("sort", func(s []string) []string {
		return slices.Sorted(slices.Values(s))
	})); diff != "" {
		return fmt.Errorf("unknown in the plan (-want +got):\n%s", diff)
	}
	ready := map[string]any{"phase": "Ready", "drift": []any{}}
	for _, name := range append(unknownAll(), "id", "domain", "wildcard_domain", "phase", "drift") {
		expected, fixed := ready[name]
		if !fixed {
			expected = f.settled[name]
		}
		if slices.Contains(unknown, name) || f.settled == nil && !fixed {
			continue
		}
		if !reflect.DeepEqual(after[name], expected) {
			return fmt.Errorf("the plan has %s = %v, and it was %v", name, after[name], expected)
		}
	}
	return nil
}

// settle remembers what the ingress has in a plan with nothing to do.
func (f *follower) settle() plancheck.PlanCheck {
	return planCheck(func(plan *tfjson.Plan) error {
		change, err := plannedChange(plan)
		if err == nil {
			f.settled = attributes(change.After)
		}
		return err
	})
}

func plannedChange(plan *tfjson.Plan) (*tfjson.Change, error) {
	for _, resource := range plan.ResourceChanges {
		if resource.Address == address {
			return resource.Change, nil
		}
	}
	return nil, fmt.Errorf("%s is not in the plan", address)
}

func attributes(value any) map[string]any {
	values, _ := value.(map[string]any)
	return values
}

// openIn are the paths of the unknown values.
func openIn(value any, path string) []string {
	var open []string
	switch value := value.(type) {
	case bool:
		if value {
			open = append(open, path)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			inner := name
			if path != "" {
				inner = path + "." + name
			}
			open = append(open, openIn(value[name], inner)...)
		}
	case []any:
		for i, element := range value {
			open = append(open, openIn(element, fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return open
}
