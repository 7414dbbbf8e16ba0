package appsingress

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// planPatience is how long an InstallPlan may outlive its Subscription. The garbage collector takes it along within moments.
const planPatience = 15 * time.Second

// unsubscribe deletes our Subscription, and marks the CSV that OLM has made for it, or is about to make: an install that is under
// way brings it after the Subscription has gone, and a CSV without a Subscription keeps every later install from succeeding.
func (o operator) unsubscribe(ctx context.Context, r *run) error {
	ref := subscriptionRef(r.spec)
	err := kube.Retry(ctx, "read "+ref.String(), func(ctx context.Context) error { return o.observe(ctx, r) })
	if err != nil || !madeByProvider(r.live.subscription) {
		return err
	}
	subscription := r.live.subscription
	complete, err := o.markCSVs(ctx, r, subscription)
	if err != nil {
		return err
	}
	if err := r.delete(ctx, ref, subscription.GetUID()); err != nil {
		return err
	}
	r.live.subscription = nil
	plan := installPlan(subscription)
	if complete || plan == "" {
		return nil
	}
	if err := outlastPlan(ctx, r, plan); err != nil {
		return err
	}
	_, err = o.markCSVs(ctx, r, subscription)
	return err
}

// markCSVs marks the CSVs that a Subscription has and is to have. complete says that all of them are there.
func (o operator) markCSVs(ctx context.Context, r *run, subscription *unstructured.Unstructured) (complete bool, err error) {
	complete = true
	for _, field := range []string{"installedCSV", "currentCSV"} {
		name, _, _ := unstructured.NestedString(subscription.Object, "status", field)
		if name == "" {
			continue
		}
		ref := csvRef(r.spec, name)
		err := kube.Retry(ctx, "read "+ref.String(), func(ctx context.Context) error {
			return remember(&r.live.csv).from(find(ctx, r.hosted, ref))
		})
		if err != nil {
			return false, err
		}
		if err := o.markCSV(ctx, r); err != nil {
			return false, err
		}
		complete = complete && r.live.csv != nil
	}
	return complete, nil
}

// outlastPlan waits for the end of an InstallPlan whose Subscription is gone: after it nothing is installed any more. That it
// cannot be seen, or stays, is no reason to fail.
func outlastPlan(ctx context.Context, r *run, name string) error {
	short, cancel := context.WithTimeout(ctx, planPatience)
	defer cancel()
	ref := kube.Ref{Resource: installPlanKind(), Namespace: r.spec.MetalLB.Namespace, Name: name}
	err := r.hosted.AwaitGone(short, ref, "", "the end of "+ref.String())
	if ctx.Err() != nil {
		return err
	}
	return nil
}
