package appsingress

import (
	"context"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// run is one call of a driver's verb: what is wanted, the two clusters, and what the steps learn and pass on.
type run struct {
	spec       Spec
	previous   *Spec // what was wanted before: on update and on removal
	management *kube.Cluster
	hosted     *kube.Cluster // nil when the HostedCluster is gone
	live       live

	endpoint Endpoint // the endpoint that fits; zero until there is one
	// held is the address that a change of pool must not lose. While it is set the Service is pinned to it.
	held Endpoint
	// seen is the attachment as last read, for who works beside the steps.
	seen atomic.Pointer[unstructured.Unstructured]
	// foreignPools is the number of pools that others have in MetalLB's namespace, asked once by the first removal that needs it.
	foreignPools *int
}

// live is what is really there; nil and empty are absent. Each step fills in its own part.
type live struct {
	subscription   *unstructured.Unstructured
	csv            *unstructured.Unstructured
	metallb        *unstructured.Unstructured
	pools          []unstructured.Unstructured // all of MetalLB's namespace
	advertisements []unstructured.Unstructured // all of MetalLB's namespace
	service        *unstructured.Unstructured
	infra          *unstructured.Unstructured
	attachment     *unstructured.Unstructured
	dnsServer      *unstructured.Unstructured
	proxyServer    *unstructured.Unstructured
}

// memory is where the run keeps a live object.
type memory struct{ at **unstructured.Unstructured }

func remember(at **unstructured.Unstructured) memory { return memory{at} }

// from takes over what a read or a write answers, and what it has seen before it failed. If it has seen nothing, what was known
// before is still the best that is known.
func (m memory) from(obj *unstructured.Unstructured, err error) error {
	if err == nil || obj != nil {
		*m.at = obj
	}
	return err
}

// find reads an object; absent is nil, also when its whole kind is not served.
func find(ctx context.Context, c *kube.Cluster, ref kube.Ref) (*unstructured.Unstructured, error) {
	obj, err := c.Get(ctx, ref)
	if kube.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absent is an answer here, not an error
	}
	return obj, err
}

