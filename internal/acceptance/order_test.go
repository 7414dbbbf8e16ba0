package acceptance

import (
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// slowCluster takes its time at every stage, so that what comes too early would be seen.
func slowCluster(s *setup) {
	s.Delays = simulator.Delays{
		NodeReady: 1500 * time.Millisecond, Kubeconfig: 500 * time.Millisecond, Resolve: 300 * time.Millisecond,
		Unpack: 300 * time.Millisecond, CRDs: 700 * time.Millisecond, CSVPhase: 300 * time.Millisecond,
		MetalLBStart: 700 * time.Millisecond, MetalLBRemove: 100 * time.Millisecond, HostedClusterDelete: 100 * time.Millisecond,
	}
}

// The order is the one of the feature's description. What happened when is read from the API servers' audit logs and from the
// simulators; reactions are printed.
func TestOrderAndReaction(t *testing.T) {
	w := newWorld(t, slowCluster)
	hosted, management := w.hosted.requests(), w.management.requests()
	w.test(resource.TestStep{
		Config: w.config(),
		Check: func(*terraform.State) error {
			w.inOrder(hosted.writes(), management.writes())
			w.reactions(hosted.writes(), management.writes())
			return nil
		},
	})
}

// inOrder checks that every write came after what it needs.
func (w *world) inOrder(hosted, management []testcluster.AuditEntry) {
	w.t.Helper()
	for _, step := range []struct {
		write  testcluster.AuditEntry
		needs  simulator.Event
		reason string
	}{
		{firstWrite(w.t, hosted, "subscriptions"), simulator.WorkerReady, "no Subscription before a Ready schedulable worker"},
		{firstWrite(w.t, hosted, "metallbs"), simulator.CRDsServed, "nothing of MetalLB before its API is served"},
		{firstWrite(w.t, hosted, "ipaddresspools"), simulator.CRDsServed, "nothing of MetalLB before its API is served"},
		{firstWrite(w.t, hosted, "l2advertisements"), simulator.CRDsServed, "nothing of MetalLB before its API is served"},
		{firstWrite(w.t, management, "proxyservers"), simulator.AddressAssigned, "no publication before an endpoint"},
		{firstWrite(w.t, management, "dnsservers"), simulator.AddressAssigned, "no publication before an endpoint"},
	} {
		moment, happened := w.sims.Timeline().First(step.needs)
		if !happened {
			w.t.Fatalf("%s never happened", step.needs)
		}
		// The audit log has the moment the API server received the write: a watch may have told the simulator a little later.
		if early := moment.At.Sub(step.write.RequestReceived); early > watchLag {
			w.t.Errorf("%s: %s came %s before %q", step.reason, step.write, early, step.needs)
		}
	}
	var order []string
	for _, entry := range hosted {
		// The CSV that the Subscription brought is marked, which can come at any time.
		if entry.Object.Resource != "clusterserviceversions" && !slices.Contains(order, entry.Object.Resource) {
			order = append(order, entry.Object.Resource)
		}
	}
	want := []string{"subscriptions", "metallbs", "ipaddresspools", "l2advertisements", "services"}
	if !slices.Equal(order, want) {
		w.t.Errorf("wrote to %v, want %v", order, want)
	}
}

// watchLag is how much later a simulator may be told of a change than the provider. Every stage of the cluster takes longer.
const watchLag = 500 * time.Millisecond

// reactions prints how long the provider took from each condition to its next write.
func (w *world) reactions(hosted, management []testcluster.AuditEntry) {
	w.t.Helper()
	for _, step := range []struct {
		after simulator.Event
		write testcluster.AuditEntry
	}{
		{simulator.WorkerReady, firstWrite(w.t, hosted, "subscriptions")},
		{simulator.CSVSucceeded, firstWrite(w.t, hosted, "metallbs")},
		{simulator.AddressAssigned, firstWrite(w.t, management, "proxyservers")},
	} {
		moment, _ := w.sims.Timeline().First(step.after)
		reaction := step.write.RequestReceived.Sub(moment.At)
		w.t.Logf("%-16s -> first write to %-16s %s", step.after, step.write.Object.Resource, reaction.Round(time.Millisecond))
	}
	// The last write that does not wait for the cluster any more ends the apply.
	assigned, _ := w.sims.Timeline().First(simulator.AddressAssigned)
	last := management[len(management)-1]
	w.t.Logf("the cluster was done %s after its worker, the apply %s later",
		assigned.At.Sub(first(w, simulator.WorkerReady)).Round(time.Millisecond), last.StageTime.Sub(assigned.At).Round(time.Millisecond))
}

func first(w *world, event simulator.Event) time.Time {
	moment, _ := w.sims.Timeline().First(event)
	return moment.At
}
