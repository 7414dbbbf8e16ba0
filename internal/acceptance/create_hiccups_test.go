package acceptance

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// rights are all that an ingress needs in the hosted cluster: no right to see CRDs is among them.
func rights(ofServices ...string) []testcluster.Permission {
	all := []string{"get", "list", "watch", "create", "patch", "update", "delete"}
	return []testcluster.Permission{
		{Groups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
		{Groups: []string{""}, Resources: []string{"services"}, Verbs: ofServices},
		{Groups: []string{"operators.coreos.com"}, Resources: []string{"*"}, Verbs: all},
		{Groups: []string{"metallb.io"}, Resources: []string{"*"}, Verbs: all},
	}
}

// grant replaces the rights of the restricted user.
func (l live) grant(rules []testcluster.Permission) {
	l.t.Helper()
	if err := l.cluster.Grant(l.ctx(), testcluster.UserRestricted, rules...); err != nil {
		l.t.Fatal(err)
	}
}

// restrictedAccess has the provider use the hosted cluster, through its proxy, as a user who may do only what is needed.
func (w *world) restrictedAccess() {
	w.t.Helper()
	w.hosted.grant(rights("*"))
	w.settled()
	kubeconfig := w.pair.Hosted.KubeconfigBytesThroughProxy(testcluster.UserRestricted)
	if err := w.sims.HyperShift.PublishKubeconfig(w.management.ctx(), "clusters", clusterName, kubeconfig); err != nil {
		w.t.Fatal(err)
	}
}

// lateOnce has the first read after the first write of an object answer as if the write had not arrived yet.
func lateOnce(proxy *testcluster.Proxy, path string) *testcluster.Rule {
	return proxy.Add(testcluster.Match{Verbs: []string{testcluster.VerbPatch}, Path: path, Times: 1},
		testcluster.Do(func(*http.Request) {
			proxy.Add(testcluster.Match{Verbs: []string{testcluster.VerbGet}, Path: path, Times: 1},
				testcluster.Answer(http.StatusNotFound, metav1.StatusReasonNotFound, "not found yet"))
		}))
}

// One apply succeeds although the API does not serve MetalLB's kinds for a while after they are installed, reads are late,
// webhooks do not answer at first, and CRDs may not be listed. A right that is missing later is named.
func TestCreateThroughHiccups(t *testing.T) {
	w := newWorld(t)
	w.restrictedAccess()
	proxy := w.pair.Hosted.Proxy()
	if err := w.sims.Admission.WebhookNotReady(w.hosted.ctx()); err != nil {
		t.Fatal(err)
	}
	webhook := proxy.Add(testcluster.Match{Verbs: []string{testcluster.VerbPatch}, Path: "/ipaddresspools/", Skip: 4, Times: 1},
		testcluster.Do(func(*http.Request) {
			if err := w.sims.Admission.WebhookReady(w.hosted.ctx(), 0); err != nil {
				t.Error(err)
			}
		}))
	unserved := proxy.Add(testcluster.Match{Path: "^/apis/metallb.io/v1beta1$", Times: 3},
		testcluster.Answer(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource"))
	late := []*testcluster.Rule{lateOnce(proxy, "/subscriptions/metallb-operator$"), lateOnce(proxy, "/services/oooi-ingress$")}
	definitions := proxy.Add(testcluster.Match{Path: "customresourcedefinitions"}, testcluster.Pass())
	w.test(
		resource.TestStep{
			Config: w.config(),
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(address, "external_ip", firstIP),
				w.published(firstIP, firstIP),
				func(*terraform.State) error {
					if webhook.Hits() != 1 || unserved.Hits() != 3 || late[0].Hits() != 1 || late[1].Hits() != 1 {
						t.Error("not every hiccup was met")
					}
					if definitions.Hits() > 0 {
						t.Error("CRDs were asked for")
					}
					return nil
				},
			),
		},
		resource.TestStep{
			PreConfig: func() { w.hosted.grant(rights("get", "list", "watch")) },
			Config:    w.config(set("service.labels", object("team", "apps"))),
			ExpectError: regexp.MustCompile(`(?s)hosted\s+cluster\s+clusters/demo.*` +
				`not\s+allowed\s+to\s+patch\s+services\s+in\s+namespace\s+openshift-ingress`),
		},
		resource.TestStep{
			PreConfig: func() { w.hosted.grant(rights("*")) },
			Config:    w.config(set("service.labels", object("team", "apps"))),
			Check:     w.published(firstIP, firstIP),
		},
	)
}

// A webhook that denies ends the apply with its words; what was made before is in the state, and destroy removes it.
func TestCreateDeniedByWebhook(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.throughProxy = true })
	w.settled()
	if err := w.sims.Admission.WebhookReady(w.hosted.ctx(), 0); err != nil {
		t.Fatal(err)
	}
	w.pair.Hosted.Proxy().Add(testcluster.Match{Verbs: []string{testcluster.VerbPatch}, Path: "/metallbs/", Times: 1},
		testcluster.Do(func(*http.Request) {
			w.hosted.create(pools, "openshift-operators", "neighbour", map[string]any{"addresses": []any{"198.51.100.210/32"}})
		}))
	c := newCLI(t, w.config())
	output := c.fails([]string{
		"Step 4 of 7: address pool", "denied the request", `overlaps with already defined CIDR "198.51.100.210/32"`, "terraform untaint",
	}, applyFlags()...)
	if strings.Contains(unwrapped(output), "not allowed to") {
		t.Errorf("the webhook's refusal is taken for a missing permission:\n%s", output)
	}
	if !c.tainted(address) {
		t.Errorf("the ingress is not in the state as tainted:\n%s", output)
	}
	c.destroy()
	for what, left := range map[string]bool{
		"the Service":        w.hosted.get(services, "openshift-ingress", "oooi-ingress") != nil,
		"the pool":           w.hosted.get(pools, "openshift-operators", poolName) != nil,
		"an advertisement":   w.hosted.get(advertisements, "openshift-operators", "advertise-"+poolName) != nil,
		"the state":          c.values(address) != nil,
		"no foreign pool":    w.hosted.get(pools, "openshift-operators", "neighbour") == nil,
		"no MetalLB for it":  w.hosted.get(metallbs, "openshift-operators", "metallb") == nil,
		"no operator for it": w.hosted.get(subscriptions, "openshift-operators", "metallb-operator") == nil,
	} {
		if left {
			t.Errorf("destroy left %s", what)
		}
	}
	if err := w.checkPublished("", "", 80, 443); err != nil {
		t.Error(err)
	}
}
