package appsingress

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func withEntries(field string, entries ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{field: entries}}}
}

func entry(hostname, ip string) map[string]any { return map[string]any{"hostname": hostname, "ip": ip} }

func TestReplaceKeepsWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	const wildcard = "*.apps.demo.clusters.example.com"
	other := entry("*.apps.other.clusters.example.com", "198.51.100.7")
	more := entry("api.demo.clusters.example.com", "198.51.100.8")
	wanted := entry(wildcard, "198.51.100.200")
	for name, test := range map[string]struct{ before, after []any }{
		"empty list":            {after: []any{wanted}},
		"added at the end":      {before: []any{other}, after: []any{other, wanted}},
		"changed in its place":  {before: []any{other, entry(wildcard, "198.51.100.9"), more}, after: []any{other, wanted, more}},
		"doubles become one":    {before: []any{entry(wildcard, "198.51.100.9"), other, wanted}, after: []any{wanted, other}},
		"written another way":   {before: []any{entry(strings.ToUpper(wildcard)+".", "198.51.100.9")}, after: []any{wanted}},
		"already as it must be": {before: []any{wanted, other}, after: []any{wanted, other}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := dnsEntries(testSpec(t))
			obj := withEntries("staticEntries", test.before...)
			list.replace(obj, list.want(Endpoint{IP: netip.MustParseAddr("198.51.100.200")}))
			if diff := cmp.Diff(test.after, list.items(obj)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHostNameHasNoRecord(t *testing.T) {
	t.Parallel()
	list := dnsEntries(testSpec(t))
	obj := withEntries("staticEntries", entry("*.apps.demo.clusters.example.com", "198.51.100.200"))
	list.replace(obj, list.want(Endpoint{Hostname: "lb.example.com"}))
	if diff := cmp.Diff([]any{}, list.items(obj)); diff != "" {
		t.Error(diff)
	}
}

func TestBackendsOfOurWildcardOnOtherPortsAreNotOurs(t *testing.T) {
	t.Parallel()
	spec := testSpec(t)
	list := proxyBackends(spec)
	extra := map[string]any{"name": "metrics", "hostname": spec.Domain.Wildcard(), "port": int64(9443)}
	obj := withEntries("backends", extra)
	list.replace(obj, list.want(Endpoint{IP: netip.MustParseAddr("198.51.100.200")}))
	if got := len(list.items(obj)); got != 3 {
		t.Errorf("%d backends", got)
	}
	list.replace(obj, nil)
	if diff := cmp.Diff([]any{extra}, list.items(obj)); diff != "" {
		t.Error(diff)
	}
}

func TestChangedPortsReplaceOurBackends(t *testing.T) {
	t.Parallel()
	e := Endpoint{IP: netip.MustParseAddr("198.51.100.200")}
	before := testSpec(t)
	obj := withEntries("backends")
	list := proxyBackends(before)
	list.replace(obj, list.want(e))
	after := testSpec(t, func(s *Spec) { s.Ports.HTTPS = 8443 })
	list = proxyBackends(after)
	list.replace(obj, list.want(e))
	if diff := cmp.Diff(list.want(e), list.own(obj)); diff != "" {
		t.Error(diff)
	}
	if got := len(list.items(obj)); got != 2 {
		t.Errorf("%d backends", got)
	}
}

func TestBackendNames(t *testing.T) {
	t.Parallel()
	for ingress, want := range map[string]string{
		"demo":                         "demo-apps-https",
		"Demo.Cluster_1":               "demo-cluster-1-apps-https",
		strings.Repeat("a", 50):        strings.Repeat("a", 39) + "-apps-https",
		strings.Repeat("a", 38) + "-b": strings.Repeat("a", 38) + "-apps-https",
	} {
		if _, got := backendNames(ingress); got != want || len(got) > 63 {
			t.Errorf("%s: got %s, want %s", ingress, got, want)
		}
	}
}
