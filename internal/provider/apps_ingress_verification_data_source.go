package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

// verifyFunc tries the paths of an ingress.
type verifyFunc func(ctx context.Context, request probe.Request) []probe.Path

// verificationDataSource is data.oooi_apps_ingress_verification: whether an ingress can be reached from here.
type verificationDataSource struct {
	verify verifyFunc
	engine engine // nil while the provider's arguments are unknown, and at validate
}

var (
	_ datasource.DataSourceWithConfigure      = (*verificationDataSource)(nil)
	_ datasource.DataSourceWithValidateConfig = (*verificationDataSource)(nil)
)

// Metadata implements datasource.DataSource.
func (d *verificationDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_apps_ingress_verification"
}

// Schema implements datasource.DataSource.
func (d *verificationDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = verificationSchema()
}

// Configure implements datasource.DataSourceWithConfigure.
func (d *verificationDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	e, diags := engineOf(req.ProviderData)
	resp.Diagnostics.Append(diags...)
	d.engine = e
}

// ValidateConfig implements datasource.DataSourceWithValidateConfig.
func (d *verificationDataSource) ValidateConfig(
	ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse,
) {
	var m verificationModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if m.ExternalIP.ValueString() != "" && m.ExternalHostname.ValueString() != "" {
		resp.Diagnostics.Append(valueRefused(path.Root("external_hostname"), "external_ip is set, too, and an ingress has only one of the two",
			"Leave one of the two out"))
	}
	if m.CACertificate.ValueString() != "" && !m.VerifyCertificate.IsUnknown() && !m.VerifyCertificate.ValueBool() {
		resp.Diagnostics.Append(valueRefused(path.Root("ca_certificate"), "without verify_certificate = true no certificate is verified",
			"Set verify_certificate, or leave ca_certificate out"))
	}
}

// Read implements datasource.DataSource. Whatever it meets is a result, and no error.
func (d *verificationDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m verificationModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	budget, diags := m.Timeouts.Read(ctx, defaultReadTimeout)
	resp.Diagnostics.Append(diags...)
	v, diags := m.verification(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	paths := d.verify(ctx, v.request(d.servers(ctx, budget, v)))
	resp.Diagnostics.Append(m.describe(ctx, paths)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// servers are where the ingress is published. A management cluster that says nothing leaves half of the time for the paths that do
// not need it.
func (d *verificationDataSource) servers(ctx context.Context, budget time.Duration, v verification) appsingress.Servers {
	switch {
	case v.publish == appsingress.Publish{}:
		return appsingress.Servers{}
	case d.engine == nil:
		return unaskedServers(v.namespace, v.publish)
	}
	ctx, cancel := context.WithTimeout(ctx, budget/2)
	defer cancel()
	return d.engine.Servers(ctx, v.namespace, v.publish)
}

// unaskedServers are those of a management cluster that there is no connection to yet.
func unaskedServers(namespace string, publish appsingress.Publish) (s appsingress.Servers) {
	if publish.DNSServer != "" {
		s.DNS.Name = appsingress.NamespacedName{Namespace: namespace, Name: publish.DNSServer}
		s.DNS.Err = errProviderUnknown
	}
	if publish.ProxyServer != "" {
		s.Proxy.Name = appsingress.NamespacedName{Namespace: namespace, Name: publish.ProxyServer}
		s.Proxy.Err = errProviderUnknown
	}
	return s
}
