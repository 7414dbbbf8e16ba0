package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Verdict is what a check says about what it saw: done, or still pending and why.
type Verdict struct {
	Done    bool
	Reason  string // one word, or as few as it takes
	Message string
}

// Done ends a wait.
func Done() Verdict { return Verdict{Done: true} }

// Pending goes on waiting, and says for what.
func Pending(reason, format string, args ...any) Verdict {
	return Verdict{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// AwaitObject waits until check is done with the object, and returns it as last read. The object is nil while it, or its whole
// kind, is absent. An error of check that is not transient ends the wait and is returned wrapped. When ctx runs out the error
// is a *TimeoutError; when it is cancelled, the context's error wrapped. what names the thing waited for, in both.
func (c *Cluster) AwaitObject(
	ctx context.Context, ref Ref, what string, check func(obj *unstructured.Unstructured) (Verdict, error),
) (*unstructured.Unstructured, error) {
	var last *unstructured.Unstructured
	one := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()}
	w := wait{what: what, watch: c.watchOf(Ref{Resource: ref.Resource, Namespace: ref.Namespace}, one)}
	err := w.run(ctx, func(ctx context.Context) (string, func() (Verdict, error), error) {
		obj, err := c.Get(ctx, ref)
		if err != nil && !IsNotFound(err) {
			return "", nil, err
		}
		last = obj
		version := ""
		if obj != nil {
			version = obj.GetResourceVersion()
		}
		return version, func() (Verdict, error) { return check(obj) }, nil
	})
	if err != nil {
		return nil, err
	}
	return last, nil
}

// AwaitList waits until check is done with the collection; namespace "" is all namespaces. The collection is empty while its
// kind is absent. Errors are those of AwaitObject.
func (c *Cluster) AwaitList(
	ctx context.Context, res Resource, namespace, what string, check func(items []unstructured.Unstructured) (Verdict, error),
) error {
	w := wait{what: what, watch: c.watchOf(Ref{Resource: res, Namespace: namespace}, metav1.ListOptions{})}
	return w.run(ctx, func(ctx context.Context) (string, func() (Verdict, error), error) {
		list, err := c.List(ctx, res, namespace, metav1.ListOptions{})
		switch {
		case IsNotFound(err):
			return "", func() (Verdict, error) { return check(nil) }, nil
		case err != nil:
			return "", nil, err
		default:
			return list.GetResourceVersion(), func() (Verdict, error) { return check(list.Items) }, nil
		}
	})
}

// AwaitGone waits until the object is absent; with a UID, an object of another UID means that ours is gone. Errors are those of
// AwaitObject; the last verdict of a *TimeoutError names the finalizers that hold the object.
func (c *Cluster) AwaitGone(ctx context.Context, ref Ref, uid types.UID, what string) error {
	_, err := c.AwaitObject(ctx, ref, what, func(obj *unstructured.Unstructured) (Verdict, error) {
		switch {
		case obj == nil, uid != "" && obj.GetUID() != uid:
			return Done(), nil
		case obj.GetDeletionTimestamp() == nil:
			return Pending("Present", "%s is not being deleted", ref), nil
		case len(obj.GetFinalizers()) == 0:
			return Pending("Deleting", "%s is being deleted", ref), nil
		default:
			return Pending("Finalizing", "%s keeps finalizers %s", ref, strings.Join(obj.GetFinalizers(), ", ")), nil
		}
	})
	return err
}

// AwaitServed waits until the API server serves all the plurals. There is nothing to watch: it asks every 400 ms. Errors are
// those of AwaitObject.
func (c *Cluster) AwaitServed(ctx context.Context, gv schema.GroupVersion, what string, plurals ...string) error {
	w := wait{what: what, every: servedInterval}
	return w.run(ctx, func(ctx context.Context) (string, func() (Verdict, error), error) {
		served, err := c.Served(ctx, gv)
		if err != nil {
			return "", nil, err
		}
		missing := slices.DeleteFunc(slices.Clone(plurals), func(plural string) bool { return served[plural] })
		return "", func() (Verdict, error) {
			if len(missing) == 0 {
				return Done(), nil
			}
			return Pending("NotServed", "the API server does not serve %s of %s", strings.Join(missing, ", "), gv), nil
		}, nil
	})
}

// Retry repeats do while its error is transient, with growing pauses, and returns any other error as it is. When ctx runs out
// the error is a *TimeoutError with the last error; when it is cancelled, the context's error wrapped.
func Retry(ctx context.Context, what string, do func(ctx context.Context) error) error {
	w := wait{what: what, whole: true}
	return w.run(ctx, func(ctx context.Context) (string, func() (Verdict, error), error) {
		err := do(ctx)
		return "", func() (Verdict, error) { return Done(), nil }, err
	})
}
