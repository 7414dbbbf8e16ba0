package acceptance

import (
	"net/http"
	"regexp"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// stage is a step of an apply, as the user meets it.
type stage struct {
	name      string
	says      string // in the error when it fails
	published bool   // its request goes to the management cluster
	request   testcluster.Match
	after     string // path of the write that the request follows; empty: it is the first of its kind

	foreign     *cause // what it refuses; nil: it has no right
	foreignSays string
	starve      func(*cell)       // what it waits for does not come; nil: its request is not answered well
	waits       testcluster.Match // the request that shows that it waits
}

func on(verb, path string) testcluster.Match {
	return testcluster.Match{Verbs: []string{verb}, Path: path}
}

func stages() []stage {
	return append([]stage{{
		name: "worker", says: "Step 1 of 7: worker", request: on(testcluster.VerbList, "/nodes$"),
		waits:  on(testcluster.VerbWatch, "/nodes$"),
		starve: func(c *cell) { c.must(c.sims.Nodes.Cordon(c.hosted.ctx(), "worker-1", true)) },
	}, {
		name: "operator", says: "Step 2 of 7: operator", request: on(testcluster.VerbPatch, "/subscriptions/"),
		waits:       on(testcluster.VerbWatch, "/subscriptions$"),
		starve:      olmFault(simulator.OLMFaults{Hold: simulator.StageInstallPlan}),
		foreign:     new(foreignSubscription()),
		foreignSays: "certified-operators",
	}, {
		name: "MetalLB", says: "Step 3 of 7: MetalLB", request: on(testcluster.VerbPatch, "/metallbs/"),
		waits: on(testcluster.VerbGet, "^/apis/metallb.io/v1beta1$"),
		starve: func(c *cell) {
			c.pair.Hosted.Proxy().Add(testcluster.Match{Path: "^/apis/metallb.io/v1beta1$"},
				testcluster.Answer(http.StatusNotFound, metav1.StatusReasonNotFound, "not found"))
		},
		foreign:     new(foreign("", metallbs, "openshift-operators", "metallb", map[string]any{"loadBalancerClass": "theirs"})),
		foreignSays: "theirs",
	}}, laterStages()...)
}

func laterStages() []stage {
	const service = "/services/oooi-ingress$"
	const notOurs = "was not made by this apps ingress"
	return []stage{{
		name: "address pool", says: "Step 4 of 7: address pool", request: on(testcluster.VerbPatch, "/ipaddresspools/"),
		foreign:     new(foreign("", pools, "openshift-operators", poolName, map[string]any{"addresses": []any{"203.0.113.1/32"}})),
		foreignSays: notOurs,
	}, {
		name: "service", says: "Step 5 of 7: service", request: on(testcluster.VerbPatch, service),
		foreign: new(foreign("", services, "openshift-ingress", "oooi-ingress",
			map[string]any{"ports": []any{map[string]any{"port": int64(80)}}})),
		foreignSays: notOurs,
	}, {
		name: "endpoint", says: "Step 6 of 7: endpoint", request: on(testcluster.VerbGet, service), after: service,
		waits:  on(testcluster.VerbWatch, "/services$"),
		starve: withoutMetalLB,
	}, {
		name: "publication", says: "Step 7 of 7: publication", published: true, request: on(testcluster.VerbPut, "/proxyservers/"),
		foreign: new(foreignEntry(proxyServers, proxyName, "backends", map[string]any{
			"name": "theirs", "hostname": wildcard, "port": int64(443), "targetService": "198.51.100.8", "targetPort": int64(443),
			"targetNamespace": "theirs",
		})),
		foreignSays: notOurs,
	}}
}

// before calls a function once, at the first request that matches after the write that it follows.
func (s stage) before(c *cell, match testcluster.Match, do func()) {
	path, after := regexp.MustCompile(match.Path), regexp.MustCompile(s.after)
	var written, done atomic.Bool
	written.Store(s.after == "")
	s.proxy(c).Before(func(request *http.Request) {
		verb := testcluster.RequestVerb(request)
		if written.Load() && slices.Contains(match.Verbs, verb) && path.MatchString(request.URL.Path) && !done.Swap(true) {
			do()
		}
		if verb == testcluster.VerbPatch && after.MatchString(request.URL.Path) {
			written.Store(true)
		}
	})
}

func (s stage) proxy(c *cell) *testcluster.Proxy {
	if s.published {
		return c.pair.Management.Proxy()
	}
	return c.pair.Hosted.Proxy()
}

// answers has the API server answer the stage's request like this, from now on.
func (s stage) answers(c *cell, code int, reason metav1.StatusReason) {
	answer := testcluster.Answer(code, reason, "not for you")
	if s.after == "" {
		s.proxy(c).Add(s.request, answer)
		return
	}
	write := stage{published: s.published}
	write.before(c, on(testcluster.VerbPatch, s.after), func() { s.proxy(c).Add(s.request, answer) })
}
