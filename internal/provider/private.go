package provider

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// Keys of the private state: what the provider must remember and a user has no use for.
const (
	keyClusterUID   = "cluster_uid"   // of the management cluster that the ingress was made in
	keyDriftAffects = "drift_affects" // union of what the drift lines in state affect
	keyImported     = "imported"      // imported, and not updated since: what has no marks is this ingress's
)

// affectsAll is the safe answer where lines are in state and nothing says what they affect.
const affectsAll = appsingress.AffectsAddress | appsingress.AffectsPublication | appsingress.AffectsOperator

// privateReader and privateWriter are the framework's private state, which has no exported type.
type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// readPrivate reports whether the key was there.
func readPrivate(ctx context.Context, from privateReader, key string, value any) (bool, diag.Diagnostics) {
	data, diags := from.GetKey(ctx, key)
	if len(data) == 0 || diags.HasError() {
		return false, diags
	}
	if err := json.Unmarshal(data, value); err != nil {
		diags.Append(providerDefect("reading the private state "+key, err))
		return false, diags
	}
	return true, diags
}

func writePrivate(ctx context.Context, to privateWriter, key string, value any) diag.Diagnostics {
	data, err := json.Marshal(value)
	if err != nil {
		return diag.Diagnostics{providerDefect("writing the private state "+key, err)}
	}
	return to.SetKey(ctx, key, data)
}

// readDriftAffects is what the drift in state affects; drifted says that there is any.
func readDriftAffects(ctx context.Context, from privateReader, drifted bool) (appsingress.Affects, diag.Diagnostics) {
	if !drifted {
		return 0, nil
	}
	var affects appsingress.Affects
	found, diags := readPrivate(ctx, from, keyDriftAffects, &affects)
	if !found {
		return affectsAll, diags
	}
	return affects, diags
}

// unionOf is what a list of differences affects as a whole.
func unionOf(drift []appsingress.Difference) appsingress.Affects {
	var affects appsingress.Affects
	for _, d := range drift {
		affects |= d.Affects
	}
	return affects
}
