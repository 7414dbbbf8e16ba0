package simulator

import (
	"context"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// keyedReconciler looks at one object and answers when it wants to look again without an event (0: only on an event).
type keyedReconciler func(ctx context.Context, key types.NamespacedName) time.Duration

// keyedQueue is the queue of a controller with one worker. Other than a runner it keeps the objects apart, because who
// has to wait for whom is what the operator is known for. A key is due at one time only: an event brings it forward, and
// with it the look that was planned for later.
type keyedQueue struct {
	mu      sync.Mutex
	due     map[types.NamespacedName]time.Time
	known   map[types.NamespacedName]bool
	changed chan struct{}
}

func newKeyedQueue() *keyedQueue {
	return &keyedQueue{
		due: map[types.NamespacedName]time.Time{}, known: map[types.NamespacedName]bool{}, changed: make(chan struct{}, 1),
	}
}

// Add makes a key due after a while, unless it is due sooner anyway.
func (q *keyedQueue) Add(key types.NamespacedName, after time.Duration) {
	q.mu.Lock()
	at := time.Now().Add(after)
	if planned, ok := q.due[key]; !ok || at.Before(planned) {
		q.due[key] = at
	}
	q.known[key] = true
	q.mu.Unlock()
	select {
	case q.changed <- struct{}{}:
	default: // the worker is about to look anyway
	}
}

// AddAll makes every key due that ever was.
func (q *keyedQueue) AddAll() {
	q.mu.Lock()
	keys := make([]types.NamespacedName, 0, len(q.known))
	for key := range q.known {
		keys = append(keys, key)
	}
	q.mu.Unlock()
	for _, key := range keys {
		q.Add(key, 0)
	}
}

// run is the only worker.
func (q *keyedQueue) run(ctx context.Context, reconcile keyedReconciler) {
	for ctx.Err() == nil {
		key, left, ok := q.next()
		if !ok || left > 0 {
			q.sleep(ctx, left)
			continue
		}
		if after := reconcile(ctx, key); after > 0 {
			q.Add(key, after)
		}
	}
}

// next takes out the key that is due for the longest time, or answers how long it is until one is due.
func (q *keyedQueue) next() (first types.NamespacedName, left time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, at := range q.due {
		if !ok || at.Before(q.due[first]) {
			first, ok = key, true
		}
	}
	if !ok {
		return first, 0, false
	}
	if left = time.Until(q.due[first]); left <= 0 {
		delete(q.due, first)
	}
	return first, left, true
}

// sleep returns when the queue has changed or the time is over; 0 is for ever.
func (q *keyedQueue) sleep(ctx context.Context, d time.Duration) {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-ctx.Done():
	case <-q.changed:
	case <-over:
	}
}

// logged makes a keyedReconciler of a function that can fail: it is tried again at once when it was overtaken by
// somebody's write, and a moment later otherwise.
func (o *Oooi) logged(what string, reconcile func(context.Context, types.NamespacedName) (time.Duration, error)) keyedReconciler {
	return func(ctx context.Context, key types.NamespacedName) time.Duration {
		if o.fault().Stopped {
			return 0
		}
		after, err := reconcile(ctx, key)
		switch {
		case err == nil:
			return after
		case ctx.Err() != nil:
			return 0
		case apierrors.IsConflict(err):
			return conflictRetry
		}
		o.logf("%s %s: %v", what, key, err)
		return errorRetry
	}
}

// objectHandler is told of each object that is there or has changed, and, with gone, of each that is no more.
type objectHandler func(u *unstructured.Unstructured, gone bool)

// watchObjects tells of all objects of a resource until the context ends, also of those that went while nobody watched.
func (o *Oooi) watchObjects(ctx context.Context, resource schema.GroupVersionResource, handle objectHandler) {
	known := map[types.NamespacedName]*unstructured.Unstructured{}
	resourceWatch{
		name: "oooi", client: o.client, resource: resource, logf: o.logf,
		listed: func(all []unstructured.Unstructured) {
			before := maps.Clone(known)
			clear(known)
			for i := range all {
				known[keyOf(&all[i])] = &all[i]
				handle(&all[i], false)
			}
			for key, u := range before {
				if known[key] == nil {
					handle(u, true)
				}
			}
		},
		changed: func(u *unstructured.Unstructured, gone bool) {
			if gone {
				delete(known, keyOf(u))
			} else {
				known[keyOf(u)] = u
			}
			handle(u, gone)
		},
	}.run(ctx)
}

func keyOf(u *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}
