package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"k8s.io/apimachinery/pkg/types"
)

const (
	vlanData    = "data.oooi_infra.vlan"
	ingressData = "data.oooi_apps_ingress.test"
)

// A configuration takes the range of its ingress from what is free on the VLAN. With ignore_changes it keeps that range when the
// gaps move: a neighbour that comes later is no reason to move.
func TestRangeFromTheVLAN(t *testing.T) {
	w := newWorld(t)
	w.settled()
	w.occupied()
	w.attach("idle", "vlan100", map[string]any{"enabled": false, "metallb": map[string]any{"ipAddressPoolRange": "198.51.100.5/32"}})
	w.attach("elsewhere", "vlan200", map[string]any{"enabled": true, "metallb": map[string]any{"ipAddressPoolRange": "198.51.100.6/32"}})
	w.reports("neighbour", 0, map[string]any{"phase": "Ready", "reason": "ReconciliationSucceeded", "externalIP": "198.51.100.121"})
	exact := knownvalue.StringExact
	config := strings.Replace(
		w.config(set("metallb.ip_address_pool_range", vlanData+".free_ranges[1].range")), "resource \"oooi_apps_ingress\" \"test\" {",
		`data "oooi_infra" "vlan" {
  name = "vlan100"
}

resource "oooi_apps_ingress" "test" {
  lifecycle {
    ignore_changes = [metallb.ip_address_pool_range]
  }`, 1)
	w.test(
		resource.TestStep{
			Config: config,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(vlanData, path("cidr"), exact("198.51.100.0/24")),
				statecheck.ExpectKnownValue(vlanData, path("gateway"), exact("198.51.100.1")),
				statecheck.ExpectKnownValue(vlanData, path("static_addresses.dhcp"), exact("198.51.100.2")),
				statecheck.ExpectKnownValue(vlanData, path("static_addresses.dns"), exact("198.51.100.3")),
				statecheck.ExpectKnownValue(vlanData, path("static_addresses.proxy"), exact("198.51.100.4")),
				statecheck.ExpectKnownValue(vlanData, path("dhcp_pool"), gap("198.51.100.50-198.51.100.99", 50)),
				statecheck.ExpectKnownValue(vlanData, path("attachments"), knownvalue.ListExact([]knownvalue.Check{
					knownvalue.ObjectPartial(map[string]knownvalue.Check{
						"name": exact("idle"), "enabled": knownvalue.Bool(false), "phase": knownvalue.Null(), "external_ip": knownvalue.Null(),
					}),
					knownvalue.ObjectPartial(map[string]knownvalue.Check{
						"name": exact("neighbour"), "enabled": knownvalue.Bool(true), "phase": exact("Ready"),
						"domain": exact("neighbour." + baseDomain), "range": exact("198.51.100.120-198.51.100.129"),
						"external_ip": exact("198.51.100.121"), "external_hostname": knownvalue.Null(),
					}),
				})),
				statecheck.ExpectKnownValue(vlanData, path("free_ranges"), knownvalue.ListExact([]knownvalue.Check{
					gap("198.51.100.5-198.51.100.49", 45), gap("198.51.100.100-198.51.100.119", 20), gap("198.51.100.130-198.51.100.254", 125),
				})),
				statecheck.ExpectKnownValue(address, path("metallb.ip_address_pool_range"), exact("198.51.100.100-198.51.100.119")),
			},
		},
		resource.TestStep{
			PreConfig: func() {
				w.attach("later", "vlan100", map[string]any{
					"enabled": true, "metallb": map[string]any{"ipAddressPoolRange": "198.51.100.100-198.51.100.103"},
				})
			},
			Config: config,
			ConfigPlanChecks: resource.ConfigPlanChecks{
				PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionNoop)},
			},
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(vlanData, path("free_ranges"), knownvalue.ListPartial(map[int]knownvalue.Check{
					1: gap("198.51.100.104-198.51.100.119", 16),
				})),
				statecheck.ExpectKnownValue(address, path("metallb.ip_address_pool_range"), exact("198.51.100.100-198.51.100.119")),
			},
		},
	)
}

func gap(text string, size int64) knownvalue.Check {
	return knownvalue.ObjectExact(map[string]knownvalue.Check{"range": knownvalue.StringExact(text), "size": knownvalue.Int64Exact(size)})
}

// An ingress in direct mode that another configuration makes: not there yet, waited for, there, drifted, and gone. Reading it
// writes nothing.
func TestIngressOfAnotherConfiguration(t *testing.T) {
	w := newWorld(t)
	w.settled()
	maker := newCLI(t, w.config(set("ports.https", "8443")))
	reader := newCLI(t, w.ingressData(`hosted_cluster_ref = { name = "demo" }`))
	management, hosted := w.management.requests(), w.hosted.requests()
	reader.fails([]string{"The apps ingress was not found", "Service openshift-ingress/oooi-ingress does not exist"}, "plan", "-no-color")
	if writes := append(management.writes(), hosted.writes()...); len(writes) > 0 {
		t.Errorf("reading wrote:\n%s", lines(writes))
	}

	reader.config(w.ingressData(`hosted_cluster_ref = { name = "demo" }`, `wait_until_ready = true`, `timeouts = { read = "5m" }`))
	waiting := reader.start("apply", "-auto-approve", "-input=false", "-no-color")
	maker.apply()
	if output, code := waiting.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, output)
	}
	w.checkSeen(reader, map[string]any{
		"id": "clusters/demo", "mode": "direct", "domain": "demo." + baseDomain, "wildcard_domain": wildcard, "phase": "Ready",
		"reason": "ReconciliationSucceeded", "external_ip": firstIP, "external_hostname": nil, "ranges": []any{poolRange},
	})

	reader.config(w.ingressData(`hosted_cluster_ref = { name = "demo" }`))
	reader.unchanged()
	w.management.patchJSON(proxyServers, "clusters", proxyName, []any{
		map[string]any{"op": "replace", "path": "/spec/backends/1/targetService", "value": "198.51.100.99"},
	})
	reader.apply()
	w.checkSeen(reader, map[string]any{"phase": "Degraded", "reason": "PublicationFailed", "external_ip": firstIP})

	maker.destroy()
	reader.fails([]string{"The apps ingress was not found"}, "plan", "-no-color")
	reader.config(w.ingressData(`hosted_cluster_ref = { name = "nobody" }`, `wait_until_ready = true`))
	reader.fails([]string{"The apps ingress was not found", "HostedCluster clusters/nobody does not exist"}, "plan", "-no-color")
}

