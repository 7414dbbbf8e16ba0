package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// verb is what Terraform asks a resource to do; its text is the name of its timeout.
type verb string

const (
	verbCreate verb = "create"
	verbRead   verb = "read"
	verbUpdate verb = "update"
	verbDelete verb = "delete"
	verbImport verb = "import" // has the time of a read
)

func (v verb) defaultTimeout() time.Duration {
	switch v {
	case verbRead, verbImport:
		return defaultReadTimeout
	case verbUpdate:
		return defaultUpdateTimeout
	case verbDelete:
		return defaultDeleteTimeout
	case verbCreate:
	}
	return defaultCreateTimeout
}

// timeout is the verb's time, as configured.
func (v verb) timeout(ctx context.Context, t timeouts.Value) (time.Duration, diag.Diagnostics) {
	switch v {
	case verbRead, verbImport:
		return t.Read(ctx, v.defaultTimeout())
	case verbUpdate:
		return t.Update(ctx, v.defaultTimeout())
	case verbDelete:
		return t.Delete(ctx, v.defaultTimeout())
	case verbCreate:
	}
	return t.Create(ctx, v.defaultTimeout())
}
