package provider

import (
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Default timeouts of an apps ingress. Create and update cover the slowest steps one after the other: a worker that boots,
// OLM's bundle unpacking and image pulls, and MetalLB's first start.
const (
	defaultCreateTimeout = 30 * time.Minute
	defaultReadTimeout   = time.Minute
	defaultUpdateTimeout = 30 * time.Minute
	defaultDeleteTimeout = 15 * time.Minute
)

// computedAttributes are what the clusters say.
func computedAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id":              computedText("`<namespace>/<name>`. It is also on everything that this ingress creates."),
		"domain":          computedText("`<cluster_name>.<base_domain>`, without a trailing dot."),
		"wildcard_domain": computedText("`*.apps.<cluster_name>.<base_domain>`, without a trailing dot."),
		"external_ip": computedText("IPv4 address of the ingress. Null when the load balancer gives a host name: exactly one of " +
			"`external_ip` and `external_hostname` is set."),
		"external_hostname": computedText("Host name of the ingress. Null when the load balancer gives an address."),
		"phase":             computedText("`Pending`, `Ready` or `Degraded`. It is `Ready` after every successful apply."),
		"reason":            computedText("Why the ingress is in this phase, such as `ReconciliationSucceeded`."),
		"message":           computedText("What `phase` and `reason` mean here, in a sentence."),
		"dns_records": schema.ListNestedAttribute{
			Computed:            true,
			MarkdownDescription: "The A records that are really published; none for a host name.",
			NestedObject:        schema.NestedAttributeObject{Attributes: dnsRecordAttributes()},
		},
		"proxy_backends": schema.ListNestedAttribute{
			Computed:            true,
			MarkdownDescription: "The Envoy backends that are really published.",
			NestedObject:        schema.NestedAttributeObject{Attributes: proxyBackendAttributes()},
		},
		"installed_csv": computedText("ClusterServiceVersion of the installed MetalLB operator. Null when `metallb.install` is `false`."),
		"drift": schema.ListAttribute{
			Computed:    true,
			ElementType: types.StringType,
			MarkdownDescription: "What was changed behind Terraform's back, one line for each difference, naming object and field. " +
				"Apply repairs it. Empty when there is none.",
		},
	}
}

func dnsRecordAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": computedText("The name, `*.apps.<cluster_name>.<base_domain>`."),
		"view": computedText("Who gets this answer: `vlan` (clients on the VLAN) or `pod` (the pod network)."),
		"value": computedText("The address: the ingress's own in the VLAN view, the internal proxy's in the pod view, " +
			"which exists only when the DNSServer has one."),
	}
}

func proxyBackendAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name":     computedText("Name of the backend."),
		"hostname": computedText("The name that clients ask for (SNI)."),
		"port":     schema.Int32Attribute{Computed: true, MarkdownDescription: "Port that Envoy listens on."},
		"target":   computedText("Where Envoy connects to: `external_ip` or `external_hostname`."),
		"target_port": schema.Int32Attribute{
			Computed: true, MarkdownDescription: "Port of the Service there.",
		},
	}
}

// timeoutsAttribute has its own descriptions and refuses what is no time; reading the values is the library's.
func timeoutsAttribute() schema.Attribute {
	attributes := map[string]schema.Attribute{}
	attrTypes := map[string]attr.Type{}
	for _, v := range []verb{verbCreate, verbRead, verbUpdate, verbDelete} {
		attributes[string(v)] = optionalText(fmt.Sprintf("Time for the whole %s, as a duration such as `90s` or `45m`. Default: `%s`. "+
			"Changed in place.", v, shortDuration(v.defaultTimeout())), duration())
		attrTypes[string(v)] = types.StringType
	}
	return schema.SingleNestedAttribute{
		Optional:            true,
		CustomType:          timeouts.Type{ObjectType: types.ObjectType{AttrTypes: attrTypes}},
		MarkdownDescription: "How long each verb may take. A change alone writes nothing to any cluster.",
		Attributes:          attributes,
	}
}

func computedText(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}
