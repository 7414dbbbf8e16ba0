package acceptance

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// trouble is a way in which an apply can fail at a stage.
type trouble struct {
	name      string
	says      string // beside what the stage says
	begin     func(*cell, stage)
	refuses   bool // what is foreign
	interrupt bool // when the stage waits
	changes   []change
}

func troubles() []trouble {
	starve := func(c *cell, s stage) {
		if s.starve != nil {
			s.starve(c)
			return
		}
		s.answers(c, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	}
	return []trouble{
		{name: "never ready", says: "in time", begin: starve, changes: []change{set("timeouts", object("create", "4s", "update", "3s"))}},
		{name: "terminal", says: "not for you", begin: func(c *cell, s stage) {
			s.answers(c, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		}},
		{name: "interrupted", says: "interrupted", begin: starve, interrupt: true},
		{name: "refused", says: "not for you", refuses: true, begin: func(c *cell, s stage) {
			if s.foreign != nil {
				s.foreign.begin(c)
				return
			}
			s.answers(c, http.StatusForbidden, metav1.StatusReasonForbidden)
		}},
	}
}

// recorded is what the state file has of the ingress: nothing, "tainted", or "" for a healthy one.
func (c *cli) recorded() (there bool, status string) {
	c.t.Helper()
	var state struct {
		Resources []struct {
			Type      string
			Instances []struct{ Status string }
		}
	}
	if err := json.Unmarshal([]byte(c.state()), &state); err != nil {
		c.t.Fatal(err)
	}
	for _, resource := range state.Resources {
		if resource.Type == "oooi_apps_ingress" && len(resource.Instances) == 1 {
			return true, resource.Instances[0].Status
		}
	}
	return false, ""
}

// failsAt applies into trouble at a stage. A create that fails leaves a tainted ingress in the state, unless it was refused before
// anything was made; an update that fails leaves the state as it was.
func (c *cell) failsAt(s stage, how trouble, tf *cli, flags ...string) {
	c.t.Helper()
	defer c.recover()
	there, status := tf.recorded()
	exists := c.hosted.get(subscriptions, "openshift-operators", "metallb-operator") != nil // else the refresh takes it off the state
	update := there && exists && status == "" && len(flags) == 0
	how.begin(c, s)
	var apply atomic.Pointer[command]
	started := make(chan struct{})
	if how.interrupt {
		waits := s.waits
		if waits.Path == "" {
			waits = s.request
		}
		s.before(c, waits, func() {
			<-started
			apply.Load().interrupt()
		})
	}
	apply.Store(tf.start(applyFlags(flags...)...))
	close(started)
	output, code := apply.Load().wait()
	says, wantThere, wantStatus := []string{s.says, how.says}, true, "tainted"
	if how.refuses && s.foreign != nil {
		says, wantThere, wantStatus = []string{s.foreignSays}, update, ""
	}
	if update {
		wantStatus = ""
	}
	tf.failed(output, code, says)
	if there, status := tf.recorded(); there != wantThere || status != wantStatus {
		c.t.Errorf("the ingress is in the state: %v, %q, want %v, %q:\n%s", there, status, wantThere, wantStatus, output)
	}
}

// Whatever fails at whatever step of an apply, there is one error, the state knows what it has to, and the next apply goes on or
// starts afresh, with and without terraform untaint; in the end destroy leaves both clusters as they were.
func TestEveryFailureInTerraform(t *testing.T) { //nolint:tparallel // the subtests follow each other in one world
	w := newWorld(t, func(s *setup) { s.throughProxy = true })
	w.settled()
	tf := newCLI(t, w.throughProxies())
	tf.apply()
	tf.destroy() // the CRDs stay
	management, hosted := w.management.snapshot(), w.hosted.snapshot()
	for k, how := range troubles() {
		t.Run(how.name, func(t *testing.T) {
			c := &cell{world: w.of(t)}
			tf := *tf
			tf.t = t
			tf.config(c.throughProxies(how.changes...))
			for n, s := range stages() {
				t.Run(s.name, func(t *testing.T) {
					c, tf := &cell{world: w.of(t)}, tf
					tf.t = t
					c.failsAt(s, how, &tf, tf.onwards((n+k)%2 == 0 || s.published)...)
				})
			}
			tf.apply(tf.onwards(k%2 == 0)...)
			if err := c.checkPublished(firstIP, firstIP, 80, 443); err != nil {
				t.Error(err)
			}
			tf.unchanged()
			tf.destroy()
			c.management.sameAs(management)
			c.hosted.sameAs(hosted)
		})
	}
}

// onwards lets the next apply go on where the last one stopped, or has it begin again.
func (c *cli) onwards(goOn bool) (flags []string) {
	c.t.Helper()
	switch there, status := c.recorded(); {
	case there && goOn && status == "tainted":
		c.must("untaint", address)
	case there && !goOn && status == "":
		return []string{"-replace=" + address}
	}
	return nil
}

// killer kills the provider at every write once, right before or right after the API server acts on it, in turn.
type killer struct {
	mutex sync.Mutex
	apply *command
	after bool
	kills []string // the resources that were written, in order
	known map[string]bool
}

// starts lets it kill the provider of a command; nil: of none.
func (k *killer) starts(apply *command) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.apply = apply
}

// next is what to do with a write: nothing, or the end before or after it.
func (k *killer) next(path string) (victim *command, after bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.apply == nil || k.known[path] {
		return nil, false
	}
	k.known[path] = true
	parts := strings.Split(path, "/")
	k.kills = append(k.kills, parts[len(parts)-2])
	k.after = !k.after
	return k.apply, k.after
}

func (k *killer) act(e testcluster.Exchange) {
	victim, after := k.next(e.Request.URL.Path)
	switch {
	case victim == nil:
		e.Forward.ServeHTTP(e.Writer, e.Request)
	case after:
		defer victim.killProvider()
		testcluster.Lose()(e)
	default:
		victim.killProvider()
		testcluster.Refuse()(e)
	}
}

// The provider is killed at every write in turn. Nothing is in the way of the next apply, and the result is the same.
func TestProviderKilledAtEveryWrite(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.throughProxy = true })
	w.settled()
	management, hosted := w.management.snapshot(), w.hosted.snapshot()
	c, k := newCLI(t, w.throughProxies()), &killer{known: map[string]bool{}}
	match := testcluster.Match{Verbs: []string{testcluster.VerbPost, testcluster.VerbPut, testcluster.VerbPatch, testcluster.VerbDelete}}
	w.pair.Management.Proxy().Add(match, k.act)
	w.pair.Hosted.Proxy().Add(match, k.act)
	for {
		killed := len(k.kills)
		apply := c.start(applyFlags()...)
		k.starts(apply)
		output, code := apply.wait()
		k.starts(nil)
		if code == 0 {
			break
		}
		if len(k.kills) == killed {
			t.Fatalf("the apply after %v fails by itself:\n%s", k.kills, output)
		}
	}
	want := []string{
		"subscriptions", "clusterserviceversions", "metallbs", "ipaddresspools", "l2advertisements", "services", "proxyservers", "dnsservers",
	}
	if diff := cmp.Diff(want, k.kills); diff != "" {
		t.Errorf("the provider was killed at other writes (-want +got):\n%s", diff)
	}
	if err := w.checkPublished(firstIP, firstIP, 80, 443); err != nil {
		t.Error(err)
	}
	c.unchanged()
	c.destroy()
	w.management.sameAs(management)
	w.hosted.sameAs(hosted)
}
