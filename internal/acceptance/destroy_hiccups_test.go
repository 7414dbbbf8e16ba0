package acceptance

import (
	"net/http"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// eachOnce fails every request once, each in another way than the one before, and lets it pass from then on.
func eachOnce(actions ...testcluster.Action) testcluster.Action {
	var mutex sync.Mutex
	seen, next := map[string]bool{}, 0
	return func(e testcluster.Exchange) {
		key := testcluster.RequestVerb(e.Request) + e.Request.URL.Path
		mutex.Lock()
		act := testcluster.Pass()
		if !seen[key] {
			act, next = actions[next%len(actions)], next+1
		}
		seen[key] = true
		mutex.Unlock()
		act(e)
	}
}

// Every request of a destroy may fail on its way, on either cluster, without keeping it from its end. Where there is nothing left
// to remove, down to whole API groups, it succeeds too.
func TestDestroyThroughHiccups(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.throughProxy = true })
	w.settled()
	management, hosted := w.management.snapshot(), w.hosted.snapshot()
	c := newCLI(t, w.throughProxies())
	c.apply()
	full := c.state()

	var rules []*testcluster.Rule
	for _, cluster := range []*testcluster.Cluster{w.pair.Management, w.pair.Hosted} {
		rules = append(rules, cluster.Proxy().Add(testcluster.Match{}, eachOnce(
			testcluster.Answer(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slow down"),
			testcluster.Answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcd is away"),
			testcluster.Lose(),
			testcluster.Answer(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "not yet"),
			testcluster.Cut(),
		)))
	}
	c.must(destroyFlags("-refresh=false")...)
	for _, rule := range rules {
		if rule.Hits() < 10 {
			t.Errorf("only %d requests were met", rule.Hits())
		}
		rule.Remove()
	}
	w.management.sameAs(management)
	w.hosted.sameAs(hosted)

	c.file("terraform.tfstate", full)
	for path, cluster := range map[string]*testcluster.Cluster{
		"^/apis/hostedcluster.densityops.com/":          w.pair.Management,
		"^/apis/(metallb.io|operators.coreos.com)(/|$)": w.pair.Hosted,
	} {
		cluster.Proxy().Add(testcluster.Match{Path: path},
			testcluster.Answer(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource"))
	}
	c.must(destroyFlags("-refresh=false")...)
}
