package appsingress

import "context"

// Driver does the whole job for one ingress. The Terraform side does not know which one runs.
type Driver interface {
	// Ensure brings everything to the desired state and returns when it is reached: nil, or the first error, which is
	// always a *StepError. The status holds all that is known, also beside an error.
	Ensure(ctx context.Context) (Status, error)

	// Observe reads what is live and compares. It writes nothing and does not wait.
	Observe(ctx context.Context) (Status, error)

	// Remove takes away what this ingress made, and returns when it is gone. Warnings are what was left, and why.
	Remove(ctx context.Context) (warnings []string, err error)
}
