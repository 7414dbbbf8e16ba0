package simulator_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

const (
	operatorNamespace = "openshift-operators"
	ingressNamespace  = "openshift-ingress"
	defaultCSV        = "metallb-operator.v4.18.0-202601010000"

	// patience is far more than anything takes; it only ends a test that hangs.
	patience = 30 * time.Second
)

func resource(group, version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}

var (
	crdResource    = resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
	namespaces     = resource("", "v1", "namespaces")
	nodes          = resource("", "v1", "nodes")
	services       = resource("", "v1", "services")
	secrets        = resource("", "v1", "secrets")
	subscriptions  = resource("operators.coreos.com", "v1alpha1", "subscriptions")
	csvs           = resource("operators.coreos.com", "v1alpha1", "clusterserviceversions")
	installPlans   = resource("operators.coreos.com", "v1alpha1", "installplans")
	catalogSources = resource("operators.coreos.com", "v1alpha1", "catalogsources")
	operatorGroups = resource("operators.coreos.com", "v1", "operatorgroups")
	metallbs       = resource("metallb.io", "v1beta1", "metallbs")
	pools          = resource("metallb.io", "v1beta1", "ipaddresspools")
	advertisements = resource("metallb.io", "v1beta1", "l2advertisements")
	hostedClusters = resource("hypershift.openshift.io", "v1beta1", "hostedclusters")
)

// start starts the simulators for a test and stops them at its end.
func start(t *testing.T, config simulator.Config) *simulator.Simulators {
	t.Helper()
	needCluster(t)
	config.Logf = t.Logf
	s, err := simulator.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newObject makes an object from its spec.
func newObject(apiVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     spec,
	}}
}

func subscription(edits ...func(spec map[string]any)) *unstructured.Unstructured {
	spec := map[string]any{
		"channel": "stable", "name": "metallb-operator", "source": "redhat-operators",
		"sourceNamespace": "openshift-marketplace", "installPlanApproval": "Automatic",
	}
	for _, edit := range edits {
		edit(spec)
	}
	return newObject("operators.coreos.com/v1alpha1", "Subscription", operatorNamespace, "metallb-operator", spec)
}

func pool(name string, ranges ...any) *unstructured.Unstructured {
	return newObject("metallb.io/v1beta1", "IPAddressPool", operatorNamespace, name,
		map[string]any{"addresses": ranges, "autoAssign": false})
}

func service(name, poolName string) *unstructured.Unstructured {
	u := newObject("v1", "Service", ingressNamespace, name, map[string]any{
		"type": "LoadBalancer", "ports": []any{map[string]any{"name": "http", "port": int64(80)}},
	})
	if poolName != "" {
		u.SetAnnotations(map[string]string{"metallb.io/address-pool": poolName})
	}
	return u
}

func mustCreate(t *testing.T, resource schema.GroupVersionResource, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := cluster.client.Resource(resource).Namespace(u.GetNamespace()).Create(t.Context(), u, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating %s %s: %v", u.GetKind(), u.GetName(), err)
	}
	return created
}

func mustDelete(t *testing.T, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	if err := cluster.client.Resource(resource).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("deleting %s: %v", name, err)
	}
}

func mustPatch(t *testing.T, resource schema.GroupVersionResource, namespace, name, patch string) {
	t.Helper()
	_, err := cluster.client.Resource(resource).Namespace(namespace).
		Patch(t.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatalf("patching %s: %v", name, err)
	}
}

// eventually waits until an object is as wanted; nil stands for one that is not there.
func eventually(t *testing.T, resource schema.GroupVersionResource, namespace, name, what string, want func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	t.Helper()
	var last *unstructured.Unstructured
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		u, err := cluster.client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			u = nil
		}
		last = u
		return want(u), nil
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v; last seen: %v", what, err, last)
	}
	return last
}

// steadily checks that an object stays as wanted for a while.
func steadily(t *testing.T, resource schema.GroupVersionResource, namespace, name, what string, want func(*unstructured.Unstructured) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 400*time.Millisecond, true, func(context.Context) (bool, error) {
		u, err := cluster.client.Resource(resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			u = nil
		}
		if !want(u) {
			t.Fatalf("%s, but: %v", what, u)
		}
		return false, nil
	})
	if !wait.Interrupted(err) {
		t.Fatal(err)
	}
}

func gone(u *unstructured.Unstructured) bool { return u == nil }

// field compares a text field.
func field(value string, path ...string) func(*unstructured.Unstructured) bool {
	return func(u *unstructured.Unstructured) bool {
		if u == nil {
			return false
		}
		got, _, _ := unstructured.NestedString(u.Object, path...)
		return got == value
	}
}

// condition looks for a condition with this status and, when given, reason.
func condition(kind, status, reason string) func(*unstructured.Unstructured) bool {
	return func(u *unstructured.Unstructured) bool {
		if u == nil {
			return false
		}
		all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range all {
			if m, ok := c.(map[string]any); ok && m["type"] == kind {
				return m["status"] == status && (reason == "" || m["reason"] == reason)
			}
		}
		return false
	}
}

// ingress is the load balancer status of a Service.
func ingress(u *unstructured.Unstructured) []any {
	if u == nil {
		return nil
	}
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "loadBalancer", "ingress")
	return all
}

// address is the first IP of a Service.
func address(u *unstructured.Unstructured) string {
	if all := ingress(u); len(all) > 0 {
		if entry, ok := all[0].(map[string]any); ok {
			ip, _ := entry["ip"].(string)
			return ip
		}
	}
	return ""
}
