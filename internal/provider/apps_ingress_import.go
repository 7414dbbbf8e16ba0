package provider

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// ImportState implements resource.ResourceWithImportState. It describes what exists; the refresh that follows fills in the rest.
// Until the first update has set the marks, what has none is this ingress's: the private state says so.
func (r *appsIngressResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	seed, err := parseImportID(req.ID)
	if err != nil {
		resp.Diagnostics.Append(importIDRefused(req.ID, err))
		return
	}
	if r.engine == nil {
		resp.Diagnostics.Append(providerUnknown(verbImport))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, defaultReadTimeout)
	defer cancel()
	spec, err := r.engine.Import(ctx, seed)
	if err != nil {
		resp.Diagnostics.Append(importFailed(req.ID, err))
		return
	}
	state, diags := emptyModel(ctx, resp.State)
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(state.describe(ctx, spec)...)
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyImported, true)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// parseImportID reads "namespace/name[,hosted_cluster=ns/name][,infra=name][,service=ns/name][,config_path=…][,config_context=…]".
// A HostedCluster that is not named is taken to have the ingress's own name, in the default namespace.
func parseImportID(id string) (appsingress.Spec, error) {
	parts := strings.Split(id, ",")
	own, err := parseNamespacedName(parts[0])
	if err != nil {
		return appsingress.Spec{}, fmt.Errorf("its first part is %q: %w", parts[0], err)
	}
	spec := appsingress.Spec{Namespace: own.Namespace, Name: own.Name, Mode: appsingress.ModeDirect, Imported: true}
	seen := map[string]bool{}
	for _, part := range parts[1:] {
		key, value, ok := strings.Cut(part, "=")
		if !ok || value == "" || seen[key] {
			return appsingress.Spec{}, fmt.Errorf("%q is not one key=value, or there twice", part)
		}
		seen[key] = true
		if err := takeImportPart(&spec, key, value); err != nil {
			return appsingress.Spec{}, err
		}
	}
	if spec.HostedCluster.IsZero() && spec.Access.ConfigPath == "" {
		spec.HostedCluster = appsingress.NamespacedName{Namespace: appsingress.DefaultNamespace, Name: spec.Name}
	}
	return spec, nil
}

func takeImportPart(spec *appsingress.Spec, key, value string) (err error) {
	switch key {
	case "hosted_cluster":
		spec.HostedCluster, err = parseNamespacedName(value)
	case "service":
		var service appsingress.NamespacedName
		service, err = parseNamespacedName(value)
		spec.Service.Namespace, spec.Service.Name = service.Namespace, service.Name
	case "infra":
		spec.Infra = value
	case "config_path":
		spec.Access.ConfigPath = value
	case "config_context":
		spec.Access.ConfigContext = value
	default:
		return fmt.Errorf("%q is none of hosted_cluster, infra, service, config_path, config_context", key)
	}
	if err != nil {
		return fmt.Errorf("%s is %q: %w", key, value, err)
	}
	return nil
}

func parseNamespacedName(text string) (appsingress.NamespacedName, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return appsingress.NamespacedName{}, fmt.Errorf("it is not namespace/name")
	}
	return appsingress.NamespacedName{Namespace: namespace, Name: name}, nil
}

// emptyModel has every attribute null, and of its type.
func emptyModel(ctx context.Context, state tfsdk.State) (appsIngressModel, diag.Diagnostics) {
	attributes := map[string]tftypes.Value{}
	for name, attribute := range state.Schema.GetAttributes() {
		attributes[name] = tftypes.NewValue(attribute.GetType().TerraformType(ctx), nil)
	}
	state.Raw = tftypes.NewValue(state.Schema.Type().TerraformType(ctx), attributes)
	var m appsIngressModel
	diags := state.Get(ctx, &m)
	return m, diags
}

