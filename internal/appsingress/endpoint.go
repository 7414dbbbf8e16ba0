package appsingress

import (
	"context"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// endpoint waits for an address, or a host name, that fits what is configured. The Service's status may still hold the answer to
// an earlier configuration: MetalLB moves an address a moment after its pool has changed.
type endpoint struct{ nothing }

func (endpoint) name() string    { return StepEndpoint }
func (endpoint) waiting() Reason { return ReasonWaitingForExternalIP }
func (endpoint) broken() Reason  { return ReasonExternalIPDiscoveryFailed }

func (endpoint) subject(r *run) kube.Ref { return serviceRef(r.spec) }

// Fits says that an endpoint is an answer to this configuration: an address in the range, and the pinned one when one is pinned;
// or a host name, when none is.
func (s Spec) Fits(e Endpoint) bool {
	pin := s.Service.LoadBalancerIP
	switch {
	case e.IP.IsValid():
		return s.MetalLB.Range.Contains(e.IP) && (!pin.IsValid() || pin == e.IP)
	default:
		return e.Hostname != "" && !pin.IsValid()
	}
}

// ingressPoints are all the endpoints in a Service's status. IPv6 addresses are left out.
func ingressPoints(obj *unstructured.Unstructured) []Endpoint {
	if obj == nil {
		return nil
	}
	var points []Endpoint
	entries, _, _ := unstructured.NestedSlice(obj.Object, "status", "loadBalancer", "ingress")
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		text, _ := entry["ip"].(string)
		if address, err := netip.ParseAddr(text); err == nil && address.Is4() {
			points = append(points, Endpoint{IP: address})
		}
		if hostname, _ := entry["hostname"].(string); hostname != "" {
			points = append(points, Endpoint{Hostname: hostname})
		}
	}
	return points
}

// fittingEndpoint is the endpoint of a Service that fits; zero when none does. An address goes before a host name, and among
// several the choice does not depend on their order.
func fittingEndpoint(spec Spec, obj *unstructured.Unstructured) Endpoint {
	var best Endpoint
	for _, point := range ingressPoints(obj) {
		if spec.Fits(point) && (best.IsZero() || precedes(point, best)) {
			best = point
		}
	}
	return best
}

func precedes(a, b Endpoint) bool {
	if a.IP.IsValid() != b.IP.IsValid() {
		return a.IP.IsValid()
	}
	if a.IP.IsValid() {
		return a.IP.Less(b.IP)
	}
	return a.Hostname < b.Hostname
}

func (endpoint) ensure(ctx context.Context, r *run) error {
	ref, service := serviceRef(r.spec), remember(&r.live.service)
	err := service.from(r.hosted.AwaitObject(ctx, ref, "an address from the pool", r.settled))
	if err != nil {
		return err
	}
	r.endpoint = fittingEndpoint(r.spec, r.live.service)
	if r.held.IsZero() {
		return nil
	}
	r.held = Endpoint{}
	return service.from(writeService(ctx, r, desiredService(r.spec, r.spec.MetalLB.AddressPoolName, r.pin())))
}

// settled says that the Service has an endpoint that fits. While an address is held through a change of pool it also has to come
// from the new pool: until then the status is what the old pool left.
func (r *run) settled(obj *unstructured.Unstructured) (kube.Verdict, error) {
	found := fittingEndpoint(r.spec, obj)
	if found.IsZero() {
		return kube.Pending(string(ReasonWaitingForExternalIP), "%s", noEndpoint(r.spec, obj)), nil
	}
	if from := allocatedFrom(obj); !r.held.IsZero() && from != "" && from != r.spec.MetalLB.AddressPoolName {
		return kube.Pending(string(ReasonWaitingForExternalIP), "the address is still from pool %s", from), nil
	}
	return kube.Done(), nil
}

// allocatedFrom is the pool MetalLB says it took the address from.
func allocatedFrom(obj *unstructured.Unstructured) string {
	for _, prefix := range metallbPrefixes() {
		if pool := obj.GetAnnotations()[prefix+fromAnnotation]; pool != "" {
			return pool
		}
	}
	return ""
}

// noEndpoint says why none of what the Service reports will do.
func noEndpoint(spec Spec, obj *unstructured.Unstructured) string {
	if obj == nil {
		return "the Service does not exist"
	}
	points := ingressPoints(obj)
	if len(points) == 0 {
		return "the Service has no address yet"
	}
	seen := make([]string, 0, len(points))
	for _, point := range points {
		seen = append(seen, point.String())
	}
	want := "in " + spec.MetalLB.RangeText
	if spec.Service.LoadBalancerIP.IsValid() {
		want = spec.Service.LoadBalancerIP.String()
	}
	return "the Service has " + strings.Join(seen, ", ") + ", wanted is " + want
}

func (endpoint) drift(r *run) []Difference {
	if r.live.service == nil || !fittingEndpoint(r.spec, r.live.service).IsZero() {
		return nil
	}
	want := r.spec.MetalLB.RangeText
	if r.spec.Service.LoadBalancerIP.IsValid() {
		want = r.spec.Service.LoadBalancerIP.String()
	}
	d := differ{object: serviceRef(r.spec).String(), live: r.live.service}
	var got any
	if points := ingressPoints(r.live.service); len(points) > 0 {
		got = points[0].String()
	}
	d.add("status.loadBalancer.ingress", want, got, AffectsAddress)
	return d.found
}
