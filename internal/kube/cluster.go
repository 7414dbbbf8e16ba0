package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// FieldManager is the name under which every write is made, except a Patch with a manager of its own. It never changes:
// the API server keeps it on the objects.
const FieldManager = "terraform-provider-oooi"

// Cluster is one API server. It connects at first use, not before.
type Cluster struct {
	name string
	load func(ctx context.Context) (*rest.Config, error)
}

// NewCluster names a cluster and says how its connection is configured. load is called at first use, and again after a 401.
func NewCluster(name string, load func(ctx context.Context) (*rest.Config, error)) *Cluster {
	return &Cluster{name: name, load: load}
}

// String is the cluster's name in messages: "management cluster", "hosted cluster clusters/demo".
func (c *Cluster) String() string { return c.name }

// Get reads one object.
func (c *Cluster) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) { panic("todo") }

// List reads a collection; namespace "" is all namespaces.
func (c *Cluster) List(
	ctx context.Context, res Resource, namespace string, opts metav1.ListOptions,
) (*unstructured.UnstructuredList, error) {
	panic("todo")
}

// ApplyOptions of a server-side apply.
type ApplyOptions struct {
	Force  bool // take fields over from other managers
	DryRun bool // answer with what would be, write nothing
}

// Apply is a server-side apply.
func (c *Cluster) Apply(
	ctx context.Context, ref Ref, obj *unstructured.Unstructured, opts ApplyOptions,
) (*unstructured.Unstructured, error) {
	panic("todo")
}

// Patch sends a JSON merge patch under the given field manager.
func (c *Cluster) Patch(ctx context.Context, ref Ref, patch []byte, manager string) (*unstructured.Unstructured, error) {
	panic("todo")
}

// Update writes the whole object, with its resource version.
func (c *Cluster) Update(ctx context.Context, ref Ref, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	panic("todo")
}

// Delete deletes an object; absent is success. A UID that is not empty is a precondition.
func (c *Cluster) Delete(ctx context.Context, ref Ref, uid types.UID) error { panic("todo") }

// Modify reads, changes and writes an object with its resource version until no one else wrote in between.
func (c *Cluster) Modify(
	ctx context.Context, ref Ref, change func(obj *unstructured.Unstructured) (changed bool, err error),
) (*unstructured.Unstructured, error) {
	panic("todo")
}

// Served is the set of plurals that the API server serves of a group version; empty when it serves none.
func (c *Cluster) Served(ctx context.Context, gv schema.GroupVersion) (map[string]bool, error) { panic("todo") }

// UID identifies the cluster: the UID of its namespace kube-system.
func (c *Cluster) UID(ctx context.Context) (types.UID, error) { panic("todo") }
