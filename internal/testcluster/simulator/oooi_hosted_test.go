package simulator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// hostedObjects are the five that the operator makes in the hosted cluster.
func (f *fixture) hostedObjectsAre(what string, want state) {
	f.t.Helper()
	f.eventually(services, ingressNamespace, "oooi-ingress", what, want)
	f.eventually(advertisements, operatorNamespace, "advertise-apps", what, want)
	f.eventually(pools, operatorNamespace, "apps", what, want)
	f.eventually(metallbs, operatorNamespace, "metallb", what, want)
	f.eventually(subscriptions, operatorNamespace, "metallb-operator", what, want)
}

// ready makes an attachment and touches it until its ingress is published.
func (f *fixture) ready(name string) {
	f.t.Helper()
	f.create(attachments, attachment(name))
	f.touchUntil(name, "Ready", readyAt(firstOfApps))
	f.publishedIs(name, firstOfApps)
}

func uidOf(u *unstructured.Unstructured) string { return string(u.GetUID()) }

func TestOooiRepairsWhenTouched(t *testing.T) {
	s := startOooi(t, simulator.OooiOptions{Blink: 2 * time.Second, DisableRemoves: true})
	s.ready("demo")

	// Deleted behind its back, nobody notices; touched, the endpoint is withdrawn until the second look.
	s.delete(services, ingressNamespace, "oooi-ingress")
	s.steadily(services, ingressNamespace, "oooi-ingress", "a deleted Service stays away", gone)
	s.touch("demo")
	s.publishedIs("demo", "")
	s.eventually(attachments, clusters, "demo", "Ready again by itself", readyAt(firstOfApps))
	s.publishedIs("demo", firstOfApps)

	// What others wrote is lost, but for the Service.
	foreign := `{"metadata":{"labels":{"example.com/mine":"yes"},"annotations":{"example.com/mine":"yes"}}}`
	s.patch(services, ingressNamespace, "oooi-ingress", foreign)
	s.patch(subscriptions, operatorNamespace, "metallb-operator", `{"metadata":{"labels":{"example.com/mine":"yes"}},"spec":{"config":{}}}`)
	s.patch(metallbs, operatorNamespace, "metallb", `{"metadata":{"labels":{"example.com/mine":"yes"}},"spec":{"loadBalancerClass":""}}`)
	s.patch(pools, operatorNamespace, "apps", `{"metadata":{"labels":{"example.com/mine":"yes"}},"spec":{"autoAssign":false}}`)
	s.patch(advertisements, operatorNamespace, "advertise-apps", foreign)
	s.touch("demo")
	plain := func(u *unstructured.Unstructured) bool {
		return u != nil && len(u.GetLabels()) == 0 && len(u.GetAnnotations()) == 0
	}
	s.eventually(subscriptions, operatorNamespace, "metallb-operator", "wiped", plain)
	s.eventually(metallbs, operatorNamespace, "metallb", "wiped", plain)
	s.eventually(pools, operatorNamespace, "apps", "wiped", func(u *unstructured.Unstructured) bool {
		assign, _, _ := unstructured.NestedBool(u.Object, "spec", "autoAssign")
		return plain(u) && assign
	})
	s.eventually(advertisements, operatorNamespace, "advertise-apps", "wiped", plain)
	s.touchUntil("demo", "Ready again", readyAt(firstOfApps))
	s.steadily(services, ingressNamespace, "oooi-ingress", "a Service keeps what others wrote", func(u *unstructured.Unstructured) bool {
		return u.GetLabels()["example.com/mine"] == "yes" && u.GetAnnotations()["example.com/mine"] == "yes"
	})

	// A range that moves the address: the old one is Ready until the next touch.
	if err := s.PauseMetalLB(0); err != nil {
		t.Fatal(err)
	}
	s.patch(attachments, clusters, "demo", `{"spec":{"appsIngress":{"metallb":{"ipAddressPoolRange":"198.51.100.230-198.51.100.239"}}}}`)
	s.eventually(attachments, clusters, "demo", "the old address for the new range", func(u *unstructured.Unstructured) bool {
		observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		return observed == u.GetGeneration() && readyAt(firstOfApps)(u)
	})
	if err := s.ResumeMetalLB(); err != nil {
		t.Fatal(err)
	}
	s.addressIs("oooi-ingress", "198.51.100.230")
	s.steadily(attachments, clusters, "demo", "no look without a touch", readyAt(firstOfApps))
	s.touch("demo")
	s.eventually(attachments, clusters, "demo", "the new address", readyAt("198.51.100.230"))
	s.publishedIs("demo", "198.51.100.230")

	s.patch(attachments, clusters, "demo", `{"spec":{"appsIngress":{"enabled":false}}}`)
	s.eventually(attachments, clusters, "demo", "no status", phase("", ""))
	s.publishedIs("demo", "")
	s.hostedObjectsAre("gone", gone)
}

