package appsingress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// attachmentObject is the InfraClusterAttachment that tells the operator what is wanted.
type attachmentObject struct{ nothing }

func (attachmentObject) name() string    { return StepAttachment }
func (attachmentObject) waiting() Reason { return ReasonPublicationFailed }
func (attachmentObject) broken() Reason  { return ReasonPublicationFailed }

func attachmentRef(spec Spec) kube.Ref {
	return kube.Ref{Resource: attachmentKind(), Namespace: spec.Namespace, Name: spec.Name}
}

func infraRef(spec Spec) kube.Ref {
	return kube.Ref{Resource: infraKind(), Namespace: spec.Namespace, Name: spec.Infra}
}

func (attachmentObject) observe(ctx context.Context, r *run) error {
	group, ctx := siblings(ctx)
	group.Go(func() error {
		return remember(&r.live.attachment).from(find(ctx, r.management, attachmentRef(r.spec)))
	})
	group.Go(func() error { return remember(&r.live.infra).from(find(ctx, r.management, infraRef(r.spec))) })
	return group.Wait()
}

// refuse looks for an Infra that is not there, and for an attachment of somebody else that is in use or stands for another cluster.
//
// A new one that collides with others on the Infra would take their publication down too: that is looked for again, as the plan could
// not see what was made since.
func (attachmentObject) refuse(ctx context.Context, r *run) error {
	if r.live.infra == nil {
		return &ConfigError{
			Attribute: "infra_ref",
			Problem:   fmt.Sprintf("%s does not exist in the %s", infraRef(r.spec), r.management),
			Remedy:    "create it first, or correct infra_ref",
		}
	}
	if r.live.attachment != nil {
		return r.refuseAttachment(ctx, r.live.attachment)
	}
	found, err := r.lookAtVLAN(ctx, func(*unstructured.Unstructured) bool { return false })
	for _, refusal := range found.Refusals {
		err = errors.Join(err, refusal)
	}
	return err
}

func (r *run) refuseAttachment(ctx context.Context, current *unstructured.Unstructured) error {
	if current == nil {
		return nil
	}
	d := differ{object: attachmentRef(r.spec).String(), live: current}
	compareRefs(&d, r.spec)
	if len(d.found) > 0 {
		return &ConfigError{
			Attribute: "name",
			Problem:   fmt.Sprintf("%s stands for another cluster: %s", d.object, d.found[0]),
			Remedy:    "choose another name, or make infra_ref, hosted_cluster_ref and dns agree with it",
		}
	}
	enabled, _, _ := unstructured.NestedBool(current.Object, "spec", "appsIngress", "enabled")
	if !enabled && current.GetAnnotations()[annotationIngress] == "" {
		return nil
	}
	return r.refuseForeign(ctx, r.management, attachmentRef(r.spec), desiredAttachment(r.spec, true), current)
}

func compareRefs(d *differ, spec Spec) {
	for _, ref := range sortedKeys(attachmentRefs(spec)) {
		fields, _ := attachmentRefs(spec)[ref].(map[string]any)
		for _, field := range sortedKeys(fields) {
			d.fieldOr("spec."+ref+"."+field, fields[field], attachmentDefault(ref, field), AffectsAddress)
		}
	}
}

// attachmentDefault is what the operator takes a reference for that is left out; nil: it cannot be.
func attachmentDefault(ref, field string) any {
	if ref == "hostedClusterRef" && field == "namespace" {
		return DefaultNamespace
	}
	return nil
}

// ensure applies the whole object when this ingress made it, or is about to, and only what concerns it of one that was there before.
func (attachmentObject) ensure(ctx context.Context, r *run) error {
	ref := attachmentRef(r.spec)
	whole := r.live.attachment == nil || r.spec.ownerOf(r.live.attachment) == ours
	judge := func(current *unstructured.Unstructured) (bool, error) { return false, r.refuseAttachment(ctx, current) }
	return remember(&r.live.attachment).from(r.write(ctx, r.management, ref, desiredAttachment(r.spec, whole), judge))
}

func (attachmentObject) drift(r *run) []Difference {
	if r.live.attachment == nil {
		return missing(attachmentRef(r.spec).String(), AffectsAddress)
	}
	d := differ{object: attachmentRef(r.spec).String(), live: r.live.attachment}
	compareRefs(&d, r.spec)
	compareAppsIngress(&d, r.spec)
	d.marks(r.spec)
	return d.found
}

