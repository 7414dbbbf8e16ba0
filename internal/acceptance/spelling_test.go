package acceptance

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// What is written another way and means the same is no change: every default written out, and every block left out; a base domain
// with and without its trailing dot; a range in any of its spellings. The state has the text that the user wrote.
func TestSpellingsOfTheSame(t *testing.T) {
	w := newWorld(t)
	spaced := "198.51.100.200 - 198.51.100.207"
	addresses := func(text string) change { return set("metallb.ip_address_pool_range", fmt.Sprintf("%q", text)) }
	dotted := set("dns.base_domain", text(baseDomain+"."))
	short := set("dns.base_domain", text(baseDomain))
	all := w.everythingWritten()
	w.test(
		resource.TestStep{
			Config: w.config(append(all, addresses(spaced), dotted)...),
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(address, "dns.base_domain", baseDomain+"."),
				resource.TestCheckResourceAttr(address, "metallb.ip_address_pool_range", spaced),
				resource.TestCheckResourceAttr(address, "domain", "demo."+baseDomain),
				w.published(firstIP, firstIP), noTrailingDot,
			),
		},
		unchangedWith(w.config(append(all, addresses("198.51.100.203/29"), short)...)),
		unchangedWith(w.config(append(all, addresses("198.51.100.200-198.51.100.207"), short)...)),
		resource.TestStep{
			// Only empty maps are no longer written: no object changes with them.
			Config: w.config(addresses("198.51.100.203/29")),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
				plancheck.ExpectResourceAction(downstream, plancheck.ResourceActionNoop),
			}},
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckNoResourceAttr(address, "service.annotations.%"),
				resource.TestCheckResourceAttr(address, "metallb.ip_address_pool_range", spaced),
			),
		},
		resource.TestStep{
			Config: w.config(addresses("198.51.100.201-198.51.100.201")),
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(address, "metallb.ip_address_pool_range", "198.51.100.201-198.51.100.201"),
				w.published("198.51.100.201", "198.51.100.201"),
			),
		},
		unchangedWith(w.config(addresses("198.51.100.201/32"), dotted)),
		resource.TestStep{
			Config: w.config(addresses("198.51.100.203/29")),
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(address, "metallb.ip_address_pool_range", "198.51.100.203/29"),
				resource.TestCheckResourceAttr(address, "external_ip", "198.51.100.201"),
			),
		},
	)
}

// everythingWritten writes out the defaults of all that is optional.
func (w *world) everythingWritten() []change {
	return []change{
		set("name", text(clusterName)), set("namespace", text("clusters")), set("mode", text("direct")), set("adopt_existing", "false"),
		set("hosted_cluster_ref.namespace", text("clusters")), set("hosted_cluster_access", "{}"),
		set("metallb.l2_advertisement_name", text("advertise-"+poolName)), set("metallb.auto_assign", "false"),
		set("metallb.namespace", text("openshift-operators")), set("metallb.install", "true"),
		set("metallb.subscription", object("channel", "stable", "source", "redhat-operators",
			"source_namespace", "openshift-marketplace", "package", "metallb-operator")),
		set("service.name", text(serviceName)), set("service.namespace", text(serviceNamespace)),
		set("service.external_traffic_policy", text("Cluster")), set("service.annotations", "{}"), set("service.labels", "{}"),
		set("ports", "{ http = 80, https = 443 }"),
		set("timeouts", object("create", "30m", "read", "1m", "update", "30m", "delete", "15m")),
	}
}

// unchangedWith is a step whose configuration is no change.
func unchangedWith(config string) resource.TestStep {
	return resource.TestStep{
		Config:           config,
		ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
	}
}

// noTrailingDot checks what the provider says of itself. What it has published is compared elsewhere.
func noTrailingDot(state *terraform.State) error {
	values := state.RootModule().Resources[address].Primary.Attributes
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if strings.HasSuffix(values[name], ".") && name != "dns.base_domain" {
			errs = append(errs, fmt.Errorf("%s is %q", name, values[name]))
		}
	}
	return errors.Join(errs...)
}
