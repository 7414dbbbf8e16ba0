package provider

import (
	"github.com/hashicorp/terraform-plugin-framework-timeouts/datasource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// verificationModel is the data source as Terraform knows it.
type verificationModel struct {
	Domain            types.String   `tfsdk:"domain"`
	ExternalIP        types.String   `tfsdk:"external_ip"`
	ExternalHostname  types.String   `tfsdk:"external_hostname"`
	Ports             types.Object   `tfsdk:"ports"`
	Namespace         types.String   `tfsdk:"namespace"`
	InfraRef          types.Object   `tfsdk:"infra_ref"`
	Publish           types.Object   `tfsdk:"publish"`
	VLAN              types.Object   `tfsdk:"vlan"`
	Pod               types.Object   `tfsdk:"pod"`
	Public            types.Object   `tfsdk:"public"`
	CheckPaths        types.Set      `tfsdk:"check_paths"`
	Label             types.String   `tfsdk:"label"`
	Request           types.Object   `tfsdk:"request"`
	VerifyCertificate types.Bool     `tfsdk:"verify_certificate"`
	CACertificate     types.String   `tfsdk:"ca_certificate"`
	Attempts          types.Int32    `tfsdk:"attempts"`
	AttemptTimeout    types.String   `tfsdk:"attempt_timeout"`
	AttemptPause      types.String   `tfsdk:"attempt_pause"`
	Transport         types.String   `tfsdk:"transport"`
	Timeouts          timeouts.Value `tfsdk:"timeouts"`

	Healthy types.Bool `tfsdk:"healthy"`
	Paths   types.List `tfsdk:"paths"`
	Failed  types.List `tfsdk:"failed"`
}

type verificationVLANModel struct {
	DNSServer types.String `tfsdk:"dns_server"`
	Network   types.String `tfsdk:"network"`
}

type verificationPodModel struct {
	DNSServer types.String `tfsdk:"dns_server"`
	Proxy     types.String `tfsdk:"proxy"`
}

type verificationPublicModel struct {
	DNSServer types.String `tfsdk:"dns_server"`
	Expected  types.String `tfsdk:"expected"`
}

type verificationRequestModel struct {
	Path   types.String `tfsdk:"path"`
	Status types.Int32  `tfsdk:"status"`
	Body   types.String `tfsdk:"body"`
}

type verificationPathModel struct {
	Name     types.String `tfsdk:"name"`
	Result   types.String `tfsdk:"result"`
	Asked    types.String `tfsdk:"asked"`
	Expected types.String `tfsdk:"expected"`
	Observed types.String `tfsdk:"observed"`
	Message  types.String `tfsdk:"message"`
}
