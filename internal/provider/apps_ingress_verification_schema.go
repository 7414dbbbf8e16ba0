package provider

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// verificationSchema is the schema of the data source.
func verificationSchema() schema.Schema {
	attributes := map[string]schema.Attribute{
		"domain": givenText("`<cluster_name>.<base_domain>`, such as the resource's `domain`; a trailing dot means nothing. The names that "+
			"are asked for are `<label>.apps.<domain>`.", baseDomain()),
		"external_ip": textData("IPv4 address of the ingress, such as the resource's `external_ip`. Default: none. With neither this nor "+
			"`external_hostname`, the ingress has no endpoint yet, and what needs one has failed.",
			ipv4For(`Write the address of the ingress, such as "192.0.2.200"`)),
		"external_hostname": textData("Host name of the ingress, such as the resource's `external_hostname`, when it has no address. "+
			"Default: none.", hostName()),
		"ports": schema.SingleNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Ports of the ingress, such as the resource's `ports`. Default: 80 and 443.",
			Attributes: map[string]schema.Attribute{
				"http":  numberData("Port for HTTP. Default: `80`.", port()),
				"https": numberData("Port for HTTPS. Default: `443`.", port()),
			},
		},
		"check_paths": schema.SetAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Names of the paths to check; see `paths`. To name one also says that this machine can test it: no answer is " +
				"then a failure. One that is named and not configured stays `not_configured`. Default: every path that is configured; what " +
				"does not answer is then `not_testable_from_here`, unless this machine's address is in the VLAN that the path starts from, or " +
				"no network of a VLAN is known.",
			Validators: []validator.Set{pathNames()},
		},
		"timeouts": readTimeoutAttribute("Default: `" + shortDuration(defaultReadTimeout) + "`. What is not known by then has failed."),
	}
	maps.Copy(attributes, verificationPlaces())
	maps.Copy(attributes, verificationManner())
	maps.Copy(attributes, verificationResults())
	return schema.Schema{
		MarkdownDescription: "Whether an apps ingress can really be reached. From the machine that Terraform runs on, every path that is " +
			"configured is tried: names are resolved in the VLAN's view, in that of the pod network and by a public resolver, and HTTP and " +
			"HTTPS are spoken at the endpoint and through the proxy. It is read in every plan. What does not work never makes the plan fail: it " +
			"is in `healthy`, `failed` and `paths`, for `check` blocks and postconditions.",
		Attributes: attributes,
	}
}

// verificationPlaces say where the ingress is published.
func verificationPlaces() map[string]schema.Attribute {
	publish := "The objects that the ingress is published in; addresses that are not given here are read from them. Default: " +
		"`<infra>-dns` and `<infra>-proxy` with `infra_ref`, nothing without it. Either may be left out."
	const server = "IPv4 address, or IPv4 address and port, of a DNS server "
	address := dnsServerAddress()
	return map[string]schema.Attribute{
		"namespace": textData("Namespace of the management cluster that holds the DNSServer and the ProxyServer. Default: `clusters`.",
			namespaceName()),
		"infra_ref": schema.SingleNestedAttribute{
			Optional: true,
			MarkdownDescription: "The oooi Infra that the ingress is on. Default: none. Without `infra_ref` and `publish` nothing is asked of " +
				"the management cluster.",
			Attributes: map[string]schema.Attribute{"name": givenText("Name of the Infra, in `namespace`.", objectName())},
		},
		"publish": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: publish,
			Attributes: map[string]schema.Attribute{
				"dns_server":   textData("Name of the DNSServer, in `namespace`. Default: none.", objectName()),
				"proxy_server": textData("Name of the ProxyServer, in `namespace`. Default: none.", objectName()),
			},
		},
		"vlan": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "The VLAN's view. Default: as the DNSServer says.",
			Attributes: map[string]schema.Attribute{
				"dns_server": textData(server+"that answers with the endpoint; this machine can test both. Default: the DNSServer's "+
					"`serverIP` and `dnsPort`.", address),
				"network": textData("Network of the VLAN, as a CIDR: who is in it gets the VLAN's view. Default: the DNSServer's "+
					"`secondaryNetworkCIDR`.", network()),
			},
		},
		"pod": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "The pod network's view. Default: as the DNSServer says.",
			Attributes: map[string]schema.Attribute{
				"dns_server": textData(server+"that answers with the proxy; this machine can test it. Default: the ClusterIP of the "+
					"DNSServer's Service, and `dnsPort`.", address),
				"proxy": textData("IPv4 address of the proxy, Envoy: the answer of the pod network's view, and what HTTP and HTTPS are spoken "+
					"with; this machine can reach it. Default: the DNSServer's `internalProxyIP`; without one, HTTP and HTTPS go to the "+
					"ProxyServer's `serverIP`.", ipv4For(`Write the ClusterIP of the proxy, such as "192.0.2.30"`)),
			},
		},
		"public": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "A public resolver. Default: none is asked.",
			Attributes: map[string]schema.Attribute{
				"dns_server": givenText(server+"such as `192.0.2.53`.", address),
				"expected": textData("IPv4 address that it has to answer with, such as the outer one of a NAT. Default: `external_ip`, or where "+
					"`external_hostname` leads to.",
					ipv4For(`Write the public address of the ingress, such as "192.0.2.200"`)),
			},
		},
	}
}

