package kube

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// longestRetryAfter bounds what a server may ask for: one that is wrong about itself must not eat a whole budget.
const longestRetryAfter = time.Minute

// backoff is a pause that doubles from first to most. Half of each pause is random, so that many do not come back at once.
type backoff struct {
	first, most time.Duration
	current     time.Duration
}

func (b *backoff) next() time.Duration {
	b.current = min(max(b.first, 2*b.current), b.most)
	half := b.current / 2
	return half + rand.N(half+1) //nolint:gosec // nothing secret about it
}

func (b *backoff) reset() { b.current = 0 }

// after is the pause after an error: at least what the server asked for.
func (b *backoff) after(err error) time.Duration {
	pause := b.next()
	var api apierrors.APIStatus
	if !errors.As(err, &api) || api.Status().Details == nil {
		return pause
	}
	asked := time.Duration(api.Status().Details.RetryAfterSeconds) * time.Second
	return max(pause, min(asked, longestRetryAfter))
}

// idle pauses, at most until ctx ends, and then says why.
func idle(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return contextError(ctx)
	}
}

// contextError is the context's error together with its cause, when it has one of its own.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
