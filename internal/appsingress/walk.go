package appsingress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// walk goes through the steps of a verb and remembers the way, so that a failure can tell its story.
type walk struct {
	steps  []step
	done   []StepTime
	failed *failure

	mu   sync.Mutex
	last kube.Verdict // what the last wait saw
}

// failure is how the status shows the step that failed.
type failure struct {
	phase   Phase
	reason  Reason
	message string
}

func newWalk(steps []step) *walk { return &walk{steps: steps} }

// watch listens to what waits see.
func (w *walk) watch(ctx context.Context) context.Context {
	return kube.WithProgress(ctx, func(_ string, v kube.Verdict) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.last = v
	})
}

// step runs one step. Its error is always a *StepError.
func (w *walk) step(ctx context.Context, r *run, s step, do func(context.Context) error) error {
	start := time.Now()
	if err := do(ctx); err != nil {
		return w.failAfter(ctx, r, s, time.Since(start), err)
	}
	w.finish(s, time.Since(start))
	return nil
}

// finish adds up the time of a step that is gone through in parts.
func (w *walk) finish(s step, elapsed time.Duration) {
	for i := range w.done {
		if w.done[i].Name == s.name() {
			w.done[i].Elapsed += elapsed
			return
		}
	}
	w.done = append(w.done, StepTime{Name: s.name(), Elapsed: elapsed})
}

// refused is the failure of a step before anything was written.
func (w *walk) refused(ctx context.Context, r *run, s step, err error) error {
	err = w.failAfter(ctx, r, s, 0, err)
	var story *StepError
	if errors.As(err, &story) {
		story.Refused = true
	}
	return err
}

func (w *walk) failAfter(ctx context.Context, r *run, s step, elapsed time.Duration, err error) error {
	operated := r.spec.Mode == ModeAttachment // then it is the operator who looks into the hosted cluster
	story := &StepError{Of: len(w.steps), Name: s.name(), Elapsed: elapsed, Done: w.done, Blind: r.hosted == nil && !operated, Err: err}
	if n := len(w.done); n > 0 && w.done[n-1].Name == s.name() { // it was gone through in parts
		story.Done, story.Elapsed = w.done[:n-1], elapsed+w.done[n-1].Elapsed
	}
	for i, candidate := range w.steps {
		if candidate.name() == s.name() {
			story.Step = i + 1
		}
		story.Exists = append(story.Exists, candidate.present(r)...)
	}
	w.mu.Lock()
	last := w.last
	w.mu.Unlock()
	if unended(err) {
		story.Last = last.String()
	}
	switch subject := s.subject(r); {
	case operated:
		story.Object = fmt.Sprintf("%s in the %s", attachmentRef(r.spec), r.management)
	case subject.Name != "" && r.hosted != nil:
		story.Object = fmt.Sprintf("%s in the %s", subject, r.hosted)
		story.Events = eventsOf(ctx, r.hosted, subject, err)
	case r.hosted == nil && !r.spec.HostedCluster.IsZero():
		story.Object = fmt.Sprintf("HostedCluster %s in the %s", r.spec.HostedCluster, r.management)
	}
	w.failed = failureOf(s, err, last)
	return story
}

// unended says that a wait ran out or was cut short.
func unended(err error) bool {
	var timeout *kube.TimeoutError
	return errors.As(err, &timeout) || errors.Is(err, context.Canceled)
}

// failureOf is Pending after a wait without end, and Degraded after every other failure.
func failureOf(s step, err error, last kube.Verdict) *failure {
	if !unended(err) {
		return &failure{phase: PhaseDegraded, reason: s.broken(), message: err.Error()}
	}
	f := &failure{phase: PhasePending, reason: s.waiting(), message: err.Error()}
	if last.Message != "" {
		f.message = last.Message
	}
	return f
}

// eventPatience bounds the read of events that is made for the sake of a message, when the budget is spent already.
const eventPatience = 3 * time.Second

// eventsOf are the last events of the object a wait timed out on. Not being able to read them is no reason to fail differently.
func eventsOf(ctx context.Context, c *kube.Cluster, ref kube.Ref, err error) []string {
	var timeout *kube.TimeoutError
	if !errors.As(err, &timeout) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eventPatience)
	defer cancel()
	subject, err := c.Get(ctx, ref)
	if err != nil {
		return nil
	}
	uid := subject.GetUID() // there may be events of an object of the same name that was there before
	events, err := c.Events(ctx, ref)
	if err != nil {
		return nil
	}
	events = slices.DeleteFunc(events, func(e kube.Event) bool { return e.UID != uid })
	const most = 5
	if len(events) > most {
		events = events[len(events)-most:]
	}
	lines := make([]string, 0, len(events))
	for _, e := range events {
		lines = append(lines, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
	}
	return lines
}
