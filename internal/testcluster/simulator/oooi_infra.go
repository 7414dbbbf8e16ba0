package simulator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// reconcileInfra writes what an Infra owns from the Infra and all its attachments.
func (o *Oooi) reconcileInfra(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	infra, found, err := lookup(ctx, o.client.Resource(infrasResource), key.Namespace, key.Name)
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, o.collectGarbage(ctx, key)
	}
	if infra.GetDeletionTimestamp() != nil || o.fault().Unpublished {
		return 0, nil
	}
	attached, err := o.attached(ctx, key)
	if err != nil {
		return 0, err
	}
	refusal := duplicates(attached)
	var published []attachmentSpec
	ready := int64(0)
	for _, spec := range attached {
		if spec.reportedPhase == phaseReady || !spec.enabled {
			ready++
		}
		if !refusal.excluded[spec.key] {
			published = append(published, spec)
		}
	}
	if err := o.publish(ctx, infra, published); err != nil {
		return 0, err
	}
	return 0, o.reportInfra(ctx, infra, refusal, int64(len(attached)), ready)
}

// attached are the Infra's attachments, by name, without those that are being deleted.
func (o *Oooi) attached(ctx context.Context, infra types.NamespacedName) ([]attachmentSpec, error) {
	all, err := list(ctx, o.client.Resource(attachmentsResource), infra.Namespace)
	if err != nil {
		return nil, fmt.Errorf("attachments: %w", err)
	}
	var attached []attachmentSpec
	for i := range all {
		if text(&all[i], "spec", "infraRef", "name") == infra.Name && all[i].GetDeletionTimestamp() == nil {
			attached = append(attached, o.readAttachment(&all[i]))
		}
	}
	slices.SortFunc(attached, func(a, b attachmentSpec) int { return cmp.Compare(a.key.Name, b.key.Name) })
	return attached, nil
}

// refusedAttachments are those that shut each other out.
type refusedAttachments struct {
	reason, message string
	excluded        map[types.NamespacedName]bool
}

// duplicates looks for attachments with one domain or one hosted cluster. Both sides are refused; the first reason is
// reported.
func duplicates(attached []attachmentSpec) refusedAttachments {
	refused := refusedAttachments{excluded: map[types.NamespacedName]bool{}}
	for _, check := range []struct {
		reason, what string
		of           func(attachmentSpec) string
	}{
		{"DuplicateHostname", "domain", func(s attachmentSpec) string { return s.domain }},
		{"DuplicateHostedCluster", "HostedCluster", func(s attachmentSpec) string { return s.hostedCluster.String() }},
	} {
		first := map[string]types.NamespacedName{}
		for _, spec := range attached {
			other, taken := first[check.of(spec)]
			if !taken {
				first[check.of(spec)] = spec.key
				continue
			}
			refused.excluded[spec.key], refused.excluded[other] = true, true
			if refused.reason == "" {
				refused.reason = check.reason
				refused.message = fmt.Sprintf("attachments %s and %s have the same %s %s", other.Name, spec.key.Name, check.what, check.of(spec))
			}
		}
	}
	return refused
}

func (o *Oooi) reportInfra(ctx context.Context, infra *unstructured.Unstructured, refused refusedAttachments, total, ready int64) error {
	after := infra.DeepCopy()
	if refused.reason == "" {
		setCondition(after, "Ready", "True", reasonSucceeded, "all components are reconciled")
	} else {
		setCondition(after, "Ready", "False", refused.reason, refused.message)
	}
	setStatus(after, object{"total": total, "ready": ready}, "attachments")
	components := object{}
	for _, component := range []string{"dhcp", "dns", "proxy"} {
		if componentEnabled(infra, component) {
			components[component+"Ready"] = true
		}
	}
	setStatus(after, components, "componentStatus")
	setStatus(after, infra.GetGeneration(), "observedGeneration")
	_, err := updateStatus(ctx, o.client.Resource(infrasResource), infra, after)
	return err
}

// componentEnabled is true by default, but for a component that is not mentioned at all.
func componentEnabled(infra *unstructured.Unstructured, component string) bool {
	settings, found, _ := unstructured.NestedMap(infra.Object, "spec", "infraComponents", component)
	if !found {
		return false
	}
	enabled, said := settings["enabled"].(bool)
	return enabled || !said
}

// collectGarbage deletes what a deleted Infra owned, as the garbage collector of the management cluster would.
func (o *Oooi) collectGarbage(ctx context.Context, infra types.NamespacedName) error {
	for _, kind := range ownedKinds {
		all, err := list(ctx, o.client.Resource(kind.resource), infra.Namespace)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.resource.Resource, err)
		}
		for i := range all {
			owner := metav1.GetControllerOf(&all[i])
			if owner == nil || owner.Kind != "Infra" || owner.Name != infra.Name {
				continue
			}
			if err := remove(ctx, o.client.Resource(kind.resource), infra.Namespace, all[i].GetName()); err != nil {
				return err
			}
		}
	}
	return nil
}
