package acceptance

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// failure is a way in which a step can fail.
type failure struct {
	name    string
	begin   func(*cell, pipelineStep, *budget)
	pending bool             // the status says Pending
	is      func(error) bool // the kind of error
	killed  bool             // nobody sees how the run ends, and the next one knows nothing of it
}

// failures are all the ways for one step.
func (s pipelineStep) failures() []failure {
	var all []failure
	refusals, terminals := s.refusals, s.terminals
	if len(refusals) == 0 {
		refusals = []cause{answered(http.StatusForbidden, metav1.StatusReasonForbidden, "not for you")}
	}
	if len(terminals) == 0 {
		terminals = []cause{answered(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "not like this")}
	}
	for _, c := range refusals {
		all = append(all, failure{name: "refused/" + c.name, begin: c.of(s), is: refused})
	}
	for _, c := range terminals {
		all = append(all, failure{name: "terminal/" + c.name, begin: c.of(s), is: terminal})
	}
	all = append(all,
		failure{name: "never ready", begin: starved((*budget).exhaust), pending: true, is: timedOut},
		failure{name: "cancelled in its request", begin: cancelled, pending: true, is: interrupted},
		failure{name: "cancelled while it waits", begin: starved((*budget).cancel), pending: true, is: interrupted},
		failure{name: "killed after its request", begin: killed, killed: true},
	)
	if !s.published { // an entry that is there is not written again
		all = append(all, failure{name: "answers lost", begin: losing, pending: true, is: timedOut})
	}
	return all
}

// of is the cause as a failure of one step.
func (c cause) of(s pipelineStep) func(*cell, pipelineStep, *budget) {
	return func(in *cell, _ pipelineStep, _ *budget) {
		if c.begin == nil {
			code, _ := strconv.Atoi(c.name)
			in.meet(s, testcluster.Answer(code, c.reason, c.message))
			return
		}
		c.begin(in)
	}
}

// answered is an answer to the step's request in place of the API server's.
func answered(code int, reason metav1.StatusReason, message string) cause {
	return cause{name: strconv.Itoa(code), reason: reason, message: message}
}

func refused(err error) bool {
	var config *appsingress.ConfigError
	var owner *appsingress.OwnershipError
	return errors.As(err, &config) || errors.As(err, &owner) || kube.IsForbidden(err)
}

func terminal(err error) bool {
	var failed *appsingress.FailedError
	return errors.As(err, &failed) || kube.IsDenied(err)
}

func timedOut(err error) bool {
	var timeout *kube.TimeoutError
	return errors.As(err, &timeout) && errors.Is(err, context.DeadlineExceeded)
}

func interrupted(err error) bool { return errors.Is(err, context.Canceled) }

// starved never gives the step what it waits for, and ends the run when it has begun to wait.
func starved(end func(*budget)) func(*cell, pipelineStep, *budget) {
	return func(c *cell, s pipelineStep, b *budget) {
		switch {
		case s.starvation != nil:
			s.starvation.begin(c)
			c.proxy(s).Add(testcluster.Match{Verbs: []string{testcluster.VerbWatch}, Path: s.watch},
				testcluster.Do(func(*http.Request) { end(b) }))
		case s.step == appsingress.StepMetalLB:
			c.proxy(s).Add(testcluster.Match{Path: "^/apis/metallb.io/v1beta1$"}, nth(2, func() { end(b) },
				testcluster.Answer(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")))
		default:
			c.meet(s, nth(2, func() { end(b) },
				testcluster.Answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "failed calling webhook: no endpoints")))
		}
	}
}

// losing has the API server act on the request, and nobody hear of it, until the time is up.
func losing(c *cell, s pipelineStep, b *budget) {
	c.meet(s, nth(2, b.exhaust, testcluster.Lose()))
}

// cancelled is Ctrl-C while the request is on its way.
func cancelled(c *cell, s pipelineStep, b *budget) {
	c.meet(s, nth(1, b.cancel, testcluster.Refuse()))
}

// killed is the end of the process while the API server acts on the request.
func killed(c *cell, s pipelineStep, b *budget) {
	c.meet(s, func(e testcluster.Exchange) {
		defer b.cancel()
		testcluster.Lose()(e)
	})
}

// nth does something at the n-th request that an action meets.
func nth(n int64, do func(), act testcluster.Action) testcluster.Action {
	var met atomic.Int64
	return func(e testcluster.Exchange) {
		if met.Add(1) == n {
			do()
		}
		act(e)
	}
}

// passing is how often a request fails before it does not.
const passing = 1

// Every request of the pipeline fails at first, in a way that passes, and one run completes the job all the same.
func TestFailuresThatPass(t *testing.T) {
	whole, unchanged := inAWorld(t)
	for name, act := range map[string]testcluster.Action{
		"too many requests": testcluster.Answer(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slow down"),
		"internal error": testcluster.Answer(http.StatusInternalServerError, metav1.StatusReasonInternalError,
			"failed calling webhook: no endpoints available"),
		"connection refused": testcluster.Refuse(),
		"answer cut":         testcluster.Cut(),
		"answer lost":        testcluster.Lose(),
	} {
		t.Run(name, func(t *testing.T) {
			c := &cell{world: whole.of(t), process: whole.process, skip: passing}
			times := make([]atomic.Int64, len(pipelineSteps()))
			for i, s := range pipelineSteps() {
				c.meet(s, func(e testcluster.Exchange) {
					if times[i].Add(1) > passing {
						e.Forward.ServeHTTP(e.Writer, e.Request)
						return
					}
					act(e)
				})
			}
			c.ensure()
			for i, s := range pipelineSteps() {
				if times[i].Load() == 0 {
					t.Errorf("%s: its request was not met", s.name)
				}
			}
			c.recover()
			c.remove()
			unchanged(c)
		})
	}
}
