package acceptance

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// restricted is the life of an ingress whose provider may do only what its accounts may.
type restricted struct {
	w                  *world
	c                  *cli
	file               string // the management cluster's kubeconfig
	management, hosted *account
}

func encoded(t *testing.T, config *api.Config) []byte {
	t.Helper()
	content, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func (r restricted) config(changes ...change) string {
	changes = append([]change{set("timeouts.delete", text("4s"))}, changes...)
	return strings.Replace(r.w.config(changes...), r.w.managementKubeconfig(), r.file, 1)
}

// waits returns when the account watches a resource.
func (a *account) waits(recorded requests, resource string) {
	a.live.t.Helper()
	a.live.await("a watch of "+resource, func() bool {
		return slices.ContainsFunc(a.asked(recorded), func(e testcluster.AuditEntry) bool {
			return e.Verb == "watch" && e.Object.Resource == resource
		})
	})
}

// create has to wait for everything.
func (r restricted) create() {
	r.w.t.Helper()
	r.c.config(r.config())
	management, hosted := r.w.management.requests(), r.w.hosted.requests()
	apply := r.c.start(applyFlags()...)
	r.management.waits(management, "hostedclusters")
	kubeconfig := r.hosted.kubeconfig(r.w)
	r.w.must(r.w.sims.HyperShift.PublishKubeconfig(r.w.management.ctx(), "clusters", clusterName, kubeconfig))
	r.hosted.waits(hosted, "nodes")
	apply.interrupt()
	apply.wait()
	r.c.must("state", "rm", address)

	r.c.config(r.config(set("metallb.subscription", `{ source = "nowhere" }`)))
	r.c.fails([]string{"openshift-marketplace/redhat-operators"}, applyFlags()...)

	ctx := r.w.hosted.ctx()
	r.w.must(r.w.sims.Nodes.SetReady(ctx, "worker-2", true))
	r.w.must(r.w.sims.Nodes.Cordon(ctx, "worker-2", false))
	r.c.config(r.config())
	r.c.apply()
	r.c.unchanged()
}

// update changes what it can, and repairs.
func (r restricted) update() {
	r.w.t.Helper()
	for _, changes := range [][]change{
		{set("service.labels", object("team", "apps"))},
		{set("metallb.ip_address_pool_range", text("198.51.100.210-198.51.100.220"))},
		{set("metallb.ip_address_pool_range", text("198.51.100.210-198.51.100.220")), set("metallb.address_pool_name", text("renamed"))},
	} {
		r.c.config(r.config(changes...))
		r.c.apply()
	}
	r.c.config(r.config())
	r.c.apply()
	r.w.at(services).json(map[string]any{"op": "replace", "path": "/spec/ports/0/port", "value": 81})
	r.w.at(advertisements).gone()
	r.c.apply()
	r.c.unchanged()
}

func (r restricted) importAgain(id string) {
	r.w.t.Helper()
	r.c.must("state", "rm", address)
	r.c.must("import", "-no-color", address, id)
	r.c.apply() // an import knows nothing of timeouts
	r.c.unchanged()
}

// destroy is held up by everything that it removes.
func (r restricted) destroy() {
	r.w.t.Helper()
	r.w.at(services).finalizers(keepFinalizer)
	r.c.stays([]string{"Service openshift-ingress/oooi-ingress keeps finalizers"})
	r.w.at(services).finalizers()

	r.w.at(pools).finalizers(keepFinalizer)
	r.heldUp("l2advertisements", r.w.at(advertisements), func(destroy *command) {
		output, code := destroy.wait()
		r.c.failed(output, code, []string{"IPAddressPool openshift-operators/apps-pool keeps finalizers"})
	})
	r.w.at(pools).finalizers()

	csv, _ := r.w.at(subscriptions).must().Object["status"].(map[string]any)["installedCSV"].(string)
	r.heldUp("clusterserviceversions", place{r.w.hosted, csvs, "openshift-operators", csv}, func(destroy *command) {
		if output, code := destroy.wait(); code != 0 {
			r.w.t.Errorf("exit code %d:\n%s", code, output)
		}
	})
}

// heldUp destroys while an object keeps a finalizer until the provider watches it.
func (r restricted) heldUp(resource string, p place, end func(*command)) {
	r.w.t.Helper()
	p.finalizers(keepFinalizer)
	recorded := r.w.hosted.requests()
	destroy := r.c.start(destroyFlags()...)
	r.hosted.waits(recorded, resource)
	p.finalizers()
	end(destroy)
}

// planWithInfra plans an ingress on a VLAN, with the rights that only this needs.
func (r restricted) planWithInfra() {
	r.w.t.Helper()
	rights := r.management.apply("management-infra.yaml")
	r.w.management.create(infras, "clusters", "vlan", infraSpec())
	since := r.w.management.requests()
	r.c.config(r.config(set("mode", text("direct")), set("infra_ref", `{ name = "vlan" }`)))
	r.c.must(planFlags()...)
	r.management.exact(rights, r.management.asked(since))
}

// missing takes one right away on each cluster. The error names verb, resource, namespace and cluster.
func (r restricted) missing() {
	r.w.t.Helper()
	for _, missing := range []struct {
		account *account
		place   place
		rule    string
		right   right
		text    string
	}{
		{
			r.management,
			place{r.w.management, roles, "clusters", r.management.name},
			"/rules/2/verbs",
			right{"clusters", "hostedcluster.densityops.com", "proxyservers", "update", ""},
			"in the management cluster: not allowed to update proxyservers.hostedcluster.densityops.com in namespace clusters",
		},
		{
			r.hosted,
			place{r.w.hosted, roles, "openshift-ingress", r.hosted.name},
			"/rules/0/verbs",
			right{"openshift-ingress", "", "services", "patch", serviceName},
			"in the hosted cluster clusters/demo: not allowed to patch services in namespace openshift-ingress",
		},
	} {
		before := missing.place.must()
		missing.place.json(map[string]any{"op": "replace", "path": missing.rule, "value": []any{"get", "watch"}})
		missing.account.await(missing.right, false)
		r.c.config(r.config(set("ports", "{ http = 8080, https = 8443 }")))
		r.c.fails([]string{missing.text}, applyFlags()...)
		missing.place.patch(map[string]any{"rules": before.Object["rules"]})
		missing.account.await(missing.right, true)
	}
}
