package appsingress

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

const (
	// annotationTouched is overwritten by every touch. It is never compared, and no mark.
	annotationTouched = "oooi.densityops.com/touched"
	// touchManager is not the main one: an apply of the main one that carries only the annotation would delete its other fields.
	touchManager = kube.FieldManager + "-touch"
)

// The pace of touching while the provider cannot see for itself. Each try against a hosted cluster that does not answer can block
// the operator's only worker for ten seconds.
const (
	touchEvery       = 2 * time.Second
	touchEveryLate   = 15 * time.Second
	touchLateAfter   = time.Minute
	touchUnreachable = 30 * time.Second
	// settle is how long the operator's publication may blink after a touch.
	settle = 400 * time.Millisecond
)

// toucher has the operator look again: at once when the provider sees in the hosted cluster that what the operator waits for has
// come true, and by a schedule while it cannot see.
type toucher struct {
	r       *run
	access  access
	started time.Time
	seeing  atomic.Bool
	last    atomic.Int64 // when it touched last, in Unix nanoseconds
}

// newToucher makes a toucher for an attachment that has just been applied. When that changed it, it was a touch.
func newToucher(r *run, a access, changed bool) *toucher {
	t := &toucher{r: r, access: a, started: time.Now()}
	if changed {
		t.last.Store(t.started.UnixNano())
	}
	return t
}

// run touches until ctx ends.
func (t *toucher) run(ctx context.Context) error {
	group, ctx := siblings(ctx)
	group.Go(func() error { return t.look(ctx) })
	group.Go(func() error { return t.remind(ctx) })
	return group.Wait()
}

// touch changes one annotation.
func (t *toucher) touch(ctx context.Context) error {
	now := time.Now()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{annotationTouched: now.UTC().Format(time.RFC3339Nano)},
	}})
	if err != nil {
		return fmt.Errorf("build a touch: %w", err)
	}
	ref := attachmentRef(t.r.spec)
	err = kube.Retry(ctx, "touch "+ref.String(), func(ctx context.Context) error {
		_, err := t.r.management.Patch(ctx, ref, patch, touchManager)
		return err
	})
	t.last.Store(time.Now().UnixNano())
	return err
}

// untilSettled is how long what is published may still blink.
func (t *toucher) untilSettled() time.Duration {
	since := time.Since(time.Unix(0, t.last.Load()))
	return max(settle-since, settle/2)
}

// look touches the moment that each thing the operator waits for is true. Not being able to look is no error: the schedule goes on.
func (t *toucher) look(ctx context.Context) error {
	watching := kube.WithProgress(ctx, func(_ string, v kube.Verdict) { t.seeing.Store(v.Reason != "Retrying") })
	hosted, err := t.access.await(ctx)
	if err != nil {
		return ctx.Err()
	}
	for _, sight := range []func(context.Context) error{
		func(ctx context.Context) error {
			return hosted.AwaitList(ctx, nodeKind(), "", "a Ready schedulable worker", schedulableWorker)
		},
		func(ctx context.Context) error {
			return hosted.AwaitServed(ctx, metallbAPI(), "the API "+metallbAPI().String(), poolKind().Resource, metallbKind().Resource)
		},
		func(ctx context.Context) error {
			_, err := hosted.AwaitObject(ctx, serviceRef(t.r.spec), "an address from the pool", t.addressed)
			return err
		},
	} {
		if err := sight(watching); err != nil {
			t.seeing.Store(false)
			return ctx.Err()
		}
		if t.finished() {
			continue
		}
		if err := t.touch(ctx); err != nil {
			return err
		}
	}
	t.seeing.Store(false) // what there was to see is seen
	return nil
}

// addressed says that the Service is the one that is wanted now, not the one of an earlier pool, and has an address.
func (t *toucher) addressed(obj *unstructured.Unstructured) (kube.Verdict, error) {
	pool := t.r.spec.MetalLB.AddressPoolName
	if obj == nil || obj.GetDeletionTimestamp() != nil || obj.GetAnnotations()[oldMetalLBPrefix+poolAnnotation] != pool {
		return kube.Pending(string(ReasonWaitingForExternalIP), "there is no Service of pool %s", pool), nil
	}
	return t.r.settled(obj)
}

// remind touches by the schedule while the operator is not done and there is nothing to see, or what there is to see cannot come: an
// operator that has failed waits before it tries again.
func (t *toucher) remind(ctx context.Context) error {
	for {
		if err := pause(ctx, t.interval()); err != nil {
			return err
		}
		phase, _, _ := reported(t.r.seen.Load())
		if t.finished() || t.seeing.Load() && phase != PhaseDegraded {
			continue
		}
		if err := t.touch(ctx); err != nil {
			return err
		}
	}
}

func (t *toucher) interval() time.Duration {
	switch _, reason, _ := reported(t.r.seen.Load()); {
	case reason == ReasonHostedClusterAccessFailed, reason == reasonNodeListFailed:
		return touchUnreachable
	case time.Since(t.started) > touchLateAfter:
		return touchEveryLate
	}
	return touchEvery
}

// reasonNodeListFailed is a reason of the operator that its reference does not list.
const reasonNodeListFailed Reason = "HostedClusterNodeListFailed"

// finished says that the operator reports what is wanted: then a touch would only make its publication blink.
func (t *toucher) finished() bool {
	obj := t.r.seen.Load()
	if obj == nil {
		return false
	}
	verdict, err := operatorReady(t.r.spec, obj)
	return err == nil && verdict.Done
}

// repaired waits until nothing in the hosted cluster differs any more, nor what the operator reports from it. Where it cannot be seen,
// the operator is believed.
func (t *toucher) repaired(ctx context.Context) error {
	r, steps := t.r, append(hostedObjects(), operatorEndpoint{})
	return kube.Retry(ctx, "the operator's repair", func(ctx context.Context) error {
		if err := t.access.look(ctx, r); err != nil {
			return nil //nolint:nilerr // it cannot be seen
		}
		if err := (attachmentObject{}).observe(ctx, r); err != nil {
			return err
		}
		for _, s := range steps {
			if found := s.drift(r); len(found) > 0 {
				if err := t.touchAgain(ctx); err != nil {
					return err
				}
				return &unrepairedError{found[0]}
			}
		}
		r.endpoint = reportedEndpoint(r.live.attachment)
		return nil
	})
}

// touchAgain touches unless it has just been done.
func (t *toucher) touchAgain(ctx context.Context) error {
	if time.Since(time.Unix(0, t.last.Load())) < touchEvery/2 {
		return nil
	}
	return t.touch(ctx)
}

// unrepairedError is a difference that the operator has yet to repair.
type unrepairedError struct{ difference Difference }

func (e *unrepairedError) Error() string   { return e.difference.String() }
func (e *unrepairedError) Transient() bool { return true }

// mentions looks for a name as a word of its own.
func mentions(message, name string) bool {
	return slices.Contains(strings.FieldsFunc(message, func(c rune) bool {
		return c != '-' && c != '.' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	}), name)
}
