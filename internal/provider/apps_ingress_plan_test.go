package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// unknowns wants exactly these attributes to be unknown in the plan of the ingress.
type unknowns []string

func (want unknowns) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, change := range req.Plan.ResourceChanges {
		if change.Address != testAddress {
			continue
		}
		unknown, ok := change.Change.AfterUnknown.(map[string]any)
		if !ok {
			resp.Error = fmt.Errorf("after_unknown is %T", change.Change.AfterUnknown)
			return
		}
		var got []string
		for _, name := range slices.Sorted(maps.Keys(unknown)) {
			if holdsTrue(unknown[name]) {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
			resp.Error = fmt.Errorf("unknown values (-want +got):\n%s", diff)
		}
		return
	}
	resp.Error = errors.New("the plan does not have the ingress")
}

// holdsTrue looks through the nested form of after_unknown.
func holdsTrue(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), holdsTrue)
	case []any:
		return slices.ContainsFunc(v, holdsTrue)
	}
	return false
}

func onlyUnknown(what plancheck.ResourceActionType, names ...string) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(testAddress, what), unknowns(names)}}
}

// The table of what a plan does not know, cell by cell.
func TestUnknownInPlan(t *testing.T) {
	t.Parallel()
	const update, replace = plancheck.ResourceActionUpdate, plancheck.ResourceActionReplace
	published := []string{"dns_records", "proxy_backends", "reason", "message"}
	everything := append([]string{"external_ip", "external_hostname"}, published...)
	operator := []string{"installed_csv", "reason", "message"}
	metallb := func(options string) string {
		return ingress(`metallb = { address_pool_name = "apps", ip_address_pool_range = "192.0.2.200-192.0.2.220", ` + options + ` }`)
	}
	create := append([]string{"installed_csv"}, everything...)

	for name, test := range map[string]struct {
		start   string // the configuration before; the default one when empty
		world   func(*world)
		config  string
		want    plancheck.ResourceActionType
		unknown []string
	}{
		"range without the address": {
			config: ingress(`metallb = { address_pool_name = "apps", ip_address_pool_range = "192.0.2.210-192.0.2.220" }`),
			want:   update, unknown: everything,
		},
		"range with the address": {
			config: ingress(`metallb = { address_pool_name = "apps", ip_address_pool_range = "192.0.2.192/27" }`),
			want:   update,
		},
		"pool renamed": {
			config: ingress(`metallb = { address_pool_name = "new", ip_address_pool_range = "192.0.2.200-192.0.2.220" }`),
			want:   update,
		},
		"advertisement renamed": {
			config: metallb(`l2_advertisement_name = "l2"`),
			want:   update,
		},
		"auto assign": {
			config: metallb(`auto_assign = true`),
			want:   update,
		},
		"pinned elsewhere": {
			config: ingress(`service = { load_balancer_ip = "192.0.2.215" }`), want: update, unknown: everything,
		},
		"pinned where it is": {
			config: ingress(`service = { load_balancer_ip = "192.0.2.200" }`), want: update,
		},
		"pin taken off": {
			start: ingress(`service = { load_balancer_ip = "192.0.2.215" }`), config: ingress(), want: update,
		},
		"class": {
			config: metallb(`load_balancer_class = "a/b"`),
			want:   replace, unknown: create,
		},
		"ports": {
			config: ingress(`ports = { https = 8443 }`), want: update, unknown: published,
		},
		"published elsewhere": {
			config: ingress(`publish = { dns_server = "other-dns" }`), want: update, unknown: published,
		},
		"subscription": {
			config: metallb(`subscription = { channel = "4.20" }`),
			want:   update, unknown: operator,
		},
		"installed by somebody else": {
			config: metallb(`install = false`),
			want:   update, unknown: operator,
		},
		"labels":           {config: ingress(`service = { labels = { a = "b" } }`), want: update},
		"annotations":      {config: ingress(`service = { annotations = { a = "b" } }`), want: update},
		"external traffic": {config: ingress(`service = { external_traffic_policy = "Local" }`), want: update},
		"name":             {config: ingress(`name = "other"`), want: replace, unknown: create},
		"namespace":        {config: ingress(`namespace = "other"`), want: replace, unknown: create},
		"hosted cluster": {
			config: ingress(`hosted_cluster_ref = { name = "demo", namespace = "x" }`), want: replace, unknown: create,
		},
		"domain":                {config: ingress(`dns = { cluster_name = "demo", base_domain = "b.c" }`), want: replace, unknown: create},
		"service name":          {config: ingress(`service = { name = "other" }`), want: replace, unknown: create},
		"service namespace":     {config: ingress(`service = { namespace = "other" }`), want: replace, unknown: create},
		"drift of a label":      {world: drifted(0), config: ingress(), want: update},
		"drift of the address":  {world: drifted(appsingress.AffectsAddress), config: ingress(), want: update, unknown: everything},
		"drift of a backend":    {world: drifted(appsingress.AffectsPublication), config: ingress(), want: update, unknown: published},
		"drift of the operator": {world: drifted(appsingress.AffectsOperator), config: ingress(), want: update, unknown: operator},
		"the address moved away": {
			world: func(w *world) { w.live.Endpoint = address("192.0.2.99") }, config: ingress(), want: update, unknown: everything,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			change := test.world
			if change == nil {
				change = func(*world) {}
			}
			start := test.start
			if start == "" {
				start = ingress()
			}
			terraformTest(t, resource.TestCase{
				ProtoV6ProviderFactories: w.factories(),
				Steps: []resource.TestStep{
					{Config: start, ConfigPlanChecks: onlyUnknown(plancheck.ResourceActionCreate, create...)},
					{PreConfig: w.set(change), Config: test.config, ConfigPlanChecks: onlyUnknown(test.want, test.unknown...)},
				},
			})
		})
	}
}

