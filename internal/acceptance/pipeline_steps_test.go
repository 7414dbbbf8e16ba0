package acceptance

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

var listAll = metav1.ListOptions{}

// pipelineStep is a step of the pipeline with one of its requests: each that writes, or the one that reads when it writes nothing.
type pipelineStep struct {
	name      string
	step      string
	published bool   // the request goes to the management cluster
	verb      string // of the request
	path      string // of the request
	after     string // path of the write that the request follows; empty: it is the first of its kind
	watch     string // path of what the step watches while it waits; empty: it does not wait for anything but its request

	waiting, broken appsingress.Reason

	refusals, terminals []cause // empty: an error of the API in answer to the request
	starvation          *cause  // what the step waits for does not come; nil: its request is not answered well
}

// cause is what makes a step fail, until the world recovers.
type cause struct {
	name  string
	begin func(*cell)

	// What the API server answers to the step's request, when begin is nil; the name is the code.
	reason  metav1.StatusReason
	message string
}

func pipelineSteps() []pipelineStep {
	return slices.Concat(hostedRequests(), publishingRequests())
}

func hostedRequests() []pipelineStep {
	installing := pipelineStep{
		step: appsingress.StepOperator, verb: testcluster.VerbPatch,
		waiting: appsingress.ReasonWaitingForMetalLBCRDs, broken: appsingress.ReasonMetalLBInstallFailed,
	}
	subscribe, markCSV, metalLB, pool := installing, installing, installing, installing
	subscribe.name, subscribe.path, subscribe.watch = "operator", "/subscriptions/metallb-operator$", "/subscriptions$"
	subscribe.refusals = []cause{foreignSubscription()}
	subscribe.starvation = &cause{name: "OLM held", begin: olmFault(simulator.OLMFaults{Hold: simulator.StageInstallPlan})}
	failure := &simulator.Failure{Reason: "Broken", Message: "it does not work"}
	subscribe.terminals = []cause{
		{name: "bundle", begin: olmFault(simulator.OLMFaults{BundleUnpackFailed: failure})},
		{name: "install plan", begin: olmFault(simulator.OLMFaults{InstallPlanFailed: failure})},
		{name: "CSV", begin: olmFault(simulator.OLMFaults{CSVFailed: failure})},
		answered(http.StatusForbidden, metav1.StatusReasonForbidden, "not for you"),
	}
	markCSV.name, markCSV.path = "mark of the operator", "/clusterserviceversions/"
	metalLB.step, metalLB.name, metalLB.path = appsingress.StepMetalLB, "MetalLB", "/metallbs/metallb$"
	metalLB.refusals = []cause{foreign("foreign MetalLB", metallbs, "openshift-operators", "metallb",
		map[string]any{"loadBalancerClass": "theirs"})}
	pool.step, pool.name, pool.path = appsingress.StepAddressPool, "address pool", "/ipaddresspools/"+member(0)+"$"
	pool.refusals = []cause{
		foreign("foreign pool", pools, "openshift-operators", member(0), map[string]any{"addresses": []any{"203.0.113.1/32"}}),
		foreign("overlapping pool", pools, "openshift-operators", "theirs", map[string]any{"addresses": []any{memberIP(0) + "/32"}}),
	}
	pool.terminals = []cause{answered(http.StatusForbidden, metav1.StatusReasonForbidden,
		`admission webhook "ipaddresspoolvalidationwebhook.metallb.io" denied the request: CIDR overlaps`)}
	advertisement := pool
	advertisement.name, advertisement.path = "advertisement", "/l2advertisements/"
	advertisement.refusals = []cause{foreign("foreign advertisement", advertisements, "openshift-operators", "advertise-"+member(0),
		map[string]any{})}
	advertisement.terminals = nil
	return slices.Concat([]pipelineStep{waitForWorker(), subscribe, markCSV, metalLB, pool, advertisement}, serviceRequests())
}

func waitForWorker() pipelineStep {
	return pipelineStep{
		name: "worker", step: appsingress.StepWorker, verb: testcluster.VerbList, path: "/nodes$", watch: "/nodes$",
		waiting: appsingress.ReasonWaitingForNodes, broken: appsingress.ReasonHostedClusterAccessFailed,
		starvation: &cause{name: "cordoned", begin: func(c *cell) {
			c.must(c.sims.Nodes.Cordon(c.hosted.ctx(), "worker-1", true))
		}},
	}
}

