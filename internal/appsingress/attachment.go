package appsingress

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// attachment has the oooi operator do the work: it tells the InfraClusterAttachment what is wanted, touches it whenever what the
// operator waits for has come true, and returns when the result is really there. The operator by itself looks again only after 15
// or 30 seconds, and after a change of the range never.
type attachment struct {
	spec       Spec
	management *kube.Cluster
	clusters   *kube.Clusters
}

// attachmentSteps is the whole job in attachment mode, in order.
func attachmentSteps() []step {
	return []step{attachmentObject{}, operatorEndpoint{}, operatorPublication{}}
}

func (a *attachment) newRun() *run { return &run{spec: a.spec, management: a.management} }

func (a *attachment) access() access {
	return access{management: a.management, clusters: a.clusters, spec: a.spec}
}

// Ensure applies the attachment and stays with the operator until it is done.
func (a *attachment) Ensure(ctx context.Context) (Status, error) {
	r := a.newRun()
	w := newWalk(attachmentSteps())
	ctx = w.watch(ctx)
	err := w.step(ctx, r, attachmentObject{}, func(ctx context.Context) error {
		return kube.Retry(ctx, "read the management cluster", func(ctx context.Context) error { return observe(ctx, r, w.steps) })
	})
	if err != nil {
		return a.status(r, w.failed), err
	}
	if s, err := refuse(ctx, r, w.steps); err != nil {
		err = w.refused(ctx, r, s, err)
		return a.status(r, w.failed), err
	}
	if err := a.work(ctx, r, w); err != nil {
		return a.status(r, w.failed), err
	}
	return a.status(r, nil), nil
}

// work runs the steps with somebody at their side who touches the attachment, and ends at once when the Infra shuts it out.
func (a *attachment) work(ctx context.Context, r *run, w *walk) error {
	object, before := attachmentObject{}, r.live.attachment
	err := w.step(ctx, r, object, func(ctx context.Context) error { return object.ensure(ctx, r) })
	if err != nil {
		return err
	}
	r.seen.Store(r.live.attachment)
	t := newToucher(r, a.access(), before == nil || before.GetResourceVersion() != r.live.attachment.GetResourceVersion())
	beside, stop := context.WithCancelCause(ctx)
	group, groupCtx := errgroup.WithContext(beside)
	quiet := kube.WithProgress(groupCtx, func(string, kube.Verdict) {}) // the steps' own waits tell the story
	group.Go(func() error { return t.run(quiet) })
	group.Go(func() error { return failWhenShutOut(quiet, r) })
	err = a.follow(groupCtx, r, w, t)
	stop(errDone)
	besides := group.Wait()
	if err == nil || ctx.Err() != nil || besides == nil || errors.Is(besides, errDone) || errors.Is(besides, context.Canceled) {
		return err
	}
	return w.failAfter(ctx, r, operatorPublication{}, 0, besides)
}

// errDone ends what runs beside the steps.
var errDone = errors.New("the work is done")

// follow waits for the operator. Its publication blinks while it repairs, and what it reports may be from before something changed
// in the hosted cluster: all of it has to be right, and still be so a moment later.
func (a *attachment) follow(ctx context.Context, r *run, w *walk, t *toucher) error {
	endpoint, publication := operatorEndpoint{}, operatorPublication{}
	for {
		err := w.step(ctx, r, endpoint, func(ctx context.Context) error {
			if err := endpoint.ensure(ctx, r); err != nil {
				return err
			}
			return t.repaired(ctx)
		})
		if err != nil {
			return err
		}
		last := false
		err = w.step(ctx, r, publication, func(ctx context.Context) error {
			if err := publication.ensure(ctx, r); err != nil {
				return err
			}
			if err := pause(ctx, t.untilSettled()); err != nil {
				return err
			}
			err := kube.Retry(ctx, "read what is published", func(ctx context.Context) error { return observe(ctx, r, w.steps) })
			last = err == nil && published(r)
			return err
		})
		if err != nil || last {
			return err
		}
	}
}