// findAll lists a namespace; a kind that is not served has no objects.
func findAll(ctx context.Context, c *kube.Cluster, res kube.Resource, namespace string) ([]unstructured.Unstructured, error) {
	list, err := c.List(ctx, res, namespace, metav1.ListOptions{})
	if kube.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// listed is findAll that rides out what passes.
func listed(ctx context.Context, c *kube.Cluster, res kube.Resource, namespace string) (items []unstructured.Unstructured, err error) {
	err = kube.Retry(ctx, "list "+res.Kind+" in namespace "+namespace, func(ctx context.Context) error {
		items, err = findAll(ctx, c, res, namespace)
		return err
	})
	return items, err
}

// named is the object of this name, or nil.
func named(items []unstructured.Unstructured, name string) *unstructured.Unstructured {
	for i := range items {
		if items[i].GetName() == name {
			return &items[i]
		}
	}
	return nil
}

// with is a list in which the object of this name is the given one; nil changes nothing.
func with(items []unstructured.Unstructured, obj *unstructured.Unstructured) []unstructured.Unstructured {
	if obj == nil {
		return items
	}
	if current := named(items, obj.GetName()); current != nil {
		*current = *obj
		return items
	}
	return append(items, *obj)
}

// without is a new list that lacks the object of this name.
func without(items []unstructured.Unstructured, name string) []unstructured.Unstructured {
	rest := make([]unstructured.Unstructured, 0, len(items))
	for _, item := range items {
		if item.GetName() != name {
			rest = append(rest, item)
		}
	}
	return rest
}

// put writes an object that belongs to this ingress alone: it is created when absent, its fields are taken back when ours, and
// it is refused when it is somebody else's, unless it may be adopted.
func (r *run) put(ctx context.Context, ref kube.Ref, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return r.write(ctx, r.hosted, ref, desired, func(current *unstructured.Unstructured) (keep bool, err error) {
		return false, r.refuseForeign(ctx, r.hosted, ref, desired, current)
	})
}

// share makes sure of an object that many ingresses may use: somebody else's is used as it is.
func (r *run) share(ctx context.Context, ref kube.Ref, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return r.write(ctx, r.hosted, ref, desired, func(current *unstructured.Unstructured) (keep bool, err error) {
		return ownerOf(current, r.spec.ID()) == foreign, nil
	})
}

// write looks at what is there right before it writes, and asks judge whether to keep that as it is, or not to write at all. Beside
// an error it returns what it has seen last: an earlier try may have arrived, though its answer has not.
func (r *run) write(
	ctx context.Context, c *kube.Cluster, ref kube.Ref, desired *unstructured.Unstructured,
	judge func(current *unstructured.Unstructured) (keep bool, err error),
) (*unstructured.Unstructured, error) {
	var written *unstructured.Unstructured
	err := kube.Retry(ctx, "write "+ref.String(), func(ctx context.Context) error {
		current, err := find(ctx, c, ref)
		if err != nil {
			return err
		}
		if current, err = outlive(ctx, c, ref, current); err != nil {
			return err
		}
		written = current
		if keep, err := judge(current); keep || err != nil {
			return err
		}
		applied, err := r.apply(ctx, c, ref, desired, current)
		if err == nil {
			written = applied
		}
		return err
	})
	return written, err
}

// apply is a server-side apply of the desired object with our marks. On what is ours (current is not nil) it takes fields back
// by force: a hand edit moves ownership, and would otherwise turn every repair into a conflict.
func (r *run) apply(
	ctx context.Context, c *kube.Cluster, ref kube.Ref, desired, current *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	owner := r.spec.ownerOf(current)
	obj := desired.DeepCopy()
	mark(obj, r.spec.ID(), owner == adopted || owner == foreign)
	written, err := c.Apply(ctx, ref, obj, kube.ApplyOptions{Force: current != nil})
	if kube.IsNotFound(err) && ref.Resource.GroupVersion() == metallbAPI() {
		return nil, &notYetServedError{err}
	}
	return written, err
}

// outlive waits until an object that is being deleted is gone, and then answers nil.
func outlive(
	ctx context.Context, c *kube.Cluster, ref kube.Ref, current *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if current == nil || current.GetDeletionTimestamp() == nil {
		return current, nil
	}
	err := c.AwaitGone(ctx, ref, current.GetUID(), "the end of the deleted "+ref.String())
	return nil, err
}

// refuseForeign is the error for an object that is not ours to write.
func (r *run) refuseForeign(
	ctx context.Context, c *kube.Cluster, ref kube.Ref, desired, current *unstructured.Unstructured,
) error {
	if r.spec.ownerOf(current) != foreign || r.mayAdopt(current) {
		return nil
	}
	refusal := &OwnershipError{Cluster: c.String(), Object: ref.String(), Owner: current.GetAnnotations()[annotationIngress]}
	if refusal.Owner == "" {
		refusal.Conflicts = conflicts(ctx, c, ref, desired)
	}
	return refusal
}

// conflicts are the fields of somebody else's object that are not as desired: an apply without force would be refused for them.
// They only make the refusal clearer, so not being able to ask is no error.
func conflicts(ctx context.Context, c *kube.Cluster, ref kube.Ref, desired *unstructured.Unstructured) []kube.FieldConflict {
	_, err := c.Apply(ctx, ref, desired, kube.ApplyOptions{DryRun: true})
	return kube.IsApplyConflict(err)
}

// mayAdopt says that the object may be taken over: nobody else's mark is on it, and the user wants it.
func (r *run) mayAdopt(current *unstructured.Unstructured) bool {
	return r.spec.AdoptExisting && current.GetAnnotations()[annotationIngress] == ""
}

// removeOwned deletes an object that this ingress made, and returns when it is gone. What it did not make is left alone; from
// what it adopted only the marks are taken.
func (r *run) removeOwned(ctx context.Context, ref kube.Ref, current *unstructured.Unstructured) error {
	switch r.spec.ownerOf(current) {
	case ours:
		return r.delete(ctx, ref, current.GetUID())
	case adopted:
		return r.release(ctx, ref)
	case absent, foreign:
	}
	return nil
}

func (r *run) delete(ctx context.Context, ref kube.Ref, uid types.UID) error {
	return r.deleteFrom(ctx, r.hosted, ref, uid)
}

func (r *run) deleteFrom(ctx context.Context, c *kube.Cluster, ref kube.Ref, uid types.UID) error {
	err := kube.Retry(ctx, "delete "+ref.String(), func(ctx context.Context) error {
		return c.Delete(ctx, ref, uid)
	})
	if err != nil {
		return err
	}
	return c.AwaitGone(ctx, ref, uid, "the end of "+ref.String())
}

// release takes our marks off an object that stays.
func (r *run) release(ctx context.Context, ref kube.Ref) error {
	return kube.Retry(ctx, "release "+ref.String(), func(ctx context.Context) error {
		_, err := r.hosted.Modify(ctx, ref, func(obj *unstructured.Unstructured) (changed bool, err error) {
			unmark(obj)
			return true, nil
		})
		if kube.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// notYetServedError is a 404 on the write of a kind whose API was just installed: it passes.
type notYetServedError struct{ error }

func (e *notYetServedError) Unwrap() error   { return e.error }
func (e *notYetServedError) Transient() bool { return true }
