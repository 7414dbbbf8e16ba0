package appsingress

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// refuseInstall looks, before a first Subscription is made, for what would make it fail or double: it reads everything side by
// side. What may not be listed cluster-wide is not looked at.
func refuseInstall(ctx context.Context, r *run) error {
	checks := []func(context.Context, *run) error{
		refuseOtherSubscription, refuseOtherMetalLB, refuseOrphanCSV, refuseOperatorGroups, refuseCatalogSource,
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, check := range checks {
		group.Go(func() error { return check(ctx, r) })
	}
	return group.Wait()
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
	return &ConfigError{
		Attribute: "metallb.namespace",
		Problem:   fmt.Sprintf("MetalLB is installed already in the %s, by %s", r.hosted, object),
		Remedy:    fmt.Sprintf("set metallb.namespace = %q and metallb.install = false to use it, or remove it first", namespace),
	}
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
	if len(names) > 1 {
		problem = fmt.Sprintf("namespace %s in the %s has %d OperatorGroups (%s)",
			r.spec.MetalLB.Namespace, r.hosted, len(names), strings.Join(names, ", "))
	}
	return &ConfigError{
		Attribute: "metallb.namespace",
		Problem:   problem + ", and OLM installs only beside exactly one",
		Remedy:    "choose a namespace with one OperatorGroup, such as " + DefaultMetalLBNamespace,
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
