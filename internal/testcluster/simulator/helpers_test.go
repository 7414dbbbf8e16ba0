package simulator_test

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

const (
	operatorNamespace = "openshift-operators"
	ingressNamespace  = "openshift-ingress"
	defaultCSV        = "metallb-operator.v4.18.0-202601010000"

	// patience is far more than anything takes; it only ends a test that hangs.
	patience = 30 * time.Second
	// aWhile is many times the delays of the simulators.
	aWhile = 400 * time.Millisecond
)

func resource(group, version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}

var (
	nodes          = resource("", "v1", "nodes")
	services       = resource("", "v1", "services")
	secrets        = resource("", "v1", "secrets")
	subscriptions  = resource("operators.coreos.com", "v1alpha1", "subscriptions")
	csvs           = resource("operators.coreos.com", "v1alpha1", "clusterserviceversions")
	installPlans   = resource("operators.coreos.com", "v1alpha1", "installplans")
	metallbs       = resource("metallb.io", "v1beta1", "metallbs")
	pools          = resource("metallb.io", "v1beta1", "ipaddresspools")
	advertisements = resource("metallb.io", "v1beta1", "l2advertisements")
	hostedClusters = resource("hypershift.openshift.io", "v1beta1", "hostedclusters")
)

// fixture is a pair of clusters of a test with the simulators that run in them.
type fixture struct {
	*simulator.Simulators

	t    *testing.T
	pair *testcluster.Pair
}

// start starts clusters and simulators for a test and stops them at its end. The callback completes the configuration
// with what depends on the clusters.
func start(t *testing.T, complete func(pair *testcluster.Pair, config *simulator.Config)) *fixture {
	t.Helper()
	t.Parallel()
	f := &fixture{t: t, pair: testcluster.Start(t)}
	config := simulator.Config{Logf: t.Logf}
	complete(f.pair, &config)
	var err error
	if f.Simulators, err = simulator.Start(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// api is where a kind lives: HostedClusters, their Secrets and what is oooi's on the management cluster, all else on the hosted one.
func (f *fixture) api(kind schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	cluster := f.pair.Hosted
	if kind == hostedClusters || kind == secrets || kind.Group == oooiGroup {
		cluster = f.pair.Management
	}
	return cluster.Dynamic(testcluster.UserTest).Resource(kind).Namespace(namespace)
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

func (f *fixture) create(kind schema.GroupVersionResource, u *unstructured.Unstructured) *unstructured.Unstructured {
	f.t.Helper()
	created, err := f.api(kind, u.GetNamespace()).Create(f.t.Context(), u, metav1.CreateOptions{})
	if err != nil {
		f.t.Fatalf("creating %s %s: %v", u.GetKind(), u.GetName(), err)
	}
	return created
}

func (f *fixture) delete(kind schema.GroupVersionResource, namespace, name string) {
	f.t.Helper()
	if err := f.api(kind, namespace).Delete(f.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		f.t.Fatalf("deleting %s: %v", name, err)
	}
}

func (f *fixture) patch(kind schema.GroupVersionResource, namespace, name, patch string) {
	f.t.Helper()
	_, err := f.api(kind, namespace).Patch(f.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		f.t.Fatalf("patching %s: %v", name, err)
	}
}

// state is a predicate on an object; nil stands for one that is not there.
type state func(*unstructured.Unstructured) bool

// eventually waits until an object is as wanted.
func (f *fixture) eventually(kind schema.GroupVersionResource, namespace, name, what string, want state) *unstructured.Unstructured {
	f.t.Helper()
	var last *unstructured.Unstructured
	err := wait.PollUntilContextTimeout(f.t.Context(), 10*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = f.read(kind, namespace, name)
		return want(last), nil
	})
	if err != nil {
		f.t.Fatalf("waiting for %s: %v; last seen: %v", what, err, last)
	}
	return last
}

// steadily checks that an object stays as wanted for a while.
func (f *fixture) steadily(kind schema.GroupVersionResource, namespace, name, what string, want state) {
	f.t.Helper()
	err := wait.PollUntilContextTimeout(f.t.Context(), 20*time.Millisecond, aWhile, true, func(context.Context) (bool, error) {
		if u := f.read(kind, namespace, name); !want(u) {
			f.t.Fatalf("%s, but: %v", what, u)
		}
		return false, nil
	})
	if !wait.Interrupted(err) {
		f.t.Fatal(err)
	}
}

func (f *fixture) read(kind schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	f.t.Helper()
	u, err := f.api(kind, namespace).Get(f.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.t.Fatalf("reading %s: %v", name, err)
	}
	return u
}

func there(u *unstructured.Unstructured) bool { return u != nil }

func gone(u *unstructured.Unstructured) bool { return u == nil }

// field compares a text field.
func field(value string, path ...string) state {
	return func(u *unstructured.Unstructured) bool {
		if u == nil {
			return false
		}
		got, _, _ := unstructured.NestedString(u.Object, path...)
		return got == value
	}
}

// condition looks for a condition with this status and, when given, reason.
func condition(kind, status, reason string) state {
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
