package netlab

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestListeningOf(t *testing.T) {
	t.Parallel()
	port := func(number int64, target any) any {
		return object{"name": "any", "port": number, "protocol": "TCP", "targetPort": target}
	}
	named := []any{port(80, "http"), port(443, "https"), port(1936, "metrics")}
	for name, test := range map[string]struct {
		kind    string
		ports   []any
		ingress []any
		want    map[string]string
	}{
		"one address": {
			"LoadBalancer", named,
			[]any{object{"ip": "198.51.100.200"}},
			map[string]string{"198.51.100.200:80": "http", "198.51.100.200:443": "https"},
		},
		"ports by number": {
			"LoadBalancer",
			[]any{port(8443, int64(443))},
			[]any{object{"ip": "198.51.100.200"}},
			map[string]string{"198.51.100.200:8443": "https"},
		},
		"two addresses": {
			"LoadBalancer", named[:1],
			[]any{object{"ip": "198.51.100.200"}, object{"ip": "198.51.100.201"}},
			map[string]string{"198.51.100.200:80": "http", "198.51.100.201:80": "http"},
		},
		"only a host name": {
			"LoadBalancer", named,
			[]any{object{"hostname": "lb.example.com"}},
			map[string]string{},
		},
		"no address yet": {
			"LoadBalancer", named, nil,
			map[string]string{},
		},
		"another type": {
			"ClusterIP", named,
			[]any{object{"ip": "198.51.100.200"}},
			map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := map[netip.AddrPort]string{}
			for address, scheme := range test.want {
				want[netip.MustParseAddrPort(address)] = scheme
			}
			got := listeningOf(&unstructured.Unstructured{Object: object{
				"spec":   object{"type": test.kind, "ports": test.ports},
				"status": object{"loadBalancer": object{"ingress": test.ingress}},
			}})
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
				t.Error(diff)
			}
		})
	}
}
