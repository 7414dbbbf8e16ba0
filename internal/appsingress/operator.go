package appsingress

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// resolutionGrace is how long OLM may report that it cannot resolve a Subscription before it is believed: the condition comes
// and goes while catalogs start.
const resolutionGrace = time.Minute

// operator installs the MetalLB operator through OLM. Who installed it already, in the same place, is left alone.
type operator struct{}

func (operator) name() string    { return StepOperator }
func (operator) waiting() Reason { return ReasonWaitingForMetalLBCRDs }
func (operator) broken() Reason  { return ReasonMetalLBInstallFailed }

func subscriptionRef(spec Spec) kube.Ref {
	return kube.Ref{Resource: subscriptionKind(), Namespace: spec.MetalLB.Namespace, Name: spec.MetalLB.Subscription.Package}
}

func csvRef(spec Spec, name string) kube.Ref {
	return kube.Ref{Resource: csvKind(), Namespace: spec.MetalLB.Namespace, Name: name}
}

func (operator) subject(r *run) kube.Ref {
	if !r.spec.MetalLB.Install {
		return kube.Ref{}
	}
	return subscriptionRef(r.spec)
}

// observe reads the Subscription and the CSV it installed.
func (operator) observe(ctx context.Context, r *run) (err error) {
	if !r.spec.MetalLB.Install {
		return nil
	}
	if r.live.subscription, err = find(ctx, r.hosted, subscriptionRef(r.spec)); err != nil {
		return err
	}
	name := installedCSV(r.live.subscription)
	if name == "" {
		return nil
	}
	r.live.csv, err = find(ctx, r.hosted, csvRef(r.spec, name))
	return err
}

// installedCSV is the name of the CSV a Subscription reports as installed; empty when there is none yet.
func installedCSV(subscription *unstructured.Unstructured) string {
	if subscription == nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(subscription.Object, "status", "installedCSV")
	return name
}

func csvPhase(csv *unstructured.Unstructured) string {
	if csv == nil {
		return ""
	}
	phase, _, _ := unstructured.NestedString(csv.Object, "status", "phase")
	return phase
}

// operatorInstalled says that nothing of OLM has to run any more.
func operatorInstalled(r *run) bool {
	return !r.spec.MetalLB.Install || csvPhase(r.live.csv) == "Succeeded"
}

func desiredSubscription(spec Spec) *unstructured.Unstructured {
	obj := subscriptionRef(spec).Object()
	obj.Object["spec"] = subscriptionSpec(spec)
	return obj
}

func subscriptionSpec(spec Spec) map[string]any {
	s := spec.MetalLB.Subscription
	fields := map[string]any{
		"name":                s.Package,
		"channel":             s.Channel,
		"source":              s.Source,
		"sourceNamespace":     s.SourceNamespace,
		"installPlanApproval": "Automatic",
	}
	if s.StartingCSV != "" {
		fields["startingCSV"] = s.StartingCSV
	}
	return fields
}

// subscriptionFields are what makes two Subscriptions mean the same.
func subscriptionFields() []string { return []string{"name", "channel", "source", "sourceNamespace"} }

func (o operator) ensure(ctx context.Context, r *run) error {
	if !r.spec.MetalLB.Install {
		return nil
	}
	if err := o.clearTheWay(ctx, r); err != nil {
		return err
	}
	ref := subscriptionRef(r.spec)
	subscription := remember(&r.live.subscription)
	if err := subscription.from(r.share(ctx, ref, desiredSubscription(r.spec))); err != nil {
		return err
	}
	installing := &olmVerdict{}
	err := subscription.from(r.hosted.AwaitObject(ctx, ref, "OLM to install the MetalLB operator", installing.subscription))
	if err != nil {
		return err
	}
	csv := csvRef(r.spec, installedCSV(r.live.subscription))
	err = remember(&r.live.csv).from(r.hosted.AwaitObject(ctx, csv, "the MetalLB operator to run", csvSucceeded))
	if err != nil || ownerOf(r.live.subscription, r.spec.ID()) != ours {
		return err
	}
	return o.markCSV(ctx, r)
}

// clearTheWay removes what would keep OLM from installing: a CSV of ours whose Subscription has gone, and our Subscription
// when the CSV it reports as installed has gone, which OLM would never install again.
func (o operator) clearTheWay(ctx context.Context, r *run) error {
	if r.live.subscription == nil {
		return o.removeMarkedCSVs(ctx, r)
	}
	if installedCSV(r.live.subscription) == "" || r.live.csv != nil || ownerOf(r.live.subscription, r.spec.ID()) != ours {
		return nil
	}
	return r.delete(ctx, subscriptionRef(r.spec), r.live.subscription.GetUID())
}

