package provider

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

const (
	infraAddress   = "data.oooi_infra.test"
	ingressAddress = "data.oooi_apps_ingress.test"
)

func pool(t *testing.T, text string) addresspool.Range {
	t.Helper()
	r, err := addresspool.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ranged(text string, size int64) knownvalue.Check {
	return knownvalue.ObjectExact(map[string]knownvalue.Check{"range": knownvalue.StringExact(text), "size": knownvalue.Int64Exact(size)})
}

func seen(address string, want knownvalue.Check, steps ...string) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, at(steps...), want)
}

func TestInfraDataSource(t *testing.T) {
	t.Parallel()
	exact, null := knownvalue.StringExact, knownvalue.Null()
	w := newWorld()
	w.infra = appsingress.Infra{
		CIDR: netip.MustParsePrefix("192.0.2.0/24"), Gateway: netip.MustParseAddr("192.0.2.1"),
		DNSServer: netip.MustParseAddr("192.0.2.3"), DHCPPool: pool(t, "192.0.2.50-192.0.2.99"),
		Attachments: []appsingress.InfraAttachment{
			{Name: "off", Domain: appsingress.Domain{ClusterName: "off", BaseDomain: "example.com"}},
			{
				Name: "on", HostedCluster: appsingress.NamespacedName{Namespace: "hcps", Name: "on"}, Enabled: true,
				Domain: appsingress.Domain{ClusterName: "on", BaseDomain: "example.com"}, Range: pool(t, "192.0.2.120/30"),
				Phase: appsingress.PhaseReady, Reason: appsingress.ReasonReconciliationSucceeded, Endpoint: address("192.0.2.120"),
			},
		},
		Free: []addresspool.Range{pool(t, "192.0.2.4-192.0.2.49"), pool(t, "192.0.2.200/32")},
	}
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{
				Config: `data "oooi_infra" "test" { name = "vlan100" }`,
				ConfigStateChecks: []statecheck.StateCheck{
					seen(infraAddress, exact("clusters/vlan100"), "id"), seen(infraAddress, exact("clusters"), "namespace"),
					seen(infraAddress, exact("192.0.2.0/24"), "cidr"), seen(infraAddress, exact("192.0.2.1"), "gateway"),
					seen(infraAddress, exact("192.0.2.3"), "static_addresses", "dns"), seen(infraAddress, null, "static_addresses", "dhcp"),
					seen(infraAddress, null, "static_addresses", "proxy"), seen(infraAddress, ranged("192.0.2.50-192.0.2.99", 50), "dhcp_pool"),
					seen(infraAddress, knownvalue.ListExact([]knownvalue.Check{
						ranged("192.0.2.4-192.0.2.49", 46), ranged("192.0.2.200-192.0.2.200", 1),
					}), "free_ranges"),
					seen(infraAddress, knownvalue.ListExact([]knownvalue.Check{
						knownvalue.ObjectExact(map[string]knownvalue.Check{
							"name": exact("off"), "domain": exact("off.example.com"), "enabled": knownvalue.Bool(false),
							"hosted_cluster_ref": knownvalue.ObjectExact(map[string]knownvalue.Check{"name": null, "namespace": null}),
							"range":              null, "phase": null, "reason": null, "message": null, "external_ip": null, "external_hostname": null,
						}),
						knownvalue.ObjectExact(map[string]knownvalue.Check{
							"name": exact("on"), "domain": exact("on.example.com"), "enabled": knownvalue.Bool(true),
							"hosted_cluster_ref": knownvalue.ObjectExact(map[string]knownvalue.Check{"name": exact("on"), "namespace": exact("hcps")}),
							"range":              exact("192.0.2.120-192.0.2.123"), "phase": exact("Ready"), "reason": exact("ReconciliationSucceeded"),
							"message": null, "external_ip": exact("192.0.2.120"), "external_hostname": null,
						}),
					}), "attachments"),
				},
			},
			{
				PreConfig: w.set(func(w *world) { w.infra = appsingress.Infra{} }),
				Config:    "data \"oooi_infra\" \"test\" {\n name = \"vlan100\"\n namespace = \"tenants\"\n}",
				ConfigStateChecks: []statecheck.StateCheck{
					seen(infraAddress, exact("tenants/vlan100"), "id"), seen(infraAddress, null, "cidr"), seen(infraAddress, null, "gateway"),
					seen(infraAddress, null, "dhcp_pool"), seen(infraAddress, null, "free_ranges"),
					seen(infraAddress, knownvalue.ListExact(nil), "attachments"),
				},
			},
			{
				PreConfig:   w.set(func(w *world) { w.infraErr = errors.New("connection refused") }),
				Config:      `data "oooi_infra" "test" { name = "vlan100" }`,
				ExpectError: regexp.MustCompile(`The Infra could not be read[\s\S]*connection refused`),
			},
		},
	})
}

