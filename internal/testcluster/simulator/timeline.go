package simulator

import (
	"slices"
	"sync"
	"time"
)

// Event names a moment that tests and the demo measure the provider's reaction against.
type Event string

// The moments of a run, in their usual order.
const (
	WorkerReady      Event = "worker Ready"
	SubscriptionSeen Event = "subscription seen"
	CRDsServed       Event = "CRDs served"
	CSVSucceeded     Event = "CSV Succeeded"
	MetalLBRunning   Event = "MetalLB running"
	MetalLBStopped   Event = "MetalLB stopped"
	AddressAssigned  Event = "address assigned"
	AddressCleared   Event = "address cleared"
)

// Moment is when an event became true on the API server: after the write that made it true had returned, or, for what
// others write, when the watch told of it.
type Moment struct {
	At     time.Time
	Event  Event
	Object string // namespace/name, or what else tells it apart
	Detail string
}

// Timeline collects the moments of a run.
type Timeline struct {
	mu      sync.Mutex
	moments []Moment
}

func (t *Timeline) add(event Event, object, detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moments = append(t.moments, Moment{At: time.Now(), Event: event, Object: object, Detail: detail})
}

// Moments are all that happened so far, oldest first.
func (t *Timeline) Moments() []Moment {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.moments)
}

// First is the first time the event happened.
func (t *Timeline) First(event Event) (Moment, bool) {
	for _, m := range t.Moments() {
		if m.Event == event {
			return m, true
		}
	}
	return Moment{}, false
}

// Last is the most recent time the event happened.
func (t *Timeline) Last(event Event) (Moment, bool) {
	moments := t.Moments()
	slices.Reverse(moments)
	for _, m := range moments {
		if m.Event == event {
			return m, true
		}
	}
	return Moment{}, false
}
