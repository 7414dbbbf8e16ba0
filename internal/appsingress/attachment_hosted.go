package appsingress

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
)

// What the operator makes in the hosted cluster carries no marks, and only some of its fields are ours to want.

// operatorPool is the address pool as the operator makes it.
type operatorPool struct{ addressPool }

func (operatorPool) drift(r *run) []Difference {
	pool := named(r.live.pools, r.spec.MetalLB.AddressPoolName)
	if pool == nil {
		return missing(poolRef(r.spec).String(), AffectsAddress)
	}
	advertisement := named(r.live.advertisements, r.spec.MetalLB.L2AdvertisementName)
	if advertisement == nil {
		return missing(advertisementRef(r.spec).String(), 0)
	}
	d := differ{object: poolRef(r.spec).String(), live: pool}
	if addresses := poolAddresses(pool); !addresspool.EqualSet(r.spec.MetalLB.Range, addresses) {
		d.add("spec.addresses", []string{r.spec.MetalLB.RangeText}, addresses, AffectsAddress)
	}
	a := differ{object: advertisementRef(r.spec).String(), live: advertisement}
	a.field("spec.ipAddressPools", []any{r.spec.MetalLB.AddressPoolName}, 0)
	return append(d.found, a.found...)
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
