package kube

import (
	"context"
	"sync"
)

// turns has the writers of one object take turns. The zero value is ready to use; an object nobody writes takes no space.
type turns struct {
	mu     sync.Mutex
	queues map[Ref]*queue
}

type queue struct {
	slot    chan struct{} // holds one token while somebody writes
	members int           // writing and waiting
}

// take waits for the object's turn, at most until ctx ends. done passes it on.
func (t *turns) take(ctx context.Context, ref Ref) (done func(), err error) {
	q := t.enter(ref)
	select {
	case q.slot <- struct{}{}:
		return func() {
			<-q.slot
			t.leave(ref, q)
		}, nil
	case <-ctx.Done():
		t.leave(ref, q)
		return nil, ctx.Err()
	}
}

func (t *turns) enter(ref Ref) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queues == nil {
		t.queues = make(map[Ref]*queue)
	}
	q := t.queues[ref]
	if q == nil {
		q = &queue{slot: make(chan struct{}, 1)}
		t.queues[ref] = q
	}
	q.members++
	return q
}

func (t *turns) leave(ref Ref, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q.members--
	if q.members == 0 {
		delete(t.queues, ref)
	}
}