func TestOooiRenamesAndLeavesDisabled(t *testing.T) {
	const interval = 200 * time.Millisecond
	s := startOooi(t, simulator.OooiOptions{WaitInterval: interval, AddressInterval: interval, ErrorInterval: interval})
	s.create(attachments, attachment("demo"))
	s.eventually(attachments, clusters, "demo", "Ready without a touch", readyAt(firstOfApps))
	s.publishedIs("demo", firstOfApps)
	before := uidOf(s.read(subscriptions, operatorNamespace, "metallb-operator"))
	s.patch(attachments, clusters, "demo", `{"spec":{"appsIngress":{"service":{"name":"renamed"}}}}`)
	s.eventually(services, ingressNamespace, "oooi-ingress", "gone", gone)
	s.eventually(attachments, clusters, "demo", "Ready with another Service", func(u *unstructured.Unstructured) bool {
		return readyAt(firstOfApps)(u) && field("renamed", "status", "appsIngressStatus", "appliedServiceName")(u)
	})
	if after := uidOf(s.read(subscriptions, operatorNamespace, "metallb-operator")); after == before {
		t.Error("the Subscription was kept")
	}
	for _, m := range s.Timeline().Moments() {
		if m.Event == simulator.AttachmentReconciled && strings.HasPrefix(m.Detail, "Degraded") && !strings.Contains(m.Detail, "Access") {
			t.Errorf("a rename is no failure, but: %s", m.Detail)
		}
	}

	s.patch(attachments, clusters, "demo", `{"spec":{"appsIngress":{"enabled":false}}}`)
	s.eventually(attachments, clusters, "demo", "no status", phase("", ""))
	s.publishedIs("demo", "")
	s.steadily(services, ingressNamespace, "renamed", "a disabled ingress leaves its Service", there)
	if got := s.read(attachments, clusters, "demo").GetFinalizers(); len(got) != 0 {
		t.Errorf("finalizers of a disabled attachment: %v", got)
	}
}

func TestOooiWithoutHostedAPI(t *testing.T) {
	const interval = 200 * time.Millisecond
	s := startOooi(t, simulator.OooiOptions{CleanupInterval: interval, HostedTimeout: 2 * time.Second},
		func(_ *testcluster.Pair, config *simulator.Config) {
			config.HostedClusters = append(config.HostedClusters, simulator.HostedCluster{Name: "bare", WithoutKubeconfig: true})
		})
	s.create(attachments, attachment("bare"))
	s.eventually(attachments, clusters, "bare", "no kubeconfig", phase("Degraded", "HostedClusterAccessFailed"))
	s.ready("demo")

	// Silent: the only worker is blocked, and others wait for it.
	hang := s.pair.Hosted.Proxy().Add(testcluster.Match{}, testcluster.Hang())
	s.touch("demo")
	s.eventually(attachments, clusters, "demo", "", func(*unstructured.Unstructured) bool { return hang.Hits() > 0 })
	s.touch("bare")
	s.eventually(attachments, clusters, "demo", "Degraded", phase("Degraded", "HostedClusterNodeListFailed"))
	s.eventually(attachments, clusters, "bare", "its turn", func(*unstructured.Unstructured) bool {
		return s.lastLook("bare").After(s.lastLook("demo"))
	})
	s.publishedIs("demo", "")
	hang.Remove()
	s.touchUntil("demo", "Ready again", readyAt(firstOfApps))
	s.publishedIs("demo", firstOfApps)

	// Down: a deleted attachment waits for the API to come back.
	s.pair.Hosted.Proxy().Stop()
	s.delete(attachments, clusters, "demo")
	s.publishedIs("demo", "")
	s.steadily(attachments, clusters, "demo", "the finalizer holds it", func(u *unstructured.Unstructured) bool {
		return u != nil && slices.Contains(u.GetFinalizers(), oooiGroup+"/apps-ingress-cleanup")
	})
	if err := s.pair.Hosted.Proxy().Start(); err != nil {
		t.Fatal(err)
	}
	s.eventually(attachments, clusters, "demo", "gone", gone)
	s.hostedObjectsAre("gone", gone)
	s.steadily(csvs, operatorNamespace, defaultCSV, "the CSV stays", there)

	// Without its HostedCluster there is nothing to clean up.
	s.ready("other")
	if err := s.HyperShift.Delete(t.Context(), clusters, "other"); err != nil {
		t.Fatal(err)
	}
	s.eventually(hostedClusters, clusters, "other", "gone", gone)
	s.delete(attachments, clusters, "other")
	s.eventually(attachments, clusters, "other", "gone", gone)
	s.hostedObjectsAre("left behind", there)
}
