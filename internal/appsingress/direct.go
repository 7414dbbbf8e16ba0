package appsingress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// blinkPatience is how long a refresh gives a Service whose status is empty: controllers clear it for a moment when they sync.
const blinkPatience = 5 * time.Second

// removalPatience is how long a removal tries to see what there is before it gives up on a cluster that does not answer.
const removalPatience = 30 * time.Second

// patient limits a context to the patience of a removal, and to half of the time there is: with the other half the management
// cluster is cleaned, when it turns out that the hosted cluster is no more.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	patience := removalPatience
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, patience)
}

// direct does the work on the hosted cluster itself, and publishes in a DNSServer and a ProxyServer that stand alone.
type direct struct {
	spec       Spec
	previous   *Spec
	management *kube.Cluster
	clusters   *kube.Clusters
}

func (d *direct) newRun() *run {
	return &run{spec: d.spec, previous: d.previous, management: d.management}
}

func (d *direct) access() access {
	return access{management: d.management, clusters: d.clusters, spec: d.spec}
}

// Ensure runs the steps in order and stops at the first error. Everything that can be refused is refused before the first write.
func (d *direct) Ensure(ctx context.Context) (Status, error) {
	r := d.newRun()
	w := newWalk(allSteps())
	ctx = w.watch(ctx)
	if err := w.step(ctx, r, worker{}, func(ctx context.Context) error { return d.prepare(ctx, r) }); err != nil {
		if gone := (*HostedClusterGoneError)(nil); errors.As(err, &gone) && gone.Deleting == "" {
			err = w.refused(ctx, r, worker{}, d.access().unknownCluster())
		}
		return d.status(r, w.failed), err
	}
	if s, err := refuse(ctx, r, w.steps); err != nil {
		err = w.refused(ctx, r, s, err)
		return d.status(r, w.failed), err
	}
	for _, s := range w.steps {
		if err := w.step(ctx, r, s, func(ctx context.Context) error { return s.ensure(ctx, r) }); err != nil {
			return d.status(r, w.failed), err
		}
	}
	return d.status(r, nil), nil
}

// prepare connects, and reads everything side by side.
func (d *direct) prepare(ctx context.Context, r *run) (err error) {
	if r.hosted, err = d.access().await(ctx); err != nil {
		return err
	}
	return kube.Retry(ctx, "read both clusters", func(ctx context.Context) error {
		return observe(ctx, r, allSteps())
	})
}

// observe lets steps read side by side.
func observe(ctx context.Context, r *run, steps []step) error {
	group, ctx := siblings(ctx)
	for _, s := range steps {
		group.Go(func() error { return s.observe(ctx, r) })
	}
	return group.Wait()
}

// refuse collects every refusal, so that the user sees all of them at once, and names the first step that has one.
func refuse(ctx context.Context, r *run, steps []step) (first step, err error) {
	var errs []error
	for _, s := range steps {
		err := kube.Retry(ctx, "look for what stands in the way", func(ctx context.Context) error { return s.refuse(ctx, r) })
		if err != nil && first == nil {
			first = s
		}
		errs = append(errs, err)
	}
	return first, errors.Join(errs...)
}

// Observe reads everything side by side and compares.
func (d *direct) Observe(ctx context.Context) (Status, error) {
	r := d.newRun()
	hosted, err := d.look(ctx, r)
	err = d.access().blame(ctx, hosted, err)
	if gone := (*HostedClusterGoneError)(nil); errors.As(err, &gone) {
		return d.observeWithoutHosted(ctx, gone)
	}
	if err != nil {
		return Status{}, err
	}
	if err := d.outlastBlink(ctx, r); err != nil {
		return Status{}, err
	}
	r.endpoint = fittingEndpoint(r.spec, r.live.service)
	status := d.status(r, nil)
	status.compare(r, allSteps(), "")
	return status, nil
}

// look connects, and reads everything side by side. The HostedCluster is nil when the configuration says where the kubeconfig is.
func (d *direct) look(ctx context.Context, r *run) (*unstructured.Unstructured, error) {
	cluster, hosted, err := d.access().connect(ctx)
	if err != nil {
		return hosted, err
	}
	r.hosted = cluster
	return hosted, observe(ctx, r, allSteps())
}

