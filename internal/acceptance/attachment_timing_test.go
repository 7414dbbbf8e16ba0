package acceptance

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// BenchmarkAttachmentTiming is how long an apply takes where the hosted cluster itself needs 19 seconds and the operator has its real
// times: with a view of the hosted cluster, without one, and, for comparison, with no touch getting through.
//
//	go test ./internal/acceptance -run '^$' -bench AttachmentTiming -benchtime 1x
func BenchmarkAttachmentTiming(b *testing.B) {
	for _, variant := range []struct {
		name    string
		change  change
		touches bool
	}{
		{"seeing", func(body) {}, true},
		{"blind", set("hosted_cluster_access.host", text("https://127.0.0.1:1")), true},
		{"untouched", func(body) {}, false},
	} {
		b.Run(variant.name, func(b *testing.B) {
			for b.Loop() {
				took := time.Duration(0)
				asTest(b, variant.name, func(t *testing.T) {
					t.Helper()
					took = timedApply(t, variant.change, variant.touches)
				})
				b.ReportMetric(took.Seconds(), "s/apply")
			}
		})
	}
}

// asTest runs a test within a benchmark: what makes a world takes one.
func asTest(b *testing.B, name string, test func(*testing.T)) {
	b.Helper()
	everything := func(string, string) (bool, error) { return true, nil }
	if !testing.RunTests(everything, []testing.InternalTest{{Name: name, F: test}}) {
		b.Fatal("failed")
	}
}

// timedApply creates an ingress, with the first worker made when the apply begins.
func timedApply(t *testing.T, change change, touches bool) time.Duration {
	t.Helper()
	w := newWorld(t, func(s *setup) {
		s.Oooi = &simulator.OooiOptions{}
		s.Workers = []simulator.Node{}
		s.Delays = simulator.FastDelays()
		s.Delays.NodeReady, s.Delays.CRDs, s.Delays.MetalLBStart = 5*time.Second, 10*time.Second, 3*time.Second
	})
	w.infra()
	if !touches {
		w.pair.Management.Proxy().Add(testcluster.Match{Path: "/infraclusterattachments/"}, untouched)
	}
	throughProxy := w.pair.Management.KubeconfigThroughProxy(testcluster.UserProvider)
	c := newCLI(t, strings.ReplaceAll(w.attached(change), w.managementKubeconfig(), throughProxy))
	began := time.Now()
	w.must(w.sims.Nodes.Add(t.Context(), simulator.Node{Name: "worker-1"}))
	output := c.apply()
	took := time.Since(began)
	t.Logf("%.1f s, terraform itself included; %s", took.Seconds(), completed.FindString(output))
	for _, moment := range w.sims.Timeline().Moments() {
		t.Logf("%5.1f s  %s %s %s", moment.At.Sub(began).Seconds(), moment.Event, moment.Object, moment.Detail)
	}
	if err := w.checkInfraPublishes(firstIP, firstIP); err != nil {
		t.Error(err)
	}
	c.destroy()
	return took
}

// completed is what Terraform itself says of the time that the creation took.
var completed = regexp.MustCompile(`oooi_apps_ingress\.test: Creation complete after \S+`)

// untouched lets no touch through.
func untouched(e testcluster.Exchange) {
	if e.Request.Method == http.MethodPatch && strings.HasSuffix(e.Request.URL.Query().Get("fieldManager"), "-touch") {
		testcluster.Answer(http.StatusServiceUnavailable, "ServiceUnavailable", "not now")(e)
		return
	}
	e.Forward.ServeHTTP(e.Writer, e.Request)
}
