package acceptance

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// publishedByHand puts an entry and the backends of the wildcard into the shared lists, as an administrator would.
func (w *world) publishedByHand() {
	w.t.Helper()
	w.at(dnsServers).entries("staticEntries", func(entries []map[string]any) []map[string]any {
		return append(entries, map[string]any{"hostname": wildcard, "ip": "198.51.100.7"})
	})
	w.at(proxyServers).entries("backends", func(backends []map[string]any) []map[string]any {
		return append(backends, wantBackend("demo-apps-http", "198.51.100.7", 80), wantBackend("demo-apps-https", "198.51.100.7", 443))
	})
}

// field is a text in the object; empty when it is not there.
func (p place) field(path ...string) string {
	p.live.t.Helper()
	value, _, _ := unstructured.NestedString(p.must().Object, path...)
	return value
}

// adoptable are the objects that an ingress has for itself, or has entries in.
func (w *world) adoptable() []place {
	return []place{w.at(pools), w.at(advertisements), w.at(services), w.at(dnsServers), w.at(proxyServers)}
}

// marked are the kinds of the objects that carry a mark of this provider.
func (w *world) marked(prefix string) []string {
	w.t.Helper()
	kinds := []string{}
	for _, p := range w.adoptable() {
		obj := p.must()
		marked := obj.GetLabels()[managedBy] != "" && prefix == ""
		for key := range obj.GetAnnotations() {
			marked = marked || strings.HasPrefix(key, "oooi.densityops.com/"+prefix)
		}
		if marked {
			kinds = append(kinds, p.kind.name)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// What somebody else made under the names of the ingress is refused as a whole before anything is written, with what differs and
// who set it. With adopt_existing it is taken over, and says so on itself: destroy leaves it, without our marks, also when
// adopt_existing is unset by then. It is somebody else's again after that. The shared MetalLB and its operator stay as well.
func TestWhatOthersMadeIsAdoptedOnlyWhenAsked(t *testing.T) {
	w := newWorld(t)
	w.madeByHand()
	w.publishedByHand()
	w.at(services).spec("externalTrafficPolicy", "Local")
	refusal := []string{
		"IPAddressPool openshift-operators/apps-pool in the hosted cluster clusters/demo exists and was not made by this apps ingress",
		".spec.autoAssign is set by somebody",
		"L2Advertisement openshift-operators/advertise-apps-pool in the hosted cluster",
		"Service openshift-ingress/oooi-ingress in the hosted cluster",
		".spec.externalTrafficPolicy is set by kubectl-patch",
		"the entry " + wildcard + " of DNSServer clusters/vlan-dns in the management cluster",
		"the entry demo-apps-http of ProxyServer clusters/vlan-proxy in the management cluster",
		"terraform import ADDRESS clusters/demo",
		"adopt_existing = true",
	}
	c := newCLI(t, w.config())
	management, hosted := w.management.requests(), w.hosted.requests()
	refused := func(when string) {
		t.Helper()
		management, hosted = w.management.requests(), w.hosted.requests()
		c.fails(refusal, applyFlags()...)
		nothingWritten(t, when, management)
		nothingWritten(t, when, hosted)
		if state := c.values(address); state != nil {
			t.Errorf("%s: the state has %v", when, state)
		}
	}
	refused("before the adoption")

	c.config(w.config(set("adopt_existing", "true")))
	c.apply()
	c.unchanged()
	if diff := cmp.Diff([]string{"DNSServer", "IPAddressPool", "L2Advertisement", "ProxyServer", "Service"}, w.marked("adopted")); diff != "" {
		t.Errorf("recorded as adopted (-want +got):\n%s", diff)
	}
	if policy := w.at(services).field("spec", "externalTrafficPolicy"); policy != "Cluster" {
		t.Errorf("the adopted Service has externalTrafficPolicy %v", policy)
	}
	if err := w.checkPublished(firstIP, firstIP, 80, 443); err != nil {
		t.Error(err)
	}

	c.config(w.config())
	c.apply()
	c.unchanged()
	c.destroy()
	if marked := w.marked(""); len(marked) > 0 {
		t.Errorf("after destroy, marks are left on %v", marked)
	}
	w.at(subscriptions).must()
	w.at(metallbs).must()
	if err := w.checkPublished(firstIP, firstIP, 80, 443); err != nil {
		t.Error(err)
	}

	w.at(services).spec("externalTrafficPolicy", "Local")
	w.at(pools).spec("autoAssign", true)
	refusal[1] = ".spec.autoAssign is set by kubectl-patch"
	refused("after the adoption")
}
