package provider

import (
	"context"
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// spec is the only place where Terraform values become the domain's. Null and unknown values become zero ones; a caller
// that must tell them apart looks at the model.
func (m appsIngressModel) spec(ctx context.Context) (appsingress.Spec, diag.Diagnostics) {
	var diags diag.Diagnostics
	infra := open[infraRefModel](ctx, m.InfraRef, &diags).Value
	publish := open[publishModel](ctx, m.Publish, &diags).Value
	hosted := open[objectRefModel](ctx, m.HostedClusterRef, &diags).Value
	ports := open[portsModel](ctx, m.Ports, &diags).Value
	spec := appsingress.Spec{
		Namespace: m.Namespace.ValueString(),
		Name:      m.Name.ValueString(),
		Mode:      appsingress.Mode(m.Mode.ValueString()),
		Infra:     infra.Name.ValueString(),
		Publish: appsingress.Publish{
			DNSServer:   publish.DNSServer.ValueString(),
			ProxyServer: publish.ProxyServer.ValueString(),
		},
		HostedCluster: appsingress.NamespacedName{Name: hosted.Name.ValueString(), Namespace: hosted.Namespace.ValueString()},
		Access:        open[hostedClusterAccessModel](ctx, m.HostedClusterAccess, &diags).Value.access(),
		Domain:        open[dnsModel](ctx, m.DNS, &diags).Value.domain(),
		MetalLB:       open[metalLBModel](ctx, m.MetalLB, &diags).Value.metalLB(ctx, &diags),
		Service:       open[serviceModel](ctx, m.Service, &diags).Value.service(ctx, &diags),
		Ports:         appsingress.Ports{HTTP: ports.HTTP.ValueInt32(), HTTPS: ports.HTTPS.ValueInt32()},
		AdoptExisting: m.AdoptExisting.ValueBool(),
	}
	return spec, diags
}

func (m hostedClusterAccessModel) access() appsingress.Access {
	return appsingress.Access{
		ConfigPath:           m.ConfigPath.ValueString(),
		ConfigContext:        m.ConfigContext.ValueString(),
		Host:                 m.Host.ValueString(),
		TLSServerName:        m.TLSServerName.ValueString(),
		ClusterCACertificate: m.ClusterCACertificate.ValueString(),
		Insecure:             m.Insecure.ValueBool(),
		ProxyURL:             m.ProxyURL.ValueString(),
	}
}

func (m dnsModel) domain() appsingress.Domain {
	return appsingress.Domain{
		ClusterName: m.ClusterName.ValueString(),
		BaseDomain:  strings.TrimSuffix(m.BaseDomain.ValueString(), "."),
	}
}

func (m metalLBModel) metalLB(ctx context.Context, diags *diag.Diagnostics) appsingress.MetalLB {
	subscription := open[subscriptionModel](ctx, m.Subscription, diags).Value
	return appsingress.MetalLB{
		Namespace: m.Namespace.ValueString(),
		Install:   m.Install.ValueBool(),
		Subscription: appsingress.Subscription{
			Channel:         subscription.Channel.ValueString(),
			Source:          subscription.Source.ValueString(),
			SourceNamespace: subscription.SourceNamespace.ValueString(),
			Package:         subscription.Package.ValueString(),
			StartingCSV:     subscription.StartingCSV.ValueString(),
		},
		AddressPoolName:     m.AddressPoolName.ValueString(),
		Range:               m.addresses(diags),
		RangeText:           m.IPAddressPoolRange.ValueString(),
		AutoAssign:          m.AutoAssign.ValueBool(),
		L2AdvertisementName: m.L2AdvertisementName.ValueString(),
		LoadBalancerClass:   m.LoadBalancerClass.ValueString(),
	}
}

// addresses is the set that the range means; zero while it is null or unknown.
func (m metalLBModel) addresses(diags *diag.Diagnostics) addresspool.Range {
	if m.IPAddressPoolRange.IsNull() || m.IPAddressPoolRange.IsUnknown() {
		return addresspool.Range{}
	}
	addresses, err := addresspool.Parse(m.IPAddressPoolRange.ValueString())
	if err != nil {
		diags.Append(valueRefused(rangePath(), err.Error(), "Write the range another way"))
	}
	return addresses
}

func rangePath() path.Path { return path.Root("metallb").AtName("ip_address_pool_range") }

func (m serviceModel) service(ctx context.Context, diags *diag.Diagnostics) appsingress.Service {
	service := appsingress.Service{
		Namespace:             m.Namespace.ValueString(),
		Name:                  m.Name.ValueString(),
		Annotations:           texts(ctx, m.Annotations, diags),
		Labels:                texts(ctx, m.Labels, diags),
		ExternalTrafficPolicy: m.ExternalTrafficPolicy.ValueString(),
	}
	if pin := m.LoadBalancerIP.ValueString(); pin != "" {
		address, err := netip.ParseAddr(pin)
		if err != nil {
			diags.Append(valueRefused(pinPath(), err.Error(), "Write an IPv4 address"))
		}
		service.LoadBalancerIP = address
	}
	return service
}

func pinPath() path.Path { return path.Root("service").AtName("load_balancer_ip") }

// texts is nil for a map that is null or unknown. Elements that are not known are left out.
func texts(ctx context.Context, m types.Map, diags *diag.Diagnostics) map[string]string {
	if m.IsNull() || m.IsUnknown() {
		return nil
	}
	var elements map[string]types.String
	diags.Append(m.ElementsAs(ctx, &elements, false)...)
	values := map[string]string{}
	for key, value := range elements {
		if !value.IsNull() && !value.IsUnknown() {
			values[key] = value.ValueString()
		}
	}
	return values
}

// observe is the only place where the domain's values become Terraform's: everything a status says about the clusters.
func (m *appsIngressModel) observe(ctx context.Context, status appsingress.Status) diag.Diagnostics {
	var diags diag.Diagnostics
	m.ExternalIP, m.ExternalHostname = endpointValues(status.Endpoint)
	m.Phase = orNull(string(status.Phase))
	m.Reason = orNull(string(status.Reason))
	m.Message = orNull(status.Message)
	m.InstalledCSV = orNull(status.InstalledCSV)

	records := make([]dnsRecordModel, 0, len(status.DNSRecords))
	for _, r := range status.DNSRecords {
		records = append(records, dnsRecordModel{
			Name:  types.StringValue(r.Name),
			View:  types.StringValue(string(r.View)),
			Value: types.StringValue(r.Value),
		})
	}
	backends := make([]proxyBackendModel, 0, len(status.ProxyBackends))
	for _, b := range status.ProxyBackends {
		backends = append(backends, proxyBackendModel{
			Name:       types.StringValue(b.Name),
			Hostname:   types.StringValue(b.Hostname),
			Port:       types.Int32Value(b.Port),
			Target:     types.StringValue(b.Target),
			TargetPort: types.Int32Value(b.TargetPort),
		})
	}
	lines := make([]string, 0, len(status.Drift))
	for _, d := range status.Drift {
		lines = append(lines, d.String())
	}
	m.DNSRecords = packList(ctx, m.DNSRecords, records, &diags)
	m.ProxyBackends = packList(ctx, m.ProxyBackends, backends, &diags)
	m.Drift = packList(ctx, m.Drift, lines, &diags)
	return diags
}

// packList encodes a list with elements of the type that the given one has.
func packList(ctx context.Context, list types.List, elements any, diags *diag.Diagnostics) types.List {
	packed, d := types.ListValueFrom(ctx, list.ElementType(ctx), elements)
	diags.Append(d...)
	return packed
}

// endpointValues sets one of the two and leaves the other null; both are null without an endpoint.
func endpointValues(e appsingress.Endpoint) (ip, hostname types.String) {
	if e.IP.IsValid() {
		return types.StringValue(e.IP.String()), types.StringNull()
	}
	return types.StringNull(), orNull(e.Hostname)
}

// endpoint is the endpoint that a state knows.
func (m appsIngressModel) endpoint() appsingress.Endpoint {
	e := appsingress.Endpoint{Hostname: m.ExternalHostname.ValueString()}
	if ip, err := netip.ParseAddr(m.ExternalIP.ValueString()); err == nil {
		e.IP = ip
	}
	return e
}

// orNull keeps the empty text out of state: there is no such value, and null says so.
func orNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}
