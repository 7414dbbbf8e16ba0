package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// operation is one call of a verb, under way.
type operation struct {
	verb    verb
	spec    appsingress.Spec
	driver  appsingress.Driver
	budget  time.Duration
	started time.Time
	end     context.CancelFunc
}

// failed tells the user about a failure of the operation, now.
func (op operation) failed(err error) diag.Diagnostics {
	return failed(op, time.Since(op.started), err)
}

// begin is what every verb starts with: the spec, the time it may take, the same management cluster as before, and the
// driver. before is the private state so far, nil on create. On error there is nothing to end.
func (r *appsIngressResource) begin(
	ctx context.Context, v verb, m appsIngressModel, before privateReader, after privateWriter,
) (context.Context, operation, diag.Diagnostics) {
	return r.beginFrom(ctx, v, m, nil, before, after)
}

// beginUpdate is begin for an update, which also knows what was wanted before.
func (r *appsIngressResource) beginUpdate(
	ctx context.Context, planned, prior appsIngressModel, before privateReader, after privateWriter,
) (context.Context, operation, diag.Diagnostics) {
	previous, diags := prior.spec(ctx)
	if diags.HasError() {
		return ctx, operation{}, diags
	}
	return r.beginFrom(ctx, verbUpdate, planned, &previous, before, after)
}

func (r *appsIngressResource) beginFrom(
	ctx context.Context, v verb, m appsIngressModel, previous *appsingress.Spec, before privateReader, after privateWriter,
) (context.Context, operation, diag.Diagnostics) {
	if r.engine == nil {
		return ctx, operation{}, diag.Diagnostics{providerUnknown(v)}
	}
	spec, diags := m.spec(ctx)
	budget, d := v.timeout(ctx, m.Timeouts)
	diags.Append(d...)
	if diags.HasError() {
		return ctx, operation{}, diags
	}
	if before != nil {
		_, d = readPrivate(ctx, before, keyImported, &spec.Imported)
		diags.Append(d...)
	}
	op := operation{verb: v, spec: spec, budget: budget, started: time.Now()}
	ctx, op.end = context.WithTimeout(ctx, budget)
	ctx = tflog.SetField(ctx, "ingress", spec.ID())
	tflog.Debug(ctx, "apps ingress", map[string]any{"verb": string(v), "mode": string(spec.Mode), "timeout": budget.String()})

	diags.Append(r.sameCluster(ctx, v, spec, before, after)...)
	if diags.HasError() {
		op.end()
		return ctx, operation{}, diags
	}
	op.driver = r.engine.Driver(spec, previous)
	return ctx, op, diags
}

// sameCluster refuses to take another management cluster for the one that the ingress was made in: there everything answers
// 404, and that must never read as "gone". The first verb that gets here remembers the cluster.
func (r *appsIngressResource) sameCluster(
	ctx context.Context, v verb, spec appsingress.Spec, before privateReader, after privateWriter,
) diag.Diagnostics {
	if !usesManagement(spec) {
		return nil
	}
	found, err := r.clusterUID(ctx, v)
	if err != nil {
		return diag.Diagnostics{clusterUnread(v, err)}
	}
	if before != nil {
		var made string
		known, diags := readPrivate(ctx, before, keyClusterUID, &made)
		switch {
		case diags.HasError():
			return diags
		case known && made != found:
			return diag.Diagnostics{clusterChanged(made, found)}
		case known:
			return nil
		}
	}
	if v == verbDelete {
		return nil // its private state goes with the resource
	}
	return writePrivate(ctx, after, keyClusterUID, found)
}

// identifyPatience is how long a verb that changes something rides out a management cluster that does not answer.
const identifyPatience = 30 * time.Second

func (r *appsIngressResource) clusterUID(ctx context.Context, v verb) (uid string, err error) {
	if v == verbRead {
		return r.engine.ClusterUID(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, identifyPatience)
	defer cancel()
	err = kube.Retry(ctx, "identify the management cluster", func(ctx context.Context) error {
		uid, err = r.engine.ClusterUID(ctx)
		return err
	})
	return uid, err
}

// usesManagement is false for an ingress that only makes an endpoint in a cluster whose kubeconfig is a file.
func usesManagement(spec appsingress.Spec) bool {
	return spec.Mode == appsingress.ModeAttachment || !spec.HostedCluster.IsZero() ||
		spec.Infra != "" || spec.Publish != appsingress.Publish{}
}

// decideMode decides at apply what could not be decided in the plan, and repeats the refusals that depend on it.
func (r *appsIngressResource) decideMode(ctx context.Context, config tfsdk.Config, m *appsIngressModel) diag.Diagnostics {
	if r.engine == nil {
		return diag.Diagnostics{providerUnknown(verbCreate)}
	}
	diags := config.Get(ctx, m)
	if diags.HasError() {
		return diags
	}
	spec, d := m.specForMode(ctx)
	diags.Append(d...)
	if diags.HasError() {
		return diags
	}
	mode, _, err := r.engine.ResolveMode(ctx, spec) // what does not exist by now is not waited for
	switch {
	case err != nil:
		diags.Append(modeUnread(err))
	case mode == appsingress.ModeAttachment:
		opened, d := openConfig(ctx, *m)
		diags.Append(d...)
		diags.Append(opened.attachmentOptions()...)
	}
	if diags.HasError() {
		return diags
	}
	m.Mode = types.StringValue(string(mode))
	diags.Append(m.fillDefaults(ctx)...)
	m.planCreate(ctx)
	return diags
}
