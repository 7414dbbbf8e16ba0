package testcluster_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Main(m)) }

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	services   = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	pools      = schema.GroupVersionResource{Group: "metallb.io", Version: "v1beta1", Resource: "ipaddresspools"}
	catalogs   = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "catalogsources"}
	webhooks   = schema.GroupVersionResource{
		Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations",
	}
)

func TestPristineClusters(t *testing.T) {
	t.Parallel()
	pair := testcluster.Start(t)
	management, hosted := snapshot(t, pair.Management), snapshot(t, pair.Hosted)
	for _, key := range []string{
		"v1/namespaces clusters",
		"apiextensions.k8s.io/v1/customresourcedefinitions infras.hostedcluster.densityops.com",
		"apiextensions.k8s.io/v1/customresourcedefinitions infraclusterattachments.hostedcluster.densityops.com",
		"apiextensions.k8s.io/v1/customresourcedefinitions dnsservers.hostedcluster.densityops.com",
		"apiextensions.k8s.io/v1/customresourcedefinitions proxyservers.hostedcluster.densityops.com",
		"apiextensions.k8s.io/v1/customresourcedefinitions hostedclusters.hypershift.openshift.io",
	} {
		if _, there := management.Objects[key]; !there {
			t.Errorf("the management cluster has no %s", key)
		}
	}
	for _, key := range []string{
		"v1/namespaces openshift-operators", "v1/namespaces openshift-marketplace", "v1/namespaces openshift-ingress",
		"operators.coreos.com/v1/operatorgroups openshift-operators/global-operators",
		"operators.coreos.com/v1alpha1/catalogsources openshift-marketplace/redhat-operators",
	} {
		if _, there := hosted.Objects[key]; !there {
			t.Errorf("the hosted cluster has no %s", key)
		}
	}
	_, err := pair.Hosted.Dynamic(testcluster.UserTest).Resource(pools).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("listing address pools of a new hosted cluster: got %v, want not found", err)
	}
}

func TestResetLeavesPristineClusters(t *testing.T) {
	t.Parallel()
	pair := testcluster.Start(t, testcluster.Fresh())
	hosted, before := pair.Hosted, snapshot(t, pair.Hosted)
	uid := before.Volatile["v1/namespaces kube-system"].UID

	installed, err := testcluster.MetalLBCRDs()
	must(t, err)
	must(t, hosted.InstallCRDs(t.Context(), installed...))
	create(t, hosted, namespaces, object("v1", "Namespace", "", "made-by-a-test"))
	pool := object("metallb.io/v1beta1", "IPAddressPool", "openshift-operators", "pool")
	pool.SetFinalizers([]string{"example.com/never-removed"})
	pool.Object["spec"] = map[string]any{"addresses": []any{"198.51.100.1-198.51.100.9"}}
	create(t, hosted, pools, pool)
	for i := range 40 {
		create(t, hosted, configMaps, configMap("made-by-a-test", fmt.Sprintf("object-%d", i)))
	}
	service := object("v1", "Service", "openshift-ingress", "oooi-ingress")
	service.Object["spec"] = map[string]any{
		"type": "LoadBalancer", "ports": []any{map[string]any{"name": "http", "port": int64(80)}},
	}
	create(t, hosted, services, service)
	client := hosted.Dynamic(testcluster.UserTest)
	must(t, client.Resource(catalogs).Namespace("openshift-marketplace").Delete(t.Context(), "redhat-operators", metav1.DeleteOptions{}))
	must(t, client.Resource(namespaces).Delete(t.Context(), "openshift-ingress", metav1.DeleteOptions{}))
	must(t, client.Resource(crds).Delete(t.Context(), "installplans.operators.coreos.com", metav1.DeleteOptions{}))
	must(t, hosted.Grant(t.Context(), testcluster.UserRestricted,
		testcluster.Permission{Groups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}))
	hosted.Proxy().Add(testcluster.Match{}, testcluster.Hang())
	hosted.Proxy().Stop()
	create(t, hosted, webhooks, refusingWebhook())

	start := time.Now()
	must(t, pair.Reset(t.Context()))
	t.Logf("reset after %s", time.Since(start))

	after := snapshot(t, hosted)
	ignoreTimes := cmp.FilterPath(func(path cmp.Path) bool {
		return path.Last().String() == `["lastTransitionTime"]` || path.Last().String() == `["conditions"]`
	}, cmp.Ignore())
	if diff := cmp.Diff(before.Objects, after.Objects, ignoreTimes); diff != "" {
		t.Errorf("not pristine after a reset (-before +after):\n%s", diff)
	}
	if got := after.Volatile["v1/namespaces kube-system"].UID; got != uid {
		t.Errorf("a reset makes another cluster of it: UID %s became %s", uid, got)
	}
	if err := get(t.Context(), hosted.KubeconfigBytesThroughProxy(testcluster.UserTest), "/version"); err != nil {
		t.Errorf("the proxy after a reset: %v", err)
	}
	_, err = client.Resource(pools).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("listing address pools after a reset: got %v, want not found", err)
	}
}

func TestPairsOfAnEnvironmentShareNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a real API server, which -short does without")
	}
	env, err := testcluster.NewEnvironment(t.Context())
	must(t, err)
	closeAll := func() {
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(closeAll)
	pairs := make([]*testcluster.Pair, 2)
	var group errgroup.Group
	for i := range pairs {
		group.Go(func() (err error) {
			pairs[i], err = env.NewPair(t.Context())
			return err
		})
	}
	must(t, group.Wait())

	before := snapshot(t, pairs[1].Management)
	create(t, pairs[0].Management, configMaps, configMap("clusters", "only-here"))
	if diff := cmp.Diff(before, snapshot(t, pairs[1].Management)); diff != "" {
		t.Errorf("the other pair changed (-before +after):\n%s", diff)
	}
	if _, there := snapshot(t, pairs[0].Management).Objects["v1/configmaps clusters/only-here"]; !there {
		t.Error("the object is not in the cluster where it was created")
	}

	file := pairs[0].Management.Kubeconfig(testcluster.UserTest)
	kubeconfig, err := os.ReadFile(file)
	must(t, err)
	must(t, get(t.Context(), kubeconfig, "/version"))
	closeAll()
	if err := get(t.Context(), kubeconfig, "/version"); err == nil {
		t.Error("the API server still answers after Close")
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("looking for the kubeconfig after Close: got %v, want that it is gone", err)
	}
}

func TestRestrictedUser(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	client := cluster.Dynamic(testcluster.UserRestricted).Resource(configMaps).Namespace("clusters")
	if _, err := client.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("listing without any right: got %v, want forbidden", err)
	}
	must(t, cluster.Grant(t.Context(), testcluster.UserRestricted,
		testcluster.Permission{Groups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}))
	if _, err := client.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("listing what was granted: %v", err)
	}
	if _, err := client.Get(t.Context(), "any", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("reading what was not granted: got %v, want forbidden", err)
	}
}

// refusingWebhook refuses every change of the objects of a test, because nobody answers.
func refusingWebhook() *unstructured.Unstructured {
	webhook := object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "refuses")
	webhook.Object["webhooks"] = []any{map[string]any{
		"name": "refuses.example.com", "sideEffects": "None", "admissionReviewVersions": []any{"v1"}, "failurePolicy": "Fail",
		"clientConfig": map[string]any{"url": "https://127.0.0.1:1/"},
		"rules": []any{map[string]any{
			"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "resources": []any{"*"}, "operations": []any{"*"},
		}},
	}}
	return webhook
}

func snapshot(t *testing.T, cluster *testcluster.Cluster) testcluster.Snapshot {
	t.Helper()
	taken, err := cluster.Snapshot(t.Context())
	must(t, err)
	return taken
}

func create(t *testing.T, cluster *testcluster.Cluster, resource schema.GroupVersionResource, obj *unstructured.Unstructured) {
	t.Helper()
	client := cluster.Dynamic(testcluster.UserTest).Resource(resource).Namespace(obj.GetNamespace())
	_, err := client.Create(t.Context(), obj, metav1.CreateOptions{})
	must(t, err)
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

func configMap(namespace, name string) *unstructured.Unstructured {
	return object("v1", "ConfigMap", namespace, name)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
