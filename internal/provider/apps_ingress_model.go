package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// appsIngressModel is the resource as Terraform knows it. Nested attributes stay objects here: as a whole they can be
// null, unknown or known, and a plan needs all three.
type appsIngressModel struct {
	Name                types.String   `tfsdk:"name"`
	Namespace           types.String   `tfsdk:"namespace"`
	Mode                types.String   `tfsdk:"mode"`
	InfraRef            types.Object   `tfsdk:"infra_ref"`
	Publish             types.Object   `tfsdk:"publish"`
	HostedClusterRef    types.Object   `tfsdk:"hosted_cluster_ref"`
	HostedClusterAccess types.Object   `tfsdk:"hosted_cluster_access"`
	DNS                 types.Object   `tfsdk:"dns"`
	MetalLB             types.Object   `tfsdk:"metallb"`
	Service             types.Object   `tfsdk:"service"`
	Ports               types.Object   `tfsdk:"ports"`
	AdoptExisting       types.Bool     `tfsdk:"adopt_existing"`
	Timeouts            timeouts.Value `tfsdk:"timeouts"`

	ID               types.String `tfsdk:"id"`
	Domain           types.String `tfsdk:"domain"`
	WildcardDomain   types.String `tfsdk:"wildcard_domain"`
	ExternalIP       types.String `tfsdk:"external_ip"`
	ExternalHostname types.String `tfsdk:"external_hostname"`
	Phase            types.String `tfsdk:"phase"`
	Reason           types.String `tfsdk:"reason"`
	Message          types.String `tfsdk:"message"`
	DNSRecords       types.List   `tfsdk:"dns_records"`
	ProxyBackends    types.List   `tfsdk:"proxy_backends"`
	InstalledCSV     types.String `tfsdk:"installed_csv"`
	Drift            types.List   `tfsdk:"drift"`
}

type infraRefModel struct {
	Name types.String `tfsdk:"name"`
}

type publishModel struct {
	DNSServer   types.String `tfsdk:"dns_server"`
	ProxyServer types.String `tfsdk:"proxy_server"`
}

// objectRefModel names a HostedCluster, or, in data sources, another object.
type objectRefModel struct {
	Name      types.String `tfsdk:"name"`
	Namespace types.String `tfsdk:"namespace"`
}

type hostedClusterAccessModel struct {
	ConfigPath           types.String `tfsdk:"config_path"`
	ConfigContext        types.String `tfsdk:"config_context"`
	Host                 types.String `tfsdk:"host"`
	TLSServerName        types.String `tfsdk:"tls_server_name"`
	ClusterCACertificate types.String `tfsdk:"cluster_ca_certificate"`
	Insecure             types.Bool   `tfsdk:"insecure"`
	ProxyURL             types.String `tfsdk:"proxy_url"`
}

type dnsModel struct {
	ClusterName types.String `tfsdk:"cluster_name"`
	BaseDomain  types.String `tfsdk:"base_domain"`
}

type metalLBModel struct {
	AddressPoolName     types.String `tfsdk:"address_pool_name"`
	IPAddressPoolRange  types.String `tfsdk:"ip_address_pool_range"`
	L2AdvertisementName types.String `tfsdk:"l2_advertisement_name"`
	AutoAssign          types.Bool   `tfsdk:"auto_assign"`
	Namespace           types.String `tfsdk:"namespace"`
	Install             types.Bool   `tfsdk:"install"`
	Subscription        types.Object `tfsdk:"subscription"`
	LoadBalancerClass   types.String `tfsdk:"load_balancer_class"`
}

type subscriptionModel struct {
	Channel         types.String `tfsdk:"channel"`
	Source          types.String `tfsdk:"source"`
	SourceNamespace types.String `tfsdk:"source_namespace"`
	Package         types.String `tfsdk:"package"`
	StartingCSV     types.String `tfsdk:"starting_csv"`
}

type serviceModel struct {
	Name                  types.String `tfsdk:"name"`
	Namespace             types.String `tfsdk:"namespace"`
	Annotations           types.Map    `tfsdk:"annotations"`
	Labels                types.Map    `tfsdk:"labels"`
	LoadBalancerIP        types.String `tfsdk:"load_balancer_ip"`
	ExternalTrafficPolicy types.String `tfsdk:"external_traffic_policy"`
}

type portsModel struct {
	HTTP  types.Int32 `tfsdk:"http"`
	HTTPS types.Int32 `tfsdk:"https"`
}

type dnsRecordModel struct {
	Name  types.String `tfsdk:"name"`
	View  types.String `tfsdk:"view"`
	Value types.String `tfsdk:"value"`
}

type proxyBackendModel struct {
	Name       types.String `tfsdk:"name"`
	Hostname   types.String `tfsdk:"hostname"`
	Port       types.Int32  `tfsdk:"port"`
	Target     types.String `tfsdk:"target"`
	TargetPort types.Int32  `tfsdk:"target_port"`
}

// nested is a nested attribute, opened. What is in one that is null or unknown as a whole reads as null.
type nested[T any] struct {
	Null    bool
	Unknown bool
	Value   T
}

// open decodes a nested attribute.
func open[T any](ctx context.Context, object types.Object, diags *diag.Diagnostics) nested[T] {
	n := nested[T]{Null: object.IsNull(), Unknown: object.IsUnknown()}
	if n.Null || n.Unknown {
		object = allNull(ctx, object.AttributeTypes(ctx), diags)
	}
	diags.Append(object.As(ctx, &n.Value, basetypes.ObjectAsOptions{})...)
	return n
}

// allNull is an object of this type whose attributes are null. A zero model is no substitute: its collections have no
// element type.
func allNull(ctx context.Context, attrTypes map[string]attr.Type, diags *diag.Diagnostics) types.Object {
	values := map[string]attr.Value{}
	for name, t := range attrTypes {
		value, err := t.ValueFromTerraform(ctx, tftypes.NewValue(t.TerraformType(ctx), nil))
		if err != nil {
			diags.Append(providerDefect("making the null value of "+name, err))
			return types.ObjectNull(attrTypes)
		}
		values[name] = value
	}
	object, d := types.ObjectValue(attrTypes, values)
	diags.Append(d...)
	return object
}

// pack encodes a nested attribute of the type that the given one has.
func pack(ctx context.Context, object types.Object, value any, diags *diag.Diagnostics) types.Object {
	packed, d := types.ObjectValueFrom(ctx, object.AttributeTypes(ctx), value)
	diags.Append(d...)
	return packed
}
