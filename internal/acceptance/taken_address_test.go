package acceptance

import (
	"context"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// annotatedService makes somebody else's Service that asks MetalLB for something.
func (w *world) annotatedService(name string, annotations map[string]string) {
	w.t.Helper()
	service := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"type": "LoadBalancer", "ports": []any{map[string]any{"port": int64(80)}},
	}}}
	service.SetAPIVersion("v1")
	service.SetKind("Service")
	service.SetNamespace("default")
	service.SetName(name)
	service.SetAnnotations(annotations)
	if _, err := w.hosted.client(services, "default").Create(w.hosted.ctx(), service, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// served waits until a Service of somebody else has an address, or the test's patience ends: then the test fails by what follows.
func (w *world) served(name string) {
	const interval = 20 * time.Millisecond
	_ = wait.PollUntilContextTimeout(w.hosted.ctx(), interval, patience, true, func(ctx context.Context) (bool, error) {
		service, err := w.hosted.client(services, "default").Get(ctx, name, metav1.GetOptions{})
		return err == nil && len(list(service, "status", "loadBalancer", "ingress")) > 0, nil
	})
}

// A Service of somebody else has taken the only address, or the pinned one: the apply fails at its deadline and quotes what MetalLB
// says about it. Once the address is free the next apply goes on, and a pinned address is the one that is pinned.
func TestAddressIsTaken(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.throughProxy = true })
	const pinned = "198.51.100.210"
	w.annotatedService("taker", map[string]string{
		"metallb.io/address-pool": poolName, "metallb.io/loadBalancerIPs": pinned,
	})
	// MetalLB serves whom it likes first: ours comes when the address is taken.
	w.pair.Hosted.Proxy().Add(testcluster.Match{Verbs: []string{testcluster.VerbPatch}, Path: "/services/oooi-ingress$", Times: 1},
		testcluster.Do(func(*http.Request) { w.served("taker") }))
	impatient := []change{set("timeouts.create", text("4s")), set("timeouts.update", text("3s"))}
	config := func(changes ...change) string { return w.config(append(changes, impatient...)...) }
	c := newCLI(t, config(set("metallb.ip_address_pool_range", text(pinned+"/32"))))
	c.fails([]string{
		"The apps ingress was not created in time", "Step 6 of 7: endpoint", "WaitingForExternalIP: the Service has no address yet",
		`Event: Warning AllocationFailed: Failed to allocate IP for "openshift-ingress/oooi-ingress"`,
		"timeouts.create gives more", "IPAddressPool openshift-operators/apps-pool", "terraform untaint",
	}, applyFlags()...)
	if state := c.values(address); state["phase"] != "Pending" || state["reason"] != "WaitingForExternalIP" {
		t.Errorf("the state has phase %v and reason %v", state["phase"], state["reason"])
	}

	wide := []change{
		set("metallb.ip_address_pool_range", text("198.51.100.209-"+pinned)), set("service.load_balancer_ip", text(pinned)),
	}
	c.must("untaint", address)
	c.config(config(wide...))
	c.fails([]string{
		"The apps ingress was not updated in time", "Event: Warning AllocationFailed", "default/taker", "timeouts.update gives more",
	}, applyFlags()...)

	w.hosted.delete(services, "default", "taker")
	c.config(w.config(wide...))
	c.apply()
	if ip := c.values(address)["external_ip"]; ip != pinned {
		t.Errorf("the address is %v", ip)
	}
	if err := w.checkPublished(pinned, pinned, 80, 443); err != nil {
		t.Error(err)
	}
	c.unchanged()
	c.destroy()
}

// Another controller serves the Services without a class. With a class on the Service and on MetalLB, our address is from our pool,
// and the Services of others keep theirs.
func TestAnotherLoadBalancer(t *testing.T) {
	w := newWorld(t)
	w.settled()
	const elsewhere = "203.0.113.9"
	client := w.pair.Hosted.Dynamic(testcluster.UserSimulator)
	other := simulator.NewFakeLoadBalancer(client, simulator.FakeLoadBalancerOptions{
		AllServices: true, Answer: simulator.Always(simulator.Ingress{IP: elsewhere}),
	}, nil)
	w.background(other.Run)
	w.annotatedService("classless", nil)
	has := func() string {
		for _, entry := range list(w.hosted.must(services, "default", "classless"), "status", "loadBalancer", "ingress") {
			ip, _ := entry["ip"].(string)
			return ip
		}
		return ""
	}
	w.hosted.await("the other controller's address", func() bool { return has() == elsewhere })
	before := w.hosted.must(services, "default", "classless").GetResourceVersion()

	c := newCLI(t, w.config(set("metallb.load_balancer_class", text("metallb.io/metallb"))))
	c.apply()
	if ip := c.values(address)["external_ip"]; ip != firstIP {
		t.Errorf("the address is %v", ip)
	}
	for _, p := range []place{w.at(services), w.at(metallbs)} {
		if class := p.field("spec", "loadBalancerClass"); class != "metallb.io/metallb" {
			t.Errorf("%s has class %v", p.kind.name, class)
		}
	}
	c.unchanged()
	c.destroy()
	if after := w.hosted.must(services, "default", "classless").GetResourceVersion(); after != before {
		t.Errorf("the other Service was written: resource version %s, before %s", after, before)
	}
}
