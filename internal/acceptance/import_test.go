package acceptance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An ingress that Terraform has forgotten is imported whole: the next plan is empty, an update of what no cluster sees writes
// nothing, a label is changed like ever, and destroy removes everything.
func TestImport(t *testing.T) {
	w := newWorld(t)
	w.settled()
	management, hosted := w.management.snapshot(), w.hosted.snapshot()
	changes := []change{
		set("service.labels", object("team", "apps")), set("service.annotations", object("note", "kept")),
		set("ports.https", "8443"), set("service.load_balancer_ip", text("198.51.100.205")),
	}
	terraform := newCLI(t, w.config(changes...))
	terraform.apply()
	before := terraform.values(address)
	terraform.must("state", "rm", address)

	terraform.must("import", "-no-color", address, "clusters/demo")
	if diff := cmp.Diff(before, terraform.values(address)); diff != "" {
		t.Errorf("the imported state differs (-before +after):\n%s", diff)
	}
	terraform.unchanged()

	requests := w.hosted.requests()
	terraform.config(w.config(append(changes, set("timeouts.create", text("20m")), set("adopt_existing", "true"))...))
	terraform.apply()
	terraform.unchanged()
	if writes := requests.writes(); len(writes) > 0 {
		t.Errorf("an update of what no cluster sees wrote:\n%s", lines(writes))
	}

	terraform.config(w.config(append(changes, set("service.labels", object("team", "other")))...))
	terraform.apply()
	terraform.unchanged()
	if got := w.hosted.must(services, "openshift-ingress", "oooi-ingress").GetLabels()["team"]; got != "other" {
		t.Errorf("the label is %q", got)
	}
	terraform.destroy()
	w.management.sameAs(management)
	w.hosted.sameAs(hosted)
}

// What was made by hand is imported as ours: it has no marks before the first update, and is removed by destroy all the same.
// MetalLB and its operator, which others may use, stay.
func TestImportOfWhatWasMadeByHand(t *testing.T) {
	w := newWorld(t)
	w.madeByHand()
	terraform := newCLI(t, w.config(set("metallb.auto_assign", "true")))
	terraform.must("import", "-no-color", address, "clusters/demo,hosted_cluster=clusters/demo,service=openshift-ingress/oooi-ingress")
	terraform.config(w.config(set("metallb.auto_assign", "true"), set("service.labels", object("team", "apps"))))
	terraform.apply()
	terraform.unchanged()
	if mark := w.hosted.must(services, "openshift-ingress", "oooi-ingress").GetLabels()["app.kubernetes.io/managed-by"]; mark == "" {
		t.Error("the first update set no mark")
	}
	terraform.destroy()
	if w.hosted.get(services, "openshift-ingress", "oooi-ingress") != nil || w.hosted.get(pools, "openshift-operators", poolName) != nil {
		t.Error("the Service or the pool is still there")
	}
	w.hosted.must(metallbs, "openshift-operators", "metallb")
	w.hosted.must(subscriptions, "openshift-operators", "metallb-operator")
}

// An imported ingress that was never updated is removed as well.
func TestImportAndDestroy(t *testing.T) {
	w := newWorld(t)
	w.madeByHand()
	terraform := newCLI(t, w.config(set("metallb.auto_assign", "true")))
	terraform.must("import", "-no-color", address, "clusters/demo")
	terraform.destroy()
	if w.hosted.get(services, "openshift-ingress", "oooi-ingress") != nil || w.hosted.get(pools, "openshift-operators", poolName) != nil {
		t.Error("the Service or the pool is still there")
	}
}

// What cannot be imported is refused with what would help.
func TestImportRefused(t *testing.T) {
	w := newWorld(t)
	w.settled()
	terraform := newCLI(t, w.config())
	for id, want := range map[string]string{
		"demo":                             "namespace/name",
		"clusters/demo,color=red":          "none of hosted_cluster",
		"clusters/demo":                    "service=namespace/name",
		"clusters/demo,hosted_cluster=a/b": "HostedCluster a/b does not exist",
	} {
		output, code := terraform.run("import", "-no-color", address, id)
		if code == 0 || !strings.Contains(output, want) {
			t.Errorf("%s: exit code %d, want a text with %q:\n%s", id, code, want, output)
		}
	}
}

// madeByHand makes an ingress the way an administrator would with kubectl.
func (w *world) madeByHand() {
	w.t.Helper()
	w.settled()
	w.hosted.create(subscriptions, "openshift-operators", "metallb-operator", map[string]any{
		"name": "metallb-operator", "channel": "stable", "source": "redhat-operators", "sourceNamespace": "openshift-marketplace",
		"installPlanApproval": "Automatic",
	})
	w.hosted.await("MetalLB's API", func() bool { return w.hosted.serves(pools) && w.hosted.serves(metallbs) })
	w.hosted.create(metallbs, "openshift-operators", "metallb", map[string]any{})
	w.hosted.create(pools, "openshift-operators", poolName, map[string]any{"addresses": []any{poolRange}})
	w.hosted.create(advertisements, "openshift-operators", "advertise-"+poolName, map[string]any{"ipAddressPools": []any{poolName}})
	port := func(name string, number int64) any {
		return map[string]any{"name": name, "port": number, "targetPort": name, "protocol": "TCP"}
	}
	w.hosted.create(services, "openshift-ingress", "oooi-ingress", map[string]any{
		"type": "LoadBalancer", "ports": []any{port("http", 80), port("https", 443)},
		"selector": map[string]any{"ingresscontroller.operator.openshift.io/deployment-ingresscontroller": "default"},
	})
	w.hosted.patch(services, "openshift-ingress", "oooi-ingress", map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"metallb.io/address-pool": poolName, "metallb.universe.tf/address-pool": poolName},
	}})
	w.hosted.await("an address", func() bool {
		return len(list(w.hosted.must(services, "openshift-ingress", "oooi-ingress"), "status", "loadBalancer", "ingress")) > 0
	})
}
