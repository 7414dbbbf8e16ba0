package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// infraDataSource is data.oooi_infra: a VLAN, and what of its addresses is free.
type infraDataSource struct {
	engine engine // nil while the provider's arguments are unknown, and at validate
}

var _ datasource.DataSourceWithConfigure = (*infraDataSource)(nil)

func newInfraDataSource() datasource.DataSource { return &infraDataSource{} }

// Metadata implements datasource.DataSource.
func (d *infraDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_infra"
}

// Schema implements datasource.DataSource.
func (d *infraDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = infraSchema()
}

// Configure implements datasource.DataSourceWithConfigure.
func (d *infraDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	e, diags := engineOf(req.ProviderData)
	resp.Diagnostics.Append(diags...)
	d.engine = e
}

// Read implements datasource.DataSource.
func (d *infraDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m infraModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if d.engine == nil {
		resp.Diagnostics.Append(dataUnreadable(infraNoun))
		return
	}
	name := appsingress.NamespacedName{Namespace: m.Namespace.ValueString(), Name: m.Name.ValueString()}
	if name.Namespace == "" {
		name.Namespace = appsingress.DefaultNamespace
	}
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, defaultReadTimeout)
	defer cancel()
	infra, err := d.engine.Infra(ctx, name)
	if err != nil {
		resp.Diagnostics.Append(infraUnread(name, reading{budget: defaultReadTimeout, elapsed: time.Since(started), err: err}))
		return
	}
	m.describe(name, infra)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// describe fills in what the management cluster says.
func (m *infraModel) describe(name appsingress.NamespacedName, infra appsingress.Infra) {
	m.ID, m.Namespace = types.StringValue(name.String()), types.StringValue(name.Namespace)
	m.CIDR = types.StringNull()
	if infra.CIDR.IsValid() {
		m.CIDR = types.StringValue(infra.CIDR.String())
	}
	m.Gateway = addressValue(infra.Gateway)
	m.StaticAddresses = &staticAddressesModel{
		DHCP: addressValue(infra.DHCPServer), DNS: addressValue(infra.DNSServer), Proxy: addressValue(infra.ProxyServer),
	}
	if !infra.DHCPPool.IsZero() {
		pool := rangeValue(infra.DHCPPool)
		m.DHCPPool = &pool
	}
	m.Attachments = make([]infraAttachmentModel, 0, len(infra.Attachments))
	for _, a := range infra.Attachments {
		m.Attachments = append(m.Attachments, attachmentValue(a))
	}
	if infra.Free != nil {
		m.FreeRanges = make([]rangeModel, 0, len(infra.Free))
	}
	for _, free := range infra.Free {
		m.FreeRanges = append(m.FreeRanges, rangeValue(free))
	}
}

func attachmentValue(a appsingress.InfraAttachment) infraAttachmentModel {
	ip, hostname := endpointValues(a.Endpoint)
	return infraAttachmentModel{
		Name: types.StringValue(a.Name),
		HostedClusterRef: &objectRefModel{
			Name: orNull(a.HostedCluster.Name), Namespace: orNull(a.HostedCluster.Namespace),
		},
		Domain:           types.StringValue(a.Domain.String()),
		Enabled:          types.BoolValue(a.Enabled),
		Range:            orNull(a.Range.String()),
		Phase:            orNull(string(a.Phase)),
		Reason:           orNull(string(a.Reason)),
		Message:          orNull(a.Message),
		ExternalIP:       ip,
		ExternalHostname: hostname,
	}
}

func rangeValue(r addresspool.Range) rangeModel {
	return rangeModel{Range: types.StringValue(r.String()), Size: types.Int64Value(int64(r.Size()))} //nolint:gosec // 2^32 at most
}
