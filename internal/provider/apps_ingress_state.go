package provider

import (
	"context"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// finished is the state after a successful apply: what the plan knew, and for the rest what was seen. A known value is kept
// although something else may be seen by now, an operator that was upgraded since the plan for instance: Terraform accepts
// no other, and the next refresh shows it. The address is the exception, see addressMoved.
func (m appsIngressModel) finished(ctx context.Context, status appsingress.Status) (appsIngressModel, diag.Diagnostics) {
	seen := m
	diags := seen.observe(ctx, status)
	m.takeUnknown(&seen)
	return m, diags
}

// unfinished is the state of a create that has not ended: everything that is known, null for the rest.
func (m appsIngressModel) unfinished(ctx context.Context, status appsingress.Status) (appsIngressModel, diag.Diagnostics) {
	seen := m
	diags := seen.observe(ctx, status)
	if status.DNSRecords == nil {
		seen.DNSRecords = types.ListNull(m.DNSRecords.ElementType(ctx))
	}
	if status.ProxyBackends == nil {
		seen.ProxyBackends = types.ListNull(m.ProxyBackends.ElementType(ctx))
	}
	m.takeUnknown(&seen)
	m.Phase = seen.Phase
	if m.Phase.IsNull() || isText(m.Phase, string(appsingress.PhaseReady)) {
		m.Phase = types.StringValue(string(appsingress.PhasePending))
	}
	return m, diags
}

// takeUnknown fills in what the plan left open.
func (m *appsIngressModel) takeUnknown(seen *appsIngressModel) {
	for name, value := range m.computedText() {
		if value.IsUnknown() {
			*value = *seen.computedText()[name]
		}
	}
	for name, list := range m.computedLists() {
		if list.IsUnknown() {
			*list = *seen.computedLists()[name]
		}
	}
}

// leftOpen says that the plan left something for the clusters to answer.
func (m *appsIngressModel) leftOpen() bool {
	for _, value := range m.computedText() {
		if value.IsUnknown() {
			return true
		}
	}
	for _, list := range m.computedLists() {
		if list.IsUnknown() {
			return true
		}
	}
	return false
}

// refresh is what a read makes of a state. A Service that has no address for the moment does not take the last known one
// from the state: the drift lines say that it is missing, and what uses the address is not torn down for a blink.
func (m *appsIngressModel) refresh(ctx context.Context, status appsingress.Status) diag.Diagnostics {
	if status.Endpoint.IsZero() {
		status.Endpoint = m.endpoint()
	}
	if status.Unseen != "" {
		status.InstalledCSV = m.InstalledCSV.ValueString()
	}
	if len(status.Drift) > 0 {
		status.Phase = appsingress.PhaseDegraded
	}
	return m.observe(ctx, status)
}

// addressKnown says that the plan promised an address.
func (m appsIngressModel) addressKnown() bool {
	return !m.ExternalIP.IsUnknown() && !m.ExternalHostname.IsUnknown()
}

// sameInClusters says that an update changes nothing but how the provider itself goes about it, so no cluster is asked.
func (m appsIngressModel) sameInClusters(ctx context.Context, prior appsIngressModel) (bool, diag.Diagnostics) {
	if prior.drifted() || !isText(prior.Phase, string(appsingress.PhaseReady)) || m.leftOpen() {
		return false, nil
	}
	planned, diags := m.spec(ctx)
	previous, d := prior.spec(ctx)
	diags.Append(d...)
	for _, spec := range []*appsingress.Spec{&planned, &previous} {
		spec.Access, spec.AdoptExisting = appsingress.Access{}, false
	}
	return reflect.DeepEqual(planned, previous), diags
}
