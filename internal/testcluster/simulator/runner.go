package simulator

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const (
	// conflictRetry is short: a conflict only means that someone else wrote first.
	conflictRetry = 10 * time.Millisecond
	errorRetry    = 100 * time.Millisecond
	// unservedRetry is how often a kind is looked for that the API server does not serve yet.
	unservedRetry = 50 * time.Millisecond
)

// reconciler looks at everything it is responsible for and does what is due now. It answers when it wants to be called
// again without an event (0: only on an event).
type reconciler func(ctx context.Context) (time.Duration, error)

// runner drives one reconciler. It has one key, the whole cluster: with the handful of objects of a test, looking at all
// of them on each event is simpler than keeping track of which event concerns which object.
type runner struct {
	name      string
	client    dynamic.Interface
	watched   []schema.GroupVersionResource
	reconcile reconciler
	logf      func(format string, args ...any)

	wake chan struct{}
}

func newRunner(name string, client dynamic.Interface, logf func(string, ...any), reconcile reconciler,
	watched ...schema.GroupVersionResource,
) *runner {
	return &runner{
		name: name, client: client, watched: watched, reconcile: reconcile, logf: logf,
		wake: make(chan struct{}, 1),
	}
}

// Wake makes the reconciler run soon; switches use it, because no event tells of them.
func (r *runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // a run is due anyway, and it will see everything
	}
}

// Run returns when the context ends and all its goroutines have.
func (r *runner) Run(ctx context.Context) {
	var watches sync.WaitGroup
	for _, resource := range r.watched {
		watching := resourceWatch{
			name: r.name, client: r.client, resource: resource, logf: r.logf,
			listed:  func([]unstructured.Unstructured) { r.Wake() },
			changed: func(*unstructured.Unstructured, bool) { r.Wake() },
		}
		watches.Go(func() { watching.run(ctx) })
	}
	defer watches.Wait()

	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-due.C:
		}
		after := r.step(ctx)
		due.Stop()
		if after > 0 {
			due.Reset(after)
		}
	}
}

// step runs the reconciler once and answers when it is due again.
func (r *runner) step(ctx context.Context) time.Duration {
	after, err := r.reconcile(ctx)
	switch {
	case err == nil:
		return after
	case ctx.Err() != nil:
		return 0
	case apierrors.IsConflict(err):
		return conflictRetry
	}
	r.logf("%s: %v", r.name, err)
	return errorRetry
}

// pause returns after the duration or when the context ends, whichever is first.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// stopwatches remember since when each delay runs, so that a reconciler can be called as often as it likes.
type stopwatches struct {
	mu      sync.Mutex
	started map[string]time.Time
}

// Left starts the named delay at its first call and answers how much of it is left.
func (s *stopwatches) Left(name string, delay time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started == nil {
		s.started = map[string]time.Time{}
	}
	since, ok := s.started[name]
	if !ok {
		since = time.Now()
		s.started[name] = since
	}
	return max(0, delay-time.Since(since))
}

// Forget lets the named delay start anew.
func (s *stopwatches) Forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.started, name)
}

// sooner is the earlier of two requeue times, where 0 means never.
func sooner(a, b time.Duration) time.Duration {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	}
	return min(a, b)
}
