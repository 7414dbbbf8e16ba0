package appsingress

import (
	"context"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// operatorEndpoint waits for the operator to report an endpoint that fits.
type operatorEndpoint struct{ nothing }

func (operatorEndpoint) name() string    { return StepEndpoint }
func (operatorEndpoint) waiting() Reason { return ReasonWaitingForExternalIP }
func (operatorEndpoint) broken() Reason  { return ReasonExternalIPDiscoveryFailed }

func (operatorEndpoint) ensure(ctx context.Context, r *run) error {
	err := remember(&r.live.attachment).from(r.management.AwaitObject(ctx, attachmentRef(r.spec), "the oooi operator",
		func(obj *unstructured.Unstructured) (kube.Verdict, error) {
			r.seen.Store(obj)
			return operatorReady(r.spec, obj)
		}))
	r.endpoint = reportedEndpoint(r.live.attachment)
	return err
}

// operatorReady judges what the operator says of the attachment. A status of an earlier generation, or an endpoint of an earlier
// range, is no answer.
func operatorReady(spec Spec, obj *unstructured.Unstructured) (kube.Verdict, error) {
	if obj == nil {
		return kube.Verdict{}, &FailedError{Object: attachmentRef(spec).String(), Reason: "it was deleted meanwhile"}
	}
	if !upToDate(obj) {
		return kube.Pending(string(ReasonWaitingForExternalIP), "the operator has not seen the change yet"), nil
	}
	phase, reason, message := reported(obj)
	endpoint := reportedEndpoint(obj)
	switch {
	case phase == "":
		return kube.Pending(string(ReasonWaitingForExternalIP), "the operator has not reported yet"), nil
	case phase != PhaseReady:
		return kube.Pending(string(reason), "%s, %s: %s", phase, reason, message), nil
	case !spec.Fits(endpoint):
		return kube.Pending(string(ReasonWaitingForExternalIP), "the operator reports %s, which does not fit", endpoint), nil
	}
	return kube.Done(), nil
}

func upToDate(obj *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	return observed >= obj.GetGeneration()
}

// reportedEndpoint is the endpoint in the attachment's status.
func reportedEndpoint(obj *unstructured.Unstructured) Endpoint {
	if obj == nil {
		return Endpoint{}
	}
	read := func(field string) string {
		value, _, _ := unstructured.NestedString(obj.Object, "status", "appsIngressStatus", field)
		return value
	}
	if address, err := netip.ParseAddr(read("externalIP")); err == nil {
		return Endpoint{IP: address}
	}
	return Endpoint{Hostname: read("externalHostname")}
}

func (operatorEndpoint) subject(*run) kube.Ref { return kube.Ref{} }

func (operatorEndpoint) drift(r *run) []Difference {
	obj := r.live.attachment
	if obj == nil {
		return nil
	}
	phase, _, _ := reported(obj)
	reports, live := reportedEndpoint(obj), fittingEndpoint(r.spec, r.live.service)
	d := differ{object: attachmentRef(r.spec).String(), live: obj}
	switch {
	case phase != PhaseReady:
		d.add("status.appsIngressStatus.phase", string(PhaseReady), orNone(string(phase)), AffectsAddress)
	case !r.spec.Fits(reports):
		d.add("status.appsIngressStatus.externalIP", r.spec.MetalLB.RangeText, orNone(reports.String()), AffectsAddress)
	case !live.IsZero() && live != reports:
		d.add("status.appsIngressStatus.externalIP", live.String(), orNone(reports.String()), AffectsAddress)
	}
	return d.found
}

// orNone shows an empty text as missing.
func orNone(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// operatorPublication waits until the operator has really published: its own status says nothing about that.
type operatorPublication struct{ nothing }

func (operatorPublication) name() string    { return StepPublication }
func (operatorPublication) waiting() Reason { return ReasonPublicationFailed }
func (operatorPublication) broken() Reason  { return ReasonPublicationFailed }

// infraPublish names the DNSServer and the ProxyServer of the Infra; empty where it has none.
func infraPublish(r *run) (dns, proxy string) {
	publish := DefaultPublish(r.spec.Infra)
	if r.publishes("dns", r.live.dnsServer) {
		dns = publish.DNSServer
	}
	if r.publishes("proxy", r.live.proxyServer) {
		proxy = publish.ProxyServer
	}
	return dns, proxy
}

// publishes says that the Infra has a component, as far as it says so itself; otherwise what is there tells.
func (r *run) publishes(component string, obj *unstructured.Unstructured) bool {
	if r.live.infra == nil {
		return true
	}
	settings, mentioned, _ := unstructured.NestedMap(r.live.infra.Object, "spec", "infraComponents", component)
	if !mentioned {
		return obj != nil && owningInfra(obj) == r.spec.Infra
	}
	enabled, said := settings["enabled"].(bool)
	return enabled || !said
}

// infraBulletins are the Infra's objects as far as this ingress is concerned.
func infraBulletins(r *run) []bulletin {
	spec := r.spec
	spec.Publish.DNSServer, spec.Publish.ProxyServer = infraPublish(r)
	list := bulletins(spec)
	for i := range list {
		if list[i].ref.Resource == proxyServerKind() {
			list[i].entries = operatorBackends(spec)
		}
	}
	return list
}

// operatorBackends are the two backends as the operator makes them. They are known by host name and port: how the operator calls
// them differs between its versions. Nobody else has a say in what an Infra publishes, so every backend of the wildcard is ours.
func operatorBackends(spec Spec) entryList {
	list := proxyBackends(spec)
	named := list.want
	list.owns = func(entry map[string]any) bool { return sameName(entry["hostname"], spec.Domain.Wildcard()) }
	list.describe = func(entry map[string]any) string { return fmt.Sprintf("%v:%v", entry["hostname"], entry["port"]) }
	list.want = func(e Endpoint) []map[string]any {
		backends := named(e)
		for _, backend := range backends {
			delete(backend, "name")
		}
		return backends
	}
	return list
}

func (operatorPublication) observe(ctx context.Context, r *run) error {
	group, ctx := siblings(ctx)
	publish := DefaultPublish(r.spec.Infra)
	for _, b := range bulletins(Spec{Namespace: r.spec.Namespace, Publish: publish}) {
		group.Go(func() error { return remember(r.slot(b)).from(find(ctx, r.management, b.ref)) })
	}
	return group.Wait()
}

func (operatorPublication) ensure(ctx context.Context, r *run) error {
	for _, b := range infraBulletins(r) {
		want := b.entries.want(r.endpoint)
		check := func(obj *unstructured.Unstructured) (kube.Verdict, error) {
			if obj == nil {
				return kube.Pending(string(ReasonPublicationFailed), "%s does not exist", b.ref), nil
			}
			if found := b.entries.differences(b.ref.String(), obj, want); len(found) > 0 {
				return kube.Pending(string(ReasonPublicationFailed), "%s", found[0]), nil
			}
			return kube.Done(), nil
		}
		err := remember(r.slot(b)).from(r.management.AwaitObject(ctx, b.ref, "the publication in "+b.ref.String(), check))
		if err != nil {
			return err
		}
	}
	return nil
}

func (operatorPublication) drift(r *run) []Difference {
	endpoint := reportedEndpoint(r.live.attachment)
	if r.live.attachment == nil || !r.spec.Fits(endpoint) {
		return nil
	}
	var found []Difference
	for _, b := range infraBulletins(r) {
		obj := *r.slot(b)
		if obj == nil {
			found = append(found, missing(b.ref.String(), AffectsPublication)...)
			continue
		}
		found = append(found, b.entries.differences(b.ref.String(), obj, b.entries.want(endpoint))...)
	}
	return found
}

// remove waits until the operator has withdrawn everything that points at the endpoint. The same name may be published for another
// attachment by then, which this one has shut out until now.
func (operatorPublication) remove(ctx context.Context, r *run) error {
	for _, b := range infraBulletins(r) {
		_, err := r.management.AwaitObject(ctx, b.ref, "the withdrawal from "+b.ref.String(),
			func(obj *unstructured.Unstructured) (kube.Verdict, error) {
				if obj == nil {
					return kube.Done(), nil
				}
				for _, entry := range b.entries.own(obj) {
					if text(entry[b.entries.target]) == r.endpoint.String() {
						return kube.Pending(string(ReasonPublicationFailed), "%s still has the entry %s", b.ref, b.entries.describe(entry)), nil
					}
				}
				return kube.Done(), nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// failWhenShutOut ends with an error when the Infra leaves the attachment out for a name or a cluster that it has twice. The
// attachment's own phase stays Ready then.
func failWhenShutOut(ctx context.Context, r *run) error {
	_, err := r.management.AwaitObject(ctx, infraRef(r.spec), "the Infra", func(obj *unstructured.Unstructured) (kube.Verdict, error) {
		if obj == nil {
			return kube.Pending("", "the Infra is not there"), nil
		}
		condition, status := conditionStatus(obj, "Ready")
		reason, message := text(condition["reason"]), text(condition["message"])
		duplicate := reason == "DuplicateHostname" || reason == "DuplicateHostedCluster"
		if status == "False" && duplicate && mentions(message, r.spec.Name) {
			return kube.Verdict{}, &FailedError{Object: infraRef(r.spec).String(), Reason: reason, Message: message}
		}
		return kube.Pending("", ""), nil
	})
	return err
}