// Field case 8 and 38: what means the same is no change, and the text of the first apply stays in state.
func TestSpellingIsNoChange(t *testing.T) {
	t.Parallel()
	w := newWorld()
	spelled := func(pool, domain string) string {
		return ingress(fmt.Sprintf(`metallb = { address_pool_name = "apps", ip_address_pool_range = %q }`, pool),
			fmt.Sprintf(`dns = { cluster_name = "demo", base_domain = %q }`, domain))
	}
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{
				Config: spelled("192.0.2.200 - 192.0.2.207", "clusters.example.com."),
				ConfigStateChecks: []statecheck.StateCheck{
					text("192.0.2.200 - 192.0.2.207", "metallb", "ip_address_pool_range"),
					text("clusters.example.com.", "dns", "base_domain"),
					text("demo.clusters.example.com", "domain"),
				},
			},
			{Config: spelled("192.0.2.203/29", "clusters.example.com"), ConfigPlanChecks: emptyPlan()},
			{
				// With another change beside it, too.
				Config: spelled("192.0.2.200-192.0.2.207", "clusters.example.com") + "# changed\n",
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(testAddress, plancheck.ResourceActionNoop),
				}},
			},
		},
	})
	if got := w.specs[0]; got.Domain.BaseDomain != "clusters.example.com" || got.MetalLB.RangeText != "192.0.2.200 - 192.0.2.207" {
		t.Errorf("the driver got %+v", got)
	}
}

func TestDriftIsShownAndRepaired(t *testing.T) {
	t.Parallel()
	w := newWorld()
	line := "Service openshift-ingress/oooi-ingress: spec.type is ClusterIP, want LoadBalancer"
	lines := knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact(line)})
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: ingress()},
			{
				PreConfig:          w.set(drifted(0)),
				RefreshState:       true,
				ExpectNonEmptyPlan: true,
				RefreshPlanChecks: resource.RefreshPlanChecks{PostRefresh: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(testAddress, plancheck.ResourceActionUpdate),
					plancheck.ExpectKnownValue(testAddress, at("phase"), knownvalue.StringExact("Ready")),
					plancheck.ExpectKnownValue(testAddress, at("drift"), knownvalue.ListExact(nil)),
					plancheck.ExpectKnownValue(testAddress, at("external_ip"), knownvalue.StringExact("192.0.2.200")),
					plancheck.ExpectKnownValue(testAddress, at("reason"), knownvalue.StringExact("ReconciliationSucceeded")),
				}},
				Check: nil,
			},
			{
				Config:           ingress(),
				ConfigPlanChecks: action(plancheck.ResourceActionUpdate),
				ConfigStateChecks: []statecheck.StateCheck{
					text("Ready", "phase"), text("ReconciliationSucceeded", "reason"),
					statecheck.ExpectKnownValue(testAddress, at("drift"), knownvalue.ListExact(nil)),
				},
			},
			{
				PreConfig: w.set(drifted(0)), RefreshState: true, ExpectNonEmptyPlan: true,
				RefreshPlanChecks: resource.RefreshPlanChecks{PostRefresh: []plancheck.PlanCheck{before{"drift", lines}}},
			},
			{Config: ingress(), ConfigPlanChecks: action(plancheck.ResourceActionUpdate)},
		},
	})
}

