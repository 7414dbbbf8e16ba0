package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

// typeName is the prefix of the types of all resources and data sources.
const typeName = "oooi"

// oooiProvider is the provider block: the connection to the management cluster.
type oooiProvider struct {
	version string
	connect connectFunc
	verify  verifyFunc
}

var _ provider.Provider = (*oooiProvider)(nil)

// New makes the provider. version is the released version, or "dev".
func New(version string) func() provider.Provider {
	return newProvider(version, connect)
}

func newProvider(version string, connect connectFunc) func() provider.Provider {
	return func() provider.Provider {
		return &oooiProvider{version: version, connect: connect, verify: probe.Verify}
	}
}

// providerData is what a configured provider hands to its resources and data sources.
type providerData struct {
	// engine is nil while an argument of the provider is unknown: nothing can be asked, and nothing is.
	engine engine
}

// engineOf is the engine of a configured provider. The provider is not configured at validate.
func engineOf(data any) (engine, diag.Diagnostics) {
	switch data := data.(type) {
	case nil:
		return nil, nil
	case *providerData:
		return data.engine, nil
	}
	return nil, diag.Diagnostics{providerDefect("taking over the provider's data", fmt.Errorf("unexpected provider data %T", data))}
}

// Metadata implements provider.Provider.
func (p *oooiProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = typeName
	resp.Version = p.version
}

// Schema implements provider.Provider.
func (p *oooiProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = providerSchema()
}

// Configure implements provider.Provider. It makes no connection and reads no file: the cluster may not exist yet.
func (p *oooiProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	if !req.Config.Raw.IsFullyKnown() {
		tflog.Debug(ctx, "an argument of the provider is unknown: no connection is made")
		resp.ResourceData, resp.DataSourceData = &providerData{}, &providerData{}
		if req.ClientCapabilities.DeferralAllowed {
			resp.Deferred = &provider.Deferred{Reason: provider.DeferredReasonProviderConfigUnknown}
		}
		return
	}

	var model providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	config, diags := model.config(ctx, "terraform-provider-oooi/"+p.version)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	e, err := p.connect(config)
	if err != nil {
		resp.Diagnostics.Append(providerArgumentsRefused(err))
		return
	}
	resp.ResourceData, resp.DataSourceData = &providerData{engine: e}, &providerData{engine: e}
}

// Resources implements provider.Provider.
func (p *oooiProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{newAppsIngressResource}
}

// DataSources implements provider.Provider.
func (p *oooiProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		newInfraDataSource,
		newAppsIngressDataSource,
		func() datasource.DataSource { return &verificationDataSource{verify: p.verify} },
	}
}
