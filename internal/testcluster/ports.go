package testcluster

import (
	"context"
	"fmt"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

// UnreachableURL is an API address that refuses every connection: a loopback port that nobody listens on.
func UnreachableURL(ctx context.Context) (string, error) {
	ports, err := process.FreePorts(ctx, 1)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("https://127.0.0.1:%d", ports[0]), nil
}
