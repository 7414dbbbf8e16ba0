package simulator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The conditions of a Subscription.
const (
	catalogSourcesUnhealthy = "CatalogSourcesUnhealthy"
	resolutionFailed        = "ResolutionFailed"
	bundleUnpacking         = "BundleUnpacking"
	bundleUnpackFailed      = "BundleUnpackFailed"
	installPlanPending      = "InstallPlanPending"
	installPlanFailed       = "InstallPlanFailed"
	notSatisfiable          = "ConstraintsNotSatisfiable"
)

// subscription does what is due for one Subscription: resolve, unpack, plan, install.
func (o *OLM) subscription(ctx context.Context, sub *unstructured.Unstructured) (time.Duration, error) {
	uid := string(sub.GetUID())
	name := sub.GetNamespace() + "/" + sub.GetName()
	if !o.seen[uid] {
		o.seen[uid] = true
		o.timeline.add(SubscriptionSeen, name, "")
	}
	if o.held(StageResolve) {
		return 0, nil
	}
	if left := o.clocks.Left(uid+"/resolve", o.delays.Resolve); left > 0 {
		return left, nil
	}
	before := sub.DeepCopy()
	after, install, err := o.advance(ctx, sub)
	if err != nil {
		return 0, err
	}
	if !o.silent() {
		if sub, err = o.writeStatus(ctx, before, sub); err != nil {
			return 0, err
		}
	}
	if !install {
		return after, nil
	}
	return o.install(ctx, sub)
}

// writeStatus writes a changed status with the time of the change.
func (o *OLM) writeStatus(ctx context.Context, before, sub *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if sameJSON(before.Object["status"], sub.Object["status"]) {
		return sub, nil
	}
	setStatus(sub, now(), "lastUpdated")
	return updateStatus(ctx, o.client.Resource(subscriptionsResource), before, sub)
}

// advance brings the Subscription's status up to the point where there is a plan; install says that there is one.
func (o *OLM) advance(ctx context.Context, sub *unstructured.Unstructured) (after time.Duration, install bool, err error) {
	failed, err := o.resolve(ctx, sub)
	if err != nil {
		return 0, false, err
	}
	if failed != nil {
		setCondition(sub, resolutionFailed, "True", failed.Reason, failed.Message)
		// A resolution that fails does not stop what has been planned before it.
		return 0, text(sub, "status", "currentCSV") != "", nil
	}
	dropCondition(sub, resolutionFailed)
	target := o.target(sub)
	if text(sub, "status", "currentCSV") == target || text(sub, "status", "installedCSV") == target {
		return 0, true, nil
	}
	if after, unpacked, err := o.unpack(ctx, sub, target); err != nil || !unpacked {
		return after, false, err
	}
	if o.held(StageInstallPlan) {
		return 0, false, nil
	}
	if o.silent() {
		return 0, true, nil
	}
	return 0, true, o.plan(ctx, sub, target)
}

// target is the CSV that the Subscription is to have: the one it starts with, then the head of the channel.
func (o *OLM) target(sub *unstructured.Unstructured) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	installed := text(sub, "status", "installedCSV")
	if installed != "" && o.upgrade != "" {
		return o.upgrade
	}
	if installed != "" {
		return installed
	}
	if current := text(sub, "status", "currentCSV"); current != "" {
		return current
	}
	if starting := text(sub, "spec", "startingCSV"); starting != "" {
		return starting
	}
	if o.upgrade != "" {
		return o.upgrade
	}
	return o.options.CSV
}

// resolve finds out whether the Subscription can be satisfied, in the order in which OLM notices.
func (o *OLM) resolve(ctx context.Context, sub *unstructured.Unstructured) (*Failure, error) {
	source, namespace := text(sub, "spec", "source"), text(sub, "spec", "sourceNamespace")
	_, found, err := lookup(ctx, o.client.Resource(catalogSourcesResource), namespace, source)
	if err != nil {
		return nil, fmt.Errorf("catalog source: %w", err)
	}
	if !found {
		setCondition(sub, catalogSourcesUnhealthy, "True", "UnhealthyCatalogSourceFound",
			fmt.Sprintf("targeted catalogsource %s/%s missing", namespace, source))
		return o.unsatisfiable(sub, fmt.Sprintf("no operators found from catalog %s in namespace %s", source, namespace)), nil
	}
	setCondition(sub, catalogSourcesUnhealthy, "False", "AllCatalogSourcesHealthy", "all available catalogsources are healthy")
	if failure := o.active(func(f OLMFaults) *Failure { return f.ResolutionFailed }); failure != nil {
		return failure, nil
	}
	if failure := o.offered(sub); failure != nil {
		return failure, nil
	}
	return o.orphan(ctx, sub)
}

