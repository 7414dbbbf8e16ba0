package probe

import (
	"context"
	"time"
)

const defaultTimeout = 5 * time.Second

// finding is what one attempt has found.
type finding struct {
	ok       bool
	late     bool // the time ran out
	silent   bool // nothing at all has come back
	observed string
	message  string
}

// run tries until it is OK, the attempts are used up, or the context has ended. Where silence does not count it is not
// tried again either: in every plan that would cost all the time there is.
func (a Attempt) run(ctx context.Context, silenceCounts bool, try func(context.Context) finding) finding {
	last := finding{observed: seenNothing}
	for n := range max(a.Count, 1) {
		if n > 0 {
			wait(ctx, a.Pause)
		}
		if over(ctx) {
			return outOfTime(last)
		}
		found := a.once(ctx, try)
		if found.ok {
			return found
		}
		if found.late && over(ctx) {
			return outOfTime(last) // not the attempt was too short
		}
		if n == 0 && found.silent && !silenceCounts {
			return found
		}
		if n == 0 || !found.silent {
			last = found // silence after an answer says less than the answer
		}
	}
	return last
}

func (a Attempt) once(ctx context.Context, try func(context.Context) finding) finding {
	ctx, cancel := a.limit(ctx)
	defer cancel()
	return try(ctx)
}

// limit leaves the time of one attempt.
func (a Attempt) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := a.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	return context.WithTimeout(ctx, timeout)
}

// outOfTime says what the last whole attempt has seen: one that was cut short says nothing.
func outOfTime(last finding) finding {
	return finding{late: true, observed: last.observed, message: textOutOfTime}
}

func wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// over says that the context has ended, also in the moment when its deadline has passed and its timer has not run yet: a
// connection notices first.
func over(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(deadline)
}
