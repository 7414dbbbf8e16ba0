package simulator

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The phases of an InstallPlan and the states of a Subscription.
const (
	planRequiresApproval = "RequiresApproval"
	planInstalling       = "Installing"
	planComplete         = "Complete"
	planFailed           = "Failed"

	stateUpgradePending = "UpgradePending"
	stateAtLatestKnown  = "AtLatestKnown"
)

// planName is the same for the same Subscription and CSV, so that a plan is never made twice.
func planName(sub *unstructured.Unstructured, csv string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(string(sub.GetUID()) + csv))
	return fmt.Sprintf("install-%05x", sum.Sum32()&0xfffff)
}

// plan creates the InstallPlan and points the Subscription at it.
func (o *OLM) plan(ctx context.Context, sub *unstructured.Unstructured, csv string) error {
	plan, err := o.createPlan(ctx, sub, csv)
	if err != nil {
		return err
	}
	setStatus(sub, csv, "currentCSV")
	setStatus(sub, stateUpgradePending, "state")
	setStatus(sub, int64(1), "installPlanGeneration")
	setStatus(sub, object{
		"apiVersion": plan.GetAPIVersion(), "kind": plan.GetKind(), "namespace": plan.GetNamespace(), "name": plan.GetName(),
		"uid": string(plan.GetUID()), "resourceVersion": plan.GetResourceVersion(),
	}, "installPlanRef")
	setStatus(sub, object{
		"apiVersion": plan.GetAPIVersion(), "kind": plan.GetKind(), "name": plan.GetName(), "uuid": string(plan.GetUID()),
	}, "installplan")
	reason := planInstalling
	if approved, _, _ := unstructured.NestedBool(plan.Object, "spec", "approved"); !approved {
		reason = planRequiresApproval
	}
	setCondition(sub, installPlanPending, "True", reason, "")
	return nil
}

func (o *OLM) createPlan(ctx context.Context, sub *unstructured.Unstructured, csv string) (*unstructured.Unstructured, error) {
	approval := text(sub, "spec", "installPlanApproval")
	if approval == "" {
		approval = "Automatic"
	}
	plan := newObject(olmGroup+"/v1alpha1", "InstallPlan", sub.GetNamespace(), planName(sub, csv))
	plan.SetLabels(map[string]string{fmt.Sprintf("operators.coreos.com/%s.%s", o.options.Package, sub.GetNamespace()): ""})
	plan.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: sub.GetAPIVersion(), Kind: "Subscription", Name: sub.GetName(), UID: sub.GetUID(),
	}})
	plan.Object["spec"] = object{
		"approval": approval, "approved": approval == "Automatic",
		"clusterServiceVersionNames": []any{csv}, "generation": int64(1),
	}
	return create(ctx, o.client.Resource(installPlansResource), plan)
}

// install carries the plan out: approval, CRDs, CSV.
func (o *OLM) install(ctx context.Context, sub *unstructured.Unstructured) (time.Duration, error) {
	csv := text(sub, "status", "currentCSV")
	if o.silent() {
		csv = o.target(sub)
		if _, err := o.createPlan(ctx, sub, csv); err != nil {
			return 0, err
		}
	}
	if text(sub, "status", "installedCSV") == csv {
		return 0, o.installed(ctx, sub, csv)
	}
	plan, found, err := lookup(ctx, o.client.Resource(installPlansResource), sub.GetNamespace(), planName(sub, csv))
	if err != nil || !found {
		return 0, err // a plan that someone deleted is not made again, as in OLM
	}
	if approved, _, _ := unstructured.NestedBool(plan.Object, "spec", "approved"); !approved {
		return 0, o.planPhase(ctx, sub, plan, planRequiresApproval, nil)
	}
	if failure := o.active(func(f OLMFaults) *Failure { return f.InstallPlanFailed }); failure != nil {
		return 0, o.planPhase(ctx, sub, plan, planFailed, failure)
	}
	if err := o.planPhase(ctx, sub, plan, planInstalling, nil); err != nil || o.held(StageCRDs) {
		return 0, err
	}
	if left := o.clocks.Left(string(plan.GetUID())+"/crds", o.delays.CRDs); left > 0 {
		return left, nil
	}
	served, err := o.installCRDs(ctx)
	if err != nil || !served {
		return unservedRetry, err
	}
	if o.held(StageCSV) {
		return 0, nil
	}
	if err := o.createCSV(ctx, sub, csv); err != nil {
		return 0, err
	}
	if err := o.planPhase(ctx, sub, plan, planComplete, nil); err != nil || o.silent() {
		return 0, err
	}
	return o.finish(ctx, sub, csv)
}

