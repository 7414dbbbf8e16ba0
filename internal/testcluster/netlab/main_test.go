package netlab_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// TestMain looks for goroutines that outlive the labs once all clusters are gone.
func TestMain(m *testing.M) {
	code := testcluster.Main(m)
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
