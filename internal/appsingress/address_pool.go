package appsingress

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// addressPool gives MetalLB the range, and has it advertised on the workers' network.
//
// A pool cannot be renamed, and MetalLB refuses a pool that overlaps another: on a change of name the old pool has to go before
// the new one comes. So that the address survives the moment without a pool, the Service is pinned to it first.
type addressPool struct{}

func (addressPool) name() string    { return StepAddressPool }
func (addressPool) waiting() Reason { return ReasonWaitingForMetalLBCRDs }
func (addressPool) broken() Reason  { return ReasonMetalLBInstallFailed }

func poolRef(spec Spec) kube.Ref {
	return kube.Ref{Resource: poolKind(), Namespace: spec.MetalLB.Namespace, Name: spec.MetalLB.AddressPoolName}
}

func advertisementRef(spec Spec) kube.Ref {
	return kube.Ref{Resource: advertisementKind(), Namespace: spec.MetalLB.Namespace, Name: spec.MetalLB.L2AdvertisementName}
}

func desiredPool(spec Spec) *unstructured.Unstructured {
	obj := poolRef(spec).Object()
	obj.Object["spec"] = map[string]any{
		"addresses":  []any{spec.MetalLB.RangeText},
		"autoAssign": spec.MetalLB.AutoAssign,
	}
	return obj
}

func desiredAdvertisement(spec Spec) *unstructured.Unstructured {
	obj := advertisementRef(spec).Object()
	obj.Object["spec"] = map[string]any{"ipAddressPools": []any{spec.MetalLB.AddressPoolName}}
	return obj
}

func (addressPool) subject(r *run) kube.Ref { return poolRef(r.spec) }

// observe lists: what is left from an earlier name is found by its marks.
func (addressPool) observe(ctx context.Context, r *run) error {
	group, ctx := siblings(ctx)
	group.Go(func() (err error) {
		r.live.pools, err = findAll(ctx, r.hosted, poolKind(), r.spec.MetalLB.Namespace)
		return err
	})
	group.Go(func() (err error) {
		r.live.advertisements, err = findAll(ctx, r.hosted, advertisementKind(), r.spec.MetalLB.Namespace)
		return err
	})
	return group.Wait()
}

func (a addressPool) refuse(ctx context.Context, r *run) error {
	pool := named(r.live.pools, r.spec.MetalLB.AddressPoolName)
	advertisement := named(r.live.advertisements, r.spec.MetalLB.L2AdvertisementName)
	return errors.Join(
		r.refuseSecond(),
		r.refuseForeign(ctx, r.hosted, poolRef(r.spec), desiredPool(r.spec), pool),
		r.refuseForeign(ctx, r.hosted, advertisementRef(r.spec), desiredAdvertisement(r.spec), advertisement),
		a.refuseOverlap(r),
	)
}

// refuseSecond finds that an ingress of this name exists already, with another pool: the name is most likely one that two
// configurations have by default. An update knows what it had before, and renames it.
func (r *run) refuseSecond() error {
	others := r.others(r.live.pools, r.spec.MetalLB.AddressPoolName)
	if r.previous != nil || r.spec.Imported || len(others) == 0 {
		return nil
	}
	return &ConfigError{
		Attribute: "name",
		Problem: fmt.Sprintf("the apps ingress %s exists already in the %s, with IPAddressPool %s/%s",
			r.spec.ID(), r.hosted, others[0].GetNamespace(), others[0].GetName()),
		Remedy: "give this one another name, or import the one that exists",
	}
}

// refuseOverlap finds a pool of somebody else that has addresses of ours: MetalLB would refuse the new pool, or freeze its whole
// configuration.
func (addressPool) refuseOverlap(r *run) error {
	for i := range r.live.pools {
		pool := &r.live.pools[i]
		owner := ownerOf(pool, r.spec.ID())
		if pool.GetName() == r.spec.MetalLB.AddressPoolName || owner == ours {
			continue
		}
		if overlap := r.overlap(pool, r.hosted); overlap != nil {
			return overlap
		}
	}
	return nil
}

// overlap is the refusal of a pool that has addresses of ours; nil when it has none.
func (r *run) overlap(pool *unstructured.Unstructured, hosted *kube.Cluster) *ConfigError {
	which, overlaps := addresspool.Overlap(r.spec.MetalLB.Range, poolAddresses(pool))
	if !overlaps {
		return nil
	}
	return r.rangeRefused("overlaps %s of IPAddressPool %s/%s in the %s", which, pool.GetNamespace(), pool.GetName(), hosted)
}

// rangeRefused says what the range collides with.
func (r *run) rangeRefused(format string, args ...any) *ConfigError {
	return &ConfigError{
		Attribute: "metallb.ip_address_pool_range",
		Problem:   fmt.Sprintf("the range %s ", r.spec.MetalLB.RangeText) + fmt.Sprintf(format, args...),
		Remedy:    "choose addresses of the VLAN that nothing else has",
	}
}

func poolAddresses(pool *unstructured.Unstructured) []string {
	addresses, _, _ := unstructured.NestedStringSlice(pool.Object, "spec", "addresses")
	return addresses
}

