package acceptance

import (
	"context"
	"encoding/json"
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
)

// kind is a resource with the kind that its objects carry.
type kind struct {
	schema.GroupVersionResource

	name string
}

func kindOf(group, version, plural, name string) kind {
	return kind{schema.GroupVersionResource{Group: group, Version: version, Resource: plural}, name}
}

var (
	dnsServers     = kindOf("hostedcluster.densityops.com", "v1alpha1", "dnsservers", "DNSServer")
	proxyServers   = kindOf("hostedcluster.densityops.com", "v1alpha1", "proxyservers", "ProxyServer")
	infras         = kindOf("hostedcluster.densityops.com", "v1alpha1", "infras", "Infra")
	hostedClusters = kindOf("hypershift.openshift.io", "v1beta1", "hostedclusters", "HostedCluster")
	services       = kindOf("", "v1", "services", "Service")
	subscriptions  = kindOf("operators.coreos.com", "v1alpha1", "subscriptions", "Subscription")
	csvs           = kindOf("operators.coreos.com", "v1alpha1", "clusterserviceversions", "ClusterServiceVersion")
	installPlans   = kindOf("operators.coreos.com", "v1alpha1", "installplans", "InstallPlan")
	catalogSources = kindOf("operators.coreos.com", "v1alpha1", "catalogsources", "CatalogSource")
	operatorGroups = kindOf("operators.coreos.com", "v1", "operatorgroups", "OperatorGroup")
	namespaces     = kindOf("", "v1", "namespaces", "Namespace")
	metallbs       = kindOf("metallb.io", "v1beta1", "metallbs", "MetalLB")
	pools          = kindOf("metallb.io", "v1beta1", "ipaddresspools", "IPAddressPool")
	advertisements = kindOf("metallb.io", "v1beta1", "l2advertisements", "L2Advertisement")
)

// live looks at a cluster, and changes it, behind Terraform's back.
type live struct {
	t       *testing.T
	cluster *testcluster.Cluster
}

func (l live) client(k kind, namespace string) dynamic.ResourceInterface {
	all := l.cluster.Dynamic(testcluster.UserTest).Resource(k.GroupVersionResource)
	if namespace == "" {
		return all
	}
	return all.Namespace(namespace)
}

// ctx outlives the test's own context, which has ended by the time of a check on destroy.
func (l live) ctx() context.Context { return context.WithoutCancel(l.t.Context()) }

func (l live) create(k kind, namespace, name string, spec map[string]any) {
	l.t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetAPIVersion(k.GroupVersion().String())
	obj.SetKind(k.name)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	if _, err := l.client(k, namespace).Create(l.ctx(), obj, metav1.CreateOptions{FieldManager: "somebody"}); err != nil {
		l.t.Fatal(err)
	}
}

// get is an object, or nil.
func (l live) get(k kind, namespace, name string) *unstructured.Unstructured {
	l.t.Helper()
	obj, err := l.client(k, namespace).Get(l.ctx(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return obj
}

// must is an object that has to be there.
func (l live) must(k kind, namespace, name string) *unstructured.Unstructured {
	l.t.Helper()
	obj := l.get(k, namespace, name)
	if obj == nil {
		l.t.Fatalf("%s %s/%s does not exist", k.name, namespace, name)
	}
	return obj
}

// patch is what kubectl patch --type=merge does.
func (l live) patch(k kind, namespace, name string, patch any) {
	l.t.Helper()
	l.send(k, namespace, name, types.MergePatchType, patch)
}

// patchJSON is what kubectl patch --type=json does.
func (l live) patchJSON(k kind, namespace, name string, patch any) {
	l.t.Helper()
	l.send(k, namespace, name, types.JSONPatchType, patch)
}

func (l live) send(k kind, namespace, name string, how types.PatchType, patch any, subresources ...string) {
	l.t.Helper()
	content, err := json.Marshal(patch)
	if err != nil {
		l.t.Fatal(err)
	}
	options := metav1.PatchOptions{FieldManager: "kubectl-patch"}
	if _, err := l.client(k, namespace).Patch(l.ctx(), name, how, content, options, subresources...); err != nil {
		l.t.Fatal(err)
	}
}

func (l live) delete(k kind, namespace, name string) {
	l.t.Helper()
	if err := l.client(k, namespace).Delete(l.ctx(), name, metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// list reads a list of objects inside an object.
func list(obj *unstructured.Unstructured, fields ...string) []map[string]any {
	items, _, _ := unstructured.NestedSlice(obj.Object, fields...)
	var out []map[string]any
	for _, item := range items {
		if entry, ok := item.(map[string]any); ok {
			out = append(out, entry)
		}
	}
	return out
}

// serves says that the API server serves a kind. Its storage may still be starting.
func (l live) serves(k kind) bool {
	l.t.Helper()
	_, err := l.client(k, "").List(l.ctx(), metav1.ListOptions{Limit: 1})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsTooManyRequests(err) {
		l.t.Fatal(err)
	}
	return err == nil
}

// await waits until a condition of the cluster holds.
func (l live) await(what string, condition func() bool) {
	l.t.Helper()
	const interval = 50 * time.Millisecond
	err := wait.PollUntilContextTimeout(l.ctx(), interval, patience, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		l.t.Fatalf("%s: %v", what, err)
	}
}
