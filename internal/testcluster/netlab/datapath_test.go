package netlab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// soon is when a change of an object must show. It leaves room for a machine that has other things to do: the figure that
// counts is logged.
const soon = 5 * time.Second

// needNetwork skips a test where it cannot run.
func needNetwork(t *testing.T, programs ...string) {
	t.Helper()
	skipWithout(t, Available(), programs...)
}

func skipWithout(t *testing.T, missing error, programs ...string) {
	t.Helper()
	for _, program := range programs {
		_, err := testcluster.Binary(program)
		missing = errors.Join(missing, err)
	}
	testcluster.SkipWithout(t, missing)
}

// wires connects namespaces with a switch, each with its addresses at one link.
func wires(t *testing.T, hosts map[string][]string) map[string]*Namespace {
	t.Helper()
	made := func(name string) *Namespace {
		n, err := NewNamespace(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		return n
	}
	run := func(n *Namespace, commands ...string) {
		if err := n.ip(t.Context(), commands...); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]*Namespace{}
	center := made("switch")
	run(center, "link add br0 type bridge", "link set br0 up")
	for name, addresses := range hosts {
		n := made(name)
		all[name] = n
		run(center,
			fmt.Sprintf("link add %s type veth peer name eth0 netns %s", name, n.Path()),
			fmt.Sprintf("link set %s master br0 up", name))
		run(n, "link set eth0 up")
		for _, address := range addresses {
			run(n, "address add "+address+"/24 dev eth0")
		}
	}
	return all
}

// custom is one object of a management cluster.
type custom struct {
	api  dynamic.ResourceInterface
	kind string
	name types.NamespacedName
}

func dnsServerObject(pair *testcluster.Pair) custom {
	return newCustom(pair, dnsServersResource, "DNSServer")
}

func proxyServerObject(pair *testcluster.Pair) custom {
	return newCustom(pair, proxyServersResource, "ProxyServer")
}

func newCustom(pair *testcluster.Pair, resource schema.GroupVersionResource, kind string) custom {
	name := types.NamespacedName{Namespace: "clusters", Name: "lab"}
	return custom{
		api:  pair.Management.Dynamic(testcluster.UserAdmin).Resource(resource).Namespace(name.Namespace),
		kind: kind, name: name,
	}
}

func (c custom) create(t *testing.T, spec string) {
	t.Helper()
	object := withSpec(t, spec)
	object.SetAPIVersion("hostedcluster.densityops.com/v1alpha1")
	object.SetKind(c.kind)
	object.SetName(c.name.Name)
	if _, err := c.api.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c custom) get(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object, err := c.api.Get(t.Context(), c.name.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// replace replaces the spec.
func (c custom) replace(t *testing.T, spec string) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // its status is written by others
		object := c.get(t)
		object.Object["spec"] = withSpec(t, spec).Object["spec"]
		_, err := c.api.Update(t.Context(), object, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (c custom) remove(t *testing.T) {
	t.Helper()
	if err := c.api.Delete(t.Context(), c.name.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// eventually asks until the answer is right, and logs how long that took.
func eventually(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	start := time.Now()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, soon, true, func(ctx context.Context) (bool, error) {
		last = ask(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s: %v", what, soon, last)
	}
	t.Logf("%s: after %s", what, time.Since(start).Round(time.Millisecond))
}

func address(t *testing.T, text string) netip.Addr {
	t.Helper()
	parsed, err := netip.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