func serviceRequests() []pipelineStep {
	path := "/services/" + member(0) + "$"
	return []pipelineStep{{
		name: "service", step: appsingress.StepService, verb: testcluster.VerbPatch, path: path,
		waiting: appsingress.ReasonWaitingForExternalIP, broken: appsingress.ReasonIngressServiceFailed,
		refusals: []cause{foreign("foreign Service", services, "openshift-ingress", member(0),
			map[string]any{"ports": []any{map[string]any{"port": int64(80)}}})},
	}, {
		name: "endpoint", step: appsingress.StepEndpoint, verb: testcluster.VerbGet, path: path, after: path, watch: "/services$",
		waiting: appsingress.ReasonWaitingForExternalIP, broken: appsingress.ReasonExternalIPDiscoveryFailed,
		starvation: &cause{name: "MetalLB does not start", begin: withoutMetalLB},
	}}
}

// withoutMetalLB has nobody give addresses: MetalLB does not start, and one that runs has ended.
func withoutMetalLB(c *cell) {
	c.sims.MetalLB.SetFaults(simulator.MetalLBOperatorFaults{NeverStarts: true})
	c.hosted.await("the end of MetalLB", func() bool { return c.sims.MetalLB.Operand() == nil })
}

func publishingRequests() []pipelineStep {
	name := "*.apps." + member(0) + "." + baseDomain
	envoy := pipelineStep{
		name: "backends", step: appsingress.StepPublication, published: true, verb: testcluster.VerbPut, path: "/proxyservers/",
		waiting: appsingress.ReasonPublicationFailed, broken: appsingress.ReasonPublicationFailed,
		refusals: []cause{foreignEntry(proxyServers, proxyName, "backends", map[string]any{
			"name": "theirs", "hostname": name, "port": int64(443), "targetService": "198.51.100.8", "targetPort": int64(443),
			"targetNamespace": "theirs",
		})},
	}
	dns := envoy
	dns.name, dns.path = "record", "/dnsservers/"
	dns.refusals = []cause{foreignEntry(dnsServers, dnsName, "staticEntries", map[string]any{"hostname": name, "ip": "198.51.100.8"})}
	return []pipelineStep{envoy, dns}
}

// foreign is an object of somebody else under a name of ours, or in our way.
func foreign(what string, k kind, namespace, name string, spec map[string]any) cause {
	return cause{name: what, begin: func(c *cell) {
		c.hosted.create(k, namespace, name, spec)
		c.undo = append(c.undo, func() {
			c.hosted.delete(k, namespace, name)
			c.hosted.await("the end of "+name, func() bool { return c.hosted.get(k, namespace, name) == nil })
		})
	}}
}

// foreignSubscription is one of another catalog, with an OLM that has not come to it yet.
func foreignSubscription() cause {
	c := foreign("foreign Subscription", subscriptions, "openshift-operators", "metallb-operator", map[string]any{
		"name": "metallb-operator", "channel": "stable", "source": "certified-operators", "sourceNamespace": "openshift-marketplace",
	})
	hold, create := olmFault(simulator.OLMFaults{Hold: simulator.StageResolve}), c.begin
	c.begin = func(in *cell) {
		hold(in)
		create(in)
	}
	return c
}

// foreignEntry is somebody else's answer for our wildcard.
func foreignEntry(k kind, name, field string, entry map[string]any) cause {
	return cause{name: "foreign entry", begin: func(c *cell) {
		before, _, _ := unstructured.NestedSlice(c.management.must(k, "clusters", name).Object, "spec", field)
		replace := func(entries []any) {
			c.management.patch(k, "clusters", name, map[string]any{"spec": map[string]any{field: entries}})
		}
		replace(append(before[:len(before):len(before)], entry))
		c.undo = append(c.undo, func() { replace(before) })
	}}
}

func olmFault(faults simulator.OLMFaults) func(*cell) {
	return func(c *cell) { c.sims.OLM.SetFaults(faults) }
}
