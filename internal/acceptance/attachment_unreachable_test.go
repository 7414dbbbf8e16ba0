package acceptance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// The provider needs no way to the hosted cluster: while it cannot see, it has the operator look again and again. A refresh warns
// that it saw only half.
func TestAttachmentBlind(t *testing.T) {
	const moved, long = "198.51.100.140", "an-attachment-with-a-name-of-more-than-thirty-nine-characters"
	w := newAttachmentWorld(t, func(s *setup) { s.Oooi.NameLength = 28 })
	nowhere := func(b body) {
		set("hosted_cluster_access.host", text("https://127.0.0.1:1"))(b)
		set("name", text(long))(b) // which an earlier operator cuts in the names of its backends
	}
	hosted := w.hosted.requests()
	c := newCLI(t, w.attached(nowhere))
	c.apply()
	c.unchanged()
	if output := c.must(planFlags()...); !strings.Contains(output, "The hosted cluster could not be looked into") {
		t.Errorf("the refresh does not warn:\n%s", output)
	}
	c.config(w.attached(nowhere, set("metallb.ip_address_pool_range", text("198.51.100.140-198.51.100.149"))))
	c.apply()
	if state := c.values(address); state["external_ip"] != moved {
		t.Errorf("the state has external_ip %v", state["external_ip"])
	}
	if err := w.checkInfraPublishes(moved, moved); err != nil {
		t.Error(err)
	}
	c.unchanged()
	c.destroy()
	if asked := hosted.ofProvider(); len(asked) > 0 {
		for _, entry := range asked {
			if !strings.Contains(entry.UserAgent, "oooi-operator") {
				t.Errorf("the provider asked the hosted cluster: %s", entry)
			}
		}
	}
}

// While the hosted API is down the operator cannot clean up: destroy says so, keeps the state, and succeeds once it is back. When the
// HostedCluster is gone there is nothing to wait for.
func TestAttachmentDestroyWithoutHostedAPI(t *testing.T) {
	w := newAttachmentWorld(t, func(s *setup) {
		s.throughProxy = true
		s.Oooi.CleanupInterval = time.Second
	})
	impatient := set("timeouts.delete", text("5s"))
	c := newCLI(t, w.attached(impatient))
	c.apply()
	w.pair.Hosted.Proxy().Stop()
	c.fails([]string{
		"The apps ingress was not removed", "InfraClusterAttachment clusters/demo keeps finalizers",
		"HostedClusterAccessFailed", "timeouts.delete",
	}, "destroy", "-auto-approve", "-input=false", "-no-color")
	if c.values(address) == nil {
		t.Fatal("the ingress is not in the state any more")
	}
	if err := w.pair.Hosted.Proxy().Start(); err != nil {
		t.Fatal(err)
	}
	c.config(w.attached())
	c.destroy()
	if w.hosted.get(services, "openshift-ingress", "oooi-ingress") != nil {
		t.Error("the Service is left")
	}

	c.apply()
	c.unchanged()
	w.must(w.sims.HyperShift.Delete(t.Context(), "clusters", clusterName))
	w.management.await("the end of the HostedCluster", func() bool {
		return w.management.get(hostedClusters, "clusters", clusterName) == nil
	})
	output, code := c.run(planFlags("-detailed-exitcode")...)
	if code != 2 || !strings.Contains(output, "HostedCluster clusters/demo: missing") {
		t.Errorf("the plan does not say that the HostedCluster is gone (exit code %d):\n%s", code, output)
	}
	c.destroy()
	if w.management.get(attachments, "clusters", clusterName) != nil {
		t.Error("the attachment is left")
	}
}

// The operator is refused by webhooks that are not ready yet, and would look again much later: it is told to.
func TestAttachmentHiccup(t *testing.T) {
	w := newAttachmentWorld(t)
	w.must(w.sims.Admission.WebhookNotReady(t.Context()))
	c := newCLI(t, w.attached())
	apply := c.start(applyFlags()...)
	w.management.await("the operator's failure", func() bool { return w.reportedOnce("Degraded MetalLBInstallFailed") })
	w.must(w.sims.Admission.WebhookReady(t.Context(), 0))
	if output, code := apply.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, output)
	}
	c.unchanged()
	c.destroy()
}

// reportedOnce says that the operator came to this phase and reason at some time.
func (w *world) reportedOnce(detail string) bool {
	return slices.ContainsFunc(w.sims.Timeline().Moments(), func(m simulator.Moment) bool {
		return m.Event == simulator.AttachmentReconciled && m.Detail == detail
	})
}
