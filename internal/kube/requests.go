package kube

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Get reads one object.
func (c *Cluster) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	return c.object(ctx, verbGet, ref, func(ctx context.Context, api dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return api.Get(ctx, ref.Name, metav1.GetOptions{})
	})
}

// List reads a collection; namespace "" is all namespaces.
func (c *Cluster) List(
	ctx context.Context, res Resource, namespace string, opts metav1.ListOptions,
) (*unstructured.UnstructuredList, error) {
	ref := Ref{Resource: res, Namespace: namespace}
	var list *unstructured.UnstructuredList
	err := c.request(ctx, verbList, ref, func(ctx context.Context, conn *connection) (err error) {
		list, err = conn.resource(ref).List(ctx, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// ApplyOptions of a server-side apply.
type ApplyOptions struct {
	Force  bool // take fields over from other managers
	DryRun bool // answer with what would be, write nothing
}

// Apply is a server-side apply. Without Force it fails with IsApplyConflict when another manager owns a field of obj with
// another value. obj is not changed.
func (c *Cluster) Apply(
	ctx context.Context, ref Ref, obj *unstructured.Unstructured, opts ApplyOptions,
) (*unstructured.Unstructured, error) {
	options := metav1.ApplyOptions{Force: opts.Force, FieldManager: FieldManager}
	if opts.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return c.object(ctx, verbApply, ref, func(ctx context.Context, api dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return api.Apply(ctx, ref.Name, obj, options)
	})
}

// Patch sends a JSON merge patch under the given field manager.
func (c *Cluster) Patch(ctx context.Context, ref Ref, patch []byte, manager string) (*unstructured.Unstructured, error) {
	options := metav1.PatchOptions{FieldManager: manager}
	return c.object(ctx, verbPatch, ref, func(ctx context.Context, api dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return api.Patch(ctx, ref.Name, types.MergePatchType, patch, options)
	})
}

// Update writes the whole object. It fails with IsConflict when the object's resource version is no longer the current one.
func (c *Cluster) Update(ctx context.Context, ref Ref, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	options := metav1.UpdateOptions{FieldManager: FieldManager}
	return c.object(ctx, verbUpdate, ref, func(ctx context.Context, api dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return api.Update(ctx, obj, options)
	})
}

// Delete deletes an object in the background; absent is success. With a UID only that object is deleted, and another one of
// the same name means that it is absent. The object may stay until its finalizers are done: see AwaitGone.
func (c *Cluster) Delete(ctx context.Context, ref Ref, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	if uid != "" {
		options.Preconditions = metav1.NewUIDPreconditions(string(uid))
	}
	err := c.request(ctx, verbDelete, ref, func(ctx context.Context, conn *connection) error {
		return conn.resource(ref).Delete(ctx, ref.Name, options)
	})
	if IsNotFound(err) {
		return nil
	}
	if uid == "" || !hasCode(err, http.StatusConflict) {
		return err
	}
	live, readErr := c.Get(ctx, ref)
	if IsNotFound(readErr) || (readErr == nil && live.GetUID() != uid) {
		return nil
	}
	return err
}

// object sends a request that answers with one object.
func (c *Cluster) object(
	ctx context.Context, verb string, ref Ref,
	send func(ctx context.Context, api dynamic.ResourceInterface) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	var obj *unstructured.Unstructured
	err := c.request(ctx, verb, ref, func(ctx context.Context, conn *connection) (err error) {
		obj, err = send(ctx, conn.resource(ref))
		return err
	})
	if err != nil {
		return nil, err
	}
	return obj, nil
}

// resource is the client of the reference's collection.
func (c *connection) resource(ref Ref) dynamic.ResourceInterface {
	all := c.dynamic.Resource(ref.Resource.GroupVersionResource)
	if ref.Namespace == "" {
		return all
	}
	return all.Namespace(ref.Namespace)
}
