package simulator

import (
	"bytes"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// object is the shape of everything that the simulators write.
type object = map[string]any

const (
	olmGroup     = "operators.coreos.com"
	metallbGroup = "metallb.io"
)

// The resources that the simulators read or write.
var (
	nodesResource          = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	namespacesResource     = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	servicesResource       = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	secretsResource        = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	subscriptionsResource  = schema.GroupVersionResource{Group: olmGroup, Version: "v1alpha1", Resource: "subscriptions"}
	installPlansResource   = schema.GroupVersionResource{Group: olmGroup, Version: "v1alpha1", Resource: "installplans"}
	csvsResource           = schema.GroupVersionResource{Group: olmGroup, Version: "v1alpha1", Resource: "clusterserviceversions"}
	catalogSourcesResource = schema.GroupVersionResource{Group: olmGroup, Version: "v1alpha1", Resource: "catalogsources"}
	operatorGroupsResource = schema.GroupVersionResource{Group: olmGroup, Version: "v1", Resource: "operatorgroups"}
	metallbsResource       = schema.GroupVersionResource{Group: metallbGroup, Version: "v1beta1", Resource: "metallbs"}
	poolsResource          = schema.GroupVersionResource{Group: metallbGroup, Version: "v1beta1", Resource: "ipaddresspools"}
	advertisementsResource = schema.GroupVersionResource{Group: metallbGroup, Version: "v1beta1", Resource: "l2advertisements"}
	crdsResource           = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
	hostedClustersResource = schema.GroupVersionResource{
		Group: "hypershift.openshift.io", Version: "v1beta1", Resource: "hostedclusters",
	}
	validatingWebhooksResource = schema.GroupVersionResource{
		Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations",
	}
	mutatingWebhooksResource = schema.GroupVersionResource{
		Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations",
	}
)

// newObject starts an object of the given kind.
func newObject(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: object{"apiVersion": apiVersion, "kind": kind}}
	u.SetName(name)
	if namespace != "" {
		u.SetNamespace(namespace)
	}
	return u
}

// create makes the object when it is not there and answers what is there.
func create(ctx context.Context, api dynamic.NamespaceableResourceInterface, u *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	created, err := api.Namespace(u.GetNamespace()).Create(ctx, u, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		created, err = api.Namespace(u.GetNamespace()).Get(ctx, u.GetName(), metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("creating %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return created, nil
}

// ensureNamespace makes a namespace when it is not there.
func ensureNamespace(ctx context.Context, client dynamic.Interface, name string) error {
	_, err := create(ctx, client.Resource(namespacesResource), newObject("v1", "Namespace", "", name))
	return err
}

// updateStatus writes the status when it differs from what is there, and answers the object as it is afterwards.
func updateStatus(ctx context.Context, api dynamic.NamespaceableResourceInterface, before, after *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if sameJSON(before.Object["status"], after.Object["status"]) {
		return after, nil
	}
	updated, err := api.Namespace(after.GetNamespace()).UpdateStatus(ctx, after, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("writing status of %s %s: %w", after.GetKind(), after.GetName(), err)
	}
	return updated, nil
}

// remove deletes an object; that it is gone already, or its kind is, is fine.
func remove(ctx context.Context, api dynamic.NamespaceableResourceInterface, namespace, name string) error {
	err := api.Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", name, err)
	}
	return nil
}

// lookup reads an object and answers nil, without an error, when it or its kind is not there.
func lookup(ctx context.Context, api dynamic.NamespaceableResourceInterface, namespace, name string,
) (*unstructured.Unstructured, bool, error) {
	u, err := api.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading %s: %w", name, err)
	}
	return u, true, nil
}

// list reads all objects of a resource; a kind that is not served has none.
func list(ctx context.Context, api dynamic.NamespaceableResourceInterface, namespace string) ([]unstructured.Unstructured, error) {
	found, err := api.Namespace(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing: %w", err)
	}
	return found.Items, nil
}

func text(u *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

func sameJSON(a, b any) bool {
	x := unstructured.Unstructured{Object: object{"v": a}}
	y := unstructured.Unstructured{Object: object{"v": b}}
	left, errLeft := x.MarshalJSON()
	right, errRight := y.MarshalJSON()
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}

// now is a time as API objects write it.
func now() string { return time.Now().UTC().Format(time.RFC3339) }

// setCondition sets one condition of the status; its transition time moves only with its status, as in the real parts.
func setCondition(u *unstructured.Unstructured, kind, status, reason, message string) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	wanted := object{
		"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now(),
	}
	for i := range conditions {
		condition, ok := conditions[i].(object)
		if !ok || condition["type"] != kind {
			continue
		}
		if condition["status"] == status {
			wanted["lastTransitionTime"] = condition["lastTransitionTime"]
		}
		conditions[i] = wanted
		setStatus(u, conditions, "conditions")
		return
	}
	setStatus(u, append(conditions, wanted), "conditions")
}

// dropCondition removes a condition; OLM does so when what it told of is over.
func dropCondition(u *unstructured.Unstructured, kind string) {
	conditions, found, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	if !found {
		return
	}
	kept := make([]any, 0, len(conditions))
	for _, c := range conditions {
		if condition, ok := c.(object); ok && condition["type"] == kind {
			continue
		}
		kept = append(kept, c)
	}
	setStatus(u, kept, "conditions")
}

// setStatus sets one field of the status. The objects come from JSON, where a status is always a map.
func setStatus(u *unstructured.Unstructured, value any, path ...string) {
	status, ok := u.Object["status"].(object)
	if !ok {
		status = object{}
		u.Object["status"] = status
	}
	for _, key := range path[:len(path)-1] {
		next, isMap := status[key].(object)
		if !isMap {
			next = object{}
			status[key] = next
		}
		status = next
	}
	status[path[len(path)-1]] = value
}
