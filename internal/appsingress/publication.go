package appsingress

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// publication writes the wildcard record into the DNSServer and the two backends into the ProxyServer. Both hold lists that many
// ingresses share: only the entries of this one are touched.
type publication struct{ nothing }

func (publication) name() string    { return StepPublication }
func (publication) waiting() Reason { return ReasonPublicationFailed }
func (publication) broken() Reason  { return ReasonPublicationFailed }

// bulletin is one of the two objects that entries are published in.
type bulletin struct {
	ref     kube.Ref
	entries entryList
}

// bulletins are the objects a spec publishes in: Envoy before DNS, so that a name never leads to a proxy that does not know it.
func bulletins(spec Spec) []bulletin {
	var list []bulletin
	if name := spec.Publish.ProxyServer; name != "" {
		ref := kube.Ref{Resource: proxyServerKind(), Namespace: spec.Namespace, Name: name}
		list = append(list, bulletin{ref, proxyBackends(spec)})
	}
	if name := spec.Publish.DNSServer; name != "" {
		ref := kube.Ref{Resource: dnsServerKind(), Namespace: spec.Namespace, Name: name}
		list = append(list, bulletin{ref, dnsEntries(spec)})
	}
	return list
}

// slot is where the run keeps the live object of a bulletin.
func (r *run) slot(b bulletin) **unstructured.Unstructured {
	if b.ref.Resource == dnsServerKind() {
		return &r.live.dnsServer
	}
	return &r.live.proxyServer
}

func (publication) observe(ctx context.Context, r *run) error {
	group, ctx := siblings(ctx)
	for _, b := range bulletins(r.spec) {
		group.Go(func() (err error) {
			*r.slot(b), err = find(ctx, r.management, b.ref)
			return err
		})
	}
	return group.Wait()
}

func (p publication) refuse(_ context.Context, r *run) error {
	if p.nowhere(r) {
		return &ConfigError{
			Attribute: "infra_ref",
			Problem: fmt.Sprintf("neither Infra %s nor a DNSServer or ProxyServer of its name exists in namespace %s of the %s",
				r.spec.Infra, r.spec.Namespace, r.management),
			Remedy: "correct infra_ref, or set publish to what exists",
		}
	}
	var errs []error
	for _, b := range bulletins(r.spec) {
		errs = append(errs, r.refuseBulletin(b, *r.slot(b)))
	}
	return errors.Join(errs...)
}

// nowhere says that the ingress would be published where its Infra publishes, and nothing of that exists.
func (publication) nowhere(r *run) bool {
	return r.spec.Infra != "" && r.spec.Publish == DefaultPublish(r.spec.Infra) && r.live.dnsServer == nil && r.live.proxyServer == nil
}

// refuseBulletin refuses to publish in an object that is not there, that an Infra owns, or that has somebody else's answer.
func (r *run) refuseBulletin(b bulletin, obj *unstructured.Unstructured) error {
	attribute := b.entries.attribute
	if obj == nil {
		return &ConfigError{
			Attribute: attribute,
			Problem:   fmt.Sprintf("%s does not exist in the %s", b.ref, r.management),
			Remedy:    "create it first, or set publish to what exists",
		}
	}
	if infra := owningInfra(obj); infra != "" {
		return ownedByInfra(b, infra)
	}
	return r.refuseEntries(b, obj)
}

// ownedByInfra refuses to write where the oooi operator would take it back.
func ownedByInfra(b bulletin, infra string) *ConfigError {
	return &ConfigError{
		Attribute: b.entries.attribute,
		Problem:   fmt.Sprintf("%s belongs to Infra %s, and oooi takes back within moments what is written to it directly", b.ref, infra),
		Remedy:    "publish in a DNSServer and a ProxyServer that no Infra owns",
	}
}

// owningInfra is the name of the Infra that controls an object; empty: none does.
func owningInfra(obj *unstructured.Unstructured) string {
	for _, owner := range obj.GetOwnerReferences() {
		if owner.Kind == infraKind().Kind && owner.Controller != nil && *owner.Controller {
			return owner.Name
		}
	}
	return ""
}

// refuseEntries refuses entries for our wildcard that are not ours: a second answer must never stand beside the first.
func (r *run) refuseEntries(b bulletin, obj *unstructured.Unstructured) error {
	if r.ownerOfEntries(b, obj) != foreign {
		return nil
	}
	mark := obj.GetAnnotations()[listMarkFor(r.spec.Domain.Wildcard()).ingress]
	if r.spec.AdoptExisting && mark == "" {
		return nil
	}
	return &OwnershipError{
		Cluster: r.management.String(),
		Object:  b.ref.String(),
		Entry:   b.entries.taken(obj)[0],
		Owner:   mark,
	}
}

// ownerOfEntries is whose the entries for our wildcard are. Entries that lost their mark by hand are still ours where we published
// before and each leads to an endpoint of ours.
func (r *run) ownerOfEntries(b bulletin, obj *unstructured.Unstructured) ownership {
	mark, own := listMarkFor(r.spec.Domain.Wildcard()), b.entries.own(obj)
	owner := mark.ownerOf(obj, r.spec, len(own) > 0)
	if owner != foreign || obj.GetAnnotations()[mark.ingress] != "" || r.previous == nil || !r.previous.publishesIn(b.ref) {
		return owner
	}
	for _, entry := range own {
		if !r.hasEndpoint(text(entry[b.entries.target])) {
			return foreign
		}
	}
	return ours
}

