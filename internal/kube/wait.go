package kube

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Verdict is what a check says about what it saw.
type Verdict struct {
	Done            bool
	Reason, Message string
}

// Done ends a wait.
func Done() Verdict { return Verdict{Done: true} }

// Pending goes on waiting, and says for what.
func Pending(reason, format string, args ...any) Verdict {
	return Verdict{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// AwaitObject waits until check is done with the object, and returns it as last read. The object is nil when it is absent.
func (c *Cluster) AwaitObject(
	ctx context.Context, ref Ref, what string, check func(obj *unstructured.Unstructured) (Verdict, error),
) (*unstructured.Unstructured, error) {
	panic("todo")
}

// AwaitList waits until check is done with the collection.
func (c *Cluster) AwaitList(
	ctx context.Context, res Resource, namespace, what string, check func(items []unstructured.Unstructured) (Verdict, error),
) error {
	panic("todo")
}

// AwaitGone waits until the object is absent; with a UID, also an object of another UID means gone.
func (c *Cluster) AwaitGone(ctx context.Context, ref Ref, uid types.UID, what string) error { panic("todo") }

// AwaitServed waits until the API server serves all the plurals.
func (c *Cluster) AwaitServed(ctx context.Context, gv schema.GroupVersion, what string, plurals ...string) error {
	panic("todo")
}

// Retry repeats do while its error is transient.
func Retry(ctx context.Context, what string, do func(ctx context.Context) error) error { panic("todo") }

// WithProgress has report called on every change of verdict of the waits under the returned context.
func WithProgress(ctx context.Context, report func(what string, v Verdict)) context.Context { panic("todo") }

// TimeoutError is a wait that ran out of time.
type TimeoutError struct {
	What     string
	Last     Verdict
	LastErr  error
	Elapsed  time.Duration
	Attempts int
	Cause    error
}

func (e *TimeoutError) Error() string { panic("todo") }

func (e *TimeoutError) Unwrap() error { return e.Cause }
