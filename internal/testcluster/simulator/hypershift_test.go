package simulator_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

func secretHolds(t *testing.T, name, part string) {
	t.Helper()
	eventually(t, secrets, "clusters", name, "a kubeconfig with "+part, func(u *unstructured.Unstructured) bool {
		if u == nil {
			return false
		}
		encoded, _, _ := unstructured.NestedString(u.Object, "data", "kubeconfig")
		kubeconfig, err := base64.StdEncoding.DecodeString(encoded)
		return err == nil && strings.Contains(string(kubeconfig), part)
	})
}

func TestHyperShift(t *testing.T) {
	if cluster.missing != "" {
		t.Skip(cluster.missing)
	}
	kubeconfig, err := clientcmd.Write(kubeconfigFor(cluster.config))
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, simulator.Config{
		Management: cluster.config,
		HostedClusters: []simulator.HostedCluster{
			{Name: "demo", BaseDomain: "clusters.example.com", Kubeconfig: kubeconfig, Server: "https://api.demo.example.com:6443"},
			{Name: "late", BaseDomain: "clusters.example.com", WithoutKubeconfig: true},
		},
	})
	const admin = "demo-admin-kubeconfig"
	eventually(t, hostedClusters, "clusters", "demo", "its kubeconfig", field(admin, "status", "kubeconfig", "name"))
	secretHolds(t, admin, "https://api.demo.example.com:6443")
	steadily(t, hostedClusters, "clusters", "late", "no kubeconfig", field("", "status", "kubeconfig", "name"))

	ctx := t.Context()
	for what, step := range map[string]func() error{
		"publish": func() error { return s.HyperShift.PublishKubeconfig(ctx, "clusters", "late", []byte("late")) },
		"rotate":  func() error { return s.HyperShift.PublishKubeconfig(ctx, "clusters", "demo", []byte("rotated")) },
		"custom":  func() error { return s.HyperShift.PublishCustomKubeconfig(ctx, "clusters", "demo", []byte("custom")) },
		"condition": func() error {
			return s.HyperShift.SetCondition(ctx, "clusters", "late", "Available", "False", "KubeAPIServerDown", "down")
		},
	} {
		if err := step(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	secretHolds(t, admin, "rotated")
	secretHolds(t, "late-admin-kubeconfig", "late")
	secretHolds(t, "demo-custom-admin-kubeconfig", "custom")
	eventually(t, hostedClusters, "clusters", "demo", "custom kubeconfig",
		field("demo-custom-admin-kubeconfig", "status", "customkubeconfig", "name"))

	if err := s.HyperShift.RemoveSecret(ctx, "clusters", "demo"); err != nil {
		t.Fatal(err)
	}
	steadily(t, secrets, "clusters", admin, "a removed Secret stays away", gone)
	if err := s.HyperShift.RemoveKubeconfig(ctx, "clusters", "late"); err != nil {
		t.Fatal(err)
	}
	steadily(t, hostedClusters, "clusters", "late", "withdrawn", field("", "status", "kubeconfig", "name"))

	s.HyperShift.KeepDeleting(true)
	if err := s.HyperShift.Delete(ctx, "clusters", "demo"); err != nil {
		t.Fatal(err)
	}
	steadily(t, hostedClusters, "clusters", "demo", "held in deletion",
		func(u *unstructured.Unstructured) bool { return u != nil && u.GetDeletionTimestamp() != nil })
	s.HyperShift.KeepDeleting(false)
	eventually(t, hostedClusters, "clusters", "demo", "gone", gone)
}
