package kube

import (
	"context"
	"time"
)

// Event is what a controller said about an object.
type Event struct {
	Type, Reason, Message string
	Last                  time.Time
	Count                 int
}

// Events are the events about an object, newest last.
func (c *Cluster) Events(ctx context.Context, ref Ref) ([]Event, error) { panic("todo") }