func TestAppsIngressDataSource(t *testing.T) {
	t.Parallel()
	exact, null := knownvalue.StringExact, knownvalue.Null()
	w := newWorld()
	w.ingress = appsingress.Ingress{
		ID: "clusters/demo", Mode: appsingress.ModeDirect, Domain: appsingress.Domain{ClusterName: "demo", BaseDomain: "example.com"},
		Range: pool(t, "192.0.2.192/27"), Phase: appsingress.PhaseReady, Reason: appsingress.ReasonReconciliationSucceeded,
		Message: "it is served", Endpoint: address("192.0.2.200"),
	}
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{
				Config: `data "oooi_apps_ingress" "test" { hosted_cluster_ref = { name = "demo" } }`,
				ConfigStateChecks: []statecheck.StateCheck{
					seen(ingressAddress, exact("clusters/demo"), "id"), seen(ingressAddress, exact("direct"), "mode"),
					seen(ingressAddress, exact("demo.example.com"), "domain"), seen(ingressAddress, exact("*.apps.demo.example.com"), "wildcard_domain"),
					seen(ingressAddress, exact("Ready"), "phase"), seen(ingressAddress, exact("ReconciliationSucceeded"), "reason"),
					seen(ingressAddress, exact("it is served"), "message"), seen(ingressAddress, exact("192.0.2.200"), "external_ip"),
					seen(ingressAddress, null, "external_hostname"),
					seen(ingressAddress, knownvalue.ListExact([]knownvalue.Check{exact("192.0.2.192-192.0.2.223")}), "ranges"),
				},
				Check: w.askedFor(t, time.Minute, appsingress.Query{
					HostedCluster: appsingress.NamespacedName{Namespace: "clusters", Name: "demo"},
					Service:       appsingress.NamespacedName{Namespace: "openshift-ingress", Name: "oooi-ingress"},
				}),
			},
			{
				PreConfig: w.set(func(w *world) { w.ingress = appsingress.Ingress{Mode: appsingress.ModeAttachment} }),
				Config: `data "oooi_apps_ingress" "test" {
					attachment_ref   = { name = "demo", namespace = "tenants" }
					wait_until_ready = true
				}`,
				ConfigStateChecks: []statecheck.StateCheck{
					seen(ingressAddress, null, "id"), seen(ingressAddress, null, "phase"), seen(ingressAddress, null, "reason"),
					seen(ingressAddress, null, "message"), seen(ingressAddress, null, "external_ip"), seen(ingressAddress, null, "external_hostname"),
					seen(ingressAddress, knownvalue.ListExact(nil), "ranges"),
				},
				Check: w.askedFor(t, 10*time.Minute, appsingress.Query{
					Attachment: appsingress.NamespacedName{Namespace: "tenants", Name: "demo"}, AwaitReady: true,
				}),
			},
			{
				PreConfig: w.set(func(w *world) { w.ingress.Endpoint = appsingress.Endpoint{Hostname: "lb.example.com"} }),
				Config: `data "oooi_apps_ingress" "test" {
					hosted_cluster_access = { config_path = "kubeconfig", insecure = true }
					service               = { name = "svc", namespace = "ns" }
					wait_until_ready      = true
					timeouts              = { read = "45m" }
				}`,
				ConfigStateChecks: []statecheck.StateCheck{seen(ingressAddress, exact("lb.example.com"), "external_hostname")},
				Check: w.askedFor(t, 45*time.Minute, appsingress.Query{
					Access:  appsingress.Access{ConfigPath: "kubeconfig", Insecure: true},
					Service: appsingress.NamespacedName{Namespace: "ns", Name: "svc"}, AwaitReady: true,
				}),
			},
			{
				PreConfig: w.set(func(w *world) {
					w.ingressErr = &appsingress.NotFoundError{Object: "Service a/b", Cluster: "hosted cluster", Seen: "does not exist"}
				}),
				Config:      `data "oooi_apps_ingress" "test" { hosted_cluster_ref = { name = "demo" } }`,
				ExpectError: regexp.MustCompile(`The apps ingress was not found`),
			},
		},
	})
}

