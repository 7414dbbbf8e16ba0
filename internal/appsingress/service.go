package appsingress

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// The annotations MetalLB reads. Which prefix it reads depends on its version, and where it knows both the newer wins: with the
// same value under both, every version is content.
const (
	poolAnnotation    = "address-pool"
	pinAnnotation     = "loadBalancerIPs"
	fromAnnotation    = "ip-allocated-from-pool" // written by MetalLB
	newMetalLBPrefix  = "metallb.io/"
	oldMetalLBPrefix  = "metallb.universe.tf/"
	typeLoadBalancer  = "LoadBalancer"
	httpPortName      = "http"
	httpsPortName     = "https"
	routerSelectorKey = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller"
)

func metallbPrefixes() []string { return []string{newMetalLBPrefix, oldMetalLBPrefix} }

// reservedServiceAnnotations are the keys that this provider sets on the Service by itself; they are not the user's to set.
func reservedServiceAnnotations() []string {
	var keys []string
	for _, prefix := range metallbPrefixes() {
		keys = append(keys, prefix+poolAnnotation, prefix+pinAnnotation)
	}
	return append(keys, annotationIngress, annotationAdopted)
}

// service puts a LoadBalancer Service in front of the default IngressController's router.
type service struct{}

func (service) name() string    { return StepService }
func (service) waiting() Reason { return ReasonWaitingForExternalIP }
func (service) broken() Reason  { return ReasonIngressServiceFailed }

func serviceRef(spec Spec) kube.Ref {
	return kube.Ref{Resource: serviceKind(), Namespace: spec.Service.Namespace, Name: spec.Service.Name}
}

func (service) subject(r *run) kube.Ref { return serviceRef(r.spec) }

func (service) observe(ctx context.Context, r *run) error {
	return remember(&r.live.service).from(find(ctx, r.hosted, serviceRef(r.spec)))
}

func (service) refuse(ctx context.Context, r *run) error {
	desired := desiredService(r.spec, r.spec.MetalLB.AddressPoolName, r.pin())
	return r.refuseForeign(ctx, r.hosted, serviceRef(r.spec), desired, r.live.service)
}

func routerSelector() map[string]any { return map[string]any{routerSelectorKey: "default"} }

// desiredService is the Service that takes its address from the given pool, pinned to the given address when it is valid.
func desiredService(spec Spec, pool string, pin netip.Addr) *unstructured.Unstructured {
	obj := serviceRef(spec).Object()
	annotations := map[string]string{}
	maps.Copy(annotations, spec.Service.Annotations)
	for _, prefix := range metallbPrefixes() {
		annotations[prefix+poolAnnotation] = pool
		if pin.IsValid() {
			annotations[prefix+pinAnnotation] = pin.String()
		}
	}
	labels := map[string]string{}
	maps.Copy(labels, spec.Service.Labels)
	obj.SetAnnotations(annotations)
	obj.SetLabels(labels)
	fields := map[string]any{
		"type":                  typeLoadBalancer,
		"ipFamilies":            []any{"IPv4"},
		"ipFamilyPolicy":        "SingleStack",
		"externalTrafficPolicy": spec.Service.ExternalTrafficPolicy,
		"selector":              routerSelector(),
		"ports":                 desiredPorts(spec),
	}
	if class := spec.MetalLB.LoadBalancerClass; class != "" {
		fields["loadBalancerClass"] = class
	}
	obj.Object["spec"] = fields
	return obj
}

// desiredPorts go to the router's ports by name: their numbers are the router's business.
func desiredPorts(spec Spec) []any {
	port := func(name string, number int32) any {
		return map[string]any{"name": name, "protocol": "TCP", "port": int64(number), "targetPort": name}
	}
	return []any{port(httpPortName, spec.Ports.HTTP), port(httpsPortName, spec.Ports.HTTPS)}
}

// pin is the address the Service has to be pinned to now; invalid: none.
func (r *run) pin() netip.Addr {
	if r.spec.Service.LoadBalancerIP.IsValid() {
		return r.spec.Service.LoadBalancerIP
	}
	return r.held.IP
}

