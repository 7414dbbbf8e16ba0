package provider

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// planTimeout is what a plan may spend on one question to the clusters: which mode is meant, and what a configuration collides with.
// Without an answer the apply asks again.
const planTimeout = 15 * time.Second

// replacing lists what cannot change in place. Everything else can.
func replacing() []path.Path {
	return []path.Path{
		path.Root("name"),
		path.Root("namespace"),
		path.Root("mode"),
		path.Root("infra_ref"),
		path.Root("hosted_cluster_ref"),
		path.Root("dns"),
		path.Root("metallb").AtName("namespace"),
		path.Root("metallb").AtName("load_balancer_class"),
		path.Root("service").AtName("name"),
		path.Root("service").AtName("namespace"),
	}
}

// ModifyPlan implements resource.ResourceWithModifyPlan. The plan is built anew from the configuration and the prior state;
// what the framework proposed is not used. It writes nothing, and works without any cluster.
func (r *appsIngressResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return // destroy: everything is in the state
	}
	var planned appsIngressModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &planned)...)
	var prior *appsIngressModel
	if !req.State.Raw.IsNull() {
		prior = &appsIngressModel{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}

	resp.Diagnostics.Append(r.planMode(ctx, &planned, prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(planned.fillDefaults(ctx)...)
	if prior == nil {
		planned.planCreate(ctx)
		resp.Diagnostics.Append(r.check(ctx, planned, nil)...)
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &planned)...)
		return
	}

	affects, diags := readDriftAffects(ctx, req.Private, prior.drifted())
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(planned.planUpdate(ctx, *prior, affects)...)
	resp.Diagnostics.Append(r.check(ctx, planned, prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &planned)...)
	resp.Diagnostics.Append(requireReplace(ctx, req, resp)...)
}

// requireReplace marks what differs among the attributes that replace.
func requireReplace(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, p := range replacing() {
		same, d := sameValue(ctx, req, resp, p)
		diags.Append(d...)
		if !same {
			resp.RequiresReplace.Append(p)
		}
	}
	return diags
}

// planMode decides an unset mode as far as that is possible now. It is decided once: an ingress keeps the mode it has.
func (r *appsIngressResource) planMode(ctx context.Context, m, prior *appsIngressModel) diag.Diagnostics {
	var diags diag.Diagnostics
	infra := open[infraRefModel](ctx, m.InfraRef, &diags)
	switch {
	case !m.Mode.IsNull():
	case infra.Null:
		m.Mode = types.StringValue(string(appsingress.ModeDirect))
	case prior != nil && !prior.Mode.IsNull():
		m.Mode = prior.Mode
	case r.engine == nil || infra.Unknown || infra.Value.Name.IsUnknown() || m.Namespace.IsUnknown():
		m.Mode = types.StringUnknown()
	default:
		diags.Append(r.resolveMode(ctx, m)...)
	}
	return diags
}

// resolveMode asks the management cluster. A cluster that does not answer is no error here: the mode is decided at apply.
func (r *appsIngressResource) resolveMode(ctx context.Context, m *appsIngressModel) diag.Diagnostics {
	spec, diags := m.specForMode(ctx)
	if diags.HasError() {
		return diags
	}
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	mode, known, err := r.engine.ResolveMode(ctx, spec)
	switch {
	case err != nil:
		tflog.Warn(ctx, "the mode cannot be found out now and is decided at apply", map[string]any{"error": err.Error()})
		m.Mode = types.StringUnknown()
	case !known:
		m.Mode = types.StringUnknown()
	case mode == appsingress.ModeAttachment:
		opened, d := openConfig(ctx, *m)
		diags.Append(d...)
		diags.Append(opened.attachmentOptions()...)
		m.Mode = types.StringValue(string(mode))
	default:
		m.Mode = types.StringValue(string(mode))
	}
	return diags
}

// specForMode is the spec as far as it is known while the mode is not.
func (m appsIngressModel) specForMode(ctx context.Context) (appsingress.Spec, diag.Diagnostics) {
	m.Mode = types.StringUnknown()
	diags := m.fillDefaults(ctx)
	spec, d := m.spec(ctx)
	diags.Append(d...)
	return spec, diags
}

// planCreate makes unknown what only the clusters know.
func (m *appsIngressModel) planCreate(ctx context.Context) {
	m.forget(ctx, append(publishedValues(), "external_ip", "external_hostname", "installed_csv")...)
	m.planReady(ctx)
}

// planReady is what every apply ends with.
func (m *appsIngressModel) planReady(ctx context.Context) {
	m.Phase = types.StringValue(string(appsingress.PhaseReady))
	m.Drift = noLines(ctx, m.Drift)
}

// planUpdate keeps every computed value of the prior state except those that a cause makes unknown, and what a repair is
// known to end with.
func (m *appsIngressModel) planUpdate(ctx context.Context, prior appsIngressModel, drift appsingress.Affects) diag.Diagnostics {
	var diags diag.Diagnostics
	m.keepSpelling(ctx, prior, &diags)
	m.keepComputed(prior)
	m.planReady(ctx)

	c, d := newChange(ctx, prior, *m, drift)
	diags.Append(d...)
	if diags.HasError() {
		return diags
	}
	if !c.settled {
		m.Reason = types.StringValue(string(appsingress.ReasonReconciliationSucceeded))
		m.Message = types.StringValue(appsingress.ReadyMessage(c.spec, c.endpoint))
	}
	for _, cause := range causes() {
		if cause.holds(c) {
			m.forget(ctx, cause.unknown...)
		}
	}
	return diags
}

// keepComputed takes over what the prior state knows.
func (m *appsIngressModel) keepComputed(prior appsIngressModel) {
	m.ExternalIP, m.ExternalHostname = prior.ExternalIP, prior.ExternalHostname
	m.Reason, m.Message = prior.Reason, prior.Message
	m.DNSRecords, m.ProxyBackends = prior.DNSRecords, prior.ProxyBackends
	m.InstalledCSV = prior.InstalledCSV
}

// keepSpelling keeps the prior text of what means the same: a range that is the same set of addresses, a base domain with
// or without its trailing dot. Terraform allows a planned value that equals the prior one, and no difference is shown.
func (m *appsIngressModel) keepSpelling(ctx context.Context, prior appsIngressModel, diags *diag.Diagnostics) {
	dns, priorDNS := open[dnsModel](ctx, m.DNS, diags), open[dnsModel](ctx, prior.DNS, diags)
	text, priorText := dns.Value.BaseDomain, priorDNS.Value.BaseDomain
	if isKnown(text) && isKnown(priorText) &&
		strings.TrimSuffix(text.ValueString(), ".") == strings.TrimSuffix(priorText.ValueString(), ".") {
		dns.Value.BaseDomain = priorText
		m.DNS = pack(ctx, m.DNS, dns.Value, diags)
	}

	metallb, priorMetalLB := open[metalLBModel](ctx, m.MetalLB, diags), open[metalLBModel](ctx, prior.MetalLB, diags)
	addresses := metallb.Value.addresses(diags)
	if !addresses.IsZero() && addresses.Equal(priorMetalLB.Value.addresses(diags)) {
		metallb.Value.IPAddressPoolRange = priorMetalLB.Value.IPAddressPoolRange
		m.MetalLB = pack(ctx, m.MetalLB, metallb.Value, diags)
	}
}

func isKnown(v types.String) bool { return !v.IsNull() && !v.IsUnknown() }
