package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// change is what an update plan is about to do, in the terms that decide which values stay known.
type change struct {
	spec     appsingress.Spec     // as planned; zero values for what is unknown
	endpoint appsingress.Endpoint // of the prior state
	drift    appsingress.Affects  // union over the differences found at refresh

	settled      bool // the prior state is Ready without drift
	finished     bool // the prior state was observed to the end: it is not the remains of a failed create
	installed    bool // the prior state knows what OLM installed
	unknownRange bool // the range or the pinned address is not known yet
	publication  bool // ports, or where it is published
	operator     bool // how the operator is installed
	remade       bool // the oooi operator deletes everything and makes it again
}

func newChange(ctx context.Context, prior, planned appsIngressModel, drift appsingress.Affects) (change, diag.Diagnostics) {
	spec, diags := planned.spec(ctx)
	metallb := open[metalLBModel](ctx, planned.MetalLB, &diags)
	service := open[serviceModel](ctx, planned.Service, &diags)
	priorMetalLB := open[metalLBModel](ctx, prior.MetalLB, &diags)

	ready := isText(prior.Phase, string(appsingress.PhaseReady))
	return change{
		spec:      spec,
		endpoint:  prior.endpoint(),
		drift:     drift,
		settled:   ready && !prior.drifted(),
		finished:  (ready || prior.drifted()) && !prior.endpoint().IsZero(),
		installed: !prior.InstalledCSV.IsNull(),
		unknownRange: metallb.Unknown || metallb.Value.IPAddressPoolRange.IsUnknown() ||
			service.Unknown || service.Value.LoadBalancerIP.IsUnknown(),
		publication: !planned.Ports.Equal(prior.Ports) || !planned.Publish.Equal(prior.Publish),
		operator: metallb.Unknown || !metallb.Value.Install.Equal(priorMetalLB.Value.Install) ||
			!metallb.Value.Subscription.Equal(priorMetalLB.Value.Subscription),
		remade: isAttachment(planned.Mode) && !metallb.Value.AddressPoolName.Equal(priorMetalLB.Value.AddressPoolName),
	}, diags
}

// drifted says that a state carries drift lines.
func (m appsIngressModel) drifted() bool { return len(m.Drift.Elements()) > 0 }

// cause is a reason for which an update makes computed values unknown.
type cause struct {
	name    string
	holds   func(change) bool
	unknown []string
}

// causes is the whole rule: what no cause names is known and unchanged. A downstream DNS record must neither churn nor be
// stale.
func causes() []cause {
	published := publishedValues()
	address := append(publishedValues(), "external_ip", "external_hostname")
	operator := []string{"installed_csv", "reason", "message"}
	return []cause{
		{"an earlier create did not end", func(c change) bool { return !c.finished }, address},
		{"an earlier create did not see the operator", func(c change) bool { return !c.finished && !c.installed }, operator},
		{"the range or the pinned address is unknown", func(c change) bool { return c.unknownRange }, address},
		{"the address does not fit the range or the pin", func(c change) bool { return !c.spec.Fits(c.endpoint) }, address},
		{"drift of what decides the address", func(c change) bool { return c.drift&appsingress.AffectsAddress != 0 }, address},
		{"another pool name, in attachment mode", func(c change) bool { return c.remade }, append(address, operator...)},
		{"other ports or another place of publication", func(c change) bool { return c.publication }, published},
		{"drift of the publication", func(c change) bool { return c.drift&appsingress.AffectsPublication != 0 }, published},
		{"another way of installing the operator", func(c change) bool { return c.operator }, operator},
		{"drift of the operator", func(c change) bool { return c.drift&appsingress.AffectsOperator != 0 }, operator},
	}
}

// publishedValues are what changes whenever the publication does.
func publishedValues() []string {
	return []string{"dns_records", "proxy_backends", "reason", "message"}
}

// forget makes the named values unknown.
func (m *appsIngressModel) forget(ctx context.Context, names ...string) {
	for _, name := range names {
		if text, ok := m.computedText()[name]; ok {
			*text = types.StringUnknown()
			continue
		}
		list := m.computedLists()[name]
		*list = types.ListUnknown(list.ElementType(ctx))
	}
}

// computedText are the texts that the clusters decide, by attribute.
func (m *appsIngressModel) computedText() map[string]*types.String {
	return map[string]*types.String{
		"external_ip":       &m.ExternalIP,
		"external_hostname": &m.ExternalHostname,
		"phase":             &m.Phase,
		"reason":            &m.Reason,
		"message":           &m.Message,
		"installed_csv":     &m.InstalledCSV,
	}
}

// computedLists are the lists that the clusters decide, by attribute.
func (m *appsIngressModel) computedLists() map[string]*types.List {
	return map[string]*types.List{
		"dns_records":    &m.DNSRecords,
		"proxy_backends": &m.ProxyBackends,
		"drift":          &m.Drift,
	}
}

// sameValue says that an attribute keeps its value.
func sameValue(
	ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, p path.Path,
) (bool, diag.Diagnostics) {
	var before, after attr.Value
	diags := req.State.GetAttribute(ctx, p, &before)
	diags.Append(resp.Plan.GetAttribute(ctx, p, &after)...)
	return !diags.HasError() && after.Equal(before), diags
}

// noLines is an empty list of the given one's type.
func noLines(ctx context.Context, list types.List) types.List {
	return types.ListValueMust(list.ElementType(ctx), nil)
}

func isText(v types.String, want string) bool { return v.ValueString() == want }
