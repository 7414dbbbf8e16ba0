package provider

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// maxDomain is what DNS allows; it counts the wildcard label and "apps" too.
const maxDomain = 253

// configured is the configuration, opened once for all combination rules. Unknown values make a rule wait until apply.
type configured struct {
	model   appsIngressModel
	access  nested[hostedClusterAccessModel]
	dns     nested[dnsModel]
	metallb nested[metalLBModel]
	service nested[serviceModel]
	ports   nested[portsModel]
}

// ValidateConfig implements resource.ResourceWithValidateConfig: the rules about several attributes at once.
func (r *appsIngressResource) ValidateConfig(
	ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse,
) {
	var model appsIngressModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	c, diags := openConfig(ctx, model)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	for _, rule := range []func() diag.Diagnostics{c.whichCluster, c.accessFits, c.domainFits, c.portsDiffer, c.pinFits, c.attachment} {
		resp.Diagnostics.Append(rule()...)
	}
}

func openConfig(ctx context.Context, m appsIngressModel) (configured, diag.Diagnostics) {
	var diags diag.Diagnostics
	c := configured{
		model:   m,
		access:  open[hostedClusterAccessModel](ctx, m.HostedClusterAccess, &diags),
		dns:     open[dnsModel](ctx, m.DNS, &diags),
		metallb: open[metalLBModel](ctx, m.MetalLB, &diags),
		service: open[serviceModel](ctx, m.Service, &diags),
		ports:   open[portsModel](ctx, m.Ports, &diags),
	}
	return c, diags
}

func refuse(p path.Path, problem, remedy string) diag.Diagnostics {
	return diag.Diagnostics{valueRefused(p, problem, remedy)}
}

// whichCluster wants a name, and a way to the hosted cluster.
func (c configured) whichCluster() diag.Diagnostics {
	var diags diag.Diagnostics
	if !c.model.HostedClusterRef.IsNull() {
		return nil
	}
	if c.model.Name.IsNull() {
		diags.Append(valueRefused(path.Root("name"), "it is not set, and there is no hosted_cluster_ref to take it from",
			"Set name or hosted_cluster_ref"))
	}
	noFile := !c.access.Unknown && c.access.Value.ConfigPath.IsNull()
	if noFile || isAttachment(c.model.Mode) {
		diags.Append(valueRefused(path.Root("hosted_cluster_ref"),
			"it is not set, and nothing else says which hosted cluster is meant",
			"Set hosted_cluster_ref; or, in direct mode, hosted_cluster_access.config_path"))
	}
	return diags
}

func (c configured) accessFits() diag.Diagnostics {
	if !c.access.Value.Insecure.ValueBool() || c.access.Value.ClusterCACertificate.IsNull() {
		return nil
	}
	return refuse(path.Root("hosted_cluster_access").AtName("insecure"),
		"it is true, and cluster_ca_certificate is set: certificates would be verified and accepted unseen", "Leave one of the two out")
}

func (c configured) domainFits() diag.Diagnostics {
	name, base := c.dns.Value.ClusterName, c.dns.Value.BaseDomain
	if !isKnown(name) || !isKnown(base) {
		return nil
	}
	if wildcard := c.dns.Value.domain().Wildcard(); len(wildcard) > maxDomain {
		return refuse(path.Root("dns"), fmt.Sprintf("the wildcard domain has %d characters, and DNS allows %d", len(wildcard), maxDomain),
			"Choose shorter names")
	}
	return nil
}

func (c configured) portsDiffer() diag.Diagnostics {
	if c.ports.Unknown || c.ports.Value.HTTP.IsUnknown() || c.ports.Value.HTTPS.IsUnknown() {
		return nil
	}
	http := portOr(c.ports.Value.HTTP, appsingress.DefaultHTTPPort)
	https := portOr(c.ports.Value.HTTPS, appsingress.DefaultHTTPSPort)
	if !http.Equal(https) {
		return nil
	}
	return refuse(path.Root("ports"), fmt.Sprintf("http and https are both %d", http.ValueInt32()), "Choose two different ports")
}

func (c configured) pinFits() diag.Diagnostics {
	if !isKnown(c.service.Value.LoadBalancerIP) || !isKnown(c.metallb.Value.IPAddressPoolRange) {
		return nil
	}
	pin, err := netip.ParseAddr(c.service.Value.LoadBalancerIP.ValueString())
	if err != nil {
		return nil // its own validator refuses it
	}
	addresses, err := addresspool.Parse(c.metallb.Value.IPAddressPoolRange.ValueString())
	if err != nil || addresses.Contains(pin) {
		return nil // its own validator refuses it
	}
	return refuse(pinPath(), fmt.Sprintf("%s is not in metallb.ip_address_pool_range, which is %s", pin, addresses),
		"Pin an address of the range, or widen the range")
}

// attachment refuses what attachment mode cannot honour.
func (c configured) attachment() diag.Diagnostics {
	if !isAttachment(c.model.Mode) {
		return nil
	}
	return c.attachmentOptions()
}

// attachmentOptions refuses the options that only the provider's own pipeline knows.
func (c configured) attachmentOptions() diag.Diagnostics {
	var diags diag.Diagnostics
	if c.model.InfraRef.IsNull() {
		diags.Append(valueRefused(path.Root("infra_ref"), "it is not set, and attachment mode needs the Infra", "Set infra_ref"))
	}
	for _, option := range []struct {
		path  path.Path
		value attr.Value
	}{
		{path.Root("publish"), c.model.Publish},
		{path.Root("metallb").AtName("auto_assign"), c.metallb.Value.AutoAssign},
		{path.Root("metallb").AtName("namespace"), c.metallb.Value.Namespace},
		{path.Root("metallb").AtName("install"), c.metallb.Value.Install},
		{path.Root("metallb").AtName("subscription"), c.metallb.Value.Subscription},
		{path.Root("metallb").AtName("load_balancer_class"), c.metallb.Value.LoadBalancerClass},
		{path.Root("service").AtName("external_traffic_policy"), c.service.Value.ExternalTrafficPolicy},
	} {
		if !option.value.IsNull() {
			diags.Append(valueRefused(option.path,
				"it is set, and the oooi operator, which does the work in attachment mode, has no such option",
				"Leave it out, or use direct mode"))
		}
	}
	return diags
}
