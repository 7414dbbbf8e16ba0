package provider

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// appsIngressSchema is the resource's schema. What is optional and computed has a default, filled in by fillDefaults: most
// defaults depend on other attributes, and the framework's own cannot.
func appsIngressSchema() schema.Schema {
	attributes := computedAttributes()
	maps.Copy(attributes, map[string]schema.Attribute{
		"name": defaultedText("Name of the ingress in `namespace`; the Envoy backends are named after it. Default: "+
			"`hosted_cluster_ref.name`; required without `hosted_cluster_ref`. Changing it replaces the ingress.", objectName()),
		"namespace": defaultedText("Namespace of the management cluster that holds the Infra, DNSServer and ProxyServer. Default: "+
			"`clusters`. Changing it replaces the ingress.", namespaceName()),
		"mode": defaultedText("Who does the work in the hosted cluster: `direct` is this provider, `attachment` is the oooi "+
			"operator, told by an InfraClusterAttachment. Default: `attachment` when the Infra of `infra_ref` exists, else "+
			"`direct`. Changing it replaces the ingress.", oneOf("direct", "attachment")),
		"infra_ref":             infraRefAttribute(),
		"publish":               publishAttribute(),
		"hosted_cluster_ref":    hostedClusterRefAttribute(),
		"hosted_cluster_access": hostedClusterAccessAttribute(),
		"dns":                   dnsAttribute(),
		"metallb":               metalLBAttribute(),
		"service":               serviceAttribute(),
		"ports":                 portsAttribute(),
		"adopt_existing": defaultedBool("Take over objects of the wanted names that exist already and were not made by this " +
			"ingress. What was taken over stays in place on destroy, also after this is unset. Default: `false`. Changed in place."),
		"timeouts": timeoutsAttribute(),
	})
	return schema.Schema{
		Version: 0,
		MarkdownDescription: "The apps ingress of one hosted cluster: MetalLB is installed in the hosted cluster, a LoadBalancer " +
			"Service fronts its default IngressController, and `*.apps.<cluster_name>.<base_domain>` is published in oooi's DNS and " +
			"Envoy.",
		Attributes: attributes,
	}
}

func infraRefAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "The oooi Infra, the shared VLAN that the hosted cluster is on. Changing it replaces the ingress.",
		Attributes: map[string]schema.Attribute{
			"name": requiredText("Name of the Infra, in `namespace`. Changing it replaces the ingress.", objectName()),
		},
	}
}

func publishAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		Computed: true,
		MarkdownDescription: "Where the ingress is published, in direct mode. Default: `<infra>-dns` and `<infra>-proxy` with " +
			"`infra_ref`, nothing without it. Either may be left out. Changed in place.",
		Attributes: map[string]schema.Attribute{
			"dns_server": optionalText("Name of the DNSServer, in `namespace`, that gets the wildcard record. Default: no record is "+
				"published. Changed in place.", objectName()),
			"proxy_server": optionalText("Name of the ProxyServer, in `namespace`, that gets the two Envoy backends. Default: no "+
				"backend is published. Changed in place.", objectName()),
		},
	}
}

func hostedClusterRefAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "The HyperShift HostedCluster; its admin kubeconfig is read at run time and kept in memory only. " +
			"Required, except in direct mode with `hosted_cluster_access.config_path`. Changing it replaces the ingress.",
		Attributes: map[string]schema.Attribute{
			"name": requiredText("Name of the HostedCluster. Changing it replaces the ingress.", objectName()),
			"namespace": defaultedText("Namespace of the HostedCluster. Default: `clusters`. Changing it replaces the "+
				"ingress.", namespaceName()),
		},
	}
}

func hostedClusterAccessAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Another way to the hosted cluster's API: where its kubeconfig is when not in the HostedCluster's " +
			"Secret, and what of it is overridden. Default: the Secret's kubeconfig as it is. Changed in place.",
		Attributes: map[string]schema.Attribute{
			"config_path": optionalText("Path of a kubeconfig file of the hosted cluster. Default: the HostedCluster's Secret is "+
				"read. Changed in place.", notEmpty()),
			"config_context": optionalText("Context of the kubeconfig. Default: its current context. Changed in place.", notEmpty()),
			"host": optionalText("URL of the API server in place of the kubeconfig's; the name in its certificate is still that of "+
				"the kubeconfig. Default: the kubeconfig's. Changed in place.", notEmpty()),
			"tls_server_name": optionalText("Name that the API server's certificate must have. Default: the host of the kubeconfig. "+
				"Changed in place.", notEmpty()),
			"cluster_ca_certificate": optionalText("PEM certificates that the API server's one is verified with. Default: those of "+
				"the kubeconfig. Changed in place.", notEmpty()),
			"insecure": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Accept any certificate of the API server. Default: `false`. Changed in place.",
			},
			"proxy_url": schema.StringAttribute{
				Optional:  true,
				Sensitive: true,
				MarkdownDescription: "URL of the proxy for all requests to the hosted cluster. It may hold a password. Default: the " +
					"kubeconfig's. Changed in place.",
				Validators: []validator.String{notEmpty()},
			},
		},
	}
}

func dnsAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Required: true,
		MarkdownDescription: "The DNS name of the hosted cluster: the wildcard is `*.apps.<cluster_name>.<base_domain>`. Changing " +
			"it replaces the ingress.",
		Attributes: map[string]schema.Attribute{
			"cluster_name": requiredText("First label of the name, such as `demo`. Changing it replaces the ingress.", clusterName()),
			"base_domain": requiredText("The rest of the name, such as `clusters.example.com`. A trailing dot is accepted and means "+
				"nothing. Changing it replaces the ingress.", baseDomain()),
		},
	}
}

func metalLBAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Required:            true,
		MarkdownDescription: "MetalLB in the hosted cluster, and the addresses it may give.",
		Attributes: map[string]schema.Attribute{
			"address_pool_name": requiredText("Name of the IPAddressPool. Changed in place: the address stays as long as it is in "+
				"the range, and is out of service for a moment.", objectName()),
			"ip_address_pool_range": requiredText("Addresses of the pool, IPv4: a range such as `192.0.2.200-192.0.2.220` or a "+
				"CIDR. They must be unused, on the same L2 network as the workers. Ranges are compared as sets of addresses: "+
				"writing the same set another way is no change. Changed in place: an address that the new range does not hold is "+
				"replaced by a new one.", addressRange()),
			"l2_advertisement_name": defaultedText("Name of the L2Advertisement. Default: `advertise-<address_pool_name>`. Changed "+
				"in place.",
				objectName()),
			"auto_assign": defaultedBool("Whether Services that ask for no pool may take an address from this one. Default in " +
				"direct mode: `false`. Changed in place."),
			"namespace": defaultedText("Namespace of the hosted cluster where the MetalLB operator and its objects live. Default in "+
				"direct mode: `openshift-operators`. Changing it replaces the ingress.", namespaceName()),
			"install": defaultedBool("Install the MetalLB operator through OLM. `false`: MetalLB is there already, OLM is not " +
				"asked, and a missing API is an error; a Subscription that this resource made before then stays, also when the ingress is " +
				"destroyed. Default in direct mode: `true`. Changed in place."),
			"subscription": subscriptionAttribute(),
			"load_balancer_class": optionalText("Class of the Service, for hosted clusters where another controller also serves "+
				"LoadBalancer Services. A MetalLB object that exists already must have the same class. Default: no class. Changing "+
				"it replaces the ingress.", qualifiedName()),
		},
	}
}

func subscriptionAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		Computed: true,
		MarkdownDescription: "How OLM finds the MetalLB operator, for mirrored catalogs of disconnected clusters. Approval is " +
			"always automatic. Default in direct mode with `install`: Red Hat's catalog. Changed in place.",
		Attributes: map[string]schema.Attribute{
			"channel": defaultedText("Channel of the package. Default: `stable`. Changed in place.", notEmpty()),
			"source":  defaultedText("Name of the CatalogSource. Default: `redhat-operators`. Changed in place.", objectName()),
			"source_namespace": defaultedText("Namespace of the CatalogSource. Default: `openshift-marketplace`. Changed in place.",
				namespaceName()),
			"package": defaultedText("Name of the package. Default: `metallb-operator`. Changed in place.", objectName()),
			"starting_csv": optionalText("ClusterServiceVersion to install first. Default: the channel's newest. Changed in place.",
				objectName()),
		},
	}
}

func serviceAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		Computed: true,
		MarkdownDescription: "The LoadBalancer Service in front of the default IngressController. Default: `oooi-ingress` in " +
			"`openshift-ingress`, without metadata of its own.",
		Attributes: map[string]schema.Attribute{
			"name": defaultedText("Name of the Service. Default: `oooi-ingress`. Changing it replaces the ingress.", serviceName()),
			"namespace": defaultedText("Namespace of the Service. Default: `openshift-ingress`. Changing it replaces the "+
				"ingress.", namespaceName()),
			"annotations": schema.MapAttribute{
				Optional:    true,
				ElementType: types.StringType,
				MarkdownDescription: "Annotations of the Service. Keys set here are owned, everything else on the Service is left " +
					"alone. The keys that pick MetalLB's pool and address are refused. Default: none. Changed in place.",
				Validators: []validator.Map{annotations()},
			},
			"labels": schema.MapAttribute{
				Optional:    true,
				ElementType: types.StringType,
				MarkdownDescription: "Labels of the Service. Keys set here are owned, everything else on the Service is left alone. " +
					"Default: none. Changed in place.",
				Validators: []validator.Map{labels()},
			},
			"load_balancer_ip": optionalText("IPv4 address to take; it must be in `metallb.ip_address_pool_range`. Default: MetalLB "+
				"picks one. Changed in place.", ipv4()),
			"external_traffic_policy": defaultedText("`Cluster` or `Local`. Default in direct mode: `Cluster`. Changed in place.",
				oneOf("Cluster", "Local")),
		},
	}
}

func portsAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		Computed: true,
		MarkdownDescription: "Ports of the Service and of the Envoy backends; the target port is always the router's. Default: 80 " +
			"and 443. Changed in place.",
		Attributes: map[string]schema.Attribute{
			"http":  defaultedPort("Port for HTTP, 1 to 65535. Default: `80`. Changed in place."),
			"https": defaultedPort("Port for HTTPS, 1 to 65535, another one than `http`. Default: `443`. Changed in place."),
		},
	}
}

func requiredText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: description, Validators: validators}
}

func optionalText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

func defaultedText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: description, Validators: validators}
}

func defaultedBool(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, Computed: true, MarkdownDescription: description}
}

func defaultedPort(description string) schema.Int32Attribute {
	return schema.Int32Attribute{
		Optional: true, Computed: true, MarkdownDescription: description, Validators: []validator.Int32{port()},
	}
}
