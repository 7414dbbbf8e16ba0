package kube

import (
	"context"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	firstReopen = 200 * time.Millisecond
	mostReopen  = 5 * time.Second
	quiet       = time.Second     // after so long without an event, the next one is news
	lastingFrom = 5 * time.Second // a watch that lived so long ended for no reason that would end the next one at once
)

// openWatch opens a watch at a resource version; empty is "from now on".
type openWatch func(ctx context.Context, version string) (watch.Interface, error)

// watchOf watches a collection, or the part of it that opts selects.
func (c *Cluster) watchOf(collection Ref, opts metav1.ListOptions) openWatch {
	return func(ctx context.Context, version string) (watch.Interface, error) {
		opts.ResourceVersion = version
		var stream watch.Interface
		err := c.authorized(ctx, func(ctx context.Context, conn *connection) (err error) {
			stream, err = conn.resource(collection).Watch(ctx, opts)
			return err
		})
		return stream, c.wrap(verbWatch, collection, err)
	}
}

// waker wakes a wait whenever something may have changed. It keeps at most one watch, in a goroutine of its own, which the
// context given to open ends.
type waker struct {
	openWatch openWatch
	changed   chan struct{} // holds one token: many events wake once
	running   sync.WaitGroup

	mu      sync.Mutex
	live    bool      // a watch is open, or being opened
	opened  bool      // ... and established
	never   bool      // watching is not allowed here
	fresh   bool      // the version of the read has expired: watch from now on
	reopen  time.Time // not before
	backoff backoff
	settle  time.Duration
}

func newWaker(open openWatch) *waker {
	return &waker{openWatch: open, changed: make(chan struct{}, 1), backoff: backoff{first: firstReopen, most: mostReopen}}
}

// close waits for the watch to end; the context given to open must have ended.
func (w *waker) close() { w.running.Wait() }

// open starts a watch at the version that was just read, unless there is one, or it is too early for the next.
func (w *waker) open(ctx context.Context, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.openWatch == nil || w.live || w.never || time.Now().Before(w.reopen) {
		return
	}
	if w.fresh {
		version = ""
	}
	w.live, w.opened, w.fresh = true, false, false
	w.running.Go(func() {
		started := time.Now()
		w.ended(started, w.follow(ctx, version))
	})
}

// follow wakes on every event of one watch, until it ends. Nothing tells what happened between a read that saw no version and
// the watch, so that one also wakes when it is established.
func (w *waker) follow(ctx context.Context, version string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Only the opening has a time limit, not what follows.
	limit := time.AfterFunc(readTimeout, cancel)
	stream, err := w.openWatch(ctx, version)
	limit.Stop()
	if err != nil {
		return err
	}
	defer stream.Stop()
	w.mu.Lock()
	w.opened = true
	w.mu.Unlock()
	if version == "" {
		w.wake()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-stream.ResultChan():
			switch {
			case !ok:
				return nil
			case event.Type == watch.Error:
				return apierrors.FromObject(event.Object)
			default:
				w.wake()
			}
		}
	}
}

// ended remembers when, and whether, to watch again, and wakes: the read that follows gives the version to go on from.
func (w *waker) ended(started time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	established := w.opened
	w.live, w.opened = false, false
	w.never = IsForbidden(err) || hasCode(err, http.StatusMethodNotAllowed)
	w.fresh = hasCode(err, http.StatusGone) || apierrors.IsResourceExpired(err)
	if time.Since(started) >= lastingFrom {
		w.backoff.reset()
	}
	w.reopen = time.Now().Add(w.backoff.after(err))
	if established {
		w.wake()
	}
}

func (w *waker) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// wait sleeps until something may have changed, the time for the next read has come, or ctx ends. After an event it lets more
// of them come in: a little while when the last read showed something new, longer and longer as long as they mean nothing.
func (w *waker) wait(ctx context.Context, every time.Duration, news bool) error {
	if news {
		w.settle = 0
	}
	began := time.Now()
	timer := time.NewTimer(w.interval(every))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		w.settle = 0
		return nil
	case <-w.changed:
	}
	if time.Since(began) >= quiet {
		w.settle = 0
	}
	w.settle = min(max(firstSettle, 2*w.settle), mostSettle)
	if err := idle(ctx, w.settle); err != nil {
		return err
	}
	select {
	case <-w.changed:
	default:
	}
	return nil
}

// interval is the time to the next read when nothing wakes. Without a watch it is short, and no longer than it takes to the
// moment when the watch may be opened again.
func (w *waker) interval(every time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case every > 0:
		return every
	case w.opened:
		return watched
	default:
		if reopen := time.Until(w.reopen); w.openWatch != nil && !w.live && !w.never && reopen > 0 {
			return min(reopen, unwatched)
		}
		return unwatched
	}
}