// olmVerdict judges a Subscription over time.
type olmVerdict struct {
	unresolvedSince time.Time
}

func (v *olmVerdict) subscription(obj *unstructured.Unstructured) (kube.Verdict, error) {
	if obj == nil {
		return kube.Pending(string(ReasonWaitingForMetalLBCRDs), "the Subscription is not there"), nil
	}
	if installedCSV(obj) != "" {
		return kube.Done(), nil
	}
	object := kube.Ref{Resource: subscriptionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}.String()
	for _, failure := range []string{"InstallPlanFailed", "BundleUnpackFailed"} {
		if condition, status := conditionStatus(obj, failure); status == "True" {
			return kube.Verdict{}, olmFailure(object, failure, condition)
		}
	}
	if err := v.resolution(obj, object); err != nil {
		return kube.Verdict{}, err
	}
	return subscriptionPending(obj), nil
}

// resolution is the error of a resolution that has failed for longer than the grace period.
func (v *olmVerdict) resolution(obj *unstructured.Unstructured, object string) error {
	condition, status := conditionStatus(obj, "ResolutionFailed")
	if status != "True" {
		v.unresolvedSince = time.Time{}
		return nil
	}
	if v.unresolvedSince.IsZero() {
		v.unresolvedSince = time.Now()
	}
	if time.Since(v.unresolvedSince) < resolutionGrace {
		return nil
	}
	return olmFailure(object, "ResolutionFailed", condition)
}

// subscriptionPending says what OLM is doing, or what it waits for.
func subscriptionPending(obj *unstructured.Unstructured) kube.Verdict {
	for _, conditionType := range []string{"ResolutionFailed", "InstallPlanPending", "BundleUnpacking", "CatalogSourcesUnhealthy"} {
		condition, status := conditionStatus(obj, conditionType)
		if status != "True" {
			continue
		}
		if reason, _ := condition["reason"].(string); reason == "RequiresApproval" {
			return kube.Pending(string(ReasonWaitingForMetalLBCRDs), "its InstallPlan %s has to be approved by whoever set it to Manual",
				installPlan(obj))
		}
		return kube.Pending(string(ReasonWaitingForMetalLBCRDs), "%s: %v %v", conditionType, condition["reason"], condition["message"])
	}
	state, _, _ := unstructured.NestedString(obj.Object, "status", "state")
	if state == "" {
		state = "no state yet"
	}
	return kube.Pending(string(ReasonWaitingForMetalLBCRDs), "Subscription: %s", state)
}

func installPlan(subscription *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(subscription.Object, "status", "installPlanRef", "name")
	return name
}

func olmFailure(object, reason string, condition map[string]any) error {
	message, _ := condition["message"].(string)
	if r, _ := condition["reason"].(string); r != "" {
		reason += " " + r
	}
	return &FailedError{Object: object, Reason: reason, Message: message}
}

func csvSucceeded(csv *unstructured.Unstructured) (kube.Verdict, error) {
	if csv == nil {
		return kube.Pending(string(ReasonWaitingForMetalLBCRDs), "the ClusterServiceVersion is not there"), nil
	}
	message, _, _ := unstructured.NestedString(csv.Object, "status", "message")
	reason, _, _ := unstructured.NestedString(csv.Object, "status", "reason")
	switch phase := csvPhase(csv); phase {
	case "Succeeded":
		return kube.Done(), nil
	case "Failed":
		object := kube.Ref{Resource: csvKind(), Namespace: csv.GetNamespace(), Name: csv.GetName()}.String()
		return kube.Verdict{}, &FailedError{Object: object, Reason: reason, Message: message}
	default:
		return kube.Pending(string(ReasonWaitingForMetalLBCRDs), "ClusterServiceVersion %s: %s %s", csv.GetName(), phase, message), nil
	}
}

// drift compares the Subscription only when this ingress made it. What OLM installed from it has to live, whoever made it.
func (operator) drift(r *run) []Difference {
	if !r.spec.MetalLB.Install {
		return nil
	}
	ref := subscriptionRef(r.spec)
	if r.live.subscription == nil {
		return missing(ref.String(), AffectsOperator)
	}
	d := differ{object: ref.String(), live: r.live.subscription}
	if ownerOf(r.live.subscription, r.spec.ID()) == ours {
		want := subscriptionSpec(r.spec)
		for _, field := range append(subscriptionFields(), "installPlanApproval") {
			d.field("spec."+field, want[field], AffectsOperator)
		}
		d.marks(r.spec)
	}
	return append(d.found, csvDrift(r)...)
}