// observeWithoutHosted is what can be said when the HostedCluster is gone: that it is, and what is still published.
func (d *direct) observeWithoutHosted(ctx context.Context, gone *HostedClusterGoneError) (Status, error) {
	r := d.newRun()
	if err := observe(ctx, r, []step{publication{}}); err != nil {
		return Status{}, err
	}
	status := d.status(r, nil)
	status.Drift = gone.drift()
	status.degrade(worker{}.broken())
	return status, nil
}

// outlastBlink reads a Service again whose status is empty though nothing explains it.
func (d *direct) outlastBlink(ctx context.Context, r *run) error {
	if r.live.service == nil || len(ingressPoints(r.live.service)) > 0 || explained(r) {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, blinkPatience)
	defer cancel()
	filled, err := r.hosted.AwaitObject(short, serviceRef(r.spec), "the Service's address", r.settled)
	var timeout *kube.TimeoutError
	switch {
	case err == nil:
		r.live.service = filled
	case errors.As(err, &timeout) && ctx.Err() == nil:
		return nil
	}
	return err
}

// explained says that a missing address is no blink: something that decides it differs.
func explained(r *run) bool {
	for _, s := range []step{metallb{}, addressPool{}, service{}} {
		for _, difference := range s.drift(r) {
			if difference.Affects&AffectsAddress != 0 {
				return true
			}
		}
	}
	return false
}

// Remove runs the steps in reverse and stops at the first error: what comes later keeps alive what comes before.
func (d *direct) Remove(ctx context.Context) (warnings []string, err error) {
	r := d.newRun()
	r.previous = &r.spec
	w := newWalk(allSteps())
	ctx = w.watch(ctx)
	steps := w.steps
	if warnings, err = d.find(ctx, r); err != nil {
		return nil, &StepError{Err: err}
	}
	if r.hosted == nil {
		steps = []step{publication{}}
	}
	for _, s := range slices.Backward(steps) {
		if err := w.step(ctx, r, s, func(ctx context.Context) error { return s.remove(ctx, r) }); err != nil {
			return warnings, err
		}
	}
	return warnings, nil
}

// find observes what there is to remove. A hosted cluster that is gone, or going with its API gone already, takes everything in it
// along; one that lives and does not answer is an error.
func (d *direct) find(ctx context.Context, r *run) (warnings []string, err error) {
	var hosted *unstructured.Unstructured
	short, cancel := patient(ctx)
	defer cancel()
	err = kube.Retry(short, "read both clusters", func(ctx context.Context) (err error) {
		hosted, err = d.look(ctx, r)
		return err
	})
	err = d.access().blame(ctx, hosted, err)
	var gone *HostedClusterGoneError
	if !errors.As(err, &gone) {
		return nil, err
	}
	r.hosted, r.live = nil, live{}
	err = kube.Retry(ctx, "read the management cluster", func(ctx context.Context) error {
		return observe(ctx, r, []step{publication{}})
	})
	return []string{fmt.Sprintf("%v: nothing was removed in it", gone)}, err
}

// status is what the run knows. failed is the step that failed, if one did.
func (d *direct) status(r *run, failed *failure) Status {
	status := Status{
		Found:         r.hosted == nil,
		Phase:         PhaseReady,
		Reason:        ReasonReconciliationSucceeded,
		Message:       ReadyMessage(d.spec, r.endpoint),
		Endpoint:      r.endpoint,
		DNSRecords:    publishedRecords(d.spec, r.live.dnsServer),
		ProxyBackends: publishedBackends(d.spec, r.live.proxyServer),
		InstalledCSV:  installedCSV(r.live.subscription),
	}
	for _, s := range allSteps() {
		status.Found = status.Found || len(s.present(r)) > 0
	}
	if failed != nil {
		status.Phase, status.Reason, status.Message = failed.phase, failed.reason, failed.message
	}
	return status
}

// siblings are reads that run side by side; the first error cancels the rest.
func siblings(ctx context.Context) (*errgroup.Group, context.Context) {
	return errgroup.WithContext(ctx)
}
