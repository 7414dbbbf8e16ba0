package appsingress

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func subscriptionWith(status map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetNamespace("openshift-operators")
	obj.SetName("metallb-operator")
	if status != nil {
		obj.Object["status"] = status
	}
	return obj
}

func conditions(list ...map[string]any) map[string]any {
	var items []any
	for _, c := range list {
		items = append(items, c)
	}
	return map[string]any{"conditions": items}
}

func condition(conditionType, reason, message string) map[string]any {
	return map[string]any{"type": conditionType, "status": "True", "reason": reason, "message": message}
}

func TestSubscriptionVerdict(t *testing.T) {
	t.Parallel()
	unresolved := conditions(condition("ResolutionFailed", "ConstraintsNotSatisfiable", "no operators found"))
	installed := conditions(condition("ResolutionFailed", "ConstraintsNotSatisfiable", "no operators found"))
	installed["installedCSV"] = "metallb-operator.v1"
	for name, test := range map[string]struct {
		status map[string]any
		done   bool
		failed string
	}{
		"no status":                           {},
		"no condition":                        {status: map[string]any{"state": "UpgradePending"}},
		"installed":                           {status: map[string]any{"installedCSV": "metallb-operator.v1"}, done: true},
		"installed, and resolution fails":     {status: installed, done: true},
		"resolution fails for the first time": {status: unresolved},
		"plan failed": {
			status: conditions(condition("InstallPlanFailed", "InstallComponentFailed", "quota exceeded")),
			failed: "Subscription openshift-operators/metallb-operator failed: InstallPlanFailed InstallComponentFailed: quota exceeded",
		},
		"unpack failed": {
			status: conditions(condition("BundleUnpackFailed", "JobFailed", "deadline exceeded")),
			failed: "Subscription openshift-operators/metallb-operator failed: BundleUnpackFailed JobFailed: deadline exceeded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict, err := (&olmVerdict{}).subscription(subscriptionWith(test.status))
			if verdict.Done != test.done {
				t.Errorf("done is %v", verdict.Done)
			}
			var failed *FailedError
			if errors.As(err, &failed) != (test.failed != "") {
				t.Fatalf("unexpected error %v", err)
			}
			if failed != nil {
				if diff := cmp.Diff(test.failed, err.Error()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestResolutionHasAGracePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var v olmVerdict
		failing := subscriptionWith(conditions(condition("ResolutionFailed", "ConstraintsNotSatisfiable", "no operators found")))
		judge := func(obj *unstructured.Unstructured, wantErr bool) {
			t.Helper()
			if _, err := v.subscription(obj); (err != nil) != wantErr {
				t.Errorf("after the pause: error %v", err)
			}
		}
		judge(failing, false)
		time.Sleep(resolutionGrace - time.Second)
		judge(failing, false)
		judge(subscriptionWith(nil), false) // it cleared: the next failure starts afresh
		time.Sleep(2 * time.Second)
		judge(failing, false)
		time.Sleep(resolutionGrace)
		judge(failing, true)
	})
}

func TestCSVVerdict(t *testing.T) {
	t.Parallel()
	csv := func(phase string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": phase, "reason": "R", "message": "m"}}}
	}
	for name, test := range map[string]struct {
		csv          *unstructured.Unstructured
		done, failed bool
	}{
		"absent":        {},
		"no status":     {csv: &unstructured.Unstructured{Object: map[string]any{}}},
		"installing":    {csv: csv("Installing")},
		"succeeded":     {csv: csv("Succeeded"), done: true},
		"failed":        {csv: csv("Failed"), failed: true},
		"being swapped": {csv: csv("Replacing")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict, err := csvSucceeded(test.csv)
			if verdict.Done != test.done || (err != nil) != test.failed {
				t.Errorf("got %+v, %v", verdict, err)
			}
		})
	}
}
