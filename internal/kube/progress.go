package kube

import "context"

type progressKey struct{}

// WithProgress has report called on every change of verdict of the waits under the returned context: the first one, done, and,
// as a verdict of reason "Retrying", the first of a row of transient errors. Several waits may call it at the same time.
func WithProgress(ctx context.Context, report func(what string, v Verdict)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// progress tells of changes only.
type progress struct {
	what   string
	report func(what string, v Verdict)
	told   bool
	last   Verdict
	failed bool
}

func progressOf(ctx context.Context, what string) *progress {
	report, ok := ctx.Value(progressKey{}).(func(what string, v Verdict))
	if !ok {
		report = func(string, Verdict) {}
	}
	return &progress{what: what, report: report}
}

// saw says whether the verdict is another one than before.
func (p *progress) saw(v Verdict) (changed bool) {
	if p.told && !p.failed && p.last == v {
		return false
	}
	p.told, p.failed, p.last = true, false, v
	p.report(p.what, v)
	return true
}

func (p *progress) retrying(err error) {
	if !p.failed {
		p.failed = true
		p.report(p.what, Pending("Retrying", "%v", err))
	}
}
