package kube

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The pace of a wait.
const (
	readTimeout = 10 * time.Second // for one read: a silent API server must not eat the whole budget
	watched     = 10 * time.Second // between reads while a watch is open: it may have died unnoticed
	unwatched   = time.Second      // between reads while none is
	firstSettle = 50 * time.Millisecond
	mostSettle  = 400 * time.Millisecond
	firstRetry  = 200 * time.Millisecond
	mostRetry   = 5 * time.Second

	servedInterval = 400 * time.Millisecond // between questions for what is served: there is nothing to watch
)

// wait is how every wait of this package runs: read, decide, sleep until something may have changed, read again. The read
// decides, always; a watch only wakes.
type wait struct {
	what  string
	every time.Duration // between reads, when it is not left to the watch
	whole bool          // the read sets its own time limits, and its errors name what was done
	watch openWatch     // nil: there is nothing to watch
}

// read looks once. It returns the resource version it saw (empty: none) and the check of what it saw.
type read func(ctx context.Context) (version string, check func() (Verdict, error), err error)

// pass is what a wait remembers between two reads.
type pass struct {
	start    time.Time
	attempts int
	last     Verdict
	lastErr  error
	version  string
	changed  bool
}

func (w wait) run(ctx context.Context, look read) error {
	// A watch must not outlive the wait.
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var (
		state = pass{start: time.Now()}
		tell  = progressOf(ctx, w.what)
		retry = backoff{first: firstRetry, most: mostRetry}
		wake  = newWaker(w.watch)
	)
	defer func() { stop(); wake.close() }()
	for {
		err := w.pass(ctx, look, &state, tell)
		switch {
		case ctx.Err() != nil && (isContextEnd(err) || IsTransient(err)):
			return w.ended(ctx, state)
		case err == nil && state.last.Done:
			return nil
		case err != nil && !IsTransient(err):
			return w.refused(err)
		case err != nil:
			tell.retrying(err)
			err = idle(ctx, retry.after(err))
		default:
			retry.reset()
			wake.open(watching, state.version)
			err = wake.wait(ctx, w.every, state.changed)
		}
		if err != nil {
			return w.ended(ctx, state)
		}
	}
}

// pass reads and checks once.
func (w wait) pass(ctx context.Context, look read, state *pass, tell *progress) error {
	state.attempts++
	began := time.Now()
	version, check, err := w.read(ctx, look)
	verdict := Verdict{}
	if err == nil {
		verdict, err = check()
	}
	if err != nil {
		// A read that the deadline cut short tells nothing, unless nothing else is known or it was kept waiting.
		if !isContextEnd(err) || state.attempts == 1 || time.Since(began) >= readTimeout/2 {
			state.lastErr = err
		}
		return err
	}
	state.version, state.last, state.lastErr = version, verdict, nil
	state.changed = tell.saw(verdict)
	return nil
}

func (w wait) read(ctx context.Context, look read) (string, func() (Verdict, error), error) {
	if w.whole {
		return look(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	version, check, err := look(limited)
	return version, check, blame(ctx, limited, readTimeout, err)
}

func (w wait) refused(err error) error {
	if w.whole {
		return err
	}
	return fmt.Errorf("%s: %w", w.what, err)
}

// ended tells a deadline from a cancel.
func (w wait) ended(ctx context.Context, state pass) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", w.what, contextError(ctx))
	}
	return &TimeoutError{
		What:     w.what,
		Last:     state.last,
		LastErr:  state.lastErr,
		Elapsed:  time.Since(state.start),
		Attempts: state.attempts,
		Cause:    context.Cause(ctx),
	}
}
