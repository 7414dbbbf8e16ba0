package provider

import (
	"errors"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

const testAddress = "oooi_apps_ingress.test"

func at(steps ...string) tfjsonpath.Path {
	p := tfjsonpath.New(steps[0])
	for _, step := range steps[1:] {
		p = p.AtMapKey(step)
	}
	return p
}

func text(want string, steps ...string) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(testAddress, at(steps...), knownvalue.StringExact(want))
}

func null(steps ...string) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(testAddress, at(steps...), knownvalue.Null())
}

func action(want plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(testAddress, want)}}
}

func emptyPlan() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
}

// Every step of terraform-plugin-testing ends with a plan that must be empty.
func TestCreateUpdateDestroy(t *testing.T) {
	t.Parallel()
	w := newWorld()
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{
				Config: ingress(),
				ConfigStateChecks: []statecheck.StateCheck{
					text("clusters/demo", "id"),
					text("demo", "name"),
					text("clusters", "namespace"),
					text("direct", "mode"),
					text("clusters", "hosted_cluster_ref", "namespace"),
					text("demo.clusters.example.com", "domain"),
					text("*.apps.demo.clusters.example.com", "wildcard_domain"),
					text("192.0.2.200", "external_ip"),
					null("external_hostname"),
					text("Ready", "phase"),
					text("ReconciliationSucceeded", "reason"),
					text("metallb-operator.stable", "installed_csv"),
					text("advertise-apps", "metallb", "l2_advertisement_name"),
					text("openshift-operators", "metallb", "namespace"),
					text("redhat-operators", "metallb", "subscription", "source"),
					text("oooi-ingress", "service", "name"),
					text("Cluster", "service", "external_traffic_policy"),
					null("service", "annotations"),
					statecheck.ExpectKnownValue(testAddress, at("metallb", "auto_assign"), knownvalue.Bool(false)),
					statecheck.ExpectKnownValue(testAddress, at("ports", "https"), knownvalue.Int32Exact(443)),
					statecheck.ExpectKnownValue(testAddress, at("drift"), knownvalue.ListExact(nil)),
					statecheck.ExpectKnownValue(testAddress, at("dns_records"), knownvalue.ListSizeExact(1)),
					statecheck.ExpectKnownValue(testAddress, at("proxy_backends"), knownvalue.ListSizeExact(2)),
				},
			},
			{
				Config:           ingress(`service = { labels = { team = "a" } }`),
				ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			},
		},
	})
	wantCalls(t, w, "ensure", "ensure", "remove")
	if w.previous == nil || w.previous.Service.Labels != nil || w.specs[1].Service.Labels["team"] != "a" {
		t.Errorf("the update saw %+v before %+v", w.previous, w.specs[1])
	}
}

// Optional attributes all given, none of them at its default; then taken out again.
func TestEverythingSet(t *testing.T) {
	t.Parallel()
	full := ingress(
		`name = "other"`,
		`namespace = "tenants"`,
		`mode = "direct"`,
		`infra_ref = { name = "vlan100" }`,
		`publish = { dns_server = "d" }`,
		`hosted_cluster_ref = { name = "demo", namespace = "hcps" }`,
		`hosted_cluster_access = {
			config_context = "c", host = "https://127.0.0.1:1", tls_server_name = "x", insecure = false, proxy_url = "http://p"
		}`,
		`metallb = {
			address_pool_name = "p", ip_address_pool_range = "192.0.2.192/27", l2_advertisement_name = "l2", auto_assign = true
			namespace = "metallb-system", install = true, load_balancer_class = "example.com/apps"
			subscription = { channel = "c", source = "s", source_namespace = "sn", package = "pk", starting_csv = "pk.v1" }
		}`,
		`service = {
			name = "svc", namespace = "ns", annotations = {}, labels = { a = "b" }
			load_balancer_ip = "192.0.2.201", external_traffic_policy = "Local"
		}`,
		`ports = { http = 8080, https = 8443 }`,
		`adopt_existing = true`,
		`timeouts = { create = "45m", read = "2m", update = "1h", delete = "90s" }`,
	)
	w := newWorld()
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: full, ConfigStateChecks: []statecheck.StateCheck{
				text("192.0.2.201", "external_ip"),
				null("publish", "proxy_server"),
				statecheck.ExpectKnownValue(testAddress, at("proxy_backends"), knownvalue.ListExact(nil)),
				statecheck.ExpectKnownValue(testAddress, at("service", "annotations"), knownvalue.MapExact(nil)),
			}},
			{Config: ingress(), ConfigPlanChecks: action(plancheck.ResourceActionReplace)},
		},
	})
	spec := w.specs[0]
	if spec.MetalLB.Subscription.StartingCSV != "pk.v1" || spec.Access.Host == "" || !spec.AdoptExisting || spec.Ports.HTTP != 8080 {
		t.Errorf("the spec misses what was set: %+v", spec)
	}
}

func TestHostnameEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.live.Endpoint = appsingress.Endpoint{Hostname: "lb.example.com"}
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{{
			Config: ingress(),
			ConfigStateChecks: []statecheck.StateCheck{
				text("lb.example.com", "external_hostname"),
				null("external_ip"),
				statecheck.ExpectKnownValue(testAddress, at("dns_records"), knownvalue.ListExact(nil)),
			},
		}},
	})
}