// askedFor says that the last read or verification was for this, in this time.
func (w *world) askedFor(t *testing.T, budget time.Duration, want any) resource.TestCheckFunc {
	t.Helper()
	return func(*terraform.State) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		diff := cmp.Diff(want, w.asked[len(w.asked)-1], cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}, netip.Prefix{}),
			cmpopts.IgnoreFields(probe.Web{}, "Roots"))
		if diff != "" {
			return fmt.Errorf("what was asked (-want +got):\n%s", diff)
		}
		if got := w.readBudget.Round(time.Minute); got != budget {
			return fmt.Errorf("there was a time of %s, want %s", got, budget)
		}
		return nil
	}
}

func TestAppsIngressDataSourceIsNamedInOneWay(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.ingress = appsingress.Ingress{Mode: appsingress.ModeDirect}
	var steps []resource.TestStep
	for _, test := range []struct{ body, want string }{
		{``, `attachment_ref: nothing says which ingress is meant`},
		{`service = { name = "svc" }`, `nothing says which ingress is meant`},
		{`hosted_cluster_access = { host = "https://127.0.0.1:1" }`, `nothing says which ingress is meant`},
		{`attachment_ref = { name = "a" }
		  hosted_cluster_ref = { name = "b" }`, `hosted_cluster_ref: attachment_ref already says`},
		{`attachment_ref = { name = "a" }
		  service = {}`, `service: attachment_ref already says`},
		{`attachment_ref = { name = "A" }`, `is not the name of a Kubernetes object`},
		{`attachment_ref = { name = "a" }
		  timeouts = { read = "soon" }`, `is not a duration`},
	} {
		steps = append(steps, resource.TestStep{
			Config:   "data \"oooi_apps_ingress\" \"test\" {\n" + test.body + "\n}",
			PlanOnly: true, ExpectError: regexp.MustCompile(test.want),
		})
	}
	terraformTest(t, resource.TestCase{ProtoV6ProviderFactories: w.factories(), Steps: steps})
}

// A name that is known only after another resource was made is no error, and is asked for then.
func TestDataSourceWithUnknownName(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.ingress = appsingress.Ingress{Mode: appsingress.ModeAttachment}
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{{Config: `
			resource "terraform_data" "first" { input = "demo" }
			data "oooi_apps_ingress" "test" { attachment_ref = { name = terraform_data.first.output } }
			data "oooi_infra" "test" { name = terraform_data.first.output }
		`}},
	})
}

// With arguments of the provider unknown, a client that can defer is told to; the others get an error that says what to do.
func TestDataSourcesWithUnknownProviderArguments(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	unknown := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	for typeName, objectType := range map[string]tftypes.Type{
		"oooi_infra": infraSchema().Type().TerraformType(ctx), "oooi_apps_ingress": appsIngressDataSchema().Type().TerraformType(ctx),
	} {
		for _, allowed := range []bool{true, false} {
			connect := func(kube.Config) (engine, error) { return nil, errors.New("connected") }
			server := providerserver.NewProtocol6(newProvider("test", connect)())()
			if _, err := server.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{
				Config:             dynamic(t, providerSchema().Type().TerraformType(ctx), map[string]tftypes.Value{"host": unknown}),
				ClientCapabilities: &tfprotov6.ConfigureProviderClientCapabilities{DeferralAllowed: allowed},
			}); err != nil {
				t.Fatal(err)
			}
			resp, err := server.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{
				TypeName: typeName, Config: dynamic(t, objectType, nil),
				ClientCapabilities: &tfprotov6.ReadDataSourceClientCapabilities{DeferralAllowed: allowed},
			})
			if err != nil {
				t.Fatal(err)
			}
			if deferred, refused := resp.Deferred != nil, len(resp.Diagnostics) == 1; deferred != allowed || refused == allowed {
				t.Errorf("%s: deferral allowed is %t, deferred is %t: %+v", typeName, allowed, deferred, resp.Diagnostics)
			}
		}
	}
}
