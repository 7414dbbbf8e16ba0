package testcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// settleTimeout is how long a cluster may take until nothing in it changes any more.
	settleTimeout = time.Minute
	settlePoll    = 100 * time.Millisecond
)

// rememberPristine keeps what a new cluster looks like, once the API server has made everything that it makes by itself.
func (c *Cluster) rememberPristine(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, settlePoll, settleTimeout, true, func(ctx context.Context) (bool, error) {
		resources, err := c.listable()
		if err != nil {
			return false, err
		}
		now, err := c.snapshot(ctx, resources)
		if err != nil {
			return false, err
		}
		settled := c.complete(now, resources) && reflect.DeepEqual(now.Objects, c.pristine.Objects)
		c.pristine, c.served = now, servedKeys(resources)
		return settled, nil
	})
}

// complete says whether everything is there that comes a moment after an API server is ready.
func (c *Cluster) complete(now Snapshot, resources []schema.GroupVersionResource) bool {
	wanted := []string{
		"v1/namespaces default", "v1/namespaces kube-system", "v1/namespaces kube-public", "v1/namespaces kube-node-lease",
		"v1/services default/kubernetes",
	}
	for _, object := range c.fixtures.objects {
		wanted = append(wanted, object.key())
	}
	for _, key := range wanted {
		if _, there := now.Objects[key]; !there {
			return false
		}
	}
	for _, crd := range c.fixtures.crds {
		known := slices.ContainsFunc(crdResources(crd), func(r schema.GroupVersionResource) bool { return slices.Contains(resources, r) })
		if !known {
			return false
		}
	}
	return true
}

func servedKeys(resources []schema.GroupVersionResource) map[string]bool {
	keys := map[string]bool{}
	for _, resource := range resources {
		keys[resourceKey(resource)] = true
	}
	return keys
}

// Reset deletes what is not pristine, makes again what is missing, and returns when the cluster is equal to a new one.
// Whatever else works on the cluster has to be stopped before.
func (c *Cluster) Reset(ctx context.Context) error {
	if err := c.resetProxy(); err != nil {
		return err
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, settlePoll, settleTimeout, true, func(ctx context.Context) (bool, error) {
		var done bool
		done, last = c.resetOnce(ctx)
		return done, nil // errors too may pass: a webhook that is just being deleted still refuses
	})
	if err != nil {
		return fmt.Errorf("resetting the %s cluster: %w", c.Name, errors.Join(err, last))
	}
	return nil
}

// resetOnce compares the cluster with the pristine one and does what can be done about the differences.
func (c *Cluster) resetOnce(ctx context.Context) (done bool, err error) {
	resources, err := c.listable()
	if err != nil {
		return false, err
	}
	now, err := c.snapshot(ctx, resources)
	if err != nil {
		return false, err
	}
	wrong, missing := c.differences(now)
	if len(wrong) == 0 && len(missing) == 0 {
		if served := servedKeys(resources); !maps.Equal(served, c.served) {
			return false, fmt.Errorf("the API serves %d resources, of a new cluster %d", len(served), len(c.served))
		}
		return true, nil
	}
	var errs []error
	for _, stage := range stages(wrong) {
		errs = append(errs, c.deleteAll(ctx, stage))
	}
	errs = append(errs, c.createFixtures(ctx))
	return false, errors.Join(append(errs, fmt.Errorf("not pristine: %s", sample(append(missing, wrong...))))...)
}

// differences are the keys of what is there and should not be, or not like this, and of what is not there.
func (c *Cluster) differences(now Snapshot) (wrong, missing []string) {
	for key, object := range now.Objects {
		if pristine, known := c.pristine.Objects[key]; !known || !same(key, pristine, object) {
			wrong = append(wrong, key)
		}
	}
	for key := range c.pristine.Objects {
		if _, there := now.Objects[key]; !there {
			missing = append(missing, key)
		}
	}
	slices.Sort(wrong)
	slices.Sort(missing)
	return wrong, missing
}

// same compares what somebody wrote. The status of a CRD is the API server's, and has times in it.
func same(key string, pristine, now map[string]any) bool {
	if strings.HasPrefix(key, resourceKey(crdResource)+" ") {
		pristine, now = maps.Clone(pristine), maps.Clone(now)
		delete(pristine, "status")
		delete(now, "status")
	}
	return reflect.DeepEqual(pristine, now)
}

// stages orders what is to be deleted: first what could refuse to let the rest go, then objects, then their kinds, then
// the namespaces.
func stages(keys []string) [][]string {
	order := make([][]string, 4)
	for _, key := range keys {
		stage := 1
		switch {
		case strings.HasPrefix(key, "admissionregistration.k8s.io/"):
			stage = 0
		case strings.HasPrefix(key, resourceKey(crdResource)+" "):
			stage = 2
		case strings.HasPrefix(key, resourceKey(namespaceResource)+" "):
			stage = 3
		}
		order[stage] = append(order[stage], key)
	}
	return order
}

func (c *Cluster) deleteAll(ctx context.Context, keys []string) error {
	var group errgroup.Group
	group.SetLimit(parallelRequests)
	for _, key := range keys {
		group.Go(func() error {
			if err := c.deleteNow(ctx, key); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("deleting %s: %w", key, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// deleteNow deletes an object in spite of its finalizers: whoever would remove them does not run any more.
func (c *Cluster) deleteNow(ctx context.Context, key string) error {
	resource, namespace, name := splitKey(key)
	client := c.Dynamic(UserAdmin).Resource(resource).Namespace(namespace)
	isCRD := resource == crdResource
	if !isCRD { // the API server's own finalizer of a CRD removes the stored objects
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		if _, err := client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	background := metav1.DeletePropagationBackground
	err := client.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64), PropagationPolicy: &background})
	if err != nil && !apierrors.IsConflict(err) { // a namespace that is already being deleted
		return err
	}
	if resource == namespaceResource {
		return c.finalizeNamespace(ctx, name)
	}
	return nil
}

// finalizeNamespace does what the namespace controller would do when a deleted namespace is empty.
func (c *Cluster) finalizeNamespace(ctx context.Context, name string) error {
	client := c.Dynamic(UserAdmin).Resource(namespaceResource)
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	object.Object["spec"] = map[string]any{"finalizers": []any{}}
	_, err = client.Update(ctx, object, metav1.UpdateOptions{}, "finalize")
	return err
}

// splitKey is the opposite of snapshotKey.
func splitKey(key string) (resource schema.GroupVersionResource, namespace, name string) {
	resourcePart, name, _ := strings.Cut(key, " ")
	if before, after, found := strings.Cut(name, "/"); found {
		namespace, name = before, after
	}
	parts := strings.Split(resourcePart, "/")
	resource.Resource = parts[len(parts)-1]
	resource.Version = parts[len(parts)-2]
	if len(parts) > 2 {
		resource.Group = parts[0]
	}
	return resource, namespace, name
}

// sample keeps messages short.
func sample(keys []string) string {
	const most = 8
	if len(keys) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:most], ", "), len(keys)-most)
	}
	return strings.Join(keys, ", ")
}
