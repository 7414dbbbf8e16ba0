package simulator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// startAdmission runs a hosted cluster up to the point where pools are served.
func startAdmission(t *testing.T) *fixture {
	t.Helper()
	s := startOLM(t, worker())
	s.create(subscriptions, subscription())
	s.csvIs(defaultCSV, "Succeeded", field("Succeeded", "status", "phase"))
	return s
}

func (f *fixture) createPool(u *unstructured.Unstructured) error {
	f.t.Helper()
	_, err := f.api(pools, operatorNamespace).Create(f.t.Context(), u, metav1.CreateOptions{})
	return err
}

func TestAdmissionOfPools(t *testing.T) {
	s := startAdmission(t)
	if err := s.Admission.WebhookNotReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused := s.createPool(pool("apps", "192.0.2.10-192.0.2.12"))
	if refused == nil || !strings.Contains(refused.Error(), "failed calling webhook") ||
		!strings.Contains(refused.Error(), "connection refused") {
		t.Fatalf("webhook without a listener: %v", refused)
	}

	if err := s.Admission.WebhookReady(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.createPool(pool("apps", "192.0.2.10-192.0.2.12")); err != nil {
		t.Fatal(err)
	}
	denied := s.createPool(pool("more", "192.0.2.12/32"))
	for _, part := range []string{"denied the request", `"apps"`, `"more"`} {
		if denied == nil || !strings.Contains(denied.Error(), part) {
			t.Errorf("overlapping pool: %v does not say %s", denied, part)
		}
	}
	// A pool does not overlap with its own former self.
	s.patch(pools, operatorNamespace, "apps", `{"spec":{"addresses":["192.0.2.12 - 192.0.2.14"]}}`)

	const slow = 300 * time.Millisecond
	if err := s.Admission.WebhookReady(t.Context(), slow); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if err := s.createPool(pool("far", "198.51.100.0/28")); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(before); took < slow {
		t.Errorf("a slow webhook answered after %s", took)
	}

	if err := s.Admission.Off(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.createPool(pool("more", "192.0.2.12/32")); err != nil {
		t.Errorf("without webhooks: %v", err)
	}

	if err := s.WebhookReadyAfter(t.Context(), aWhile); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return s.createPool(pool("last", "203.0.113.0/28")) == nil, nil
	})
	if err != nil {
		t.Errorf("waiting for the webhooks: %v", err)
	}
}

func TestAdmissionMutates(t *testing.T) {
	s := startAdmission(t)
	err := s.Admission.Mutate(t.Context(), simulator.Mutation{
		Services: true, Pools: true,
		Annotations: map[string]string{"example.com/added": "yes"}, Labels: map[string]string{"added": "yes"},
		Defaults: map[string]any{"serviceAllocation": map[string]any{"priority": 10}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := s.create(pools, pool("apps", "192.0.2.10-192.0.2.12"))
	if priority, _, _ := unstructured.NestedInt64(p.Object, "spec", "serviceAllocation", "priority"); priority != 10 {
		t.Error("the pool lacks the default")
	}
	created := s.create(services, service("ingress", "apps"))
	for _, u := range []*unstructured.Unstructured{p, created} {
		if u.GetAnnotations()["example.com/added"] != "yes" || u.GetLabels()["added"] != "yes" {
			t.Errorf("%s was not changed: %v", u.GetKind(), u.Object["metadata"])
		}
	}
	if created.GetAnnotations()["metallb.io/address-pool"] != "apps" {
		t.Error("the Service's own annotation was lost")
	}
}
