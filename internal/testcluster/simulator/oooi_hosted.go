package simulator

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
)

const (
	hostedOperatorNamespace = "openshift-operators"
	hostedSubscription      = "metallb-operator"
	hostedMetalLB           = "metallb"
	poolAnnotation          = "metallb.universe.tf/address-pool"
	routerSelectorKey       = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller"
)

// hasReadyNode looks at the Ready condition only: cordoned or tainted nodes count.
func (h *hostedConnection) hasReadyNode(ctx context.Context) (bool, error) {
	nodes, err := h.client.Resource(nodesResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("listing nodes: %w", err)
	}
	for i := range nodes.Items {
		conditions, _, _ := unstructured.NestedSlice(nodes.Items[i].Object, "status", "conditions")
		for _, c := range conditions {
			if condition, ok := c.(object); ok && condition["type"] == "Ready" && condition["status"] == "True" {
				return true, nil
			}
		}
	}
	return false, nil
}

// subscribe answers whether anything had to be changed.
func (h *hostedConnection) subscribe(ctx context.Context) (bool, error) {
	return h.overwrite(ctx, subscriptionsResource, olmGroup+"/v1alpha1", "Subscription", hostedSubscription, object{
		"channel": "stable", "name": "metallb-operator", "source": "redhat-operators",
		"sourceNamespace": "openshift-marketplace", "installPlanApproval": "Automatic",
	})
}

// servesMetalLB says whether all of MetalLB's kinds can be used.
func (h *hostedConnection) servesMetalLB(ctx context.Context) (bool, error) {
	for _, resource := range []schema.GroupVersionResource{metallbsResource, poolsResource, advertisementsResource} {
		_, err := h.client.Resource(resource).Namespace(hostedOperatorNamespace).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("looking for %s: %w", resource.Resource, err)
		}
	}
	return true, nil
}

// configureMetalLB writes MetalLB's objects and answers whether anything had to be changed.
func (h *hostedConnection) configureMetalLB(ctx context.Context, spec attachmentSpec, made hostedNames) (bool, error) {
	if spec.names.pool == "" || spec.addresses == "" {
		return false, errors.New("addressPoolName and ipAddressPoolRange are needed")
	}
	if made.advertisement != "" && made.advertisement != spec.names.advertisement {
		err := remove(ctx, h.client.Resource(advertisementsResource), hostedOperatorNamespace, made.advertisement)
		if err != nil {
			return false, err
		}
	}
	anything := false
	for _, wanted := range []struct {
		resource   schema.GroupVersionResource
		kind, name string
		spec       object
	}{
		{metallbsResource, "MetalLB", hostedMetalLB, object{}},
		{poolsResource, "IPAddressPool", spec.names.pool, object{"autoAssign": true, "addresses": []any{spec.addresses}}},
		{advertisementsResource, "L2Advertisement", spec.names.advertisement, object{"ipAddressPools": []any{spec.names.pool}}},
	} {
		changed, err := h.overwrite(ctx, wanted.resource, metallbGroup+"/v1beta1", wanted.kind, wanted.name, wanted.spec)
		if err != nil {
			return false, err
		}
		anything = anything || changed
	}
	return anything, nil
}

// overwrite makes an object the way it is wanted and no other: metadata and spec of others are lost. It answers whether the
// object was missing or its spec another; labels, annotations and finalizers do not count.
func (h *hostedConnection) overwrite(ctx context.Context, resource schema.GroupVersionResource, apiVersion, kind, name string,
	spec object,
) (changed bool, err error) {
	api := h.client.Resource(resource)
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		wanted := newObject(apiVersion, kind, hostedOperatorNamespace, name)
		wanted.Object["spec"] = spec
		live, found, err := lookup(ctx, api, hostedOperatorNamespace, name)
		if err != nil {
			return err
		}
		if !found {
			changed = true
			_, err = api.Namespace(hostedOperatorNamespace).Create(ctx, wanted, metav1.CreateOptions{FieldManager: oooiName})
			return err
		}
		if live.GetDeletionTimestamp() != nil {
			return errors.New("it is being deleted")
		}
		wanted.SetResourceVersion(live.GetResourceVersion())
		updated, err := api.Namespace(hostedOperatorNamespace).Update(ctx, wanted, metav1.UpdateOptions{FieldManager: oooiName})
		if err != nil {
			return err
		}
		changed = updated.GetGeneration() != live.GetGeneration()
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("writing %s %s/%s: %w", kind, hostedOperatorNamespace, name, err)
	}
	return changed, nil
}

// removeAll deletes the five objects, but not the CSV, and waits for none of them.
func (h *hostedConnection) removeAll(ctx context.Context, names hostedNames) error {
	for _, doomed := range []struct {
		resource        schema.GroupVersionResource
		namespace, name string
	}{
		{servicesResource, names.serviceNamespace, names.service},
		{advertisementsResource, hostedOperatorNamespace, names.advertisement},
		{poolsResource, hostedOperatorNamespace, names.pool},
		{metallbsResource, hostedOperatorNamespace, hostedMetalLB},
		{subscriptionsResource, hostedOperatorNamespace, hostedSubscription},
	} {
		if doomed.name == "" {
			continue
		}
		if err := remove(ctx, h.client.Resource(doomed.resource), doomed.namespace, doomed.name); err != nil {
			return err
		}
	}
	return nil
}

// awaitMetalLBGone gives metallb-operator a moment to let its deleted object go, as it is to be made again.
func (h *hostedConnection) awaitMetalLBGone(ctx context.Context) {
	const patience = 2 * time.Second
	for end := time.Now().Add(patience); time.Now().Before(end) && ctx.Err() == nil; pause(ctx, conflictRetry) {
		_, found, err := lookup(ctx, h.client.Resource(metallbsResource), hostedOperatorNamespace, hostedMetalLB)
		if err != nil || !found {
			return
		}
	}
}
