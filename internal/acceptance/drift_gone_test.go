package acceptance

import (
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

var definitions = kindOf("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition")

// shown is a step that only looks: the plan has to name these differences, and nothing is applied.
func shown(config string, before func(), want drifted) resource.TestStep {
	return resource.TestStep{
		PreConfig:          before,
		Config:             config,
		ConfigPlanChecks:   resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{want}},
		PlanOnly:           true,
		ExpectNonEmptyPlan: true,
	}
}

// A HostedCluster that is gone is a difference and not the end of the ingress; one that names no kubeconfig is an error.
func TestHostedClusterGone(t *testing.T) {
	w := newWorld(t)
	hyperShift := w.sims.HyperShift
	w.test(
		resource.TestStep{Config: w.config()},
		shown(w.config(), func() {
			w.must(hyperShift.Delete(t.Context(), "clusters", clusterName))
			w.management.await("the end of the HostedCluster", func() bool {
				return w.management.get(hostedClusters, "clusters", clusterName) == nil
			})
		}, drifted{lines: []string{"HostedCluster clusters/demo: missing"}, ip: firstIP, address: true}),
		resource.TestStep{
			Config:      w.config(set("timeouts.update", text("10s"))),
			ExpectError: regexp.MustCompile(`HostedCluster\s+clusters/demo\s+does\s+not\s+exist`),
		},
		resource.TestStep{
			PreConfig: func() {
				w.must(hyperShift.Create(t.Context(), simulator.HostedCluster{
					Name: clusterName, BaseDomain: baseDomain, WithoutKubeconfig: true,
				}))
			},
			RefreshState: true,
			ExpectError:  regexp.MustCompile(`names\s+no\s+kubeconfig`),
		},
		resource.TestStep{
			PreConfig: func() {
				kubeconfig := w.pair.Hosted.KubeconfigBytes(testcluster.UserProvider)
				w.must(hyperShift.PublishKubeconfig(t.Context(), "clusters", clusterName, kubeconfig))
			},
			Config:           w.config(),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(address, "drift.#", "0"),
				resource.TestCheckResourceAttrSet(address, "installed_csv"),
			),
		},
	)
}

// When nothing is left of an ingress it leaves the state, and the plan is to create it.
func TestEverythingDeletedByHand(t *testing.T) {
	w := newWorld(t)
	w.test(
		resource.TestStep{Config: w.config()},
		resource.TestStep{
			PreConfig: func() {
				w.unpublished(dnsServers, "staticEntries", "hostname", wildcard)
				w.unpublished(proxyServers, "backends", "hostname", wildcard)
				for _, k := range []kind{services, advertisements, pools, metallbs, subscriptions} {
					w.at(k).gone()
				}
			},
			Config: w.config(),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(address, plancheck.ResourceActionCreate),
			}},
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(address, "external_ip", firstIP),
				w.published(firstIP, firstIP),
			),
		},
	)
}

// Without MetalLB's API the ingress has drifted: the plan says what is missing, an apply ends with what it waits for and keeps the
// state, the next one repairs when the API is back, and a destroy needs none of it.
func TestDefinitionsDeletedByHand(t *testing.T) {
	w := newWorld(t)
	crds, err := testcluster.MetalLBCRDs()
	w.must(err)
	remove := func() {
		w.at(metallbs).gone() // its operator stops MetalLB: the Service keeps its address
		for _, crd := range crds {
			w.must(w.hosted.client(definitions, "").Delete(t.Context(), crd.GetName(), metav1.DeleteOptions{}))
		}
		w.hosted.await("the end of the API metallb.io", func() bool {
			return !w.hosted.serves(metallbs) && !w.hosted.serves(pools) && !w.hosted.serves(advertisements)
		})
	}
	gone := drifted{
		lines: []string{metallbLine + "missing", poolLine + "missing", advertisementLine + "missing"}, ip: firstIP, address: true,
	}
	w.test(
		resource.TestStep{Config: w.config()},
		shown(w.config(), remove, gone),
		resource.TestStep{
			Config:      w.config(set("timeouts.update", text("2s"))),
			ExpectError: regexp.MustCompile(`(?s)metallb\.io/v1beta1.*the\s+state\s+is\s+the\s+one\s+from\s+before`),
		},
		resource.TestStep{
			PreConfig:        func() { w.must(w.pair.Hosted.InstallCRDs(t.Context(), crds...)) },
			Config:           w.config(),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{gone}},
			Check:            w.published(firstIP, firstIP),
		},
		shown(w.config(), remove, gone),
	)
	if left := w.hosted.get(services, "openshift-ingress", "oooi-ingress"); left != nil {
		t.Error("the Service is left")
	}
}
