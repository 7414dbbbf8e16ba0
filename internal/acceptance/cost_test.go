package acceptance

import (
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// What a plan of converged ingresses may cost, in requests to both clusters together, discovery included.
const (
	firstIngressRequests = 14
	nextIngressRequests  = 10
)

// A plan of converged ingresses costs few requests, and every one of them is a read.
func TestPlanRequests(t *testing.T) {
	w := newWorld(t, func(s *setup) {
		s.HostedClusters = []simulator.HostedCluster{
			{Name: clusterName, BaseDomain: baseDomain}, {Name: "second", BaseDomain: baseDomain},
		}
	})
	terraform := newCLI(t, w.config())
	terraform.apply()
	one := w.planRequests(terraform)
	if len(one) > firstIngressRequests {
		t.Errorf("one ingress: %d requests, at most %d are wanted:\n%s", len(one), firstIngressRequests, lines(one))
	}

	terraform.config(w.config() + `
resource "oooi_apps_ingress" "second" {
  hosted_cluster_ref = { name = "second" }
  publish            = { dns_server = "vlan-dns", proxy_server = "vlan-proxy" }
  dns                = { cluster_name = "second", base_domain = "clusters.example.com" }
  metallb            = { address_pool_name = "second-pool", ip_address_pool_range = "198.51.100.230/32" }
  service            = { name = "second-ingress" }
}
`)
	terraform.apply()
	two := w.planRequests(terraform)
	if more := len(two) - len(one); more > nextIngressRequests {
		t.Errorf("a second ingress: %d more requests, at most %d are wanted:\n%s", more, nextIngressRequests, lines(two))
	}
	t.Logf("one ingress: %d requests; two: %d\n%s", len(one), len(two), lines(two))
	terraform.destroy()
}

// planRequests are the requests of a plan that finds nothing to do.
func (w *world) planRequests(terraform *cli) []testcluster.AuditEntry {
	w.t.Helper()
	management, hosted := w.management.requests(), w.hosted.requests()
	terraform.unchanged()
	if writes := append(management.writes(), hosted.writes()...); len(writes) > 0 {
		w.t.Errorf("a plan wrote:\n%s", lines(writes))
	}
	return append(management.ofProvider(), hosted.ofProvider()...)
}
