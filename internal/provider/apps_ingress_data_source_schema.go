package provider

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/datasource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	resourceschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// defaultWaitTimeout is the time of a read that waits until an ingress is Ready.
const defaultWaitTimeout = 10 * time.Minute

type appsIngressDataModel struct {
	AttachmentRef       types.Object   `tfsdk:"attachment_ref"`
	HostedClusterRef    types.Object   `tfsdk:"hosted_cluster_ref"`
	HostedClusterAccess types.Object   `tfsdk:"hosted_cluster_access"`
	Service             types.Object   `tfsdk:"service"`
	WaitUntilReady      types.Bool     `tfsdk:"wait_until_ready"`
	Timeouts            timeouts.Value `tfsdk:"timeouts"`

	ID               types.String `tfsdk:"id"`
	Mode             types.String `tfsdk:"mode"`
	Domain           types.String `tfsdk:"domain"`
	WildcardDomain   types.String `tfsdk:"wildcard_domain"`
	Phase            types.String `tfsdk:"phase"`
	Reason           types.String `tfsdk:"reason"`
	Message          types.String `tfsdk:"message"`
	ExternalIP       types.String `tfsdk:"external_ip"`
	ExternalHostname types.String `tfsdk:"external_hostname"`
	Ranges           types.List   `tfsdk:"ranges"`
}

// appsIngressDataSchema is the schema of the data source.
func appsIngressDataSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "An apps ingress that another configuration, or the oooi operator, manages: found by its " +
			"InfraClusterAttachment (`attachment_ref`), or by its Service in the hosted cluster (`hosted_cluster_ref`, `service`).",
		Attributes: map[string]schema.Attribute{
			"attachment_ref": nameAttribute("The InfraClusterAttachment of the ingress. Default: the ingress is found by "+
				"`hosted_cluster_ref` and `service`.", "InfraClusterAttachment"),
			"hosted_cluster_ref": nameAttribute("The HyperShift HostedCluster whose Service is looked at. Required without "+
				"`attachment_ref`, except with `hosted_cluster_access.config_path`. Default: none.", "HostedCluster"),
			"hosted_cluster_access": hostedClusterAccessData(),
			"service":               serviceDataAttribute(),
			"wait_until_ready": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Wait until the ingress exists, is `Ready` and has an endpoint in its range. Only a HostedCluster has " +
					"to exist already. Default: `false`, which makes an ingress that does not exist an error.",
			},
			"timeouts": readTimeoutAttribute(fmt.Sprintf("Default: `%s`, and `%s` with `wait_until_ready`.",
				shortDuration(defaultReadTimeout), shortDuration(defaultWaitTimeout))),
			"id": seenText("`<namespace>/<name>` of the `oooi_apps_ingress` resource that it comes from, or of the attachment. Null when " +
				"it was made otherwise."),
			"mode":            seenText("How it was found: `attachment`, or `direct` in the hosted cluster."),
			"domain":          seenText("`<cluster_name>.<base_domain>`, without a trailing dot."),
			"wildcard_domain": seenText("`*.apps.<cluster_name>.<base_domain>`, without a trailing dot."),
			"phase": seenText("`Pending`, `Ready` or `Degraded`. Null, as are `reason` and the endpoint, while the oooi operator has not " +
				"reported on the latest change."),
			"reason":            seenText("Why the ingress is in this phase, such as `ReconciliationSucceeded`."),
			"message":           seenText("What `phase` and `reason` mean here, in a sentence."),
			"external_ip":       seenText("IPv4 address of the ingress. Null while there is none, and when there is a host name instead."),
			"external_hostname": seenText("Host name of the ingress. Null while there is none, and when there is an address instead."),
			"ranges": schema.ListAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "The addresses that the ingress may have, each as `start-end`.",
			},
		},
	}
}

func serviceDataAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "The LoadBalancer Service in front of the ingress controller. Default: `oooi-ingress` in `openshift-ingress`.",
		Attributes: map[string]schema.Attribute{
			"name":      textData("Name of the Service. Default: `oooi-ingress`.", serviceName()),
			"namespace": textData("Namespace of the Service. Default: `openshift-ingress`.", namespaceName()),
		},
	}
}

// hostedClusterAccessData is the resource's attribute, as a data source has it.
func hostedClusterAccessData() schema.Attribute {
	of, _ := hostedClusterAccessAttribute().(resourceschema.SingleNestedAttribute)
	attributes := map[string]schema.Attribute{}
	for name, attribute := range of.Attributes {
		switch a := attribute.(type) {
		case resourceschema.StringAttribute:
			attributes[name] = schema.StringAttribute{
				Optional: true, Sensitive: a.Sensitive, MarkdownDescription: asRead(a.MarkdownDescription), Validators: a.Validators,
			}
		case resourceschema.BoolAttribute:
			attributes[name] = schema.BoolAttribute{Optional: true, MarkdownDescription: asRead(a.MarkdownDescription)}
		}
	}
	return schema.SingleNestedAttribute{Optional: true, MarkdownDescription: asRead(of.MarkdownDescription), Attributes: attributes}
}

// asRead leaves out of a description what a change does: a data source is read afresh every time.
func asRead(description string) string { return strings.TrimSuffix(description, " Changed in place.") }
