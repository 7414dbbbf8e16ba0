package appsingress

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
)

// What the operator makes in the hosted cluster carries no marks, and only some of its fields are ours to want.

// operatorSubscription is the Subscription as the operator makes it. What OLM makes of it is not compared: the operator does not look
// at that, and the CSV that it leaves behind when it deletes a Subscription keeps MetalLB running without another being installed.
type operatorSubscription struct{ operator }

func (operatorSubscription) drift(r *run) []Difference {
	ref := subscriptionRef(r.spec)
	if r.live.subscription == nil {
		return missing(ref.String(), AffectsOperator)
	}
	d := differ{object: ref.String(), live: r.live.subscription}
	want := subscriptionSpec(r.spec)
	for _, field := range append(subscriptionFields(), "installPlanApproval") {
		d.field("spec."+field, want[field], AffectsOperator)
	}
	return d.found
}

// operatorPool is the address pool as the operator makes it.
type operatorPool struct{ addressPool }

func (operatorPool) drift(r *run) []Difference {
	var found []Difference
	if pool := named(r.live.pools, r.spec.MetalLB.AddressPoolName); pool == nil {
		found = missing(poolRef(r.spec).String(), AffectsAddress)
	} else if addresses := poolAddresses(pool); !addresspool.EqualSet(r.spec.MetalLB.Range, addresses) {
		d := differ{object: poolRef(r.spec).String(), live: pool}
		d.add("spec.addresses", []string{r.spec.MetalLB.RangeText}, addresses, AffectsAddress)
		found = d.found
	}
	advertisement := named(r.live.advertisements, r.spec.MetalLB.L2AdvertisementName)
	if advertisement == nil {
		return append(found, missing(advertisementRef(r.spec).String(), 0)...)
	}
	d := differ{object: advertisementRef(r.spec).String(), live: advertisement}
	d.field("spec.ipAddressPools", []any{r.spec.MetalLB.AddressPoolName}, 0)
	return append(found, d.found...)
}

// operatorService is the Service as the operator makes it.
type operatorService struct{ service }

func (operatorService) drift(r *run) []Difference {
	current := r.live.service
	if current == nil {
		return missing(serviceRef(r.spec).String(), AffectsAddress)
	}
	d := differ{object: serviceRef(r.spec).String(), live: current}
	d.field("spec.type", typeLoadBalancer, AffectsAddress)
	d.field("spec.selector", routerSelector(), 0)
	for _, number := range []int32{r.spec.Ports.HTTP, r.spec.Ports.HTTPS} {
		if !hasPort(current, int64(number)) {
			d.add("spec.ports", int64(number), nil, 0)
		}
	}
	d.annotation(oldMetalLBPrefix+poolAnnotation, r.spec.MetalLB.AddressPoolName, AffectsAddress)
	for _, key := range sortedKeys(r.spec.Service.Labels) {
		d.label(key, r.spec.Service.Labels[key], 0)
	}
	for _, key := range sortedKeys(attachmentAnnotations(r.spec)) {
		d.annotation(key, text(attachmentAnnotations(r.spec)[key]), 0)
	}
	return d.found
}

func hasPort(obj *unstructured.Unstructured, number int64) bool {
	ports, _, _ := unstructured.NestedSlice(obj.Object, "spec", "ports")
	return slices.ContainsFunc(ports, func(p any) bool {
		port, _ := p.(map[string]any)
		return port["port"] == number
	})
}