// ensure looks again first: the steps before may have waited for long.
func (s service) ensure(ctx context.Context, r *run) error {
	err := kube.Retry(ctx, "read "+serviceRef(r.spec).String(), func(ctx context.Context) error { return s.observe(ctx, r) })
	if err != nil {
		return err
	}
	return remember(&r.live.service).from(writeService(ctx, r, desiredService(r.spec, r.spec.MetalLB.AddressPoolName, r.pin())))
}

// pinService pins our Service to an address while it still takes it from the pool it has.
func pinService(ctx context.Context, r *run, address netip.Addr) (*unstructured.Unstructured, error) {
	pool := r.live.service.GetAnnotations()[newMetalLBPrefix+poolAnnotation]
	return writeService(ctx, r, desiredService(r.spec, pool, address))
}

// writeService applies the Service. What an apply alone cannot do is done before or after it: another class needs another
// Service, a port with another number has to be renumbered first, and a pin that somebody else set has to be taken off.
func writeService(ctx context.Context, r *run, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := replaceOtherClass(ctx, r); err != nil {
		return nil, err
	}
	if err := renumberPorts(ctx, r, desired); err != nil {
		return nil, err
	}
	written, err := r.put(ctx, serviceRef(r.spec), desired)
	if err != nil {
		return written, err
	}
	return dropPin(ctx, r, written, desired)
}

// replaceOtherClass deletes a Service of ours whose class is not the wanted one: the field is immutable.
func replaceOtherClass(ctx context.Context, r *run) error {
	current := r.live.service
	if r.spec.ownerOf(current) != ours || serviceType(current) != typeLoadBalancer {
		return nil
	}
	if class, _, _ := unstructured.NestedString(current.Object, "spec", "loadBalancerClass"); class == r.spec.MetalLB.LoadBalancerClass {
		return nil
	}
	err := r.delete(ctx, serviceRef(r.spec), current.GetUID())
	r.live.service = nil
	return err
}

func serviceType(obj *unstructured.Unstructured) string {
	value, _, _ := unstructured.NestedString(obj.Object, "spec", "type")
	return value
}

// renumberPorts gives ports that carry our names their wanted numbers. An apply alone would add a second port of the same name
// and be refused: its merge key is number and protocol. Foreign ports and node ports stay as they are.
func renumberPorts(ctx context.Context, r *run, desired *unstructured.Unstructured) error {
	if r.spec.ownerOf(r.live.service) == absent {
		return nil
	}
	change := func(obj *unstructured.Unstructured) (bool, error) {
		if err := r.refuseForeign(ctx, r.hosted, serviceRef(r.spec), desired, obj); err != nil {
			return false, err
		}
		return renumber(obj, desired), nil
	}
	if !renumber(r.live.service.DeepCopy(), desired) {
		return nil
	}
	return kube.Retry(ctx, "renumber the ports of "+serviceRef(r.spec).String(), func(ctx context.Context) error {
		_, err := r.hosted.Modify(ctx, serviceRef(r.spec), change)
		return err
	})
}

// renumber sets number and protocol of the ports that desired has under the same name, and says whether any was different.
func renumber(obj, desired *unstructured.Unstructured) bool {
	ports, _, _ := unstructured.NestedSlice(obj.Object, "spec", "ports")
	changed := false
	for _, p := range ports {
		port, _ := p.(map[string]any)
		want := portNamed(desired, port["name"])
		if want == nil || port["port"] == want["port"] && port["protocol"] == want["protocol"] {
			continue
		}
		port["port"], port["protocol"] = want["port"], want["protocol"]
		changed = true
	}
	if changed {
		spec, _ := obj.Object["spec"].(map[string]any)
		spec["ports"] = ports
	}
	return changed
}

func portNamed(obj *unstructured.Unstructured, name any) map[string]any {
	ports, _, _ := unstructured.NestedSlice(obj.Object, "spec", "ports")
	for _, p := range ports {
		if port, _ := p.(map[string]any); port["name"] == name {
			return port
		}
	}
	return nil
}

