package provider

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// providerSchema names every argument and its environment variable as the Kubernetes provider does, so that a
// configuration that works there works here.
func providerSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Gives the hosted clusters of [HyperShift](https://hypershift.pages.dev) a wildcard apps ingress through " +
			"oooi. The provider block is the connection to the *management cluster*, which runs HyperShift and oooi. " +
			"An argument wins over its environment variable, which wins over a kubeconfig file. " +
			"Without any of them the provider uses its service account when it runs in a pod.",
		Attributes: connectionAttributes(),
		Blocks: map[string]schema.Block{
			"exec": schema.ListNestedBlock{
				MarkdownDescription: "Program that prints credentials, as in a kubeconfig.",
				Validators:          []validator.List{listvalidator.SizeAtMost(1)},
				NestedObject:        schema.NestedBlockObject{Attributes: execAttributes()},
			},
		},
	}
}

func connectionAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"config_path": argument("Path of a kubeconfig file. Environment: `KUBE_CONFIG_PATH`."),
		"config_paths": schema.ListAttribute{
			Optional:            true,
			ElementType:         types.StringType,
			MarkdownDescription: "Paths of several kubeconfig files that are merged, the first wins. Environment: `KUBE_CONFIG_PATHS`.",
		},
		"config_context":           argument("Context of the kubeconfig; its current context by default. Environment: `KUBE_CTX`."),
		"config_context_cluster":   argument("Cluster of the kubeconfig, in place of the context's. Environment: `KUBE_CTX_CLUSTER`."),
		"config_context_auth_info": argument("User of the kubeconfig, in place of the context's. Environment: `KUBE_CTX_AUTH_INFO`."),
		"host":                     argument("URL of the API server, such as `https://api.mgmt.example.com:6443`. Environment: `KUBE_HOST`."),
		"token":                    secret("Bearer token. Environment: `KUBE_TOKEN`."),
		"client_certificate":       argument("PEM certificate for client authentication. Environment: `KUBE_CLIENT_CERT_DATA`."),
		"client_key":               secret("PEM key of `client_certificate`. Environment: `KUBE_CLIENT_KEY_DATA`."),
		"cluster_ca_certificate": argument("PEM certificates that the API server's one is verified with. " +
			"Environment: `KUBE_CLUSTER_CA_CERT_DATA`."),
		"insecure": schema.BoolAttribute{
			Optional:            true,
			MarkdownDescription: "Accept any certificate of the API server. Default `false`. Environment: `KUBE_INSECURE`.",
		},
		"tls_server_name": argument("Name that the API server's certificate must have; the host by default. " +
			"Environment: `KUBE_TLS_SERVER_NAME`."),
		"proxy_url": secret("URL of the proxy for all requests. It may hold a password. Environment: `KUBE_PROXY_URL`."),
	}
}

func argument(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description}
}

func secret(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
}

func execAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"api_version": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "API version of the credentials, such as `client.authentication.k8s.io/v1`.",
		},
		"command": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "The program to run.",
		},
		"args": schema.ListAttribute{
			Optional:            true,
			ElementType:         types.StringType,
			MarkdownDescription: "Its arguments.",
		},
		"env": schema.MapAttribute{
			Optional:            true,
			Sensitive:           true,
			ElementType:         types.StringType,
			MarkdownDescription: "Environment variables that it gets besides the provider's own.",
		},
	}
}