func TestCreateFailureKeepsState(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.live = appsingress.Status{
		Found: true, Phase: appsingress.PhasePending, Reason: appsingress.ReasonWaitingForExternalIP, InstalledCSV: "csv",
	}
	w.ensureErr = &appsingress.StepError{
		Step: 6, Of: 7, Name: "endpoint", Exists: []string{"Service openshift-ingress/oooi-ingress"}, Err: errors.New("no available IPs"),
	}
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: ingress(), ExpectError: regexp.MustCompile(`The apps ingress was not created\n(?s:.*)Step 6 of 7: endpoint`)},
			{
				// What exists is destroyed and made again: Terraform's way with a failed create.
				PreConfig:        w.set(func(w *world) { w.ensureErr = nil }),
				Config:           ingress(),
				ConfigPlanChecks: action(plancheck.ResourceActionDestroyBeforeCreate),
			},
		},
	})
	wantCalls(t, w, "ensure", "remove", "ensure", "remove")
}

// Nothing exists and nothing was changed: there is nothing to taint.
func TestRefusedCreateLeavesNoState(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.ensureErr = &appsingress.StepError{Step: 1, Of: 7, Name: "worker", Refused: true, Err: errors.Join(
		&appsingress.ConfigError{Attribute: "metallb.ip_address_pool_range", Problem: "it overlaps a pool", Remedy: "choose another"},
		&appsingress.ConfigError{Attribute: "publish.dns_server", Problem: "it does not exist", Remedy: "create it"},
	)}
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{
				Config:      ingress(),
				ExpectError: regexp.MustCompile(`(?s)metallb.ip_address_pool_range: it overlaps.*publish.dns_server: it does`),
			},
			{
				PreConfig:        w.set(func(w *world) { w.ensureErr = nil }),
				Config:           ingress(),
				ConfigPlanChecks: action(plancheck.ResourceActionCreate),
			},
		},
	})
}

func TestUpdateFailureKeepsPriorState(t *testing.T) {
	t.Parallel()
	w := newWorld()
	changed := ingress(`service = { labels = { team = "a" } }`)
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: ingress()},
			{
				PreConfig: w.set(func(w *world) {
					w.ensureErr = &appsingress.StepError{Step: 5, Of: 7, Name: "service", Err: errors.New("no")}
				}),
				Config:      changed,
				ExpectError: regexp.MustCompile(`The apps ingress was not updated`),
			},
			{Config: ingress(), ConfigPlanChecks: emptyPlan()},
			{
				PreConfig:        w.set(func(w *world) { w.ensureErr = nil }),
				Config:           changed,
				ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			},
		},
	})
}

func TestReadErrorKeepsState(t *testing.T) {
	t.Parallel()
	w := newWorld()
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: ingress()},
			{
				PreConfig:    w.set(func(w *world) { w.observeErr = errors.New("connection refused") }),
				RefreshState: true,
				ExpectError:  regexp.MustCompile(`The apps ingress could not be read`),
			},
			{
				PreConfig:        w.set(func(w *world) { w.observeErr = nil }),
				Config:           ingress(),
				ConfigPlanChecks: emptyPlan(),
			},
		},
	})
}

func TestGoneIsRemovedFromState(t *testing.T) {
	t.Parallel()
	w := newWorld()
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: ingress()},
			{
				PreConfig:        w.set(func(w *world) { w.live = appsingress.Status{} }),
				Config:           ingress(),
				ConfigPlanChecks: action(plancheck.ResourceActionCreate),
			},
		},
	})
}

func TestOtherManagementCluster(t *testing.T) {
	t.Parallel()
	w := newWorld()
	another := w.set(func(w *world) { w.uid, w.live.Found = "uid-2", false })
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: ingress()},
			{PreConfig: another, RefreshState: true, ExpectError: regexp.MustCompile(`management cluster is another one`)},
			{Config: ingress(), Destroy: true, ExpectError: regexp.MustCompile(`management cluster is another one`)},
			{
				PreConfig:        w.set(func(w *world) { w.uid, w.live.Found = "uid-1", true }),
				Config:           ingress(),
				ConfigPlanChecks: emptyPlan(),
			},
		},
	})
}

func TestDestroyFailureKeepsState(t *testing.T) {
	t.Parallel()
	w := newWorld()
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: ingress()},
			{
				PreConfig:   w.set(func(w *world) { w.removeErr, w.warnings = errors.New("finalizer stays"), []string{"a pool was left"} }),
				Config:      ingress(),
				Destroy:     true,
				ExpectError: regexp.MustCompile(`The apps ingress was not removed`),
			},
			{
				PreConfig:        w.set(func(w *world) { w.removeErr = nil }),
				Config:           ingress(),
				ConfigPlanChecks: emptyPlan(),
			},
		},
	})
}

// Settings of the provider's own way of working reach no cluster.
func TestLocalSettingsWriteNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: ingress()},
			{
				Config: ingress(`timeouts = { create = "1h" }`, `adopt_existing = true`,
					`hosted_cluster_access = { host = "https://127.0.0.1:1" }`),
				ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
			},
		},
	})
	wantCalls(t, w, "ensure", "remove")
}