// An ingress that the operator makes is read from its attachment, and only what the operator says of the latest change counts.
func TestIngressOfAnAttachment(t *testing.T) {
	w := newWorld(t)
	config := w.ingressData(`attachment_ref = { name = "demo" }`)
	reader := newCLI(t, config)
	reader.fails([]string{"The apps ingress was not found", "InfraClusterAttachment clusters/demo does not exist"}, "plan", "-no-color")

	pool := map[string]any{"addressPoolName": poolName, "ipAddressPoolRange": poolRange}
	w.attach("demo", "vlan100", map[string]any{"enabled": false, "metallb": pool})
	reader.fails([]string{"The apps ingress was not found", "has no apps ingress enabled"}, "plan", "-no-color")

	w.management.patch(attachments, "clusters", "demo", map[string]any{"spec": map[string]any{"appsIngress": map[string]any{"enabled": true}}})
	w.reports("demo", -1, map[string]any{"phase": "Ready", "reason": "ReconciliationSucceeded", "externalIP": firstIP})
	reader.apply()
	w.checkSeen(reader, map[string]any{
		"id": "clusters/demo", "mode": "attachment", "domain": "demo." + baseDomain, "phase": nil, "reason": nil, "external_ip": nil,
		"ranges": []any{poolRange},
	})
	w.reports("demo", 0, map[string]any{"phase": "Pending", "reason": "WaitingForExternalIP", "externalIP": nil})
	reader.apply()
	w.checkSeen(reader, map[string]any{"phase": "Pending", "reason": "WaitingForExternalIP", "external_ip": nil, "external_hostname": nil})

	reader.config(w.ingressData(`attachment_ref = { name = "demo" }`, `wait_until_ready = true`, `timeouts = { read = "4s" }`))
	reader.fails([]string{"could not be read in time", "Last seen: WaitingForExternalIP", "timeouts.read gives more"}, "plan", "-no-color")

	reader.config(w.ingressData(`attachment_ref = { name = "demo" }`, `wait_until_ready = true`))
	waiting := reader.start("apply", "-auto-approve", "-input=false", "-no-color")
	w.reports("demo", 0, map[string]any{"phase": "Ready", "reason": "ReconciliationSucceeded", "externalIP": firstIP})
	if output, code := waiting.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, output)
	}
	w.checkSeen(reader, map[string]any{"phase": "Ready", "external_ip": firstIP, "wildcard_domain": wildcard})
	reader.unchanged()

	reader.config(w.providerBlock() + `data "oooi_infra" "vlan" {` + "\n  name = \"vlan100\"\n}\n")
	reader.fails([]string{"The Infra does not exist", "Infra clusters/vlan100 does not exist"}, "plan", "-no-color")
}

func (w *world) providerBlock() string {
	return fmt.Sprintf("provider \"oooi\" {\n  config_path = %q\n}\n", w.managementKubeconfig())
}

// ingressData is a configuration that only reads an ingress, and shows its phase.
func (w *world) ingressData(lines ...string) string {
	return w.providerBlock() + "data \"oooi_apps_ingress\" \"test\" {\n  " + strings.Join(lines, "\n  ") + "\n}\n" +
		"output \"phase\" {\n  value = data.oooi_apps_ingress.test.phase\n}\n"
}

// checkSeen compares some of the values that were read.
func (w *world) checkSeen(reader *cli, want map[string]any) {
	w.t.Helper()
	values, got := reader.values(ingressData), map[string]any{}
	for name := range want {
		got[name] = values[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("read (-want +got):\n%s", diff)
	}
}

// attach makes an attachment of a hosted cluster of the same name.
func (w *world) attach(name, infra string, appsIngress map[string]any) {
	w.t.Helper()
	w.management.create(attachments, "clusters", name, map[string]any{
		"infraRef": map[string]any{"name": infra}, "hostedClusterRef": map[string]any{"name": name},
		"dns": map[string]any{"clusterName": name, "baseDomain": baseDomain}, "appsIngress": appsIngress,
	})
}

// reports writes the status of an attachment as the operator does, for its generation or one that is so much older.
func (w *world) reports(name string, older int64, status map[string]any) {
	w.t.Helper()
	generation := w.management.must(attachments, "clusters", name).GetGeneration() + older
	w.management.send(attachments, "clusters", name, types.MergePatchType, map[string]any{
		"status": map[string]any{"observedGeneration": generation, "appsIngressStatus": status},
	}, "status")
}
