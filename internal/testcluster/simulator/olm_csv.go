package simulator

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// copiedFrom marks the copies that OLM puts into other namespaces.
const copiedFrom = "olm.copiedFrom"

// The phases of a CSV.
const (
	csvPending      = "Pending"
	csvInstallReady = "InstallReady"
	csvInstalling   = "Installing"
	csvSucceeded    = "Succeeded"
	csvFailed       = "Failed"
)

// csvStep is one phase with what OLM says in it.
type csvStep struct {
	phase, reason, message string
}

// csvSteps is the way of a CSV, in order.
func csvSteps() []csvStep {
	return []csvStep{
		{csvPending, "RequirementsUnknown", "requirements not yet checked"},
		{csvInstallReady, "AllRequirementsMet", "all requirements found, attempting install"},
		{csvInstalling, "InstallSucceeded", "waiting for install components to report healthy"},
		{csvSucceeded, "InstallSucceeded", "install strategy completed with no errors"},
	}
}

// createCSV makes the CSV without a phase; csvs takes it on from there.
func (o *OLM) createCSV(ctx context.Context, sub *unstructured.Unstructured, name string) error {
	csv := newObject(olmGroup+"/v1alpha1", "ClusterServiceVersion", sub.GetNamespace(), name)
	csv.SetLabels(map[string]string{fmt.Sprintf("operators.coreos.com/%s.%s", o.options.Package, sub.GetNamespace()): ""})
	spec := o.csvSpec(name)
	if previous := text(sub, "status", "installedCSV"); previous != "" && previous != name {
		spec["replaces"] = previous
	}
	csv.Object["spec"] = spec
	if _, err := create(ctx, o.client.Resource(csvsResource), csv); err != nil {
		return err
	}
	o.created[string(sub.GetUID())+"/"+name] = true
	return nil
}

// csvSpec is the least that the kind's schema accepts.
func (o *OLM) csvSpec(name string) object {
	_, version, _ := strings.Cut(name, ".v")
	spec := object{
		"displayName": "MetalLB Operator",
		"version":     version,
		"install":     object{"strategy": "deployment", "spec": object{"deployments": []any{}}},
	}
	owned := make([]any, 0, len(o.options.CRDs))
	for _, crd := range o.options.CRDs {
		owned = append(owned, object{
			"name": crd.GetName(), "kind": text(crd, "spec", "names", "kind"), "version": storedVersion(crd),
		})
	}
	if len(owned) > 0 {
		spec["customresourcedefinitions"] = object{"owned": owned}
	}
	return spec
}

func storedVersion(crd *unstructured.Unstructured) string {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if version, ok := v.(object); ok && version["storage"] == true {
			return fmt.Sprint(version["name"])
		}
	}
	return ""
}

// packageCSVs are the CSVs of the package, copies not counted.
func (o *OLM) packageCSVs(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	all, err := list(ctx, o.client.Resource(csvsResource), namespace)
	if err != nil {
		return nil, fmt.Errorf("clusterserviceversions: %w", err)
	}
	kept := all[:0]
	for i := range all {
		_, copied := all[i].GetLabels()[copiedFrom]
		if !copied && all[i].GetDeletionTimestamp() == nil && strings.HasPrefix(all[i].GetName(), o.options.Package+".") {
			kept = append(kept, all[i])
		}
	}
	return kept, nil
}

