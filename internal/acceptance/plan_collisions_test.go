package acceptance

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

var attachments = kindOf("hostedcluster.densityops.com", "v1alpha1", "infraclusterattachments", "InfraClusterAttachment")

// What the range collides with is refused in the plan, on the attribute and naming both sides, before anything is written.
func TestPlanRefusesCollisions(t *testing.T) { //nolint:tparallel // one folder and one world, a row after the other
	w := newWorld(t)
	w.settled()
	w.occupied()
	management, hosted := w.management.requests(), w.hosted.requests()
	terraform := newCLI(t, "")
	onInfra := []change{set("infra_ref.name", text("vlan100")), set("mode", text("direct"))}
	for name, test := range map[string]struct {
		addresses string
		changes   []change
		want      []string
		warning   bool
	}{
		"another pool": {
			addresses: "198.51.100.150/32", want: []string{"198.51.100.150/32 overlaps", "IPAddressPool openshift-operators/theirs"},
		},
		"a DNS entry": {addresses: "198.51.100.8/29", want: []string{"holds 198.51.100.9", "entry api.other." + baseDomain + " of DNSServer"}},
		"the gateway": {
			addresses: "198.51.100.1/32", changes: onInfra, want: []string{"the gateway of Infra vlan100 (198.51.100.1-198.51.100.1)"},
		},
		"a static address": {
			addresses: "198.51.100.4/32", changes: onInfra, want: []string{"the proxy server of Infra vlan100"},
		},
		"the DHCP pool": {
			addresses: "198.51.100.99-198.51.100.105", changes: onInfra,
			want: []string{"the DHCP pool of Infra vlan100 (198.51.100.50-198.51.100.99)"},
		},
		"another attachment": {
			addresses: "198.51.100.120/30", changes: onInfra,
			want: []string{"attachment neighbour of Infra vlan100 (198.51.100.120-198.51.100.129)"},
		},
		"outside the network": {
			addresses: "203.0.113.8/29", changes: onInfra, want: []string{"is not all inside 198.51.100.0/24"}, warning: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			terraform.config(w.config(append(test.changes, set("metallb.ip_address_pool_range", text(test.addresses)))...))
			output, code := terraform.run("plan", "-no-color", "-input=false")
			if refused := code != 0; refused == test.warning {
				t.Errorf("exit code %d:\n%s", code, output)
			}
			// Terraform breaks lines where it likes.
			said := strings.Join(strings.Fields(output), " ")
			for _, want := range append(test.want, "metallb.ip_address_pool_range: the range "+test.addresses) {
				if !strings.Contains(said, want) {
					t.Errorf("the plan does not say %q:\n%s", want, output)
				}
			}
		})
	}
	if writes := append(management.writes(), hosted.writes()...); len(writes) > 0 {
		t.Errorf("a plan wrote:\n%s", lines(writes))
	}
}

// A DNSServer that an Infra owns is refused in the plan: what is written to it directly does not last.
func TestPlanRefusesWhatAnInfraOwns(t *testing.T) {
	w := newWorld(t)
	w.settled()
	w.occupied()
	infra := w.management.must(infras, "clusters", "vlan100")
	controller := true
	dns := w.management.must(dnsServers, "clusters", dnsName)
	dns.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: infra.GetAPIVersion(), Kind: infra.GetKind(), Name: infra.GetName(), UID: infra.GetUID(), Controller: &controller,
	}})
	if _, err := w.management.client(dnsServers, "clusters").Update(t.Context(), dns, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	terraform := newCLI(t, w.config())
	output, code := terraform.run("plan", "-no-color", "-input=false")
	if said := strings.Join(strings.Fields(output), " "); code == 0 || !strings.Contains(said, "belongs to Infra vlan100") {
		t.Errorf("exit code %d:\n%s", code, output)
	}
}

// occupied makes what a range can collide with: a pool of somebody else, an Infra, and an attachment on it.
func (w *world) occupied() {
	w.t.Helper()
	crds, err := testcluster.MetalLBCRDs()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.pair.Hosted.InstallCRDs(w.t.Context(), crds...); err != nil {
		w.t.Fatal(err)
	}
	w.hosted.create(pools, "openshift-operators", "theirs", map[string]any{"addresses": []any{"198.51.100.150-198.51.100.159"}})
	w.management.create(infras, "clusters", "vlan100", infraSpec())
	neighbour := map[string]any{
		"infraRef": map[string]any{"name": "vlan100"}, "hostedClusterRef": map[string]any{"name": "neighbour"},
		"dns": map[string]any{"clusterName": "neighbour", "baseDomain": baseDomain},
		"appsIngress": map[string]any{"enabled": true, "metallb": map[string]any{
			"addressPoolName": "neighbour-pool", "ipAddressPoolRange": "198.51.100.120-198.51.100.129",
		}},
	}
	w.management.create(attachments, "clusters", "neighbour", neighbour)
}

// infraSpec is a VLAN with everything that a range can collide with.
func infraSpec() map[string]any {
	return map[string]any{
		"networkConfig": map[string]any{"cidr": "198.51.100.0/24", "gateway": "198.51.100.1"},
		"infraComponents": map[string]any{
			"dhcp":  map[string]any{"serverIP": "198.51.100.2", "rangeStart": "198.51.100.50", "rangeEnd": "198.51.100.99"},
			"dns":   map[string]any{"serverIP": "198.51.100.3"},
			"proxy": map[string]any{"serverIP": "198.51.100.4"},
		},
	}
}
