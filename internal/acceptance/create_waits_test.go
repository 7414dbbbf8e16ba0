package acceptance

import (
	"slices"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

func applyFlags(more ...string) []string {
	return append([]string{"apply", "-auto-approve", "-input=false", "-no-color"}, more...)
}

// awaitRequest waits until the provider has sent a request of this kind since the recording began.
func (w *world) awaitRequest(recorded requests, verb, resource string) {
	w.t.Helper()
	w.hosted.await("a request to "+verb+" "+resource, func() bool {
		return slices.ContainsFunc(recorded.ofProvider(), func(entry testcluster.AuditEntry) bool {
			return entry.Verb == verb && entry.Object.Resource == resource
		})
	})
}

// nothingWritten fails when the provider wrote to the hosted cluster.
func nothingWritten(t *testing.T, when string, recorded requests) {
	t.Helper()
	if writes := recorded.writes(); len(writes) > 0 {
		t.Errorf("written %s:\n%s", when, lines(writes))
	}
}

// reluctant is a hosted cluster in which nothing is as it has to be, and in which objects have no status.
func reluctant(s *setup) {
	s.HostedClusters = []simulator.HostedCluster{{Name: clusterName, BaseDomain: baseDomain, WithoutKubeconfig: true}}
	s.Workers = []simulator.Node{{Name: "worker-1", NoStatus: true}, {Name: "worker-2", Cordoned: true, NotReady: true}}
}

// Each thing that is not there yet is waited for, in order: the kubeconfig, a worker that can run something, OLM. What waits for
// the ingress itself is not waited for: the HostedCluster's own conditions stay bad until the end. Objects have no status.
func TestCreateWaitsForWhatIsNotThereYet(t *testing.T) {
	w := newWorld(t, reluctant)
	w.sims.OLM.SetFaults(simulator.OLMFaults{NoStatus: true})
	w.sims.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{NoStatus: true})
	c := newCLI(t, w.config())
	management, hosted := w.management.requests(), w.hosted.requests()

	apply := c.start(applyFlags()...)
	w.awaitRequest(management, "watch", "hostedclusters")
	if asked := hosted.ofProvider(); len(asked) > 0 {
		t.Errorf("the hosted cluster was asked without its kubeconfig:\n%s", lines(asked))
	}
	w.publishKubeconfig()
	w.awaitRequest(hosted, "watch", "nodes")
	apply.interrupt()
	output, code := apply.wait()
	c.failed(output, code, []string{"interrupted", "waiting for a Ready schedulable worker (0 of 2)", "terraform untaint"})
	if state := c.values(address); state["phase"] != "Pending" || state["reason"] != "WaitingForHostedClusterNodes" {
		t.Errorf("the state has phase %v and reason %v", state["phase"], state["reason"])
	}
	nothingWritten(t, "without a worker", hosted)

	c.must("untaint", address)
	apply = c.start(applyFlags()...)
	w.workersBecomeUsable()
	subscribed := w.hosted.requests()
	w.awaitRequest(subscribed, "watch", "subscriptions")
	w.sims.OLM.SetFaults(simulator.OLMFaults{})
	if output, code := apply.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, output)
	}
	if state := c.values(address); state["external_ip"] != firstIP || state["phase"] != "Ready" {
		t.Errorf("the state has external_ip %v and phase %v", state["external_ip"], state["phase"])
	}
	c.unchanged()
	c.destroy()
}

// publishKubeconfig gives the HostedCluster its kubeconfig, and the conditions that it has until ingress works.
func (w *world) publishKubeconfig() {
	w.t.Helper()
	ctx, shift := w.management.ctx(), w.sims.HyperShift
	err := shift.PublishKubeconfig(ctx, "clusters", clusterName, w.pair.Hosted.KubeconfigBytes(testcluster.UserProvider))
	if err != nil {
		w.t.Fatal(err)
	}
	for condition, status := range map[string]string{
		"Available": "False", "Progressing": "True", "Degraded": "True", "ClusterVersionSucceeding": "False",
	} {
		err := shift.SetCondition(ctx, "clusters", clusterName, condition, status, "IngressDegraded", "the canary route does not answer")
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// workersBecomeUsable changes the workers one by one, each time until the provider has looked again, and checks that nothing is
// written before the first of them can run something.
func (w *world) workersBecomeUsable() {
	w.t.Helper()
	nodes, written := w.sims.Nodes, w.hosted.requests()
	w.awaitRequest(written, "watch", "nodes")
	for _, change := range []struct {
		what string
		act  func() error
	}{
		{"while a worker is tainted", func() error {
			return nodes.Taint(w.hosted.ctx(), "worker-1", simulator.Taint{Key: "dedicated", Value: "infra", Effect: "NoExecute"})
		}},
		{"while a Ready worker is tainted", func() error { return nodes.SetReady(w.hosted.ctx(), "worker-1", true) }},
		{"while a worker is cordoned", func() error { return nodes.SetReady(w.hosted.ctx(), "worker-2", true) }},
	} {
		looked := w.hosted.requests()
		if err := change.act(); err != nil {
			w.t.Fatal(err)
		}
		w.awaitRequest(looked, "list", "nodes")
		nothingWritten(w.t, change.what, written)
	}
	if err := nodes.Cordon(w.hosted.ctx(), "worker-2", false); err != nil {
		w.t.Fatal(err)
	}
}
