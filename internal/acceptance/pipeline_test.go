package acceptance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// budget is a context whose time is up when the test says so: a clock would have to be slow enough for the slowest machine.
type budget struct {
	done  chan struct{}
	mutex sync.Mutex
	err   error
}

func newBudget() *budget { return &budget{done: make(chan struct{})} }

func (b *budget) end(err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.err == nil {
		b.err = err
		close(b.done)
	}
}

// exhaust is the deadline, cancel is Ctrl-C.
func (b *budget) exhaust() { b.end(context.DeadlineExceeded) }
func (b *budget) cancel()  { b.end(context.Canceled) }

func (b *budget) Deadline() (time.Time, bool) { return time.Time{}, false }
func (b *budget) Done() <-chan struct{}       { return b.done }
func (b *budget) Value(any) any               { return nil }

func (b *budget) Err() error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.err
}

// cell is one world in which one step fails in one way, once or several times.
type cell struct {
	*world
	process process
	undo    []func()
	skip    int64 // so many writes pass before what follows a write follows it
}

// processThroughProxies is a provider process that meets the rules of both proxies.
func (w *world) processThroughProxies() process {
	load := func(context.Context) (*rest.Config, error) {
		config := w.pair.Management.REST(testcluster.UserProvider)
		config.Host = w.pair.Management.Proxy().URL
		return config, nil
	}
	return process{kube.NewCluster("management cluster", load), &kube.Clusters{}}
}

// of is the same world for a subtest.
func (w *world) of(t *testing.T) *world {
	t.Helper()
	same := *w
	same.t, same.management.t, same.hosted.t = t, t, t
	return &same
}

func (c *cell) proxy(s pipelineStep) *testcluster.Proxy {
	if s.published {
		return c.pair.Management.Proxy()
	}
	return c.pair.Hosted.Proxy()
}

// meet has the step's own request, and not one before it, meet an action.
func (c *cell) meet(s pipelineStep, act testcluster.Action) {
	proxy, match := c.proxy(s), testcluster.Match{Verbs: []string{s.verb}, Path: s.path}
	if s.after == "" {
		proxy.Add(match, act)
		return
	}
	var writes atomic.Int64
	follows := regexp.MustCompile(s.after)
	proxy.Before(func(request *http.Request) {
		write := testcluster.RequestVerb(request) == testcluster.VerbPatch && follows.MatchString(request.URL.Path)
		if write && writes.Add(1) == c.skip+1 {
			proxy.Add(match, act)
		}
	})
}

// recover takes the cause of a failure away.
func (c *cell) recover() {
	c.t.Helper()
	c.pair.Management.Proxy().Clear()
	c.pair.Hosted.Proxy().Clear()
	for _, undo := range slices.Backward(c.undo) {
		undo()
	}
	c.undo = nil
	c.sims.OLM.SetFaults(simulator.OLMFaults{})
	c.sims.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{})
	c.must(c.sims.Nodes.Cordon(c.hosted.ctx(), "worker-1", false))
	c.hosted.await("OLM to try again", c.nothingFailed)
}

// nothingFailed says that OLM reports no failure, not an old one either.
func (c *cell) nothingFailed() bool {
	if subscription := c.hosted.get(subscriptions, "openshift-operators", "metallb-operator"); subscription != nil {
		for _, condition := range list(subscription, "status", "conditions") {
			if strings.HasSuffix(fmt.Sprint(condition["type"]), "Failed") && condition["status"] == "True" {
				return false
			}
		}
	}
	all, err := c.hosted.client(csvs, "openshift-operators").List(c.hosted.ctx(), listAll)
	c.must(err)
	return !slices.ContainsFunc(all.Items, func(csv unstructured.Unstructured) bool {
		phase, _, _ := unstructured.NestedString(csv.Object, "status", "phase")
		return phase == "Failed"
	})
}

// existing are the objects and entries that carry the mark of the ingress, as both API servers have them.
func (c *cell) existing() []string {
	c.t.Helper()
	var names []string
	for _, k := range []kind{subscriptions, metallbs, pools, advertisements, services} {
		list, err := c.hosted.client(k, "").List(c.hosted.ctx(), listAll)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, item := range list.Items {
			if item.GetAnnotations()["oooi.densityops.com/apps-ingress"] == "clusters/"+member(0) {
				names = append(names, k.name+" "+item.GetNamespace()+"/"+item.GetName())
			}
		}
	}
	name := "*.apps." + member(0) + "." + baseDomain
	for _, entry := range list(c.management.must(proxyServers, "clusters", proxyName), "spec", "backends") {
		if entry["hostname"] == name && entry["targetService"] == memberIP(0) {
			names = append(names, fmt.Sprintf("entry %s of ProxyServer clusters/%s", entry["name"], proxyName))
		}
	}
	for _, entry := range list(c.management.must(dnsServers, "clusters", dnsName), "spec", "staticEntries") {
		if entry["hostname"] == name && entry["ip"] == memberIP(0) {
			names = append(names, fmt.Sprintf("entry %s of DNSServer clusters/%s", name, dnsName))
		}
	}
	slices.Sort(names)
	return names
}