// published says that what the operator reports now is the endpoint of the run, and really published.
func published(r *run) bool {
	verdict, err := operatorReady(r.spec, r.live.attachment)
	return err == nil && verdict.Done && reportedEndpoint(r.live.attachment) == r.endpoint && len(operatorPublication{}.drift(r)) == 0
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Observe reads the management cluster, and the hosted one when it can be reached.
func (a *attachment) Observe(ctx context.Context) (Status, error) {
	r := a.newRun()
	steps := attachmentSteps()
	var unseen error
	group, groupCtx := siblings(ctx)
	group.Go(func() error { return observe(groupCtx, r, steps) })
	group.Go(func() error {
		unseen = a.access().look(groupCtx, r)
		return nil
	})
	if err := group.Wait(); err != nil {
		return Status{}, err
	}
	r.endpoint = reportedEndpoint(r.live.attachment)
	status := a.status(r, nil)
	if r.live.attachment == nil {
		return status, nil
	}
	var reason Reason
	switch gone := (*HostedClusterGoneError)(nil); {
	case errors.As(unseen, &gone):
		status.Drift, reason = missing("HostedCluster "+a.spec.HostedCluster.String(), AffectsAddress|AffectsOperator), worker{}.broken()
	case unseen != nil:
		status.Unseen = unseen.Error()
	default:
		steps = append(steps, hostedObjects()...)
	}
	status.compare(r, steps, reason)
	return status, nil
}

// hostedObjects are the steps that see what the operator made in the hosted cluster.
func hostedObjects() []step {
	return []step{operatorSubscription{}, metallb{}, operatorPool{}, operatorService{}}
}

// hostedPatience is how long a refresh tries to look into the hosted cluster, which in attachment mode need not be reachable.
const hostedPatience = 5 * time.Second

// look reads what the operator made in the hosted cluster.
func (a access) look(ctx context.Context, r *run) error {
	ctx, cancel := context.WithTimeout(ctx, hostedPatience)
	defer cancel()
	hosted, _, err := a.connect(ctx)
	if err != nil {
		return err
	}
	r.hosted = hosted
	return observe(ctx, r, hostedObjects())
}

// status is what the run knows. failed is the step that failed, if one did; the words are then the operator's own, when it has some.
func (a *attachment) status(r *run, failed *failure) Status {
	dns, proxy := infraPublish(r)
	shown := r.spec
	shown.Publish = Publish{DNSServer: dns, ProxyServer: proxy}
	status := Status{
		Found:         r.live.attachment != nil,
		Phase:         PhaseReady,
		Reason:        ReasonReconciliationSucceeded,
		Message:       ReadyMessage(a.spec, r.endpoint),
		Endpoint:      r.endpoint,
		DNSRecords:    publishedRecords(shown, r.live.dnsServer),
		ProxyBackends: publishedBackends(shown, r.live.proxyServer),
		InstalledCSV:  installedCSV(r.live.subscription),
	}
	if failed == nil {
		return status
	}
	status.Phase, status.Reason, status.Message = failed.phase, failed.reason, failed.message
	if phase, reason, message := reported(r.live.attachment); phase != "" && phase != PhaseReady {
		status.Phase, status.Reason, status.Message = phase, reason, message
	}
	return status
}

// reported is what the operator says of an attachment.
func reported(obj *unstructured.Unstructured) (phase Phase, reason Reason, message string) {
	if obj == nil {
		return "", "", ""
	}
	read := func(field string) string {
		value, _, _ := unstructured.NestedString(obj.Object, "status", "appsIngressStatus", field)
		return value
	}
	return Phase(read("phase")), Reason(read("reason")), read("message")
}

// Remove deletes an attachment that this ingress made, and switches off one that was there before; then it waits until nothing is
// published any more.
func (a *attachment) Remove(ctx context.Context) (warnings []string, err error) {
	r := a.newRun()
	w := newWalk(attachmentSteps())
	ctx = w.watch(ctx)
	err = w.step(ctx, r, attachmentObject{}, func(ctx context.Context) error {
		return kube.Retry(ctx, "read the management cluster", func(ctx context.Context) error { return observe(ctx, r, w.steps) })
	})
	if err != nil {
		return nil, err
	}
	owner := r.spec.ownerOf(r.live.attachment)
	if owner == absent || owner == foreign {
		return nil, nil
	}
	for _, s := range []step{attachmentObject{}, operatorPublication{}} {
		if err := w.step(ctx, r, s, func(ctx context.Context) error { return s.remove(ctx, r) }); err != nil {
			return nil, err
		}
	}
	if owner == adopted {
		return a.removeLeftovers(ctx, r)
	}
	return nil, nil
}

// removeLeftovers removes what an operator that was only switched off leaves in the hosted cluster. Which of it goes by itself
// differs between versions of the operator: what is there decides.
func (a *attachment) removeLeftovers(ctx context.Context, r *run) (warnings []string, err error) {
	if err := a.access().look(ctx, r); err != nil {
		return []string{fmt.Sprintf("the hosted cluster could not be read (%v), and the operator may have left the Service %s/%s, "+
			"the IPAddressPool and L2Advertisement of pool %s, MetalLB/metallb and its Subscription there: kubectl --kubeconfig "+
			"HOSTED-KUBECONFIG get services,ipaddresspools,l2advertisements,metallbs,subscriptions.operators.coreos.com --all-namespaces",
			err, r.spec.Service.Namespace, r.spec.Service.Name, r.spec.MetalLB.AddressPoolName)}, nil
	}
	r.spec.Imported = true // the operator's objects carry no marks
	for _, s := range []step{service{}, addressPool{}} {
		if err := s.remove(ctx, r); err != nil {
			return nil, err
		}
	}
	if r.live.metallb != nil || r.live.subscription != nil {
		warnings = append(warnings, fmt.Sprintf("the operator left MetalLB/metallb and its Subscription in namespace %s of the %s, "+
			"where other pools may need them", r.spec.MetalLB.Namespace, r.hosted))
	}
	return warnings, nil
}

// desiredAttachment is the whole object, or what of it an ingress may say that did not make it.
func desiredAttachment(spec Spec, whole bool) *unstructured.Unstructured {
	obj := attachmentRef(spec).Object()
	fields := map[string]any{"appsIngress": desiredAppsIngress(spec)}
	if whole {
		maps.Copy(fields, attachmentRefs(spec))
	}
	obj.Object["spec"] = fields
	return obj
}

// attachmentRefs say which cluster is attached where. They never change in the life of an ingress.
func attachmentRefs(spec Spec) map[string]any {
	return map[string]any{
		"infraRef":         map[string]any{"name": spec.Infra},
		"hostedClusterRef": map[string]any{"name": spec.HostedCluster.Name, "namespace": spec.HostedCluster.Namespace},
		"dns":              map[string]any{"clusterName": spec.Domain.ClusterName, "baseDomain": spec.Domain.BaseDomain},
	}
}

func desiredAppsIngress(spec Spec) map[string]any {
	service := map[string]any{"name": spec.Service.Name, "namespace": spec.Service.Namespace}
	if annotations := attachmentAnnotations(spec); len(annotations) > 0 {
		service["annotations"] = annotations
	}
	if len(spec.Service.Labels) > 0 {
		service["labels"] = anyMap(spec.Service.Labels)
	}
	return map[string]any{
		"enabled": true,
		"metallb": map[string]any{
			"addressPoolName":     spec.MetalLB.AddressPoolName,
			"ipAddressPoolRange":  spec.MetalLB.RangeText,
			"l2AdvertisementName": spec.MetalLB.L2AdvertisementName,
		},
		"service": service,
		"ports":   map[string]any{"http": int64(spec.Ports.HTTP), "https": int64(spec.Ports.HTTPS)},
	}
}

// attachmentAnnotations are the user's, and the pin: the operator passes annotations on to the Service, and MetalLB reads it there.
func attachmentAnnotations(spec Spec) map[string]any {
	annotations := anyMap(spec.Service.Annotations)
	if spec.Service.LoadBalancerIP.IsValid() {
		for _, prefix := range metallbPrefixes() {
			annotations[prefix+pinAnnotation] = spec.Service.LoadBalancerIP.String()
		}
	}
	return annotations
}

func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for key, value := range m {
		out[key] = value
	}
	return out
}