// verificationManner says how the paths are tried.
func verificationManner() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"label": textData("What stands before `.apps.<domain>` in the names: a DNS label, or several joined by dots, such as the name of a "+
			"Route. Default: another random one each time, which every ingress has to answer.", dnsLabels()),
		"request": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "What is asked over HTTP and HTTPS. Default: `/`, and any answer of an HTTP server will do.",
			Attributes: map[string]schema.Attribute{
				"path": textData("Path of the URL. Default: `/`.", urlPath()),
				"status": numberData("Status that is wanted, such as `200`; only with a `label` that has a Route. Redirects are not followed: "+
					"where HTTP leads to HTTPS, name the paths of HTTPS in `check_paths`. Default: any.",
					numberFrom(100, 599, "an HTTP status")),
				"body": textData("Text that the body has to contain. Default: any body.", notEmpty()),
			},
		},
		"verify_certificate": schema.BoolAttribute{
			Optional: true, MarkdownDescription: "The certificate has to be valid for the name. Default: `false`, any certificate is taken.",
		},
		"ca_certificate": textData("PEM certificates that the ingress's one is verified with, with `verify_certificate`. Default: those "+
			"of the machine.", certificates()),
		"attempts": numberData("How often a path is tried at most, 1 to 100. Default: `1`.", numberFrom(1, 100, "a number of attempts")),
		"attempt_timeout": textData("Time for one attempt, as a duration. Default: `"+shortDuration(defaultAttemptTimeout)+"`.",
			duration()),
		"attempt_pause": textData("Time between two attempts, as a duration. Default: `"+shortDuration(defaultAttemptPause)+"`.", pause()),
		"transport": textData("How DNS servers are asked: `udp`, and over TCP what does not fit, or `tcp`. Default: `udp`.",
			oneOf(transportUDP, transportTCP)),
	}
}

func verificationResults() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"healthy": schema.BoolAttribute{Computed: true, MarkdownDescription: "At least one path is `ok`, and none has `failed`."},
		"paths": schema.ListNestedAttribute{
			Computed: true,
			MarkdownDescription: "All seven paths, always in this order: `vlan_dns`, `endpoint_http`, `endpoint_https`, `pod_dns`, " +
				"`proxy_http`, `proxy_https`, `public_dns`.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"name": seenText("Name of the path."),
				"result": seenText("`ok`, `failed`, `not_configured` (there is no such path, or `check_paths` leaves it out) or " +
					"`not_testable_from_here` (this machine is not in its network)."),
				"asked":    seenText("Address and port that were asked. Null when nothing was asked."),
				"expected": seenText("What the answer should be. Null when nothing is expected."),
				"observed": seenText("What the answer was. Null when there was none."),
				"message":  seenText("What to make of it. Null when the result is `ok`."),
			}},
		},
		"failed": schema.ListAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "A line for each path that has failed, with its name, who was asked, what was seen and what to make of it, as " +
				"the `error_message` of a check. Empty when none has.",
		},
	}
}
