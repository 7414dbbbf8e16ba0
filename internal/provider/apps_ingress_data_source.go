package provider

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// appsIngressDataSource is data.oooi_apps_ingress: an ingress that another configuration manages.
type appsIngressDataSource struct {
	engine engine // nil while the provider's arguments are unknown, and at validate
}

var (
	_ datasource.DataSourceWithConfigure      = (*appsIngressDataSource)(nil)
	_ datasource.DataSourceWithValidateConfig = (*appsIngressDataSource)(nil)
)

func newAppsIngressDataSource() datasource.DataSource { return &appsIngressDataSource{} }

// Metadata implements datasource.DataSource.
func (d *appsIngressDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_apps_ingress"
}

// Schema implements datasource.DataSource.
func (d *appsIngressDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = appsIngressDataSchema()
}

// Configure implements datasource.DataSourceWithConfigure.
func (d *appsIngressDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	e, diags := engineOf(req.ProviderData)
	resp.Diagnostics.Append(diags...)
	d.engine = e
}

// ValidateConfig implements datasource.DataSourceWithValidateConfig: an ingress is named in one way, and only one.
func (d *appsIngressDataSource) ValidateConfig(
	ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse,
) {
	var m appsIngressDataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	access := open[hostedClusterAccessModel](ctx, m.HostedClusterAccess, &resp.Diagnostics)
	switch {
	case !m.AttachmentRef.IsNull():
		others := map[string]types.Object{
			"hosted_cluster_access": m.HostedClusterAccess, "hosted_cluster_ref": m.HostedClusterRef, "service": m.Service,
		}
		for _, name := range slices.Sorted(maps.Keys(others)) {
			if !others[name].IsNull() && !others[name].IsUnknown() && !m.AttachmentRef.IsUnknown() {
				resp.Diagnostics.Append(valueRefused(path.Root(name), "attachment_ref already says which ingress is meant",
					"Leave one of the two out"))
			}
		}
	case m.HostedClusterRef.IsNull() && !access.Unknown && access.Value.ConfigPath.IsNull():
		resp.Diagnostics.Append(valueRefused(path.Root("attachment_ref"), "nothing says which ingress is meant",
			"Set attachment_ref, or hosted_cluster_ref, or hosted_cluster_access.config_path"))
	}
}

// Read implements datasource.DataSource.
func (d *appsIngressDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m appsIngressDataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	budget, diags := m.timeout(ctx)
	resp.Diagnostics.Append(diags...)
	query, diags := m.query(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if d.engine == nil {
		resp.Diagnostics.Append(dataUnreadable(ingressNoun))
		return
	}
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	ingress, err := d.engine.Ingress(ctx, query)
	if err != nil {
		resp.Diagnostics.Append(ingressUnread(query, reading{budget: budget, elapsed: time.Since(started), err: err}))
		return
	}
	resp.Diagnostics.Append(m.describe(ctx, ingress)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// timeout is the time of the read. A read that waits has more of it.
func (m appsIngressDataModel) timeout(ctx context.Context) (time.Duration, diag.Diagnostics) {
	if m.WaitUntilReady.ValueBool() {
		return m.Timeouts.Read(ctx, defaultWaitTimeout)
	}
	return m.Timeouts.Read(ctx, defaultReadTimeout)
}

// query is what the configuration asks for, with every default filled in.
func (m appsIngressDataModel) query(ctx context.Context) (appsingress.Query, diag.Diagnostics) {
	var diags diag.Diagnostics
	q := appsingress.Query{AwaitReady: m.WaitUntilReady.ValueBool()}
	if !m.AttachmentRef.IsNull() {
		ref := open[objectRefModel](ctx, m.AttachmentRef, &diags).Value
		q.Attachment = namespacedName(ref.Namespace, ref.Name, appsingress.DefaultNamespace, "")
		return q, diags
	}
	if !m.HostedClusterRef.IsNull() {
		ref := open[objectRefModel](ctx, m.HostedClusterRef, &diags).Value
		q.HostedCluster = namespacedName(ref.Namespace, ref.Name, appsingress.DefaultNamespace, "")
	}
	service := open[objectRefModel](ctx, m.Service, &diags).Value
	q.Service = namespacedName(service.Namespace, service.Name, appsingress.DefaultServiceNamespace, appsingress.DefaultServiceName)
	q.Access = open[hostedClusterAccessModel](ctx, m.HostedClusterAccess, &diags).Value.access()
	return q, diags
}

// namespacedName takes the defaults for what is not set.
func namespacedName(namespace, name types.String, defaultNamespace, defaultName string) appsingress.NamespacedName {
	n := appsingress.NamespacedName{Namespace: namespace.ValueString(), Name: name.ValueString()}
	if namespace.IsNull() {
		n.Namespace = defaultNamespace
	}
	if name.IsNull() {
		n.Name = defaultName
	}
	return n
}

// describe fills in what the clusters say.
func (m *appsIngressDataModel) describe(ctx context.Context, ingress appsingress.Ingress) diag.Diagnostics {
	var diags diag.Diagnostics
	m.ID = orNull(ingress.ID)
	m.Mode = types.StringValue(string(ingress.Mode))
	m.Domain, m.WildcardDomain = types.StringValue(ingress.Domain.String()), types.StringValue(ingress.Domain.Wildcard())
	m.Phase, m.Reason, m.Message = orNull(string(ingress.Phase)), orNull(string(ingress.Reason)), orNull(ingress.Message)
	m.ExternalIP, m.ExternalHostname = endpointValues(ingress.Endpoint)
	ranges := []string{}
	if !ingress.Range.IsZero() {
		ranges = append(ranges, ingress.Range.String())
	}
	m.Ranges = packList(ctx, m.Ranges, ranges, &diags)
	return diags
}
