package acceptance

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// One apply goes from an empty hosted cluster to an address that is in state, in DNS, in Envoy and in a downstream resource.
func TestCreate(t *testing.T) {
	w := newWorld(t)
	if w.hosted.serves(pools) {
		t.Fatal("the hosted cluster serves metallb.io before the test")
	}
	w.test(resource.TestStep{
		Config: w.config(),
		ConfigPlanChecks: resource.ConfigPlanChecks{
			PreApply: []plancheck.PlanCheck{
				plancheck.ExpectUnknownValue(address, path("external_ip")),
				plancheck.ExpectResourceAction(downstream, plancheck.ResourceActionCreate),
			},
		},
		Check: resource.ComposeAggregateTestCheckFunc(
			resource.TestCheckResourceAttr(address, "external_ip", firstIP),
			resource.TestCheckNoResourceAttr(address, "external_hostname"),
			resource.TestCheckResourceAttr(address, "phase", "Ready"),
			resource.TestCheckResourceAttr(address, "reason", "ReconciliationSucceeded"),
			resource.TestCheckResourceAttr(address, "drift.#", "0"),
			resource.TestCheckResourceAttr(address, "id", "clusters/demo"),
			resource.TestCheckResourceAttr(address, "wildcard_domain", wildcard),
			resource.TestCheckResourceAttr(address, "dns_records.#", "2"),
			resource.TestCheckResourceAttr(address, "proxy_backends.#", "2"),
			resource.TestCheckResourceAttr(downstream, "output", firstIP),
			w.published(firstIP, firstIP),
		),
	})
}

// A load balancer that answers with a host name: Envoy gets it, and there is no A record.
func TestCreateWithHostname(t *testing.T) {
	const name = "lb-1.cloud.example.com"
	w := newWorld(t, hostnameLoadBalancer(name))
	w.test(resource.TestStep{
		Config: w.config(),
		Check: resource.ComposeAggregateTestCheckFunc(
			resource.TestCheckResourceAttr(address, "external_hostname", name),
			resource.TestCheckNoResourceAttr(address, "external_ip"),
			resource.TestCheckResourceAttr(address, "dns_records.#", "0"),
			resource.TestCheckResourceAttr(address, "proxy_backends.0.target", name),
			resource.TestCheckResourceAttr(downstream, "output", name),
			w.published("", name),
		),
	})
}

// hostnameLoadBalancer puts a load balancer that gives host names in MetalLB's place.
func hostnameLoadBalancer(name string) func(*setup) {
	return func(s *setup) { s.answer = simulator.Always(simulator.Ingress{Hostname: name}) }
}

// published checks what is live in the DNSServer and the ProxyServer: the wildcard's record (empty: none) and its backends'
// target (empty: none), and that the entries of others are as they were.
func (w *world) published(record, target string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		return w.checkPublished(record, target, 80, 443)
	}
}