// hasEndpoint says that a target is one that this ingress had, or has: an address that fits what was wanted before, or the host
// name that is live.
func (r *run) hasEndpoint(target string) bool {
	if ip, err := netip.ParseAddr(target); err == nil {
		return r.previous.Fits(Endpoint{IP: ip})
	}
	return target != "" && target == fittingEndpoint(r.spec, r.live.service).Hostname
}

// ensure publishes the endpoint, and withdraws what an earlier configuration published elsewhere.
func (publication) ensure(ctx context.Context, r *run) error {
	for _, b := range bulletins(r.spec) {
		if err := r.publish(ctx, b); err != nil {
			return err
		}
	}
	if r.previous == nil {
		return nil
	}
	for _, b := range bulletins(*r.previous) {
		if r.spec.publishesIn(b.ref) {
			continue
		}
		if err := r.withdraw(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (s Spec) publishesIn(ref kube.Ref) bool {
	for _, b := range bulletins(s) {
		if b.ref == ref {
			return true
		}
	}
	return false
}

// publish writes our entries and the mark that says they are ours in one write.
func (r *run) publish(ctx context.Context, b bulletin) error {
	mark := listMarkFor(r.spec.Domain.Wildcard())
	want := b.entries.want(r.endpoint)
	change := func(obj *unstructured.Unstructured) (bool, error) {
		if err := r.refuseBulletin(b, obj); err != nil {
			return false, err
		}
		owner := r.ownerOfEntries(b, obj)
		before := obj.DeepCopy()
		*r.slot(b) = before // an earlier try may have arrived, though its answer has not
		b.entries.replace(obj, want)
		switch {
		case len(want) > 0:
			mark.set(obj, r.spec.ID(), owner == foreign || owner == adopted)
		case owner != absent:
			mark.clear(obj)
		}
		return !sameContent(before, obj), nil
	}
	return kube.Retry(ctx, "publish in "+b.ref.String(), func(ctx context.Context) error {
		written, err := r.management.Modify(ctx, b.ref, change)
		if err == nil {
			*r.slot(b) = written
		}
		return err
	})
}

// drift compares what is published with the endpoint that is live. Without one there is nothing to compare with: the endpoint's
// own drift says so.
func (publication) drift(r *run) []Difference {
	var found []Difference
	for _, b := range bulletins(r.spec) {
		obj := *r.slot(b)
		if obj == nil {
			found = append(found, missing(b.ref.String(), AffectsPublication)...)
			continue
		}
		found = append(found, b.drift(r, obj)...)
	}
	return found
}

func (b bulletin) drift(r *run, obj *unstructured.Unstructured) []Difference {
	current := fittingEndpoint(r.spec, r.live.service)
	if current.IsZero() {
		return nil
	}
	mark := listMarkFor(r.spec.Domain.Wildcard())
	found := b.entries.differences(b.ref.String(), obj, b.entries.want(current))
	taken := len(b.entries.taken(obj)) > 0
	if taken && len(found) == 0 && mark.ownerOf(obj, r.spec, true) == foreign {
		d := differ{object: b.ref.String(), live: obj}
		d.annotation(mark.ingress, r.spec.ID(), AffectsPublication)
		found = d.found
	}
	return found
}

func (publication) present(r *run) []string {
	var present []string
	for _, b := range bulletins(r.spec) {
		obj := *r.slot(b)
		if obj == nil {
			continue
		}
		if owner := r.ownerOfEntries(b, obj); owner != ours && owner != adopted {
			continue
		}
		for _, entry := range b.entries.taken(obj) {
			present = append(present, fmt.Sprintf("entry %s of %s", entry, b.ref))
		}
	}
	return present
}

// remove withdraws our entries. A ProxyServer must keep a backend: that is found out before anything is withdrawn.
func (publication) remove(ctx context.Context, r *run) error {
	for _, b := range bulletins(r.spec) {
		if err := r.withdraw(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// withdraw takes our entries out of an object, together with the mark. What was adopted stays, without the mark.
func (r *run) withdraw(ctx context.Context, b bulletin) error {
	mark := listMarkFor(r.spec.Domain.Wildcard())
	change := func(obj *unstructured.Unstructured) (bool, error) {
		before := obj.DeepCopy()
		if r.ownerOfEntries(b, obj) == ours {
			b.entries.replace(obj, nil)
			if b.entries.required && len(b.entries.items(obj)) == 0 {
				return false, &lastBackendError{Object: b.ref.String(), Cluster: r.management.String()}
			}
		}
		if obj.GetAnnotations()[mark.ingress] == r.spec.ID() {
			mark.clear(obj)
		}
		return !sameContent(before, obj), nil
	}
	return kube.Retry(ctx, "withdraw from "+b.ref.String(), func(ctx context.Context) error {
		written, err := r.management.Modify(ctx, b.ref, change)
		if kube.IsNotFound(err) {
			return nil
		}
		if err == nil && r.spec.publishesIn(b.ref) {
			*r.slot(b) = written
		}
		return err
	})
}

// lastBackendError says that a ProxyServer would be left without a backend, which its API does not allow.
type lastBackendError struct{ Object, Cluster string }

func (e *lastBackendError) Error() string {
	return fmt.Sprintf("the backends of this ingress are the last ones of %s in the %s, and a ProxyServer must keep at least one",
		e.Object, e.Cluster)
}