// fails runs the pipeline into a failure, and takes the cause away again.
func (c *cell) fails(s pipelineStep, f failure) {
	c.t.Helper()
	defer c.recover()
	b := newBudget()
	defer time.AfterFunc(patience/4, b.exhaust).Stop() // only ends a run that does not meet the failure
	f.begin(c, s, b)
	status, err := c.process.driver(0).Ensure(b)
	if f.killed {
		c.process = c.processThroughProxies() // nothing is known any more
	} else {
		c.told(s, f, status, err)
	}
	if err == nil {
		c.t.Fatal("the pipeline does not fail")
	}
}

// told checks what a failed run tells about itself.
func (c *cell) told(s pipelineStep, f failure, status appsingress.Status, err error) {
	c.t.Helper()
	var story *appsingress.StepError
	if !errors.As(err, &story) {
		c.t.Fatalf("not the error of a step: %v", err)
	}
	if !f.is(err) {
		c.t.Errorf("an error of another kind: %v", err)
	}
	phase, reason := appsingress.PhaseDegraded, s.broken
	if f.pending {
		phase, reason = appsingress.PhasePending, s.waiting
	}
	type tale struct {
		Step, Of int
		Name     string
		Phase    appsingress.Phase
		Reason   appsingress.Reason
		Exists   []string
	}
	order := []string{
		appsingress.StepWorker, appsingress.StepOperator, appsingress.StepMetalLB, appsingress.StepAddressPool,
		appsingress.StepService, appsingress.StepEndpoint, appsingress.StepPublication,
	}
	slices.Sort(story.Exists)
	want := tale{slices.Index(order, s.step) + 1, len(order), s.step, phase, reason, c.existing()}
	if diff := cmp.Diff(want, tale{story.Step, story.Of, story.Name, status.Phase, status.Reason, story.Exists}); diff != "" {
		c.t.Errorf("the failure %v is told otherwise (-want +got):\n%s", err, diff)
	}
	if len(status.Drift) > 0 || status.Message == "" {
		c.t.Errorf("the status has drift %v and message %q", status.Drift, status.Message)
	}
}

func (c *cell) ensure() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.hosted.ctx(), patience/4)
	defer cancel()
	status, err := c.process.driver(0).Ensure(ctx)
	if err != nil {
		c.t.Fatalf("with the cause gone: %v", err)
	}
	observed, err := c.process.driver(0).Observe(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	if diff := cmp.Diff(fmt.Sprint(status), fmt.Sprint(observed)); diff != "" {
		c.t.Errorf("the ingress is observed otherwise than it was left (-left +observed):\n%s", diff)
	}
	if observed.Phase != appsingress.PhaseReady || observed.Endpoint.String() != memberIP(0) || len(observed.Drift) > 0 {
		c.t.Errorf("the ingress has phase %s, endpoint %s and drift %v", observed.Phase, observed.Endpoint, observed.Drift)
	}
}

func (c *cell) remove() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.hosted.ctx(), patience/4)
	defer cancel()
	if warnings, err := c.process.driver(0).Remove(ctx); err != nil || len(warnings) > 0 {
		c.t.Fatalf("removing: %v %v", warnings, err)
	}
}

// inAWorld gives a world in which the CRDs are there already, and what ends a cell: both clusters are as they were.
func inAWorld(t *testing.T) (c *cell, unchanged func(*cell)) {
	t.Helper()
	w := newWorld(t, func(s *setup) { s.answer, s.throughProxy = byPool, true })
	w.settled()
	c = &cell{world: w, process: w.processThroughProxies()}
	c.ensure()
	c.remove()
	management, hosted := w.management.snapshot(), w.hosted.snapshot()
	return c, func(c *cell) {
		c.management.sameAs(management)
		c.hosted.sameAs(hosted)
	}
}

// Whatever fails, the run tells which step it was and what exists, and what exists can be removed at once.
func TestEveryFailureCanBeRemoved(t *testing.T) {
	whole, unchanged := inAWorld(t)
	for _, s := range pipelineSteps() {
		for _, f := range s.failures() {
			t.Run(s.name+"/"+f.name, func(t *testing.T) {
				c := &cell{world: whole.of(t), process: whole.process}
				c.fails(s, f)
				c.remove()
				unchanged(c)
			})
		}
	}
}

// Whatever fails, the next run, with the cause gone, goes on from there: until it fails at a later step, in another way, and the
// last one completes the job. In as many rounds as it takes every step fails in every way.
func TestEveryFailureIsGotOver(t *testing.T) {
	whole, unchanged := inAWorld(t)
	steps, rounds := pipelineSteps(), 0
	for _, s := range steps {
		rounds = max(rounds, len(s.failures()))
	}
	for round := range rounds {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			process := whole.process
			for i, s := range steps {
				all := s.failures()
				f := all[(i+round)%len(all)]
				t.Run(s.name+"/"+f.name, func(t *testing.T) {
					c := &cell{world: whole.of(t), process: process}
					c.fails(s, f)
					process = c.process
				})
			}
			c := &cell{world: whole.of(t), process: process}
			c.ensure()
			c.remove()
			unchanged(c)
		})
	}
}