func csvDrift(r *run) []Difference {
	name := installedCSV(r.live.subscription)
	switch {
	case name == "":
		return []Difference{{
			Object: subscriptionRef(r.spec).String(), Field: "status.installedCSV",
			Want: "an installed version", Affects: AffectsOperator,
		}}
	case r.live.csv == nil:
		return missing(csvRef(r.spec, name).String(), AffectsOperator)
	case csvPhase(r.live.csv) == "Failed":
		return []Difference{{
			Object: csvRef(r.spec, name).String(), Field: "status.phase",
			Want: "Succeeded", Got: "Failed", Affects: AffectsOperator,
		}}
	}
	return nil
}

func (operator) present(r *run) []string {
	if ownerOf(r.live.subscription, r.spec.ID()) == ours {
		return []string{subscriptionRef(r.spec).String()}
	}
	return nil
}

// remove takes the operator away when an ingress of this provider installed it and nothing uses it any more: the Subscription
// first, so that OLM does not install again, then its CSV, which OLM would leave behind and later stumble over. The CSV, which may
// be a newer one than the one that was marked, is marked before: a removal cut short between the two is finished by the next one.
func (o operator) remove(ctx context.Context, r *run) error {
	if !r.spec.MetalLB.Install {
		return nil
	}
	if used, err := r.sharedInUse(ctx); used || err != nil {
		return err
	}
	if r.live.subscription != nil {
		if !madeByProvider(r.live.subscription) {
			return nil
		}
		if err := o.markCSV(ctx, r); err != nil {
			return err
		}
		if err := r.delete(ctx, subscriptionRef(r.spec), r.live.subscription.GetUID()); err != nil {
			return err
		}
		r.live.subscription = nil
	}
	return o.removeMarkedCSVs(ctx, r)
}

// markCSV says on the CSV that OLM made it for our Subscription: without the Subscription nothing else would.
func (operator) markCSV(ctx context.Context, r *run) error {
	if r.live.csv == nil || madeByProvider(r.live.csv) {
		return nil
	}
	patch := []byte(`{"metadata":{"labels":{"` + labelManagedBy + `":"` + kube.FieldManager + `"}}}`)
	ref := csvRef(r.spec, r.live.csv.GetName())
	return kube.Retry(ctx, "mark "+ref.String(), func(ctx context.Context) error {
		marked, err := r.hosted.Patch(ctx, ref, patch, kube.FieldManager)
		if err == nil {
			r.live.csv = marked
		}
		return err
	})
}

func (operator) removeMarkedCSVs(ctx context.Context, r *run) error {
	csvs, err := findAll(ctx, r.hosted, csvKind(), r.spec.MetalLB.Namespace)
	if err != nil {
		return err
	}
	var errs []error
	for i := range csvs {
		if madeByProvider(&csvs[i]) {
			errs = append(errs, r.delete(ctx, csvRef(r.spec, csvs[i].GetName()), csvs[i].GetUID()))
		}
	}
	return errors.Join(errs...)
}

// refuse finds a MetalLB that is installed another way, and what would make the install fail.
func (o operator) refuse(ctx context.Context, r *run) error {
	if !r.spec.MetalLB.Install {
		return nil
	}
	if r.live.subscription != nil {
		return o.refuseOtherMeaning(r)
	}
	refused := refuseInstall(ctx, r)
	if refused == nil {
		return nil
	}
	// Many ingresses may begin at once: what stands in the way may be the Subscription that another one has made meanwhile.
	if err := o.observe(ctx, r); err != nil {
		return err
	}
	if r.live.subscription != nil {
		return o.refuseOtherMeaning(r)
	}
	return refused
}

// refuseOtherMeaning compares the place a Subscription of somebody else installs from with the one that is configured.
func (operator) refuseOtherMeaning(r *run) error {
	if ownerOf(r.live.subscription, r.spec.ID()) != foreign {
		return nil
	}
	d := differ{object: subscriptionRef(r.spec).String(), live: r.live.subscription}
	want := subscriptionSpec(r.spec)
	for _, field := range subscriptionFields() {
		d.field("spec."+field, want[field], 0)
	}
	if len(d.found) == 0 {
		return nil
	}
	return &ConfigError{
		Attribute: "metallb.subscription",
		Problem:   fmt.Sprintf("MetalLB is installed already, and %s in the %s", d.found[0], r.hosted),
		Remedy:    "set metallb.subscription to what is there, or metallb.install = false to use MetalLB as it is",
	}
}
