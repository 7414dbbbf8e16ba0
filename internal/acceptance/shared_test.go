package acceptance

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// background runs something until the test ends.
func (w *world) background(run func(context.Context)) {
	ctx, cancel := context.WithCancel(w.hosted.ctx())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	w.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// Two ingresses in one hosted cluster share MetalLB and its operator, whoever of them installed it: the first that is destroyed
// leaves them to the other, and the last one takes them away.
func TestIngressesShareMetalLB(t *testing.T) {
	w := newWorld(t, func(s *setup) {
		s.HostedClusters = []simulator.HostedCluster{
			{Name: clusterName, BaseDomain: baseDomain}, {Name: "second", BaseDomain: baseDomain},
		}
	})
	w.settled()
	second := fmt.Sprintf(`
provider "oooi" {
  config_path = %q
}

resource "oooi_apps_ingress" "second" {
  hosted_cluster_ref = { name = "second" }
  publish            = { dns_server = %q, proxy_server = %q }
  dns                = { cluster_name = "second", base_domain = %q }
  metallb            = { address_pool_name = "second-pool", ip_address_pool_range = "198.51.100.230/32" }
  service            = { name = "second-ingress" }
}
`, w.managementKubeconfig(), dnsName, proxyName, baseDomain)
	management, hosted := w.management.snapshot(), w.hosted.snapshot()
	c := newCLI(t, w.config())
	c.apply()
	_, resourceOfSecond, _ := strings.Cut(second, "}\n")
	c.config(w.config() + resourceOfSecond)
	c.apply()

	c.config(second)
	c.apply()
	c.unchanged()
	w.at(metallbs).must()
	csv := w.at(subscriptions).field("status", "installedCSV")
	w.hosted.must(csvs, "openshift-operators", csv)
	if w.hosted.get(services, "openshift-ingress", "oooi-ingress") != nil {
		t.Error("the first ingress is still there")
	}
	if ip := c.values("oooi_apps_ingress.second")["external_ip"]; ip != "198.51.100.230" {
		t.Errorf("the second ingress has %v", ip)
	}
	c.destroy()
	w.management.sameAs(management)
	w.hosted.sameAs(hosted)
}

// A create that is killed after its last write has told Terraform nothing. The next one knows everything as its own.
func TestCreateIsKilledAfterItsLastWrite(t *testing.T) {
	w := newWorld(t)
	w.settled()
	management, hosted := w.management.snapshot(), w.hosted.snapshot()
	config := strings.ReplaceAll(w.config(), w.managementKubeconfig(), w.pair.Management.KubeconfigThroughProxy(testcluster.UserProvider))
	hold, release := testcluster.Hold()
	defer release()
	w.pair.Management.Proxy().Add(testcluster.Match{Path: "/dnsservers/", Verbs: []string{testcluster.VerbPut}, Times: 1}, hold)
	c := newCLI(t, config)
	apply := c.start(applyFlags()...)
	w.management.await("the entry", func() bool { return len(list(w.at(dnsServers).must(), "spec", "staticEntries")) == 2 })
	apply.killProvider()
	if output, code := apply.wait(); code != 1 {
		t.Fatalf("exit code %d:\n%s", code, output)
	}
	if state := c.values(address); state != nil {
		t.Errorf("the state has %v", state)
	}
	release()

	recorded := w.management.requests()
	c.apply()
	for _, write := range recorded.writes() {
		if write.Response.Code != http.StatusOK {
			t.Errorf("written again: %s", write)
		}
	}
	if err := w.checkPublished(firstIP, firstIP, 80, 443); err != nil {
		t.Error(err)
	}
	c.unchanged()
	c.destroy()
	w.management.sameAs(management)
	w.hosted.sameAs(hosted)
}