// dropPin takes off the pins that are not wanted. An apply takes off only those that are ours alone.
func dropPin(ctx context.Context, r *run, written, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	unwanted := map[string]any{}
	for _, prefix := range metallbPrefixes() {
		key := prefix + pinAnnotation
		_, has := written.GetAnnotations()[key]
		if _, wanted := desired.GetAnnotations()[key]; has && !wanted {
			unwanted[key] = nil
		}
	}
	if len(unwanted) == 0 {
		return written, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": unwanted}})
	if err != nil {
		return nil, fmt.Errorf("build the patch that drops the pinned address: %w", err)
	}
	err = kube.Retry(ctx, "unpin "+serviceRef(r.spec).String(), func(ctx context.Context) (err error) {
		written, err = r.hosted.Patch(ctx, serviceRef(r.spec), patch, kube.FieldManager)
		return err
	})
	return written, err
}

// pinnedAddress is the address a Service is pinned to, under the prefix that wins; invalid when there is none.
func pinnedAddress(obj *unstructured.Unstructured) netip.Addr {
	for _, prefix := range metallbPrefixes() {
		if text, ok := obj.GetAnnotations()[prefix+pinAnnotation]; ok {
			address, err := netip.ParseAddr(text)
			if err != nil {
				return netip.Addr{}
			}
			return address
		}
	}
	return netip.Addr{}
}

func (service) drift(r *run) []Difference {
	object := serviceRef(r.spec).String()
	current := r.live.service
	if current == nil {
		return missing(object, AffectsAddress)
	}
	d := differ{object: object, live: current}
	desired := desiredService(r.spec, r.spec.MetalLB.AddressPoolName, r.spec.Service.LoadBalancerIP)
	d.field("spec.type", typeLoadBalancer, AffectsAddress)
	var class any
	if r.spec.MetalLB.LoadBalancerClass != "" {
		class = r.spec.MetalLB.LoadBalancerClass
	}
	d.field("spec.loadBalancerClass", class, AffectsAddress)
	d.field("spec.selector", routerSelector(), 0)
	if serviceType(current) == typeLoadBalancer {
		d.field("spec.externalTrafficPolicy", r.spec.Service.ExternalTrafficPolicy, 0)
	}
	portDrift(&d, desired)
	metadataDrift(&d, r.spec, desired)
	d.marks(r.spec)
	return d.found
}

func portDrift(d *differ, desired *unstructured.Unstructured) {
	for _, name := range []string{httpPortName, httpsPortName} {
		want, got := portNamed(desired, name), portNamed(d.live, name)
		if got == nil {
			d.add("spec.ports["+name+"]", want["port"], nil, 0)
			continue
		}
		for _, field := range []string{"port", "protocol", "targetPort"} {
			if got[field] != want[field] {
				d.add("spec.ports["+name+"]."+field, want[field], got[field], 0)
			}
		}
	}
}

// metadataDrift compares the user's labels and annotations, and the annotations that decide the address.
func metadataDrift(d *differ, spec Spec, desired *unstructured.Unstructured) {
	for _, key := range sortedKeys(spec.Service.Labels) {
		d.label(key, spec.Service.Labels[key], 0)
	}
	for _, key := range sortedKeys(spec.Service.Annotations) {
		d.annotation(key, spec.Service.Annotations[key], 0)
	}
	for _, prefix := range metallbPrefixes() {
		for _, key := range []string{prefix + poolAnnotation, prefix + pinAnnotation} {
			if want, wanted := desired.GetAnnotations()[key]; wanted {
				d.annotation(key, want, AffectsAddress)
			} else {
				d.noAnnotation(key, AffectsAddress)
			}
		}
	}
}

func (service) present(r *run) []string {
	if owner := r.spec.ownerOf(r.live.service); owner == ours || owner == adopted {
		return []string{serviceRef(r.spec).String()}
	}
	return nil
}

func (service) remove(ctx context.Context, r *run) error {
	err := r.removeOwned(ctx, serviceRef(r.spec), r.live.service)
	if err == nil {
		r.live.service = nil
	}
	return err
}
