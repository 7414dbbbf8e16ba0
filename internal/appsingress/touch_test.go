package appsingress

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An operator that cannot reach a hosted cluster is left alone for longer: each of its tries may hold up everybody else's.
func TestTouchInterval(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason Reason
		age    time.Duration
		want   time.Duration
	}{
		"nothing reported":          {"", 0, touchEvery},
		"waiting":                   {ReasonWaitingForMetalLBCRDs, 0, touchEvery},
		"waiting for long":          {ReasonWaitingForMetalLBCRDs, 2 * touchLateAfter, touchEveryLate},
		"hosted API unreachable":    {ReasonHostedClusterAccessFailed, 0, touchUnreachable},
		"nodes cannot be listed":    {reasonNodeListFailed, 0, touchUnreachable},
		"unreachable for long, too": {reasonNodeListFailed, 2 * touchLateAfter, touchUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r run
			r.seen.Store(&unstructured.Unstructured{Object: map[string]any{
				"status": map[string]any{"appsIngressStatus": map[string]any{"phase": "Degraded", "reason": string(test.reason)}},
			}})
			touch := toucher{r: &r, started: time.Now().Add(-test.age)}
			if got := touch.interval(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A message of the Infra names attachments as words of their own, and one name may begin another.
func TestMentions(t *testing.T) {
	t.Parallel()
	const message = `attachments demo-2 and "other" have the same domain demo.clusters.example.com`
	for name, want := range map[string]bool{"demo-2": true, "other": true, "demo": false, "clusters": false} {
		if got := mentions(message, name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