// csvs takes every CSV of the package to its next phase, and keeps its copies.
func (o *OLM) csvs(ctx context.Context) (time.Duration, error) {
	if o.silent() || o.held(StageCSV) {
		return 0, nil
	}
	csvs, err := o.packageCSVs(ctx, "")
	if err != nil {
		return 0, err
	}
	var next time.Duration
	for i := range csvs {
		after, err := o.csv(ctx, &csvs[i])
		if err != nil {
			return 0, err
		}
		next = sooner(next, after)
		if err := o.copyCSV(ctx, &csvs[i]); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// csv writes the next phase when its time has come. A failed CSV is tried again from the start once its cause is gone.
func (o *OLM) csv(ctx context.Context, csv *unstructured.Unstructured) (time.Duration, error) {
	phase := text(csv, "status", "phase")
	failure := o.active(func(f OLMFaults) *Failure { return f.CSVFailed })
	switch {
	case failure != nil && phase == csvFailed:
		return 0, nil
	case failure != nil && (phase == csvInstalling || phase == csvSucceeded):
		return 0, o.csvPhase(ctx, csv, csvStep{csvFailed, failure.Reason, failure.Message})
	case phase == csvSucceeded:
		return 0, nil
	}
	step := nextStep(phase)
	clock := string(csv.GetUID()) + "/" + step.phase
	if left := o.clocks.Left(clock, o.delays.CSVPhase); left > 0 {
		return left, nil
	}
	o.clocks.Forget(clock)
	if err := o.csvPhase(ctx, csv, step); err != nil {
		return 0, err
	}
	if step.phase == csvSucceeded {
		o.timeline.add(CSVSucceeded, csv.GetNamespace()+"/"+csv.GetName(), "")
	}
	return 0, nil // the write is an event of its own
}

func nextStep(phase string) csvStep {
	steps := csvSteps()
	for i, step := range steps[:len(steps)-1] {
		if step.phase == phase {
			return steps[i+1]
		}
	}
	return steps[0]
}

func (o *OLM) csvPhase(ctx context.Context, csv *unstructured.Unstructured, step csvStep) error {
	before := csv.DeepCopy()
	setStatus(csv, step.phase, "phase")
	setStatus(csv, step.reason, "reason")
	setStatus(csv, step.message, "message")
	setStatus(csv, now(), "lastUpdateTime")
	setStatus(csv, now(), "lastTransitionTime")
	history, _, _ := unstructured.NestedSlice(csv.Object, "status", "conditions")
	setStatus(csv, append(history, object{
		"phase": step.phase, "reason": step.reason, "message": step.message,
		"lastUpdateTime": now(), "lastTransitionTime": now(),
	}), "conditions")
	updated, err := updateStatus(ctx, o.client.Resource(csvsResource), before, csv)
	if err != nil {
		return err
	}
	csv.Object = updated.Object
	return nil
}

// copyCSV puts copies of an installed CSV into other namespaces. Their status is the original's, with a reason of its own.
func (o *OLM) copyCSV(ctx context.Context, csv *unstructured.Unstructured) error {
	if text(csv, "status", "phase") != csvSucceeded {
		return nil
	}
	api := o.client.Resource(csvsResource)
	for _, namespace := range o.options.CopyTo {
		if namespace == csv.GetNamespace() {
			continue
		}
		if _, found, err := lookup(ctx, api, namespace, csv.GetName()); err != nil || found {
			return err
		}
		twin := newObject(csv.GetAPIVersion(), csv.GetKind(), namespace, csv.GetName())
		twin.SetLabels(map[string]string{copiedFrom: csv.GetNamespace()})
		twin.Object["spec"] = csv.DeepCopy().Object["spec"]
		created, err := create(ctx, api, twin)
		if err != nil {
			return err
		}
		err = o.csvPhase(ctx, created, csvStep{
			csvSucceeded, "Copied", "The operator is running in " + csv.GetNamespace() + " but is managing this namespace",
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// OrphanCSV puts a CSV of the package into a namespace without a Subscription, as an earlier one left it.
func (o *OLM) OrphanCSV(ctx context.Context, namespace string) error {
	csv := newObject(olmGroup+"/v1alpha1", "ClusterServiceVersion", namespace, o.options.CSV)
	csv.Object["spec"] = o.csvSpec(o.options.CSV)
	_, err := create(ctx, o.client.Resource(csvsResource), csv)
	return err
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