// offered checks what is asked for against what the catalog has.
func (o *OLM) offered(sub *unstructured.Unstructured) *Failure {
	name, channel, starting := text(sub, "spec", "name"), text(sub, "spec", "channel"), text(sub, "spec", "startingCSV")
	source := text(sub, "spec", "source")
	known := o.options.OlderCSVs == nil && strings.HasPrefix(starting, o.options.Package+".")
	switch {
	case name != o.options.Package:
		return o.unsatisfiable(sub, fmt.Sprintf("no operators found in package %s in the catalog %s", name, source))
	case channel != "" && channel != o.options.Channel:
		return o.unsatisfiable(sub, fmt.Sprintf("no operators found in channel %s of package %s in the catalog %s", channel, name, source))
	case starting != "" && starting != o.options.CSV && !known && !slices.Contains(o.options.OlderCSVs, starting):
		return o.unsatisfiable(sub, fmt.Sprintf("no operators found with name %s in channel %s of package %s in the catalog %s",
			starting, channel, name, source))
	}
	return nil
}

// orphan finds a CSV of the package that no Subscription accounts for: OLM's resolver then sees two sources for one
// package and gives up.
func (o *OLM) orphan(ctx context.Context, sub *unstructured.Unstructured) (*Failure, error) {
	if o.options.AdoptOrphans {
		return nil, nil //nolint:nilnil // no failure is the usual answer
	}
	csvs, err := o.packageCSVs(ctx, sub.GetNamespace())
	if err != nil {
		return nil, err
	}
	for i := range csvs {
		name := csvs[i].GetName()
		known := name == text(sub, "status", "currentCSV") || name == text(sub, "status", "installedCSV")
		if known || o.created[string(sub.GetUID())+"/"+name] {
			continue
		}
		return o.unsatisfiable(sub, fmt.Sprintf("clusterserviceversion %s exists and is not referenced by a subscription, "+
			"@existing/%s//%s and %s/%s/%s/%s originate from package %s", name, sub.GetNamespace(), name,
			text(sub, "spec", "source"), text(sub, "spec", "sourceNamespace"), text(sub, "spec", "channel"), o.options.CSV,
			o.options.Package)), nil
	}
	return nil, nil //nolint:nilnil // no failure is the usual answer
}

func (o *OLM) unsatisfiable(sub *unstructured.Unstructured, cause string) *Failure {
	return &Failure{
		Reason: notSatisfiable,
		Message: fmt.Sprintf("constraints not satisfiable: %s referenced by subscription %s, subscription %s exists",
			cause, sub.GetName(), sub.GetName()),
	}
}

// unpack runs the bundle's Job, which needs a worker that takes pods.
func (o *OLM) unpack(ctx context.Context, sub *unstructured.Unstructured, target string) (time.Duration, bool, error) {
	if o.held(StageUnpack) {
		return 0, false, nil
	}
	if failure := o.active(func(f OLMFaults) *Failure { return f.BundleUnpackFailed }); failure != nil {
		dropCondition(sub, bundleUnpacking)
		setCondition(sub, bundleUnpackFailed, "True", failure.Reason, failure.Message)
		return 0, false, nil
	}
	job := string(sub.GetUID()) + "/" + target
	if o.timedOut[job] {
		return 0, false, nil
	}
	setCondition(sub, bundleUnpacking, "True", "JobIncomplete", "unpack job not completed")
	ready, err := o.workerReady(ctx)
	if err != nil {
		return 0, false, err
	}
	if !ready {
		return o.unpackWaits(sub, job)
	}
	if left := o.clocks.Left(job+"/unpack", o.delays.Unpack); left > 0 {
		return left, false, nil
	}
	dropCondition(sub, bundleUnpacking)
	dropCondition(sub, bundleUnpackFailed)
	return 0, true, nil
}

// unpackWaits is the Job without a worker: it waits, and with a time limit it fails for good.
func (o *OLM) unpackWaits(sub *unstructured.Unstructured, job string) (time.Duration, bool, error) {
	o.clocks.Forget(job + "/unpack")
	if o.options.UnpackTimeout == 0 {
		return 0, false, nil
	}
	left := o.clocks.Left(job+"/unpack timeout", o.options.UnpackTimeout)
	if left == 0 {
		o.timedOut[job] = true
		dropCondition(sub, bundleUnpacking)
		setCondition(sub, bundleUnpackFailed, "True", bundleUnpackFailed,
			"bundle unpacking failed. Reason: DeadlineExceeded, and Message: Job was active longer than specified deadline")
	}
	return left, false, nil
}

func (o *OLM) workerReady(ctx context.Context) (bool, error) {
	nodes, err := list(ctx, o.client.Resource(nodesResource), "")
	if err != nil {
		return false, fmt.Errorf("nodes: %w", err)
	}
	return slices.ContainsFunc(nodes, func(node unstructured.Unstructured) bool { return schedulable(&node) }), nil
}
