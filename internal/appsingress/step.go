package appsingress

import (
	"context"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// step is one part of the job. Steps hold nothing: what one learns and another needs is in the run.
type step interface {
	name() string

	// observe reads the step's objects into the run. Steps observe side by side, so each writes only its own part.
	observe(ctx context.Context, r *run) error

	// refuse looks at what was observed, and reports what makes the job impossible or harmful before anything is written.
	refuse(ctx context.Context, r *run) error

	// ensure brings about what the step stands for and returns when it is there. Doing it again changes nothing.
	ensure(ctx context.Context, r *run) error

	// drift compares what was observed with what is wanted.
	drift(r *run) []Difference

	// present names the objects of this ingress that were observed.
	present(r *run) []string

	// remove takes away what this ingress made, and returns when it is gone.
	remove(ctx context.Context, r *run) error

	// subject is the object the step waits for; its events tell more about a wait that came to nothing. No name: none.
	subject(r *run) kube.Ref

	// waiting and broken are the reasons of phases Pending and Degraded that stand for this step.
	waiting() Reason
	broken() Reason
}

// The names of the steps, as errors and texts have them.
const (
	StepWorker      = "worker"
	StepOperator    = "operator"
	StepMetalLB     = "MetalLB"
	StepAddressPool = "address pool"
	StepService     = "service"
	StepEndpoint    = "endpoint"
	StepPublication = "publication"
	StepAttachment  = "attachment"
)

// nothing is a step that reads, refuses, finds and removes nothing: what a step needs not say it takes from here.
type nothing struct{}

func (nothing) observe(context.Context, *run) error { return nil }
func (nothing) refuse(context.Context, *run) error  { return nil }
func (nothing) drift(*run) []Difference             { return nil }
func (nothing) present(*run) []string               { return nil }
func (nothing) remove(context.Context, *run) error  { return nil }
func (nothing) subject(*run) kube.Ref               { return kube.Ref{} }

// hostedSteps is the work in the hosted cluster, in order.
func hostedSteps() []step {
	return []step{worker{}, operator{}, metallb{}, addressPool{}, service{}, endpoint{}}
}

// allSteps is the whole job, in order.
func allSteps() []step { return append(hostedSteps(), publication{}) }