func (a addressPool) ensure(ctx context.Context, r *run) error {
	if err := a.holdAddress(ctx, r); err != nil {
		return err
	}
	if err := r.removeAll(ctx, poolKind(), &r.live.pools, r.others(r.live.pools, r.spec.MetalLB.AddressPoolName)); err != nil {
		return err
	}
	pool, err := r.put(ctx, poolRef(r.spec), desiredPool(r.spec))
	r.live.pools = with(r.live.pools, pool)
	if err != nil {
		return err
	}
	advertisement, err := r.put(ctx, advertisementRef(r.spec), desiredAdvertisement(r.spec))
	r.live.advertisements = with(r.live.advertisements, advertisement)
	if err != nil {
		return err
	}
	renamed := r.others(r.live.advertisements, r.spec.MetalLB.L2AdvertisementName)
	return r.removeAll(ctx, advertisementKind(), &r.live.advertisements, renamed)
}

// holdAddress pins our Service to the address it has, before its pool goes. A pin that a run cut short has left is kept in force
// likewise, until the address is settled.
func (addressPool) holdAddress(ctx context.Context, r *run) error {
	if r.spec.ownerOf(r.live.service) == absent || r.spec.Service.LoadBalancerIP.IsValid() {
		return nil
	}
	if pinned := (Endpoint{IP: pinnedAddress(r.live.service)}); pinned.IP.IsValid() && r.spec.Fits(pinned) {
		r.held = pinned
		return nil
	}
	renamed := r.others(r.live.pools, r.spec.MetalLB.AddressPoolName)
	current := fittingEndpoint(r.spec, r.live.service)
	if len(renamed) == 0 || !current.IP.IsValid() {
		return nil
	}
	r.held = current
	return remember(&r.live.service).from(pinService(ctx, r, current.IP))
}

// removeAll removes objects of this ingress, and takes them off the list of what is live.
func (r *run) removeAll(
	ctx context.Context, kind kube.Resource, live *[]unstructured.Unstructured, objects []*unstructured.Unstructured,
) error {
	for _, obj := range objects {
		ref := kube.Ref{Resource: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
		if err := r.removeOwned(ctx, ref, obj); err != nil {
			return err
		}
		*live = without(*live, ref.Name)
	}
	return nil
}

// mine is what this ingress has of a kind: what carries its marks, whatever the name, and after an import also what has the name
// in the spec and no marks yet.
func (r *run) mine(items []unstructured.Unstructured, name string) []*unstructured.Unstructured {
	var mine []*unstructured.Unstructured
	for i := range items {
		owner := ownerOf(&items[i], r.spec.ID())
		if items[i].GetName() == name {
			owner = r.spec.ownerOf(&items[i])
		}
		if owner == ours || owner == adopted {
			mine = append(mine, &items[i])
		}
	}
	return mine
}

// others is what this ingress has of a kind under another name than the one that is wanted now.
func (r *run) others(items []unstructured.Unstructured, wanted string) []*unstructured.Unstructured {
	return slices.DeleteFunc(r.mine(items, wanted), func(obj *unstructured.Unstructured) bool { return obj.GetName() == wanted })
}

func (a addressPool) drift(r *run) []Difference {
	return append(a.poolDrift(r), a.advertisementDrift(r)...)
}

func (addressPool) poolDrift(r *run) []Difference {
	object := poolRef(r.spec).String()
	pool := named(r.live.pools, r.spec.MetalLB.AddressPoolName)
	if pool == nil {
		return missing(object, AffectsAddress)
	}
	d := differ{object: object, live: pool}
	if addresses := poolAddresses(pool); !addresspool.EqualSet(r.spec.MetalLB.Range, addresses) {
		d.add("spec.addresses", []string{r.spec.MetalLB.RangeText}, addresses, AffectsAddress)
	}
	d.field("spec.autoAssign", r.spec.MetalLB.AutoAssign, 0)
	d.marks(r.spec)
	return append(d.found, r.leftovers(poolKind(), r.live.pools, r.spec.MetalLB.AddressPoolName)...)
}

func (addressPool) advertisementDrift(r *run) []Difference {
	object := advertisementRef(r.spec).String()
	advertisement := named(r.live.advertisements, r.spec.MetalLB.L2AdvertisementName)
	if advertisement == nil {
		return missing(object, 0)
	}
	d := differ{object: object, live: advertisement}
	d.field("spec.ipAddressPools", []any{r.spec.MetalLB.AddressPoolName}, 0)
	d.marks(r.spec)
	return append(d.found, r.leftovers(advertisementKind(), r.live.advertisements, r.spec.MetalLB.L2AdvertisementName)...)
}

// leftovers are objects of ours under a name that is not wanted any more.
func (r *run) leftovers(kind kube.Resource, items []unstructured.Unstructured, keep string) []Difference {
	var found []Difference
	for _, obj := range r.others(items, keep) {
		object := kube.Ref{Resource: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}.String()
		found = append(found, Difference{Object: object, Field: "metadata.name", Want: keep, Got: obj.GetName()})
	}
	return found
}

func (addressPool) present(r *run) []string {
	var present []string
	for _, pool := range r.mine(r.live.pools, r.spec.MetalLB.AddressPoolName) {
		present = append(present, "IPAddressPool "+pool.GetNamespace()+"/"+pool.GetName())
	}
	for _, advertisement := range r.mine(r.live.advertisements, r.spec.MetalLB.L2AdvertisementName) {
		present = append(present, "L2Advertisement "+advertisement.GetNamespace()+"/"+advertisement.GetName())
	}
	return present
}

func (addressPool) remove(ctx context.Context, r *run) error {
	advertisements := r.mine(r.live.advertisements, r.spec.MetalLB.L2AdvertisementName)
	if err := r.removeAll(ctx, advertisementKind(), &r.live.advertisements, advertisements); err != nil {
		return err
	}
	return r.removeAll(ctx, poolKind(), &r.live.pools, r.mine(r.live.pools, r.spec.MetalLB.AddressPoolName))
}
