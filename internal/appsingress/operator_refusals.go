package appsingress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// refuse finds a MetalLB that is installed another way, and what would make the install fail.
func (o operator) refuse(ctx context.Context, r *run) error {
	if !r.spec.MetalLB.Install {
		return nil
	}
	if r.live.subscription != nil {
		return o.refuseSubscription(ctx, r)
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
		return o.refuseSubscription(ctx, r)
	}
	return refused
}

// refuseSubscription looks at the Subscription that is there: somebody else's has to mean the same; ours is about to be pointed at
// the wanted catalog, which has to exist.
func (o operator) refuseSubscription(ctx context.Context, r *run) error {
	if ownerOf(r.live.subscription, r.spec.ID()) != ours {
		return o.refuseOtherMeaning(r)
	}
	d := differ{live: r.live.subscription}
	d.field("spec.source", r.spec.MetalLB.Subscription.Source, 0)
	d.field("spec.sourceNamespace", r.spec.MetalLB.Subscription.SourceNamespace, 0)
	if len(d.found) == 0 && installedCSV(r.live.subscription) != "" {
		return nil
	}
	return refuseCatalogSource(ctx, r)
}

// refuseOtherMeaning compares the place a Subscription of somebody else installs from with the one that is configured.
func (operator) refuseOtherMeaning(r *run) error {
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
		Problem:   fmt.Sprintf("MetalLB is installed already in the %s, and %s", r.hosted, d.found[0]),
		Remedy:    "set metallb.subscription to what is there, or metallb.install = false to use MetalLB as it is",
	}
}

// refuseInstall looks, before a first Subscription is made, for what would make it fail or double: it reads everything side by
// side. A MetalLB that is there already makes what an installation needs meaningless, and its traces are all one thing: the first
// one is told. What may not be listed cluster-wide is not looked at.
func refuseInstall(ctx context.Context, r *run) error {
	already := []func(context.Context, *run) error{refuseOtherSubscription, refuseOtherMetalLB, refuseOrphanCSV}
	needed := []func(context.Context, *run) error{refuseOperatorGroups, refuseCatalogSource}
	errs := make([]error, len(already)+len(needed))
	var all sync.WaitGroup
	for i, check := range slices.Concat(already, needed) {
		all.Go(func() { errs[i] = check(ctx, r) })
	}
	all.Wait()
	for _, err := range errs[:len(already)] {
		if err != nil {
			return err
		}
	}
	return errors.Join(errs[len(already):]...)
}

// refuseOtherSubscription also finds out whether there is an OLM at all.
func refuseOtherSubscription(ctx context.Context, r *run) error {
	list, err := r.hosted.List(ctx, subscriptionKind(), "", metav1.ListOptions{})
	switch {
	case kube.IsNotFound(err):
		return &ConfigError{
			Attribute: "metallb.install",
			Problem:   fmt.Sprintf("the %s does not serve %s: there is no OLM to install MetalLB with", r.hosted, subscriptionKind().GroupVersion()),
			Remedy:    "install MetalLB another way and set metallb.install = false",
		}
	case kube.IsForbidden(err):
		return nil
	case err != nil:
		return err
	}
	for i := range list.Items {
		obj := &list.Items[i]
		if pkg, _, _ := unstructured.NestedString(obj.Object, "spec", "name"); pkg == r.spec.MetalLB.Subscription.Package {
			return installedElsewhere(r, "Subscription "+obj.GetNamespace()+"/"+obj.GetName(), obj.GetNamespace())
		}
	}
	return nil
}

func refuseOtherMetalLB(ctx context.Context, r *run) error {
	items, err := findAll(ctx, r.hosted, metallbKind(), "")
	if kube.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range items {
		if namespace := items[i].GetNamespace(); namespace != r.spec.MetalLB.Namespace {
			return installedElsewhere(r, "MetalLB "+namespace+"/"+items[i].GetName(), namespace)
		}
	}
	return nil
}

func installedElsewhere(r *run, object, namespace string) error {
	found := &ConfigError{
		Attribute: "metallb.namespace",
		Problem:   fmt.Sprintf("MetalLB is installed already in the %s, by %s", r.hosted, object),
		Remedy:    fmt.Sprintf("set metallb.namespace = %q and metallb.install = false to use it, or remove it first", namespace),
	}
	if namespace == r.spec.MetalLB.Namespace {
		found.Attribute, found.Remedy = "metallb.install", "set metallb.install = false to use it, or remove it first"
	}
	return found
}

// refuseOrphanCSV finds a CSV that no Subscription stands for. Copies that OLM makes of a global operator do not count.
func refuseOrphanCSV(ctx context.Context, r *run) error {
	items, err := findAll(ctx, r.hosted, csvKind(), r.spec.MetalLB.Namespace)
	if err != nil {
		return err
	}
	for i := range items {
		_, copied := items[i].GetLabels()["olm.copiedFrom"]
		if copied || madeByProvider(&items[i]) || !strings.HasPrefix(items[i].GetName(), r.spec.MetalLB.Subscription.Package+".") {
			continue
		}
		return &ConfigError{
			Attribute: "metallb.install",
			Problem: fmt.Sprintf("ClusterServiceVersion %s/%s in the %s belongs to no Subscription, and OLM installs nothing beside it",
				items[i].GetNamespace(), items[i].GetName(), r.hosted),
			Remedy: "delete it, or set metallb.install = false to use the MetalLB it runs",
		}
	}
	return nil
}

func refuseOperatorGroups(ctx context.Context, r *run) error {
	items, err := findAll(ctx, r.hosted, operatorGroupKind(), r.spec.MetalLB.Namespace)
	if err != nil || len(items) == 1 {
		return err
	}
	names := make([]string, 0, len(items))
	for i := range items {
		names = append(names, items[i].GetName())
	}
	problem := fmt.Sprintf("namespace %s in the %s has no OperatorGroup", r.spec.MetalLB.Namespace, r.hosted)
	remedy := "create one in it"
	if len(names) > 1 {
		remedy = "remove all but one"
		problem = fmt.Sprintf("namespace %s in the %s has %d OperatorGroups (%s)",
			r.spec.MetalLB.Namespace, r.hosted, len(names), strings.Join(names, ", "))
	}
	return &ConfigError{
		Attribute: "metallb.namespace",
		Problem:   problem + ", and OLM installs only beside exactly one",
		Remedy:    remedy + ", or choose a namespace that has exactly one",
	}
}

func refuseCatalogSource(ctx context.Context, r *run) error {
	s := r.spec.MetalLB.Subscription
	ref := kube.Ref{Resource: catalogSourceKind(), Namespace: s.SourceNamespace, Name: s.Source}
	source, err := find(ctx, r.hosted, ref)
	if err != nil || source != nil {
		return err
	}
	items, err := findAll(ctx, r.hosted, catalogSourceKind(), "")
	if err != nil && !kube.IsForbidden(err) {
		return err
	}
	existing := "none exist"
	if len(items) > 0 {
		names := make([]string, 0, len(items))
		for i := range items {
			names = append(names, items[i].GetNamespace()+"/"+items[i].GetName())
		}
		existing = "there are " + strings.Join(names, ", ")
	}
	return &ConfigError{
		Attribute: "metallb.subscription.source",
		Problem:   fmt.Sprintf("%s does not exist in the %s (%s)", ref, r.hosted, existing),
		Remedy:    "set metallb.subscription.source and source_namespace to a catalog that has the package " + s.Package,
	}
}
