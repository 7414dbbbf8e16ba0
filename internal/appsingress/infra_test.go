package appsingress

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
)

// What the operator says counts only when it is about what is wanted now.
func TestAttachmentOnInfra(t *testing.T) {
	t.Parallel()
	ready := func() map[string]any {
		return map[string]any{"phase": "Ready", "reason": "ReconciliationSucceeded", "message": "served", "externalIP": "198.51.100.200"}
	}
	for name, test := range map[string]struct {
		change        func(spec, status map[string]any)
		phase, at     string
		message, held string
	}{
		"Ready": {phase: "Ready", at: "198.51.100.200", message: "served", held: "198.51.100.200-198.51.100.220"},
		"an earlier generation": {
			change:  func(_, status map[string]any) { status["observedGeneration"] = int64(1) },
			message: "the oooi operator has not reported on the latest change yet", held: "198.51.100.200-198.51.100.220",
		},
		"no status": {
			change: func(_, status map[string]any) {
				delete(status, "observedGeneration")
				delete(status, "appsIngressStatus")
			},
			message: "the oooi operator has not reported on the latest change yet", held: "198.51.100.200-198.51.100.220",
		},
		"an address of an earlier range": {
			change: func(spec, _ map[string]any) {
				spec["appsIngress"] = map[string]any{"enabled": true, "metallb": map[string]any{"ipAddressPoolRange": "203.0.113.0/30"}}
			},
			message: "the oooi operator still reports 198.51.100.200, which is not in 203.0.113.0-203.0.113.3", held: "203.0.113.0-203.0.113.3",
		},
		"a range that cannot be read": {
			change: func(spec, _ map[string]any) {
				spec["appsIngress"] = map[string]any{"enabled": true, "metallb": map[string]any{"ipAddressPoolRange": "here and there"}}
			},
			phase: "Ready", at: "198.51.100.200", message: "served",
		},
		"a host name": {
			change: func(_, status map[string]any) {
				status["appsIngressStatus"] = map[string]any{"phase": "Ready", "externalHostname": "lb.example.com"}
			},
			phase: "Ready", at: "lb.example.com", held: "198.51.100.200-198.51.100.220",
		},
		"not enabled": {change: func(spec, _ map[string]any) { delete(spec, "appsIngress") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := map[string]any{"appsIngress": map[string]any{
				"enabled": true, "metallb": map[string]any{"ipAddressPoolRange": "198.51.100.200-198.51.100.220"},
			}}
			status := map[string]any{"observedGeneration": int64(2), "appsIngressStatus": ready()}
			if test.change != nil {
				test.change(spec, status)
			}
			obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": status}}
			obj.SetGeneration(2)
			a := attachmentOnInfra(obj)
			got := []string{string(a.Phase), a.Endpoint.String(), a.Message, a.Range.String()}
			if diff := cmp.Diff([]string{test.phase, test.at, test.message, test.held}, got); diff != "" {
				t.Errorf("phase, endpoint, message and range (-want +got):\n%s", diff)
			}
		})
	}
}

// An Infra of the days before attachments has an ingress of its own, and its addresses are not free.
func TestReserveOwnIngress(t *testing.T) {
	t.Parallel()
	for _, enabled := range []bool{true, false} {
		var vlan addresspool.VLAN
		reserveOwnIngress(&vlan, &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"appsIngress": map[string]any{
			"enabled": enabled, "metallb": map[string]any{"ipAddressPoolRange": "198.51.100.200-198.51.100.220"},
		}}}})
		if got := len(vlan.Reserved) == 1; got != enabled {
			t.Errorf("enabled is %t, and reserved is %v", enabled, vlan.Reserved)
		}
	}
}
