package simulator_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

func (f *fixture) secretHolds(name, part string) {
	f.t.Helper()
	f.eventually(secrets, "clusters", name, "a kubeconfig with "+part, func(u *unstructured.Unstructured) bool {
		if u == nil {
			return false
		}
		encoded, _, _ := unstructured.NestedString(u.Object, "data", "kubeconfig")
		kubeconfig, err := base64.StdEncoding.DecodeString(encoded)
		return err == nil && strings.Contains(string(kubeconfig), part)
	})
}

func TestHyperShift(t *testing.T) {
	s := start(t, func(pair *testcluster.Pair, config *simulator.Config) {
		config.Management = pair.Management.REST(testcluster.UserSimulator)
		config.HostedClusters = []simulator.HostedCluster{
			{
				Name: "demo", BaseDomain: "clusters.example.com",
				Kubeconfig: pair.Hosted.KubeconfigBytes(testcluster.UserProvider), Server: "https://api.demo.example.com:6443",
			},
			{Name: "late", BaseDomain: "clusters.example.com", WithoutKubeconfig: true},
		}
	})
	const admin = "demo-admin-kubeconfig"
	s.eventually(hostedClusters, "clusters", "demo", "its kubeconfig", field(admin, "status", "kubeconfig", "name"))
	s.secretHolds(admin, "https://api.demo.example.com:6443")
	s.steadily(hostedClusters, "clusters", "late", "no kubeconfig", field("", "status", "kubeconfig", "name"))

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
	s.secretHolds(admin, "rotated")
	s.secretHolds("late-admin-kubeconfig", "late")
	s.secretHolds("demo-custom-admin-kubeconfig", "custom")
	s.eventually(hostedClusters, "clusters", "demo", "custom kubeconfig",
		field("demo-custom-admin-kubeconfig", "status", "customkubeconfig", "name"))

	if err := s.HyperShift.RemoveSecret(ctx, "clusters", "demo"); err != nil {
		t.Fatal(err)
	}
	s.steadily(secrets, "clusters", admin, "a removed Secret stays away", gone)
	if err := s.HyperShift.RemoveKubeconfig(ctx, "clusters", "late"); err != nil {
		t.Fatal(err)
	}
	s.steadily(hostedClusters, "clusters", "late", "withdrawn", field("", "status", "kubeconfig", "name"))

	s.HyperShift.KeepDeleting(true)
	if err := s.HyperShift.Delete(ctx, "clusters", "demo"); err != nil {
		t.Fatal(err)
	}
	s.steadily(hostedClusters, "clusters", "demo", "held in deletion",
		func(u *unstructured.Unstructured) bool { return u != nil && u.GetDeletionTimestamp() != nil })
	s.HyperShift.KeepDeleting(false)
	s.eventually(hostedClusters, "clusters", "demo", "gone", gone)
}
