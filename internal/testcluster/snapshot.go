package testcluster

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

const parallelRequests = 16

// unseen are resources that come and go by themselves, or that are another view of something else.
var unseen = []schema.GroupResource{
	{Resource: "events"},
	{Group: "events.k8s.io", Resource: "events"},
	{Group: "coordination.k8s.io", Resource: "leases"},
	{Group: "apiregistration.k8s.io", Resource: "apiservices"}, // follow the CRDs, with a delay
	{Resource: "componentstatuses"},
}

// Snapshot is everything in a cluster. The keys of both maps are "group/version/resource namespace/name".
type Snapshot struct {
	Objects  map[string]map[string]any // what somebody wrote
	Volatile map[string]Volatile       // what the API server adds to it
}

// Volatile changes with each write, or is never twice the same.
type Volatile struct {
	ResourceVersion   string
	UID               string
	Generation        int64
	CreationTimestamp string
	ManagedFields     []any
}

// Snapshot reads the whole cluster: every object of every resource that the API serves, but for events and leases.
func (c *Cluster) Snapshot(ctx context.Context) (Snapshot, error) {
	resources, err := c.listable()
	if err != nil {
		return Snapshot{}, err
	}
	return c.snapshot(ctx, resources)
}

func (c *Cluster) snapshot(ctx context.Context, resources []schema.GroupVersionResource) (Snapshot, error) {
	taken := Snapshot{Objects: map[string]map[string]any{}, Volatile: map[string]Volatile{}}
	var mutex sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelRequests)
	for _, resource := range resources {
		group.Go(func() error {
			list, err := c.Dynamic(UserAdmin).Resource(resource).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) { // its CRD went after discovery was asked
				return nil
			}
			if err != nil {
				return fmt.Errorf("listing %s: %w", resource.GroupResource(), err)
			}
			mutex.Lock()
			defer mutex.Unlock()
			for _, object := range list.Items {
				taken.add(resource, object)
			}
			return nil
		})
	}
	return taken, group.Wait()
}

func (s Snapshot) add(resource schema.GroupVersionResource, object unstructured.Unstructured) {
	key := snapshotKey(resource, object.GetNamespace(), object.GetName())
	managed, _, _ := unstructured.NestedSlice(object.Object, "metadata", "managedFields")
	created, _, _ := unstructured.NestedString(object.Object, "metadata", "creationTimestamp")
	s.Volatile[key] = Volatile{
		ResourceVersion: object.GetResourceVersion(), UID: string(object.GetUID()), Generation: object.GetGeneration(),
		CreationTimestamp: created, ManagedFields: managed,
	}
	for _, field := range []string{"resourceVersion", "uid", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	s.Objects[key] = object.Object
}

// snapshotKey is how a Snapshot names an object: "v1/services openshift-ingress/oooi-ingress".
func snapshotKey(resource schema.GroupVersionResource, namespace, name string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return resourceKey(resource) + " " + name
}

func resourceKey(resource schema.GroupVersionResource) string {
	return resource.GroupVersion().String() + "/" + resource.Resource
}

// listable are the resources that the API serves now and that can be listed, each in its preferred version.
func (c *Cluster) listable() ([]schema.GroupVersionResource, error) {
	client, err := c.discovery()
	if err != nil {
		return nil, err
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("asking what the API serves: %w", err)
	}
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists)
	var all []schema.GroupVersionResource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("asking what the API serves: %w", err)
		}
		for _, resource := range list.APIResources {
			if full := version.WithResource(resource.Name); !slices.Contains(unseen, full.GroupResource()) {
				all = append(all, full)
			}
		}
	}
	return all, nil
}