// describe makes a state of a spec, as a configuration that leaves out what is optional and not there would have it.
func (m *appsIngressModel) describe(ctx context.Context, spec appsingress.Spec) diag.Diagnostics {
	var diags diag.Diagnostics
	m.Name, m.Namespace, m.Mode = types.StringValue(spec.Name), types.StringValue(spec.Namespace), types.StringValue(string(spec.Mode))
	m.ID = types.StringValue(spec.ID())
	m.Domain, m.WildcardDomain = types.StringValue(spec.Domain.String()), types.StringValue(spec.Domain.Wildcard())
	m.AdoptExisting = types.BoolValue(false)
	if spec.Infra != "" {
		m.InfraRef = pack(ctx, m.InfraRef, infraRefModel{Name: types.StringValue(spec.Infra)}, &diags)
	}
	if p := spec.Publish; p != (appsingress.Publish{}) {
		m.Publish = pack(ctx, m.Publish, publishModel{DNSServer: orNull(p.DNSServer), ProxyServer: orNull(p.ProxyServer)}, &diags)
	}
	if h := spec.HostedCluster; !h.IsZero() {
		m.HostedClusterRef = pack(ctx, m.HostedClusterRef,
			objectRefModel{Name: types.StringValue(h.Name), Namespace: types.StringValue(h.Namespace)}, &diags)
	}
	if a := spec.Access; a != (appsingress.Access{}) {
		m.HostedClusterAccess = pack(ctx, m.HostedClusterAccess,
			hostedClusterAccessModel{ConfigPath: orNull(a.ConfigPath), ConfigContext: orNull(a.ConfigContext)}, &diags)
	}
	m.DNS = pack(ctx, m.DNS, dnsModel{
		ClusterName: types.StringValue(spec.Domain.ClusterName), BaseDomain: types.StringValue(spec.Domain.BaseDomain),
	}, &diags)
	m.Ports = pack(ctx, m.Ports, portsModel{HTTP: types.Int32Value(spec.Ports.HTTP), HTTPS: types.Int32Value(spec.Ports.HTTPS)}, &diags)
	m.describeMetalLB(ctx, spec, &diags)
	m.describeService(ctx, spec.Service, &diags)
	return diags
}

func (m *appsIngressModel) describeMetalLB(ctx context.Context, spec appsingress.Spec, diags *diag.Diagnostics) {
	metallb := spec.MetalLB
	value := open[metalLBModel](ctx, m.MetalLB, diags).Value
	value.AddressPoolName = types.StringValue(metallb.AddressPoolName)
	value.IPAddressPoolRange = types.StringValue(metallb.RangeText)
	value.L2AdvertisementName = types.StringValue(metallb.L2AdvertisementName)
	if spec.Mode == appsingress.ModeDirect {
		value.AutoAssign = types.BoolValue(metallb.AutoAssign)
		value.Namespace = types.StringValue(metallb.Namespace)
		value.Install = types.BoolValue(metallb.Install)
	}
	value.LoadBalancerClass = orNull(metallb.LoadBalancerClass)
	if s := metallb.Subscription; metallb.Install {
		value.Subscription = pack(ctx, value.Subscription, subscriptionModel{
			Channel: types.StringValue(s.Channel), Source: types.StringValue(s.Source),
			SourceNamespace: types.StringValue(s.SourceNamespace), Package: types.StringValue(s.Package),
			StartingCSV: orNull(s.StartingCSV),
		}, diags)
	}
	m.MetalLB = pack(ctx, m.MetalLB, value, diags)
}

func (m *appsIngressModel) describeService(ctx context.Context, service appsingress.Service, diags *diag.Diagnostics) {
	m.Service = pack(ctx, m.Service, serviceModel{
		Name:                  types.StringValue(service.Name),
		Namespace:             types.StringValue(service.Namespace),
		Annotations:           textMap(ctx, service.Annotations, diags),
		Labels:                textMap(ctx, service.Labels, diags),
		LoadBalancerIP:        addressValue(service.LoadBalancerIP),
		ExternalTrafficPolicy: orNull(service.ExternalTrafficPolicy),
	}, diags)
}

// textMap is null for a map that is nil.
func textMap(ctx context.Context, values map[string]string, diags *diag.Diagnostics) types.Map {
	if values == nil {
		return types.MapNull(types.StringType)
	}
	packed, d := types.MapValueFrom(ctx, types.StringType, values)
	diags.Append(d...)
	return packed
}

func addressValue(address netip.Addr) types.String {
	if !address.IsValid() {
		return types.StringNull()
	}
	return types.StringValue(address.String())
}
