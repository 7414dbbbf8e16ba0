package provider

import (
	"errors"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

const withInfra = `infra_ref = { name = "vlan100" }`

func movedError() *regexp.Regexp {
	return regexp.MustCompile(`The address moved between plan and apply`)
}

// Infra absent, or cluster not readable: the mode and what depends on it is unknown in the plan and decided at apply.
func TestModeDecidedAtApply(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){
		"Infra absent":        func(w *world) { w.known = false },
		"cluster unreachable": func(w *world) { w.modeErr = errors.New("connection refused") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			change(w)
			config := ingress(withInfra, `publish = `)
			terraformTest(t, resource.TestCase{
				ProtoV6ProviderFactories: w.factories(),
				Steps: []resource.TestStep{
					{
						Config: config, PlanOnly: true, ExpectNonEmptyPlan: true,
						ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{unknowns{
							"mode", "publish", "metallb", "service",
							"external_ip", "external_hostname", "dns_records", "proxy_backends", "installed_csv", "reason", "message",
						}}},
					},
					{
						PreConfig: w.set(func(w *world) { w.modeErr = nil }),
						Config:    config,
						ConfigStateChecks: []statecheck.StateCheck{
							text("direct", "mode"),
							text("vlan100-dns", "publish", "dns_server"),
							text("vlan100-proxy", "publish", "proxy_server"),
							statecheck.ExpectKnownValue(testAddress, at("metallb", "auto_assign"), knownvalue.Bool(false)),
						},
					},
				},
			})
		})
	}
}

func TestModeUnreadableAtApply(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.modeErr = errors.New("connection refused")
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{{
			Config: ingress(withInfra, `publish = `), ExpectError: regexp.MustCompile(`The apps ingress was not created`),
		}},
	})
	wantCalls(t, w)
}

// An Infra that exists calls for attachment mode. What only direct mode knows is null there, and refused when it is set.
func TestInfraExists(t *testing.T) {
	t.Parallel()
	refused := regexp.MustCompile(`(?s)publish:\s+it\s+is\s+set,\s+and\s+the\s+oooi\s+operator`)
	w := newWorld()
	w.mode = appsingress.ModeAttachment
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: ingress(withInfra), PlanOnly: true, ExpectError: refused},
			{Config: ingress(`mode = "attachment"`, withInfra), ExpectError: refused},
			{Config: ingress(`mode = "attachment"`, `publish = `), ExpectError: regexp.MustCompile(`infra_ref:\s+it\s+is\s+not\s+set`)},
			// Said explicitly, direct mode is not asked about: the driver refuses what it must.
			{Config: ingress(`mode = "direct"`, withInfra), ConfigStateChecks: []statecheck.StateCheck{text("direct", "mode")}},
			// The mode of an ingress stays.
			{Config: ingress(withInfra), ConfigPlanChecks: emptyPlan()},
			{
				Config: ingress(`mode = "attachment"`, withInfra, `publish = `),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(testAddress, plancheck.ResourceActionDestroyBeforeCreate),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					text("attachment", "mode"), null("publish"), null("metallb", "auto_assign"), null("metallb", "namespace"),
					null("metallb", "install"), null("metallb", "subscription"), null("service", "external_traffic_policy"),
				},
			},
			{Config: ingress(withInfra, `publish = `), ConfigPlanChecks: emptyPlan()},
		},
	})
}

// Values that another resource makes in the same apply.
func TestUnknownInputs(t *testing.T) {
	t.Parallel()
	w := newWorld()
	config := `
		resource "terraform_data" "in" {
		  input = { name = "demo", pool = "apps", range = "192.0.2.200-192.0.2.220", service = { labels = { a = "b" } }, infra = "vlan100" }
		}
	` + ingress(
		`hosted_cluster_ref = { name = terraform_data.in.output.name }`,
		`dns = { cluster_name = terraform_data.in.output.name, base_domain = "example.com" }`,
		`metallb = { address_pool_name = terraform_data.in.output.pool, ip_address_pool_range = terraform_data.in.output.range }`,
		`service = terraform_data.in.output.service`,
		`infra_ref = { name = terraform_data.in.output.infra }`,
		`publish = `,
	)
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{{
			Config: config,
			ConfigStateChecks: []statecheck.StateCheck{
				text("clusters/demo", "id"),
				text("advertise-apps", "metallb", "l2_advertisement_name"),
				text("vlan100-dns", "publish", "dns_server"),
				text("Cluster", "service", "external_traffic_policy"),
			},
		}},
	})
}

// Arguments of the provider that come from a resource of the same run: plan makes no connection, apply has them.
func TestUnknownProviderArguments(t *testing.T) {
	t.Parallel()
	w := newWorld()
	config := func(host string) string {
		return `
			resource "terraform_data" "cluster" {
			  input = "` + host + `"
			}
			provider "oooi" {
			  host = terraform_data.cluster.output
			}
		` + ingress(withInfra, `publish = `)
	}
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{
				Config: config("https://127.0.0.1:1"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectUnknownValue(testAddress, at("mode")),
					plancheck.ExpectKnownValue(testAddress, at("id"), knownvalue.StringExact("clusters/demo")),
				}},
				ConfigStateChecks: []statecheck.StateCheck{text("192.0.2.200", "external_ip")},
			},
			{
				// The state of an ingress that exists stays as it is, whatever a cluster would have said.
				PreConfig: w.set(drifted(appsingress.AffectsAddress)),
				Config:    config("https://127.0.0.1:2"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("terraform_data.cluster", plancheck.ResourceActionUpdate),
					plancheck.ExpectResourceAction(testAddress, plancheck.ResourceActionNoop),
				}},
				ExpectNonEmptyPlan: true,
			},
		},
	})
}