// finish reports the CSV as installed. OLM does so when it is there, whatever its phase, and an upgrade removes its
// predecessor.
func (o *OLM) finish(ctx context.Context, sub *unstructured.Unstructured, csv string) (time.Duration, error) {
	before := sub.DeepCopy()
	previous := text(sub, "status", "installedCSV")
	setStatus(sub, csv, "installedCSV")
	setStatus(sub, stateAtLatestKnown, "state")
	dropCondition(sub, installPlanPending)
	dropCondition(sub, installPlanFailed)
	if _, err := o.writeStatus(ctx, before, sub); err != nil {
		return 0, err
	}
	if previous != "" && previous != csv {
		return 0, remove(ctx, o.client.Resource(csvsResource), sub.GetNamespace(), previous)
	}
	return 0, nil
}

// installed looks after a CSV that has been installed: OLM leaves one that was deleted missing.
func (o *OLM) installed(ctx context.Context, sub *unstructured.Unstructured, csv string) error {
	if !o.options.ReinstallCSV {
		return nil
	}
	return o.createCSV(ctx, sub, csv)
}

// planPhase writes what an InstallPlan and its Subscription say about each other.
func (o *OLM) planPhase(ctx context.Context, sub, plan *unstructured.Unstructured, phase string, failure *Failure) error {
	if o.silent() {
		return nil
	}
	planBefore, subBefore := plan.DeepCopy(), sub.DeepCopy()
	setStatus(plan, phase, "phase")
	setStatus(plan, []any{text(sub, "spec", "source")}, "catalogSources")
	switch phase {
	case planFailed:
		setCondition(plan, "Installed", "False", failure.Reason, failure.Message)
		setStatus(plan, failure.Message, "message")
		setCondition(sub, installPlanFailed, "True", failure.Reason, failure.Message)
		dropCondition(sub, installPlanPending)
	case planComplete:
		setCondition(plan, "Installed", "True", "", "")
	default:
		dropCondition(plan, "Installed")
		dropCondition(sub, installPlanFailed)
		setCondition(sub, installPlanPending, "True", phase, "")
	}
	updated, err := updateStatus(ctx, o.client.Resource(installPlansResource), planBefore, plan)
	if err != nil {
		return err
	}
	plan.Object = updated.Object
	written, err := o.writeStatus(ctx, subBefore, sub)
	if err != nil {
		return err
	}
	sub.Object = written.Object
	return nil
}

// installCRDs brings the operator's kinds; those that an earlier installation left are used as they are.
func (o *OLM) installCRDs(ctx context.Context) (bool, error) {
	for _, crd := range o.options.CRDs {
		if _, err := create(ctx, o.client.Resource(crdsResource), crd.DeepCopy()); err != nil {
			return false, err
		}
	}
	for _, crd := range o.options.CRDs {
		live, found, err := lookup(ctx, o.client.Resource(crdsResource), "", crd.GetName())
		if err != nil || !found || !established(live) {
			return false, err
		}
	}
	// Established is only what the API server intends: it is served when a list is answered.
	for _, resource := range []string{metallbsResource.Resource, poolsResource.Resource, advertisementsResource.Resource} {
		served, err := o.served(ctx, resource)
		if err != nil || !served {
			return false, err
		}
	}
	if _, before := o.timeline.First(CRDsServed); !before {
		o.timeline.add(CRDsServed, metallbGroup, "")
	}
	return true, nil
}

func (o *OLM) served(ctx context.Context, resource string) (bool, error) {
	for _, crd := range o.options.CRDs {
		if text(crd, "spec", "names", "plural") != resource {
			continue
		}
		_, err := o.client.Resource(metallbsResource.GroupVersion().WithResource(resource)).List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil, ignoreNotFound(err)
	}
	return true, nil
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(object); ok && condition["type"] == "Established" {
			return condition["status"] == "True"
		}
	}
	return false
}
