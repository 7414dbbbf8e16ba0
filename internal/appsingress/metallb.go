package appsingress

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// metallbName is the only name the MetalLB operator accepts.
const metallbName = "metallb"

// metallb waits for MetalLB's API, then makes sure that the operator runs MetalLB.
type metallb struct{}

func (metallb) name() string    { return StepMetalLB }
func (metallb) waiting() Reason { return ReasonWaitingForMetalLBCRDs }
func (metallb) broken() Reason  { return ReasonMetalLBInstallFailed }

func metallbRef(spec Spec) kube.Ref {
	return kube.Ref{Resource: metallbKind(), Namespace: spec.MetalLB.Namespace, Name: metallbName}
}

func desiredMetalLB(spec Spec) *unstructured.Unstructured {
	obj := metallbRef(spec).Object()
	fields := map[string]any{}
	if class := spec.MetalLB.LoadBalancerClass; class != "" {
		fields["loadBalancerClass"] = class
	}
	obj.Object["spec"] = fields
	return obj
}

func (metallb) subject(r *run) kube.Ref {
	if !r.spec.MetalLB.Install {
		return kube.Ref{}
	}
	return metallbRef(r.spec)
}

func (metallb) observe(ctx context.Context, r *run) error {
	if !r.spec.MetalLB.Install {
		return nil
	}
	return remember(&r.live.metallb).from(find(ctx, r.hosted, metallbRef(r.spec)))
}

// refuse looks for an API that has to be there already, and for a MetalLB that serves another class.
func (m metallb) refuse(ctx context.Context, r *run) error {
	if !r.spec.MetalLB.Install {
		return m.refuseMissingAPI(ctx, r)
	}
	if ownerOf(r.live.metallb, r.spec.ID()) != foreign {
		return nil
	}
	class, _, _ := unstructured.NestedString(r.live.metallb.Object, "spec", "loadBalancerClass")
	if class == r.spec.MetalLB.LoadBalancerClass {
		return nil
	}
	return &ConfigError{
		Attribute: "metallb.load_balancer_class",
		Problem: fmt.Sprintf("%s in the %s serves Services of %s, and the configuration has %s",
			metallbRef(r.spec), r.hosted, classText(class), classText(r.spec.MetalLB.LoadBalancerClass)),
		Remedy: "set metallb.load_balancer_class to the class it serves; leave it out for one that serves Services of no class",
	}
}

func classText(class string) string {
	if class == "" {
		return "no class"
	}
	return "class " + class
}

func (metallb) refuseMissingAPI(ctx context.Context, r *run) error {
	served, err := r.hosted.Served(ctx, metallbAPI())
	if err != nil {
		return err
	}
	for _, kind := range poolKinds() {
		if !served[kind] {
			return &ConfigError{
				Attribute: "metallb.install",
				Problem:   fmt.Sprintf("metallb.install is false, and the %s does not serve %s of %s", r.hosted, kind, metallbAPI()),
				Remedy:    "install MetalLB in it first, or set metallb.install = true",
			}
		}
	}
	return nil
}

// poolKinds are the kinds every MetalLB serves, however it was installed. The MetalLB kind itself is the operator's.
func poolKinds() []string { return []string{poolKind().Resource, advertisementKind().Resource} }

// ensure asks the group's resource list and not for CRDs: it needs no right to see CRDs, and says when they can be used.
func (metallb) ensure(ctx context.Context, r *run) (err error) {
	if !r.spec.MetalLB.Install {
		return nil
	}
	err = r.hosted.AwaitServed(ctx, metallbAPI(), "the API "+metallbAPI().String(), append(poolKinds(), metallbKind().Resource)...)
	if err != nil {
		return err
	}
	if err := remember(&r.live.metallb).from(r.share(ctx, metallbRef(r.spec), desiredMetalLB(r.spec))); err != nil {
		return err
	}
	return dropClass(ctx, r)
}

// dropClass takes off the class that somebody else has given to our MetalLB. An apply without a class takes off only its own, and
// our Service, which has none, would get no address.
func dropClass(ctx context.Context, r *run) error {
	class, _, _ := unstructured.NestedString(r.live.metallb.Object, "spec", "loadBalancerClass")
	if r.spec.MetalLB.LoadBalancerClass != "" || class == "" || ownerOf(r.live.metallb, r.spec.ID()) != ours {
		return nil
	}
	patch := []byte(`{"spec":{"loadBalancerClass":null}}`)
	return kube.Retry(ctx, "take the class off "+metallbRef(r.spec).String(), func(ctx context.Context) error {
		return remember(&r.live.metallb).from(r.hosted.Patch(ctx, metallbRef(r.spec), patch, kube.FieldManager))
	})
}

func (metallb) drift(r *run) []Difference {
	if !r.spec.MetalLB.Install {
		return nil
	}
	if r.live.metallb == nil {
		return missing(metallbRef(r.spec).String(), AffectsAddress)
	}
	d := differ{object: metallbRef(r.spec).String(), live: r.live.metallb}
	var class any
	if r.spec.MetalLB.LoadBalancerClass != "" {
		class = r.spec.MetalLB.LoadBalancerClass
	}
	d.field("spec.loadBalancerClass", class, AffectsAddress)
	if ownerOf(r.live.metallb, r.spec.ID()) == ours {
		d.marks(r.spec)
	}
	return d.found
}

func (metallb) present(r *run) []string {
	if ownerOf(r.live.metallb, r.spec.ID()) == ours {
		return []string{metallbRef(r.spec).String()}
	}
	return nil
}

func (metallb) remove(ctx context.Context, r *run) error {
	if !r.spec.MetalLB.Install || !madeByProvider(r.live.metallb) {
		return nil
	}
	if used, err := r.sharedInUse(ctx); used || err != nil {
		return err
	}
	err := r.delete(ctx, metallbRef(r.spec), r.live.metallb.GetUID())
	if err == nil {
		r.live.metallb = nil
	}
	return err
}

// sharedInUse says that a pool is left in MetalLB's namespace, now that ours is gone: then others need MetalLB. Somebody else's
// MetalLB needs its operator just as much.
func (r *run) sharedInUse(ctx context.Context) (bool, error) {
	if r.foreignPools == nil {
		pools, err := listed(ctx, r.hosted, poolKind(), r.spec.MetalLB.Namespace)
		if err != nil {
			return false, err
		}
		count := 0
		for i := range pools {
			if ownerOf(&pools[i], r.spec.ID()) != ours {
				count++
			}
		}
		r.foreignPools = &count
	}
	return *r.foreignPools > 0 || r.live.metallb != nil && !madeByProvider(r.live.metallb), nil
}
