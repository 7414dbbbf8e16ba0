package acceptance

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// A Service whose status is empty at the first read and whole at the next has not drifted; one that stays empty has, and its last
// address stays in the state until there is another one.
func TestAddressGoneForAMomentAndForGood(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.throughProxy = true })
	blinks := w.pair.Hosted.Proxy()
	var blink *testcluster.Rule
	w.test(
		resource.TestStep{Config: w.config()},
		resource.TestStep{
			PreConfig: func() {
				w.clearAddress()
				blink = blinks.Add(testcluster.Match{Verbs: []string{testcluster.VerbGet}, Path: "/services/oooi-ingress$", Times: 1},
					func(e testcluster.Exchange) {
						e.Forward.ServeHTTP(e.Writer, e.Request)
						w.resume()
					})
			},
			Config:   w.config(),
			PlanOnly: true,
		},
		resource.TestStep{
			PreConfig: func() {
				if blink.Hits() != 1 {
					t.Errorf("the empty status was read %d times", blink.Hits())
				}
				w.awaitAddress(firstIP)
				w.clearAddress()
			},
			Config: w.config(),
			ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{drifted{
				lines:   []string{serviceLine + "status.loadBalancer.ingress is missing, want " + poolRange},
				ip:      firstIP,
				address: true,
			}}},
			PlanOnly:           true,
			ExpectNonEmptyPlan: true,
		},
		resource.TestStep{
			PreConfig: func() {
				w.resume()
				w.awaitAddress(firstIP)
			},
			Config:   w.config(),
			PlanOnly: true,
		},
	)
}

// clearAddress takes the Service's address away from a MetalLB that does not react.
func (w *world) clearAddress() {
	w.t.Helper()
	if err := w.sims.PauseMetalLB(0); err != nil {
		w.t.Fatal(err)
	}
	if err := w.sims.BlinkServiceStatus(w.hosted.ctx(), "openshift-ingress", "oooi-ingress", 0); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) resume() {
	if err := w.sims.ResumeMetalLB(); err != nil {
		w.t.Error(err)
	}
}

// An address that moves inside the cluster is shown as a change of external_ip; what uses it, DNS and Envoy follow in the same apply.
func TestAddressMovedInTheClusterIsFollowed(t *testing.T) {
	const moved = "198.51.100.205"
	w := newWorld(t)
	w.test(
		resource.TestStep{Config: w.config()},
		resource.TestStep{
			PreConfig: func() {
				w.at(services).annotate("metallb.io/loadBalancerIPs", moved)
				w.awaitAddress(moved)
				w.at(services).annotate("metallb.io/loadBalancerIPs", nil)
			},
			Config: w.config(),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				drifted{
					lines: []string{
						dnsLine + "spec.staticEntries[" + wildcard + "].ip is " + firstIP + ", want " + moved,
						proxyLine + "spec.backends[demo-apps-http].targetService is " + firstIP + ", want " + moved,
						proxyLine + "spec.backends[demo-apps-https].targetService is " + firstIP + ", want " + moved,
					},
					ip:    moved,
					moved: true,
				},
				plancheck.ExpectResourceAction(downstream, plancheck.ResourceActionUpdate),
			}},
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(address, "external_ip", moved),
				resource.TestCheckResourceAttr(address, "dns_records.0.value", moved),
				resource.TestCheckResourceAttr(address, "proxy_backends.0.target", moved),
				resource.TestCheckResourceAttr(downstream, "output", moved),
				w.published(moved, moved),
			),
		},
	)
}
