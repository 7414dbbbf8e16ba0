package testcluster_test

import (
	"os"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Main(m)) }

func TestStart(t *testing.T) {
	pair := testcluster.Start(t)
	for _, cluster := range []*testcluster.Cluster{pair.Management, pair.Hosted} {
		snap, err := cluster.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Log(cluster.Name, len(snap.Objects))
		if os.Getenv("V") != "" {
			for k := range snap.Objects {
				t.Log(k)
			}
		}
	}
}
