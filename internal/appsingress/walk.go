package appsingress

import (
	"context"
	"errors"
	"fmt"
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
	last string // what the last wait saw
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
	return kube.WithProgress(ctx, func(what string, v kube.Verdict) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.last = ""
		if !v.Done {
			w.last = what + ": " + v.Message
		}
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

func (w *walk) fail(ctx context.Context, r *run, s step, err error) error {
	return w.failAfter(ctx, r, s, 0, err)
}

func (w *walk) failAfter(ctx context.Context, r *run, s step, elapsed time.Duration, err error) error {
	story := &StepError{Of: len(w.steps), Name: s.name(), Elapsed: elapsed, Done: w.done, Err: err}
	for i, candidate := range w.steps {
		if candidate.name() == s.name() {
			story.Step = i + 1
		}
		story.Exists = append(story.Exists, candidate.present(r)...)
	}
	w.mu.Lock()
	story.Last = w.last
	w.mu.Unlock()
	if subject := s.subject(r); subject.Name != "" && r.hosted != nil {
		story.Object = fmt.Sprintf("%s in the %s", subject, r.hosted)
		story.Events = eventsOf(ctx, r.hosted, subject, err)
	}
	w.failed = failureOf(s, story)
	return story
}

// failureOf is Pending while a wait ran out or was cut short, and Degraded for every other failure.
func failureOf(s step, story *StepError) *failure {
	f := &failure{phase: PhaseDegraded, reason: s.broken(), message: story.Err.Error()}
	var timeout *kube.TimeoutError
	if errors.As(story.Err, &timeout) || errors.Is(story.Err, context.Canceled) {
		f.phase, f.reason = PhasePending, s.waiting()
		if story.Last != "" {
			f.message = story.Last
		}
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
	events, err := c.Events(ctx, ref)
	if err != nil {
		return nil
	}
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
