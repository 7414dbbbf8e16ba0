package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// appsIngressResource is oooi_apps_ingress. It decodes, calls the driver, and writes state.
type appsIngressResource struct {
	engine engine // nil while the provider's arguments are unknown, and at validate
}

var (
	_ resource.ResourceWithConfigure      = (*appsIngressResource)(nil)
	_ resource.ResourceWithImportState    = (*appsIngressResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*appsIngressResource)(nil)
	_ resource.ResourceWithValidateConfig = (*appsIngressResource)(nil)
)

func newAppsIngressResource() resource.Resource { return &appsIngressResource{} }

// Metadata implements resource.Resource.
func (r *appsIngressResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_apps_ingress"
	// A deferred plan still shows defaults, names and what is unknown.
	resp.ResourceBehavior.ProviderDeferred.EnablePlanModification = true
}

// Schema implements resource.Resource.
func (r *appsIngressResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = appsIngressSchema()
}

// Configure implements resource.ResourceWithConfigure.
func (r *appsIngressResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	e, diags := engineOf(req.ProviderData)
	resp.Diagnostics.Append(diags...)
	r.engine = e
}

// Create implements resource.Resource. The state is written before the driver runs: whatever happens then, Terraform knows
// of the ingress, and destroy finds what was made.
func (r *appsIngressResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var planned appsIngressModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &planned)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if planned.Mode.IsUnknown() {
		resp.Diagnostics.Append(r.decideMode(ctx, req.Config, &planned)...)
		if resp.Diagnostics.HasError() {
			return
		}
	}
	ctx, op, diags := r.begin(ctx, verbCreate, planned, nil, resp.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	defer op.end()

	state, diags := planned.unfinished(ctx, appsingress.Status{})
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}

	status, err := op.driver.Ensure(ctx)
	switch {
	case err != nil && refusedBeforeWriting(err):
		resp.State.RemoveResource(ctx)
		resp.Diagnostics.Append(op.failed(err)...)
		return
	case err != nil:
		state, diags = planned.unfinished(ctx, status)
		resp.Diagnostics.Append(op.failed(err)...)
	default:
		state, diags = planned.finished(ctx, status)
	}
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Read implements resource.Resource. Only the certain answer that nothing is there removes the resource; every doubt is an
// error, and the state stays.
func (r *appsIngressResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	if r.engine == nil {
		tflog.Debug(ctx, "an argument of the provider is unknown: the state stays as it is")
		return
	}
	var state appsIngressModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, op, diags := r.begin(ctx, verbRead, state, req.Private, resp.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	defer op.end()

	status, err := op.driver.Observe(ctx)
	switch {
	case err != nil:
		resp.Diagnostics.Append(op.failed(err)...)
		return
	case !status.Found:
		tflog.Info(ctx, "nothing of the ingress is left: it goes from the state")
		resp.State.RemoveResource(ctx)
		return
	}
	if status.Unseen != "" {
		resp.Diagnostics.Append(hostedUnseen(status.Unseen))
	}
	resp.Diagnostics.Append(state.refresh(ctx, status)...)
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyDriftAffects, unionOf(status.Drift))...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Update implements resource.Resource. On failure the state is left alone: it is the prior one, and the next apply goes on.
func (r *appsIngressResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var planned, prior appsIngressModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &planned)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if same, diags := planned.sameInClusters(ctx, prior); same || diags.HasError() {
		resp.Diagnostics.Append(diags...)
		resp.Diagnostics.Append(resp.State.Set(ctx, &planned)...)
		return
	}
	ctx, op, diags := r.beginUpdate(ctx, planned, prior, req.Private, resp.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	defer op.end()

	status, err := op.driver.Ensure(ctx)
	if err != nil {
		resp.Diagnostics.Append(op.failed(err)...)
		return
	}
	state, diags := planned.finished(ctx, status)
	resp.Diagnostics.Append(diags...)
	if planned.addressKnown() && planned.endpoint() != status.Endpoint {
		resp.Diagnostics.Append(addressMoved(planned.endpoint(), status.Endpoint))
		resp.Diagnostics.Append(state.observe(ctx, status)...)
	}
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyDriftAffects, appsingress.Affects(0))...)
	resp.Diagnostics.Append(writePrivate(ctx, resp.Private, keyImported, false)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Delete implements resource.Resource. It works from the state alone.
func (r *appsIngressResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state appsIngressModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, op, diags := r.begin(ctx, verbDelete, state, req.Private, resp.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	defer op.end()

	warnings, err := op.driver.Remove(ctx)
	for _, text := range warnings {
		resp.Diagnostics.Append(leftBehind(text))
	}
	if err != nil {
		resp.Diagnostics.Append(op.failed(err)...)
	}
}
