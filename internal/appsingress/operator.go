package appsingress

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

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
	err := subscription.from(r.hosted.AwaitObject(ctx, ref, "the installation of the MetalLB operator", installing.subscription))
	if err != nil {
		return err
	}
	csv := csvRef(r.spec, installedCSV(r.live.subscription))
	err = remember(&r.live.csv).from(r.hosted.AwaitObject(ctx, csv, "the start of the MetalLB operator", csvSucceeded))
	if err != nil || ownerOf(r.live.subscription, r.spec.ID()) != ours {
		return err
	}
	return o.markCSV(ctx, r)
}

// clearTheWay removes what would keep OLM from installing: our Subscription to an earlier package, a CSV of ours whose Subscription
// has gone, and our Subscription when OLM would never go on with it.
func (o operator) clearTheWay(ctx context.Context, r *run) error {
	if err := o.removeEarlier(ctx, r); err != nil {
		return err
	}
	if r.live.subscription == nil {
		return o.removeMarkedCSVs(ctx, r)
	}
	if ownerOf(r.live.subscription, r.spec.ID()) != ours || !stuck(r) {
		return nil
	}
	return r.delete(ctx, subscriptionRef(r.spec), r.live.subscription.GetUID())
}

// removeEarlier removes our Subscription to another package, which an earlier configuration named.
func (operator) removeEarlier(ctx context.Context, r *run) error {
	if r.previous == nil || !r.previous.MetalLB.Install || subscriptionRef(*r.previous) == subscriptionRef(r.spec) {
		return nil
	}
	ref := subscriptionRef(*r.previous)
	var earlier *unstructured.Unstructured
	err := kube.Retry(ctx, "read "+ref.String(), func(ctx context.Context) (err error) {
		earlier, err = find(ctx, r.hosted, ref)
		return err
	})
	if err != nil || ownerOf(earlier, r.spec.ID()) != ours {
		return err
	}
	return r.delete(ctx, ref, earlier.GetUID())
}

// stuck says that OLM will not go on with the live Subscription: what it installed has gone, or what it tried has failed, in an
// earlier run, for good.
func stuck(r *run) bool {
	if installedCSV(r.live.subscription) != "" {
		return r.live.csv == nil
	}
	return givenUp(r.live.subscription) != nil
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
		if err := o.unsubscribe(ctx, r); err != nil {
			return err
		}
	}
	return o.removeMarkedCSVs(ctx, r)
}

// markCSV says on the CSV that OLM made it for our Subscription: without the Subscription nothing else would.
func (operator) markCSV(ctx context.Context, r *run) error {
	if r.live.csv == nil || madeByProvider(r.live.csv) {
		return nil
	}
	patch := []byte(`{"metadata":{"labels":{"` + LabelManagedBy + `":"` + kube.FieldManager + `"}}}`)
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
	csvs, err := listed(ctx, r.hosted, csvKind(), r.spec.MetalLB.Namespace)
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
