package acceptance

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// left says what a destroy may leave: CRDs, which are never removed, and what OLM itself leaves.
func left(key string) bool {
	for _, kind := range []string{"/customresourcedefinitions ", "/installplans "} {
		if strings.Contains(key, kind) {
			return true
		}
	}
	return false
}

func (l live) snapshot() testcluster.Snapshot {
	l.t.Helper()
	snapshot, err := l.cluster.Snapshot(l.ctx())
	if err != nil {
		l.t.Fatal(err)
	}
	return snapshot
}

// sameAs compares all objects of the cluster with an earlier list of them.
func (l live) sameAs(before testcluster.Snapshot) {
	l.t.Helper()
	after := l.snapshot()
	for _, objects := range []map[string]map[string]any{before.Objects, after.Objects} {
		maps.DeleteFunc(objects, func(key string, _ map[string]any) bool { return left(key) })
	}
	if diff := cmp.Diff(before.Objects, after.Objects); diff != "" {
		l.t.Errorf("the %s cluster is not as it was found (-before +after):\n%s", l.cluster.Name, diff)
	}
}

// Destroy leaves both clusters as they were found.
func TestDestroyLeavesTheClustersAsTheyWere(t *testing.T) {
	w := newWorld(t)
	w.settled()
	management, hosted := w.management.snapshot(), w.hosted.snapshot()
	test := w.testCase(resource.TestStep{
		Config: w.config(set("service.labels", object("team", "apps")), set("service.annotations", object("note", "kept"))),
		Check:  w.published(firstIP, firstIP),
	})
	test.CheckDestroy = func(*terraform.State) error {
		w.management.sameAs(management)
		w.hosted.sameAs(hosted)
		return nil
	}
	resource.Test(t, test)
}

// Things of others live through the whole life of an ingress: another pool keeps MetalLB and its operator, another Service its
// address, other entries, backends, labels and annotations stay.
func TestDestroyLeavesWhatOthersMade(t *testing.T) {
	w := newWorld(t)
	const otherIP = "198.51.100.100"
	test := w.testCase(
		resource.TestStep{Config: w.config()},
		resource.TestStep{
			PreConfig: func() {
				w.hosted.create(pools, "openshift-operators", "other-pool", map[string]any{"addresses": []any{otherIP + "/32"}})
				w.hosted.create(services, "default", "other", map[string]any{
					"type": "LoadBalancer", "ports": []any{map[string]any{"port": int64(80)}},
				})
				w.management.patch(dnsServers, "clusters", dnsName, map[string]any{"metadata": map[string]any{
					"labels": map[string]any{"team": "network"}, "annotations": map[string]any{"note": "theirs"},
				}})
			},
			Config: w.config(),
		},
	)
	test.CheckDestroy = func(*terraform.State) error {
		w.hosted.must(metallbs, "openshift-operators", "metallb")
		w.hosted.must(pools, "openshift-operators", "other-pool")
		subscription := w.hosted.must(subscriptions, "openshift-operators", "metallb-operator")
		csv, _, _ := unstructured.NestedString(subscription.Object, "status", "installedCSV")
		w.hosted.must(csvs, "openshift-operators", csv)
		got := list(w.hosted.must(services, "default", "other"), "status", "loadBalancer", "ingress")
		if diff := cmp.Diff([]map[string]any{{"ip": otherIP, "ipMode": "VIP"}}, got); diff != "" {
			t.Errorf("the other Service (-want +got):\n%s", diff)
		}
		dns := w.management.must(dnsServers, "clusters", dnsName)
		if diff := cmp.Diff(map[string]string{"note": "theirs"}, dns.GetAnnotations()); diff != "" {
			t.Error(diff)
		}
		if dns.GetLabels()["team"] != "network" {
			t.Error("a label of somebody else is gone")
		}
		return w.checkPublished("", "", 0, 0)
	}
	resource.Test(t, test)
}
