package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// fillDefaults sets everything that follows from the configuration alone: defaults, id and domains. It starts from the
// configuration and never from the prior state, so an attribute that is taken out goes back to its default. A default is
// unknown exactly as long as what it depends on is. The mode must have been decided before, or be unknown.
func (m *appsIngressModel) fillDefaults(ctx context.Context) diag.Diagnostics {
	var diags diag.Diagnostics
	hosted := open[objectRefModel](ctx, m.HostedClusterRef, &diags)
	if !hosted.Null && !hosted.Unknown {
		hosted.Value.Namespace = textOr(hosted.Value.Namespace, appsingress.DefaultNamespace)
		m.HostedClusterRef = pack(ctx, m.HostedClusterRef, hosted.Value, &diags)
	}
	if m.Name.IsNull() {
		m.Name = hosted.Value.Name
		if hosted.Unknown {
			m.Name = types.StringUnknown()
		}
	}
	m.Namespace = textOr(m.Namespace, appsingress.DefaultNamespace)
	m.AdoptExisting = boolOr(m.AdoptExisting, false)
	m.Publish = m.publishOrDefault(ctx, &diags)
	m.MetalLB = m.metalLBWithDefaults(ctx, &diags)
	m.Service = m.serviceWithDefaults(ctx, &diags)

	if ports := open[portsModel](ctx, m.Ports, &diags); !ports.Unknown {
		ports.Value.HTTP = portOr(ports.Value.HTTP, appsingress.DefaultHTTPPort)
		ports.Value.HTTPS = portOr(ports.Value.HTTPS, appsingress.DefaultHTTPSPort)
		m.Ports = pack(ctx, m.Ports, ports.Value, &diags)
	}
	m.fillNames(ctx, &diags)
	return diags
}

// fillNames sets the id and the domains.
func (m *appsIngressModel) fillNames(ctx context.Context, diags *diag.Diagnostics) {
	m.ID, m.Domain, m.WildcardDomain = types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	if !m.Namespace.IsUnknown() && !m.Name.IsUnknown() {
		m.ID = types.StringValue(appsingress.Spec{Namespace: m.Namespace.ValueString(), Name: m.Name.ValueString()}.ID())
	}
	dns := open[dnsModel](ctx, m.DNS, diags)
	if !dns.Unknown && !dns.Value.ClusterName.IsUnknown() && !dns.Value.BaseDomain.IsUnknown() {
		domain := dns.Value.domain()
		m.Domain, m.WildcardDomain = types.StringValue(domain.String()), types.StringValue(domain.Wildcard())
	}
}

// publishOrDefault publishes at the Infra's own DNSServer and ProxyServer, unless the configuration says where.
func (m *appsIngressModel) publishOrDefault(ctx context.Context, diags *diag.Diagnostics) types.Object {
	infra := open[infraRefModel](ctx, m.InfraRef, diags)
	switch {
	case !m.Publish.IsNull() || infra.Null || isAttachment(m.Mode):
		return m.Publish
	case m.Mode.IsUnknown() || infra.Unknown || infra.Value.Name.IsUnknown():
		return types.ObjectUnknown(m.Publish.AttributeTypes(ctx))
	}
	publish := appsingress.DefaultPublish(infra.Value.Name.ValueString())
	return pack(ctx, m.Publish, publishModel{
		DNSServer:   types.StringValue(publish.DNSServer),
		ProxyServer: types.StringValue(publish.ProxyServer),
	}, diags)
}

func (m *appsIngressModel) metalLBWithDefaults(ctx context.Context, diags *diag.Diagnostics) types.Object {
	metallb := open[metalLBModel](ctx, m.MetalLB, diags)
	if metallb.Null || metallb.Unknown {
		return m.MetalLB
	}
	v := metallb.Value
	if v.L2AdvertisementName.IsNull() {
		v.L2AdvertisementName = types.StringUnknown()
		if !v.AddressPoolName.IsUnknown() {
			v.L2AdvertisementName = types.StringValue(appsingress.DefaultL2AdvertisementName(v.AddressPoolName.ValueString()))
		}
	}
	v.AutoAssign = directBool(m.Mode, v.AutoAssign, false)
	v.Namespace = directText(m.Mode, v.Namespace, appsingress.DefaultMetalLBNamespace)
	v.Install = directBool(m.Mode, v.Install, true)
	v.Subscription = subscriptionWithDefaults(ctx, m.Mode, v, diags)
	return pack(ctx, m.MetalLB, v, diags)
}

// subscriptionWithDefaults leaves the subscription null where there will be none.
func subscriptionWithDefaults(ctx context.Context, mode types.String, m metalLBModel, diags *diag.Diagnostics) types.Object {
	subscription := open[subscriptionModel](ctx, m.Subscription, diags)
	switch {
	case subscription.Unknown:
		return m.Subscription
	case subscription.Null && (isAttachment(mode) || isFalse(m.Install)):
		return m.Subscription
	case subscription.Null && (mode.IsUnknown() || m.Install.IsUnknown()):
		return types.ObjectUnknown(m.Subscription.AttributeTypes(ctx))
	}
	v := subscription.Value
	v.Channel = textOr(v.Channel, appsingress.DefaultChannel)
	v.Source = textOr(v.Source, appsingress.DefaultSource)
	v.SourceNamespace = textOr(v.SourceNamespace, appsingress.DefaultSourceNamespace)
	v.Package = textOr(v.Package, appsingress.DefaultPackage)
	return pack(ctx, m.Subscription, v, diags)
}

func (m *appsIngressModel) serviceWithDefaults(ctx context.Context, diags *diag.Diagnostics) types.Object {
	service := open[serviceModel](ctx, m.Service, diags)
	if service.Unknown {
		return m.Service
	}
	v := service.Value
	v.Name = textOr(v.Name, appsingress.DefaultServiceName)
	v.Namespace = textOr(v.Namespace, appsingress.DefaultServiceNamespace)
	v.ExternalTrafficPolicy = directText(m.Mode, v.ExternalTrafficPolicy, appsingress.DefaultExternalTrafficPolicy)
	return pack(ctx, m.Service, v, diags)
}

// directText is the default of an option that only direct mode knows: null in attachment mode.
func directText(mode, value types.String, fallback string) types.String {
	switch {
	case !value.IsNull() || isAttachment(mode):
		return value
	case mode.IsUnknown():
		return types.StringUnknown()
	}
	return types.StringValue(fallback)
}

// directBool is directText for a bool.
func directBool(mode types.String, value types.Bool, fallback bool) types.Bool {
	switch {
	case !value.IsNull() || isAttachment(mode):
		return value
	case mode.IsUnknown():
		return types.BoolUnknown()
	}
	return types.BoolValue(fallback)
}

// isAttachment says that the mode is known to be attachment.
func isAttachment(mode types.String) bool { return isText(mode, string(appsingress.ModeAttachment)) }

// isFalse is not the opposite of true: null and unknown are neither.
func isFalse(b types.Bool) bool { return !b.IsNull() && !b.IsUnknown() && !b.ValueBool() }

func textOr(value types.String, fallback string) types.String {
	if value.IsNull() {
		return types.StringValue(fallback)
	}
	return value
}

func boolOr(value types.Bool, fallback bool) types.Bool {
	if value.IsNull() {
		return types.BoolValue(fallback)
	}
	return value
}

func portOr(value types.Int32, fallback int32) types.Int32 {
	if value.IsNull() {
		return types.Int32Value(fallback)
	}
	return value
}
