package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

type providerModel struct {
	ConfigPath            types.String `tfsdk:"config_path"`
	ConfigPaths           types.List   `tfsdk:"config_paths"`
	ConfigContext         types.String `tfsdk:"config_context"`
	ConfigContextCluster  types.String `tfsdk:"config_context_cluster"`
	ConfigContextAuthInfo types.String `tfsdk:"config_context_auth_info"`
	Host                  types.String `tfsdk:"host"`
	Token                 types.String `tfsdk:"token"`
	ClientCertificate     types.String `tfsdk:"client_certificate"`
	ClientKey             types.String `tfsdk:"client_key"`
	ClusterCACertificate  types.String `tfsdk:"cluster_ca_certificate"`
	Insecure              types.Bool   `tfsdk:"insecure"`
	TLSServerName         types.String `tfsdk:"tls_server_name"`
	ProxyURL              types.String `tfsdk:"proxy_url"`
	Exec                  []execModel  `tfsdk:"exec"`
}

type execModel struct {
	APIVersion types.String `tfsdk:"api_version"`
	Command    types.String `tfsdk:"command"`
	Args       types.List   `tfsdk:"args"`
	Env        types.Map    `tfsdk:"env"`
}

// config turns known arguments into a kube.Config. Only what is really there is set: what is not falls through to the
// environment.
func (m providerModel) config(ctx context.Context, userAgent string) (kube.Config, diag.Diagnostics) {
	var diags diag.Diagnostics
	config := kube.Config{
		ConfigPath:            given(m.ConfigPath),
		ConfigContext:         given(m.ConfigContext),
		ConfigContextCluster:  given(m.ConfigContextCluster),
		ConfigContextAuthInfo: given(m.ConfigContextAuthInfo),
		Host:                  given(m.Host),
		Token:                 given(m.Token),
		ClientCertificate:     given(m.ClientCertificate),
		ClientKey:             given(m.ClientKey),
		ClusterCACertificate:  given(m.ClusterCACertificate),
		Insecure:              m.Insecure.ValueBoolPointer(),
		TLSServerName:         given(m.TLSServerName),
		ProxyURL:              given(m.ProxyURL),
		UserAgent:             userAgent,
	}
	if !m.ConfigPaths.IsNull() {
		diags.Append(m.ConfigPaths.ElementsAs(ctx, &config.ConfigPaths, false)...)
	}
	for _, e := range m.Exec {
		config.Exec = &kube.Exec{APIVersion: e.APIVersion.ValueString(), Command: e.Command.ValueString()}
		if !e.Args.IsNull() {
			diags.Append(e.Args.ElementsAs(ctx, &config.Exec.Args, false)...)
		}
		if !e.Env.IsNull() {
			diags.Append(e.Env.ElementsAs(ctx, &config.Exec.Env, false)...)
		}
	}
	return config, diags
}

// given is nil for an empty string too: a module passes one on for an argument that its caller left out.
func given(v types.String) *string {
	if v.ValueString() == "" {
		return nil
	}
	return v.ValueStringPointer()
}
