package kube

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TimeoutError is a wait that ran out of time. It is context.DeadlineExceeded to errors.Is, and its Cause.
type TimeoutError struct {
	What     string // the thing waited for, as the caller named it
	Last     Verdict
	LastErr  error // the last transient error; nil when the last read succeeded
	Elapsed  time.Duration
	Attempts int
	Cause    error // the context's cause
}

// Error is "the address of Service a/b: gave up after 30m0s (180 attempts): Pending: no address yet; last error: ...".
func (e *TimeoutError) Error() string {
	attempts := "1 attempt"
	if e.Attempts != 1 {
		attempts = fmt.Sprintf("%d attempts", e.Attempts)
	}
	text := fmt.Sprintf("%s: gave up after %s (%s)", e.What, e.Elapsed.Round(time.Millisecond), attempts)
	if last := e.Last.String(); last != "" {
		text += ": " + last
	}
	if e.LastErr != nil {
		text += "; last error: " + e.LastErr.Error()
	}
	return text
}

// Unwrap is the deadline and its cause. The last error is not among them: that nothing was found in time is not "not found".
func (e *TimeoutError) Unwrap() []error {
	if e.Cause == nil || errors.Is(e.Cause, context.DeadlineExceeded) {
		return []error{context.DeadlineExceeded}
	}
	return []error{context.DeadlineExceeded, e.Cause}
}

// String is "Reason: message".
func (v Verdict) String() string {
	switch {
	case v.Reason == "":
		return v.Message
	case v.Message == "":
		return v.Reason
	default:
		return v.Reason + ": " + v.Message
	}
}
