package simulator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// reconcileAttachment takes one look at an attachment and its hosted cluster. Whatever has to be waited for is looked at
// again after an interval, not sooner, unless the attachment changes.
func (o *Oooi) reconcileAttachment(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	u, found, err := lookup(ctx, o.client.Resource(attachmentsResource), key.Namespace, key.Name)
	if err != nil {
		return 0, err
	}
	if !found {
		delete(o.connections, key)
		return 0, nil
	}
	spec := o.readAttachment(u)
	switch {
	case u.GetDeletionTimestamp() != nil:
		return o.letAttachmentGo(ctx, u, spec)
	case !spec.enabled:
		return o.disable(ctx, u, spec)
	}
	if !slices.Contains(u.GetFinalizers(), ingressFinalizer) {
		if u, err = o.setFinalizers(ctx, u, append(u.GetFinalizers(), ingressFinalizer)); err != nil {
			return 0, err
		}
	}
	out := o.carryOut(ctx, u, spec)
	return out.again, o.report(ctx, u, spec, out)
}

// carryOut does the feature's steps in their order, and stops at the first that is not done yet.
func (o *Oooi) carryOut(ctx context.Context, u *unstructured.Unstructured, spec attachmentSpec) outcome {
	made := applied(u)
	if failure := o.fault().Degraded; failure != nil && (failure.Attachment == "" || failure.Attachment == spec.key.Name) {
		return o.degraded(failure.Reason, errors.New(failure.Message), made)
	}
	hosted, err := o.connect(ctx, spec)
	if err != nil {
		return o.degraded("HostedClusterAccessFailed", err, made)
	}
	if made.moved(spec.names) {
		if err := hosted.removeAll(ctx, made); err != nil {
			return o.degraded("HostedClusterAccessFailed", fmt.Errorf("removing what had other names: %w", err), made)
		}
		hosted.awaitMetalLBGone(ctx)
		made = hostedNames{}
	}
	ready, err := hosted.hasReadyNode(ctx)
	if err != nil {
		return o.degraded("HostedClusterNodeListFailed", err, made)
	}
	if !ready {
		return outcome{
			phase: phasePending, reason: "WaitingForHostedClusterNodes", message: "no node of the hosted cluster is Ready",
			made: made, again: o.options.WaitInterval,
		}
	}
	repaired, err := hosted.subscribe(ctx)
	if err != nil {
		return o.degraded("MetalLBInstallFailed", err, made)
	}
	served, err := hosted.servesMetalLB(ctx)
	if err != nil {
		return o.degraded("MetalLBInstallFailed", err, made)
	}
	if !served {
		return outcome{
			phase: phasePending, reason: "WaitingForMetalLBCRDs", message: "the hosted cluster does not serve MetalLB's kinds yet",
			made: made, again: o.options.WaitInterval,
		}
	}
	return o.expose(ctx, hosted, spec, made, repaired)
}

// expose does the steps that need MetalLB.
func (o *Oooi) expose(ctx context.Context, hosted *hostedConnection, spec attachmentSpec, made hostedNames, repaired bool) outcome {
	changed, err := hosted.configureMetalLB(ctx, spec, made)
	if err != nil {
		return o.degraded("MetalLBInstallFailed", err, made)
	}
	repaired = repaired || changed
	made = spec.names
	changed, err = hosted.applyService(ctx, spec)
	if err != nil {
		return o.degraded("IngressServiceFailed", err, made)
	}
	repaired = repaired || changed
	waiting := outcome{
		phase: phasePending, reason: "WaitingForExternalIP", message: "MetalLB has not assigned an address yet",
		made: made, again: o.options.AddressInterval,
	}
	if repaired && spec.reportedPhase == phaseReady && !spec.changed {
		waiting.again = o.options.Blink
		return waiting
	}
	address, err := hosted.address(ctx, spec.names)
	switch {
	case err != nil:
		return o.degraded("ExternalIPDiscoveryFailed", err, made)
	case address == endpointAddress{}:
		return waiting
	}
	// Whether the address is in the range is not looked at, and there is no second look.
	return outcome{
		phase: phaseReady, reason: reasonSucceeded, message: "apps ingress is reachable at " + address.String(),
		made: made, address: address,
	}
}

// disable withdraws the ingress. Whether its objects in the hosted cluster go depends on the version.
func (o *Oooi) disable(ctx context.Context, u *unstructured.Unstructured, spec attachmentSpec) (time.Duration, error) {
	if slices.Contains(u.GetFinalizers(), ingressFinalizer) {
		if o.options.DisableRemoves {
			if err := o.cleanUp(ctx, u, spec); err != nil {
				out := o.degraded("HostedClusterAccessFailed", err, applied(u))
				return out.again, o.report(ctx, u, spec, out)
			}
		}
		updated, err := o.setFinalizers(ctx, u, without(u.GetFinalizers(), ingressFinalizer))
		if err != nil {
			return 0, err
		}
		u = updated
	}
	return 0, o.report(ctx, u, spec, outcome{})
}

// letAttachmentGo cleans up for a deleted attachment, and holds it until that has worked.
func (o *Oooi) letAttachmentGo(ctx context.Context, u *unstructured.Unstructured, spec attachmentSpec) (time.Duration, error) {
	if !slices.Contains(u.GetFinalizers(), ingressFinalizer) {
		return 0, nil
	}
	if o.fault().KeepDeleting {
		return o.options.CleanupInterval, nil
	}
	if err := o.cleanUp(ctx, u, spec); err != nil {
		out := o.degraded("HostedClusterAccessFailed", err, applied(u))
		return o.options.CleanupInterval, o.report(ctx, u, spec, out)
	}
	_, err := o.setFinalizers(ctx, u, without(u.GetFinalizers(), ingressFinalizer))
	return 0, err
}

// cleanUp removes everything from the hosted cluster; without a HostedCluster there is nothing to remove it from.
func (o *Oooi) cleanUp(ctx context.Context, u *unstructured.Unstructured, spec attachmentSpec) error {
	_, err := o.kubeconfig(ctx, spec)
	if errors.Is(err, errNoHostedCluster) {
		return nil
	}
	hosted, err := o.connect(ctx, spec)
	if err != nil {
		return err
	}
	names := applied(u)
	if names == (hostedNames{}) {
		names = spec.names
	}
	return hosted.removeAll(ctx, names)
}

func (o *Oooi) setFinalizers(ctx context.Context, u *unstructured.Unstructured, finalizers []string) (*unstructured.Unstructured, error) {
	u = u.DeepCopy()
	u.SetFinalizers(finalizers)
	updated, err := o.client.Resource(attachmentsResource).Namespace(u.GetNamespace()).
		Update(ctx, u, metav1.UpdateOptions{FieldManager: oooiName})
	if err != nil {
		return nil, fmt.Errorf("changing finalizers: %w", err)
	}
	return updated, nil
}

func without(all []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one })
}
