package acceptance

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// second is another ingress that wants the Service of the first.
func second() string {
	return fmt.Sprintf(`
resource "oooi_apps_ingress" "second" {
  name               = "second"
  hosted_cluster_ref = { name = %q }
  dns                = { cluster_name = "second", base_domain = %q }
  publish            = { dns_server = %q, proxy_server = %q }
  metallb            = { address_pool_name = "second", ip_address_pool_range = "198.51.100.230/32" }
}
`, clusterName, baseDomain, dnsName, proxyName)
}

// An update needs no worker. A second ingress for the same Service is refused by the mark on it. Backends that are the last of
// their ProxyServer keep a destroy from beginning, until there are others.
func TestIngressAmongOthers(t *testing.T) {
	w := newWorld(t)
	labelled := w.config(set("service.labels", object("team", "apps")))
	var managed, hosted requests
	w.test(
		resource.TestStep{Config: w.config(), Check: w.published(firstIP, firstIP)},
		resource.TestStep{
			PreConfig: func() {
				if err := w.sims.Nodes.Drain(w.hosted.ctx(), "worker-1"); err != nil {
					t.Fatal(err)
				}
			},
			Config: labelled,
			Check:  w.published(firstIP, firstIP),
		},
		resource.TestStep{
			PreConfig: func() { managed, hosted = w.management.requests(), w.hosted.requests() },
			Config:    labelled + second(),
			ExpectError: regexp.MustCompile(`(?s)The apps ingress was not created.*` +
				`with\s+oooi_apps_ingress\.second.*Service\s+openshift-ingress/oooi-ingress.*belongs\s+to\s+the\s+apps\s+ingress\s+clusters/demo`),
		},
		resource.TestStep{
			PreConfig: func() {
				nothingWritten(t, "by an ingress that is refused", managed)
				nothingWritten(t, "by an ingress that is refused", hosted)
				w.otherBackend(false)
			},
			Config:      labelled,
			Destroy:     true,
			ExpectError: regexp.MustCompile(`(?s)The apps ingress was not removed.*a\s+ProxyServer\s+must\s+keep\s+at\s+least\s+one`),
		},
		resource.TestStep{
			PreConfig: func() {
				nothingWritten(t, "by a destroy that cannot begin", managed)
				nothingWritten(t, "by a destroy that cannot begin", hosted)
				w.otherBackend(true)
			},
			Config: labelled,
			Check:  w.published(firstIP, firstIP),
		},
	)
}

// otherBackend puts somebody else's backend before ours, or leaves ours alone in the ProxyServer.
func (w *world) otherBackend(present bool) {
	w.t.Helper()
	var backends []any
	if present {
		backends = append(backends, map[string]any{
			"name": "other-api", "hostname": "api.other." + baseDomain, "port": int64(6443),
			"targetService": "kube-apiserver", "targetPort": int64(6443), "targetNamespace": "clusters-other",
		})
	}
	for _, backend := range list(w.management.must(proxyServers, "clusters", proxyName), "spec", "backends") {
		if name, _ := backend["name"].(string); strings.HasPrefix(name, "demo-apps-") {
			backends = append(backends, backend)
		}
	}
	w.management.patch(proxyServers, "clusters", proxyName, map[string]any{"spec": map[string]any{"backends": backends}})
}

// noPublish leaves what to publish in to infra_ref.
func noPublish(infra string) []change {
	return []change{unset("publish"), set("infra_ref.name", infra)}
}

// The mode of an ingress with an Infra is decided when that is known: in the plan, or at apply. Without Infra and without what would
// be its own, nothing is published, which is an error and never silence. An Infra that appears between plan and apply is in time.
func TestInfraRef(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.Oooi = &simulator.OooiOptions{} })
	w.settled()
	c := newCLI(t, w.config(noPublish(text("vlam"))...))
	management, hosted := w.management.requests(), w.hosted.requests()
	c.fails([]string{"infra_ref", "neither Infra vlam nor a DNSServer or ProxyServer of its name exists"}, applyFlags()...)
	nothingWritten(t, "by an ingress that is refused", management)
	nothingWritten(t, "by an ingress that is refused", hosted)
	if state := c.values(address); state != nil {
		t.Errorf("the state has %v", state)
	}

	c.config(w.config(noPublish("terraform_data.infra.output")...) + "resource \"terraform_data\" \"infra\" {\n  input = \"vlan\"\n}\n")
	w.decidedAtApply(c, "direct", func() {})
	if err := w.checkPublished(firstIP, firstIP, 80, 443); err != nil {
		t.Error(err)
	}
	c.destroy()

	c.config(w.attached())
	w.decidedAtApply(c, "attachment", w.infra)
	if err := w.checkInfraPublishes(firstIP, firstIP); err != nil {
		t.Error(err)
	}
	c.destroy()
}

// decidedAtApply checks a plan that leaves the mode open, and what the apply makes of it.
func (w *world) decidedAtApply(c *cli, mode string, between func()) {
	w.t.Helper()
	c.must(planFlags("-out=plan")...)
	if plan := c.planned("plan", address); plan.AfterUnknown["mode"] != true {
		w.t.Errorf("the plan has mode %v", plan.After["mode"])
	}
	between()
	c.must("apply", "-input=false", "-no-color", "plan")
	if state := c.values(address); state["mode"] != mode || state["external_ip"] != firstIP {
		w.t.Errorf("the state has mode %v and external_ip %v", state["mode"], state["external_ip"])
	}
	c.unchanged()
}