// before checks a value that a plan starts from.
type before struct {
	name string
	want knownvalue.Check
}

func (b before) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, change := range req.Plan.ResourceChanges {
		if values, ok := change.Change.Before.(map[string]any); ok && change.Address == testAddress {
			resp.Error = b.want.CheckValue(values[b.name])
			return
		}
	}
	resp.Error = errors.New("the plan does not have the ingress")
}

// A Service that lost its address keeps the last known one in state: the drift line says what is missing.
func TestLastKnownAddressStays(t *testing.T) {
	t.Parallel()
	w := newWorld()
	lost := func(w *world) {
		drifted(appsingress.AffectsAddress)(w)
		w.live.Endpoint = appsingress.Endpoint{}
	}
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: ingress()},
			{
				PreConfig: w.set(lost), RefreshState: true, ExpectNonEmptyPlan: true,
				RefreshPlanChecks: resource.RefreshPlanChecks{PostRefresh: []plancheck.PlanCheck{
					before{"external_ip", knownvalue.StringExact("192.0.2.200")},
					before{"phase", knownvalue.StringExact("Degraded")},
				}},
			},
		},
	})
}

func TestAddressMovedBetweenPlanAndApply(t *testing.T) {
	t.Parallel()
	w := newWorld()
	changed := ingress(`service = { labels = { a = "b" } }`)
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: ingress()},
			{PreConfig: w.set(func(w *world) { w.moveTo = "192.0.2.209" }), Config: changed, ExpectError: movedError()},
			{
				PreConfig:         w.set(func(w *world) { w.moveTo = "" }),
				Config:            changed,
				ConfigPlanChecks:  emptyPlan(),
				ConfigStateChecks: []statecheck.StateCheck{text("192.0.2.209", "external_ip")},
			},
		},
	})
}

// Field case 5: what uses the address is made in the same apply, does not churn, and follows in place.
func TestDownstream(t *testing.T) {
	t.Parallel()
	const downstream = "terraform_data.dns"
	chain := func(changes ...string) string {
		return ingress(changes...) + "resource \"terraform_data\" \"dns\" {\n  input = oooi_apps_ingress.test.external_ip\n}\n"
	}
	expect := func(want plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(downstream, want)}}
	}
	follows := func(want string) []statecheck.StateCheck {
		return []statecheck.StateCheck{statecheck.ExpectKnownValue(downstream, at("output"), knownvalue.StringExact(want))}
	}
	w := newWorld()
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: chain(), ConfigPlanChecks: expect(plancheck.ResourceActionCreate), ConfigStateChecks: follows("192.0.2.200")},
			{Config: chain(`service = { labels = { a = "b" } }`), ConfigPlanChecks: expect(plancheck.ResourceActionNoop)},
			{
				Config:            chain(`metallb = { address_pool_name = "apps", ip_address_pool_range = "192.0.2.224/28" }`),
				ConfigPlanChecks:  expect(plancheck.ResourceActionUpdate),
				ConfigStateChecks: follows("192.0.2.224"),
			},
			{
				PreConfig: w.set(func(w *world) { w.live.Endpoint = address("192.0.2.230") }),
				Config:    chain(`metallb = { address_pool_name = "apps", ip_address_pool_range = "192.0.2.224/28" }`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(testAddress, plancheck.ResourceActionNoop),
					plancheck.ExpectResourceAction(downstream, plancheck.ResourceActionUpdate),
				}},
				ConfigStateChecks: follows("192.0.2.230"),
			},
		},
	})
}
