package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// check refuses in the plan what the clusters show to be impossible. A plan that leaves range and places of publication as they
// are asks nothing. A cluster that does not answer is no error here: the apply refuses the same things again.
func (r *appsIngressResource) check(ctx context.Context, planned appsIngressModel, prior *appsIngressModel) diag.Diagnostics {
	if r.engine == nil || !planned.checkable(ctx) || prior != nil && planned.sameChecks(*prior) {
		return nil
	}
	spec, diags := planned.spec(ctx)
	if diags.HasError() {
		return diags
	}
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	found, err := r.engine.Check(ctx, spec)
	if err != nil {
		tflog.Warn(ctx, "not everything the configuration may collide with can be seen now", map[string]any{"error": err.Error()})
	}
	for _, refused := range found.Refusals {
		diags.Append(configRefused(refused))
	}
	for _, warning := range found.Warnings {
		diags.Append(configDoubted(warning))
	}
	return diags
}

// checkable says that everything a check looks at is known.
func (m appsIngressModel) checkable(ctx context.Context) bool {
	var diags diag.Diagnostics
	metallb := open[metalLBModel](ctx, m.MetalLB, &diags)
	hosted := open[objectRefModel](ctx, m.HostedClusterRef, &diags)
	unknown := m.Name.IsUnknown() || m.Namespace.IsUnknown() || m.InfraRef.IsUnknown() || m.DNS.IsUnknown() ||
		m.HostedClusterAccess.IsUnknown() || hosted.Unknown || hosted.Value.Name.IsUnknown() || hosted.Value.Namespace.IsUnknown() ||
		metallb.Unknown || metallb.Value.IPAddressPoolRange.IsUnknown() || metallb.Value.AddressPoolName.IsUnknown()
	return !unknown && !diags.HasError()
}

// sameChecks says that an update leaves everything a check looks at as it is.
func (m appsIngressModel) sameChecks(prior appsIngressModel) bool {
	return m.MetalLB.Equal(prior.MetalLB) && m.Publish.Equal(prior.Publish) && m.InfraRef.Equal(prior.InfraRef) &&
		m.HostedClusterRef.Equal(prior.HostedClusterRef)
}
