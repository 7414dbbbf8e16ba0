package acceptance

import (
	"fmt"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// balancer is a load balancer whose answer changes.
type balancer struct {
	mutex   sync.Mutex
	entries []simulator.Ingress
}

func (b *balancer) answer(*unstructured.Unstructured) []simulator.Ingress {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.entries
}

// reports changes the answer, and lets the load balancer notice.
func (b *balancer) reports(w *world, entries ...simulator.Ingress) {
	w.t.Helper()
	b.mutex.Lock()
	b.entries = entries
	b.mutex.Unlock()
	nothing := map[string]any{"status": map[string]any{"loadBalancer": map[string]any{"ingress": nil}}}
	w.hosted.send(services, "openshift-ingress", "oooi-ingress", types.MergePatchType, nothing, "status")
	w.hosted.await("the load balancer's answer", func() bool {
		service := w.hosted.must(services, "openshift-ingress", "oooi-ingress")
		return len(list(service, "status", "loadBalancer", "ingress")) == len(entries)
	})
}

// The endpoint is the IPv4 address among what a load balancer reports, in whatever order it does; an entry that says nothing is
// waited out; and a host name in place of the address is followed.
func TestEndpointAmongWhatIsReported(t *testing.T) {
	v4, v6 := simulator.Ingress{IP: firstIP}, simulator.Ingress{IP: "2001:db8::200"}
	named := simulator.Ingress{Hostname: "lb-1.cloud.example.com"}
	balancer := &balancer{entries: []simulator.Ingress{{}}}
	w := newWorld(t, func(s *setup) { s.answer = balancer.answer })
	filled := make(chan struct{})
	recorded := w.hosted.requests()
	go func() {
		defer close(filled)
		w.awaitRequest(recorded, "watch", "services")
		balancer.reports(w, v6, v4)
	}()
	stable := func(entries ...simulator.Ingress) resource.TestStep {
		return resource.TestStep{PreConfig: func() { balancer.reports(w, entries...) }, Config: w.config(), PlanOnly: true}
	}
	w.test(
		resource.TestStep{
			Config: w.config(),
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(address, "external_ip", firstIP),
				resource.TestCheckNoResourceAttr(address, "external_hostname"),
				w.published(firstIP, firstIP),
			),
		},
		stable(v4, v6),
		stable(v4),
		stable(named, v4),
		resource.TestStep{
			PreConfig: func() { balancer.reports(w, named) },
			Config:    w.config(),
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(address, "external_hostname", named.Hostname),
				resource.TestCheckNoResourceAttr(address, "external_ip"),
				resource.TestCheckResourceAttr(downstream, "output", named.Hostname),
				w.published("", named.Hostname),
			),
		},
	)
	<-filled
}

// What admission adds to our objects is nobody's drift: an annotation, a label, a port, a default.
func TestCreateBesideMutatingAdmission(t *testing.T) {
	w := newWorld(t)
	err := w.sims.Admission.Mutate(w.hosted.ctx(), simulator.Mutation{
		Annotations: map[string]string{"policy.example.com/checked": "yes"},
		Labels:      map[string]string{"policy.example.com/zone": "apps"},
		Defaults:    map[string]any{"publishNotReadyAddresses": true},
		Port:        map[string]any{"name": "metrics", "port": int64(9100)},
		Services:    true,
		Pools:       true,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.test(
		resource.TestStep{Config: w.config(), Check: w.published(firstIP, firstIP)},
		resource.TestStep{
			Config: w.config(set("service.labels", object("team", "apps")), set("ports.https", "8443")),
			Check: func(*terraform.State) error {
				service := w.hosted.must(services, "openshift-ingress", "oooi-ingress")
				if labels := service.GetLabels(); labels["team"] != "apps" || labels["policy.example.com/zone"] != "apps" {
					return fmt.Errorf("the Service has labels %v", labels)
				}
				if ports := list(service, "spec", "ports"); len(ports) != 3 {
					return fmt.Errorf("the Service has ports %v", ports)
				}
				pool := w.hosted.must(pools, "openshift-operators", poolName)
				if pool.GetAnnotations()["policy.example.com/checked"] != "yes" {
					return fmt.Errorf("the pool has annotations %v", pool.GetAnnotations())
				}
				return w.checkPublished(firstIP, firstIP, 80, 8443)
			},
		},
	)
}