// compareAppsIngress takes what an attachment leaves out for the default that the operator takes it for: one that was made by hand
// says no more than it must.
func compareAppsIngress(d *differ, spec Spec) {
	const root = "spec.appsIngress."
	m, s := spec.MetalLB, spec.Service
	d.field(root+"enabled", true, AffectsAddress)
	d.field(root+"metallb.addressPoolName", m.AddressPoolName, AffectsAddress)
	addresses, _, _ := unstructured.NestedString(d.live.Object, "spec", "appsIngress", "metallb", "ipAddressPoolRange")
	if !addresspool.EqualSet(m.Range, []string{addresses}) {
		d.field(root+"metallb.ipAddressPoolRange", m.RangeText, AffectsAddress)
	}
	d.fieldOr(root+"metallb.l2AdvertisementName", m.L2AdvertisementName, DefaultL2AdvertisementName(m.AddressPoolName), 0)
	d.fieldOr(root+"service.name", s.Name, DefaultServiceName, AffectsAddress)
	d.fieldOr(root+"service.namespace", s.Namespace, DefaultServiceNamespace, AffectsAddress)
	d.fieldOr(root+"ports.http", int64(spec.Ports.HTTP), int64(DefaultHTTPPort), AffectsPublication)
	d.fieldOr(root+"ports.https", int64(spec.Ports.HTTPS), int64(DefaultHTTPSPort), AffectsPublication)
	d.keys(root+"service.labels", anyMap(s.Labels))
	d.keys(root+"service.annotations", attachmentAnnotations(spec))
}

func (attachmentObject) present(r *run) []string {
	if owner := r.spec.ownerOf(r.live.attachment); owner == ours || owner == adopted {
		return []string{attachmentRef(r.spec).String()}
	}
	return nil
}

// remove deletes the attachment, whose finalizer has the operator clean the hosted cluster, or switches off the one that was there
// before.
func (attachmentObject) remove(ctx context.Context, r *run) error {
	r.endpoint = reportedEndpoint(r.live.attachment)
	if r.spec.ownerOf(r.live.attachment) == ours {
		return r.deleteAttachment(ctx)
	}
	return r.switchOff(ctx)
}

// deleteAttachment returns when the attachment is gone. Until then the operator says why it is not.
func (r *run) deleteAttachment(ctx context.Context) error {
	ref, uid := attachmentRef(r.spec), r.live.attachment.GetUID()
	err := kube.Retry(ctx, "delete "+ref.String(), func(ctx context.Context) error { return r.management.Delete(ctx, ref, uid) })
	if err != nil {
		return err
	}
	_, err = r.management.AwaitObject(ctx, ref, "the end of "+ref.String(), func(obj *unstructured.Unstructured) (kube.Verdict, error) {
		if obj == nil || obj.GetUID() != uid {
			return kube.Done(), nil
		}
		kept := fmt.Sprintf("%s keeps finalizers %s", ref, strings.Join(obj.GetFinalizers(), ", "))
		if phase, reason, message := reported(obj); phase != "" && phase != PhaseReady {
			return kube.Pending(string(reason), "%s; the oooi operator says %s, %s: %s", kept, phase, reason, message), nil
		}
		return kube.Pending("Finalizing", "%s; the oooi operator has not said why", kept), nil
	})
	return err
}

// switchOff leaves an attachment behind as if it had never been used. What was applied is taken out under another field manager, value
// by value: an apply of nothing would leave null where only ours was, which the API server refuses. The apply that follows takes off
// the marks, and with them what makes the object look like ours.
func (r *run) switchOff(ctx context.Context) error {
	ref := attachmentRef(r.spec)
	fields := nulls(desiredAppsIngress(r.spec))
	fields["enabled"] = false
	off, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{annotationTouched: nil}},
		"spec":     map[string]any{"appsIngress": fields},
	})
	if err != nil {
		return fmt.Errorf("build the end of %s: %w", ref, err)
	}
	return kube.Retry(ctx, "switch off "+ref.String(), func(ctx context.Context) error {
		if _, err := r.management.Patch(ctx, ref, off, touchManager); err != nil {
			return err
		}
		_, err := r.management.Apply(ctx, ref, ref.Object(), kube.ApplyOptions{Force: true})
		return err
	})
}

// nulls is a merge patch that takes out every value.
func nulls(fields map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range fields {
		out[key] = nil
		if nested, ok := value.(map[string]any); ok {
			out[key] = nulls(nested)
		}
	}
	return out
}
