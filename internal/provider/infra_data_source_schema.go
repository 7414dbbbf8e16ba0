package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type infraModel struct {
	Name      types.String `tfsdk:"name"`
	Namespace types.String `tfsdk:"namespace"`

	ID              types.String           `tfsdk:"id"`
	CIDR            types.String           `tfsdk:"cidr"`
	Gateway         types.String           `tfsdk:"gateway"`
	StaticAddresses *staticAddressesModel  `tfsdk:"static_addresses"`
	DHCPPool        *rangeModel            `tfsdk:"dhcp_pool"`
	Attachments     []infraAttachmentModel `tfsdk:"attachments"`
	FreeRanges      []rangeModel           `tfsdk:"free_ranges"`
}

type staticAddressesModel struct {
	DHCP  types.String `tfsdk:"dhcp"`
	DNS   types.String `tfsdk:"dns"`
	Proxy types.String `tfsdk:"proxy"`
}

type rangeModel struct {
	Range types.String `tfsdk:"range"`
	Size  types.Int64  `tfsdk:"size"`
}

type infraAttachmentModel struct {
	Name             types.String    `tfsdk:"name"`
	HostedClusterRef *objectRefModel `tfsdk:"hosted_cluster_ref"`
	Domain           types.String    `tfsdk:"domain"`
	Enabled          types.Bool      `tfsdk:"enabled"`
	Range            types.String    `tfsdk:"range"`
	Phase            types.String    `tfsdk:"phase"`
	Reason           types.String    `tfsdk:"reason"`
	Message          types.String    `tfsdk:"message"`
	ExternalIP       types.String    `tfsdk:"external_ip"`
	ExternalHostname types.String    `tfsdk:"external_hostname"`
}

// infraSchema is the schema of the data source.
func infraSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "An oooi Infra: the VLAN that hosted clusters share, what has which of its addresses, and the ranges that " +
			"are free, so that a configuration can take its range from the VLAN.",
		Attributes: map[string]schema.Attribute{
			"name": givenText("Name of the Infra.", objectName()),
			"namespace": schema.StringAttribute{
				Optional: true, Computed: true, MarkdownDescription: "Namespace of the Infra and its attachments. Default: `clusters`.",
				Validators: []validator.String{namespaceName()},
			},
			"id":      seenText("`<namespace>/<name>`."),
			"cidr":    seenText("The network, such as `192.0.2.0/24`."),
			"gateway": seenText("Address of the gateway. Null when the Infra has none."),
			"static_addresses": schema.SingleNestedAttribute{
				Computed:            true,
				MarkdownDescription: "Addresses of oooi's own servers on the VLAN.",
				Attributes: map[string]schema.Attribute{
					"dhcp":  seenText("Address of the DHCP server. Null when the Infra has none."),
					"dns":   seenText("Address of the DNS server. Null when the Infra has none."),
					"proxy": seenText("Address of the proxy, Envoy. Null when the Infra has none."),
				},
			},
			"dhcp_pool": schema.SingleNestedAttribute{
				Computed:            true,
				MarkdownDescription: "Addresses that DHCP gives. Null when the Infra has no such pool.",
				Attributes:          rangeAttributes(),
			},
			"attachments": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The attachments of hosted clusters to this VLAN, by name.",
				NestedObject:        schema.NestedAttributeObject{Attributes: infraAttachmentAttributes()},
			},
			"free_ranges": schema.ListNestedAttribute{
				Computed: true,
				MarkdownDescription: "The gaps, in order: every address of `cidr` for a host that is none of the gateway, the static " +
					"addresses, the DHCP pool and the ranges of the attachments whose apps ingress is enabled. Null when `cidr` is.",
				NestedObject: schema.NestedAttributeObject{Attributes: rangeAttributes()},
			},
		},
	}
}

func rangeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"range": seenText("The addresses, as `start-end`; a range of one address is `a-a`."),
		"size":  schema.Int64Attribute{Computed: true, MarkdownDescription: "Number of the addresses."},
	}
}

func infraAttachmentAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": seenText("Name of the InfraClusterAttachment."),
		"hosted_cluster_ref": schema.SingleNestedAttribute{
			Computed:            true,
			MarkdownDescription: "The HostedCluster that is attached.",
			Attributes: map[string]schema.Attribute{
				"name":      seenText("Name of the HostedCluster."),
				"namespace": seenText("Namespace of the HostedCluster."),
			},
		},
		"domain":  seenText("`<cluster_name>.<base_domain>` of the hosted cluster."),
		"enabled": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether its apps ingress is enabled."},
		"range":   seenText("Addresses of its apps ingress, as `start-end`. Null when it has none."),
		"phase": seenText("`Pending`, `Ready` or `Degraded`, as the oooi operator says. Null while it has not reported on the latest " +
			"change, as are `reason` and the endpoint."),
		"reason":            seenText("Why the apps ingress is in this phase."),
		"message":           seenText("What `phase` and `reason` mean here, in a sentence."),
		"external_ip":       seenText("IPv4 address of the apps ingress. Null when there is none, or a host name instead."),
		"external_hostname": seenText("Host name of the apps ingress. Null when there is none, or an address instead."),
	}
}
