package appsingress

import (
	"context"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// New is the driver of the spec's mode. previous is what was wanted before, on update, and nil otherwise.
func New(management *kube.Cluster, clusters *kube.Clusters, spec Spec, previous *Spec) Driver {
	if spec.Mode == ModeAttachment {
		return &attachment{spec: asOperator(spec), management: management, clusters: clusters}
	}
	return &direct{spec: spec, previous: previous, management: management, clusters: clusters}
}

// ResolveMode works out the mode of a spec: the one it names, or attachment when its Infra exists. known is false while the
// answer may still change because the Infra does not exist (yet).
func ResolveMode(ctx context.Context, management *kube.Cluster, spec Spec) (mode Mode, known bool, err error) {
	switch {
	case spec.Mode != ModeUnset:
		return spec.Mode, true, nil
	case spec.Infra == "":
		return ModeDirect, true, nil
	}
	infra, err := find(ctx, management, kube.Ref{Resource: infraKind(), Namespace: spec.Namespace, Name: spec.Infra})
	switch {
	case err != nil:
		return ModeUnset, false, err
	case infra != nil:
		return ModeAttachment, true, nil
	}
	return ModeDirect, false, nil
}

// asOperator fills in what attachment mode leaves to the operator, as the operator has it.
func asOperator(spec Spec) Spec {
	spec.MetalLB.Namespace, spec.MetalLB.Install = DefaultMetalLBNamespace, true
	spec.MetalLB.Subscription = Subscription{
		Channel: DefaultChannel, Source: DefaultSource, SourceNamespace: DefaultSourceNamespace, Package: DefaultPackage,
	}
	return spec
}
