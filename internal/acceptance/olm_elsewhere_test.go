package acceptance

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// obstacle is something in the hosted cluster that an installation would fail on, or double.
type obstacle struct {
	name  string
	put   func()
	away  func()
	texts []string
}

const operators = "openshift-operators"

func subscriptionTo(channel string) map[string]any {
	return map[string]any{
		"name": "metallb-operator", "channel": channel, "source": "redhat-operators", "sourceNamespace": "openshift-marketplace",
	}
}

// obstacles are put into the cluster and taken away one by one.
func (w *world) obstacles() []obstacle {
	const csv = "metallb-operator.v4.18.0-202601010000"
	here := func(k kind, namespace, name string, spec map[string]any) (put, away func()) {
		return func() { w.hosted.create(k, namespace, name, spec) }, func() { w.hosted.delete(k, namespace, name) }
	}
	var list []obstacle
	add := func(name string, put, away func(), texts ...string) {
		list = append(list, obstacle{name, put, away, texts})
	}

	put, away := here(subscriptions, "metallb-system", "metallb", subscriptionTo("stable"))
	add("a Subscription in another namespace", put, away, "by Subscription metallb-system/metallb",
		`Set metallb.namespace = "metallb-system" and metallb.install = false`)
	put, away = here(subscriptions, operators, "by-hand", subscriptionTo("stable"))
	add("another Subscription", put, away, "by Subscription openshift-operators/by-hand", "metallb.install = false")
	put, away = here(subscriptions, operators, "metallb-operator", subscriptionTo("beta"))
	add("a Subscription with another meaning", put, away, "spec.channel", "beta", "Set metallb.subscription to what is there")
	put, away = here(metallbs, "metallb-system", "metallb", map[string]any{})
	add("a MetalLB in another namespace", put, away, "by MetalLB metallb-system/metallb",
		`Set metallb.namespace = "metallb-system" and metallb.install = false`)
	add("a CSV without Subscription", func() {
		if err := w.sims.OLM.OrphanCSV(w.hosted.ctx(), operators); err != nil {
			w.t.Fatal(err)
		}
	}, func() { w.hosted.delete(csvs, operators, csv) }, csv, "belongs to no Subscription", "metallb.install = false")
	put, away = here(operatorGroups, operators, "second", map[string]any{})
	add("two OperatorGroups", put, away, "has 2 OperatorGroups (global-operators, second)", "metallb.namespace")
	add("no OperatorGroup and no catalog", func() {
		w.hosted.delete(operatorGroups, operators, "global-operators")
		w.hosted.delete(catalogSources, "openshift-marketplace", "redhat-operators")
	}, func() {
		w.hosted.create(operatorGroups, operators, "global-operators", map[string]any{})
		w.hosted.create(catalogSources, "openshift-marketplace", "redhat-operators", map[string]any{"sourceType": "grpc"})
	}, "has no OperatorGroup", "CatalogSource openshift-marketplace/redhat-operators does not exist",
		"openshift-marketplace/certified-operators, openshift-marketplace/community-operators")
	return list
}

// A MetalLB that is installed another way, and what would make an installation fail, is found before anything is written; the error
// says where it is and what to set. The copies that OLM makes of a CSV do not count.
func TestMetalLBIsInstalledAnotherWay(t *testing.T) {
	w := newWorld(t)
	w.settled()
	w.sims.OLM.SetFaults(simulator.OLMFaults{Hold: simulator.StageResolve})
	w.namespace("metallb-system")
	crds, err := testcluster.MetalLBCRDs()
	if err == nil {
		err = w.pair.Hosted.InstallCRDs(w.hosted.ctx(), crds...)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.hosted.await("MetalLB's kinds", func() bool { return w.hosted.serves(metallbs) })
	c := newCLI(t, w.config())
	management, hosted := w.management.requests(), w.hosted.requests()
	for _, obstacle := range w.obstacles() {
		obstacle.put()
		output, code := c.run(applyFlags()...)
		said := unwrapped(output)
		for _, text := range append(obstacle.texts, "hosted cluster clusters/demo", "Nothing was changed in any cluster") {
			if code != 1 || !strings.Contains(said, text) {
				t.Errorf("%s: exit code %d, and the error has to say %q:\n%s", obstacle.name, code, text, output)
			}
		}
		if state := c.values(address); state != nil {
			t.Errorf("%s: the state has %v", obstacle.name, state)
		}
		obstacle.away()
	}
	nothingWritten(t, "by an ingress that is refused", management)
	nothingWritten(t, "by an ingress that is refused", hosted)

	w.copiedCSV()
	w.sims.OLM.SetFaults(simulator.OLMFaults{})
	c.apply()
	c.unchanged()
	c.destroy()
}

func (w *world) namespace(name string) {
	w.t.Helper()
	w.hosted.create(namespaces, "", name, map[string]any{})
}

// copiedCSV puts the copy of a CSV of another namespace where the operator is to be installed.
func (w *world) copiedCSV() {
	w.t.Helper()
	csv := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"displayName": "MetalLB Operator", "install": map[string]any{"strategy": "deployment"},
	}}}
	csv.SetAPIVersion(csvs.GroupVersion().String())
	csv.SetKind(csvs.name)
	csv.SetNamespace(operators)
	csv.SetName("metallb-operator.v4.17.0-copied")
	csv.SetLabels(map[string]string{"olm.copiedFrom": "metallb-system"})
	if _, err := w.hosted.client(csvs, operators).Create(w.hosted.ctx(), csv, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// A hosted cluster without OLM is an error that names install = false, and nothing else; with that, and MetalLB, it works.
func TestHostedClusterWithoutOLM(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.MetalLB = &simulator.MetalLBOperatorOptions{WithoutCSV: true} })
	w.settled()
	for _, plural := range []string{
		"subscriptions", "clusterserviceversions", "installplans", "catalogsources", "operatorgroups",
	} {
		err := w.hosted.client(definitions, "").Delete(w.hosted.ctx(), plural+".operators.coreos.com", metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	w.hosted.await("the end of OLM's kinds", func() bool {
		return !w.hosted.serves(subscriptions) && !w.hosted.serves(operatorGroups) && !w.hosted.serves(catalogSources)
	})
	c := newCLI(t, w.config())
	recorded := w.hosted.requests()
	c.fails([]string{
		"The configuration does not fit the clusters", "metallb.install", "there is no OLM to install MetalLB with", "metallb.install = false",
	}, applyFlags()...)
	nothingWritten(t, "without OLM", recorded)

	w.installMetalLB()
	c.config(w.config(set("metallb.install", "false")))
	c.apply()
	c.unchanged()
	if err := w.checkPublished(firstIP, firstIP, 80, 443); err != nil {
		t.Error(err)
	}
	c.destroy()
	w.at(metallbs).must()
}
