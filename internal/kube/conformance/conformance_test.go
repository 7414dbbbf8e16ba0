// Package conformance_test shows on a real API server what the tests of kube assume of one.
package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Main(m)) }

var (
	configMaps = kube.NewResource("v1", "configmaps", "ConfigMap")
	settings   = kube.Ref{Resource: configMaps, Namespace: "default", Name: "settings"}
)

func start(t *testing.T) (*kube.Cluster, *rest.Config) {
	t.Helper()
	config := testcluster.Start(t).Management.REST(testcluster.UserAdmin)
	return kube.NewCluster("management cluster", func(context.Context) (*rest.Config, error) { return config, nil }), config
}

func holding(data map[string]any) *unstructured.Unstructured {
	obj := settings.Object()
	obj.Object["data"] = data
	return obj
}

func TestApply(t *testing.T) {
	t.Parallel()
	cluster, _ := start(t)
	ctx := t.Context()
	first, err := cluster.Apply(ctx, settings, holding(map[string]any{"a": "1"}), kube.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := cluster.Apply(ctx, settings, holding(map[string]any{"a": "1"}), kube.ApplyOptions{})
	if err != nil || again.GetResourceVersion() != first.GetResourceVersion() {
		t.Errorf("the second apply wrote: %v", err)
	}
	if _, err := cluster.Patch(ctx, settings, []byte(`{"data":{"a":"2"}}`), "somebody"); err != nil {
		t.Fatal(err)
	}
	_, err = cluster.Apply(ctx, settings, holding(map[string]any{"a": "1"}), kube.ApplyOptions{})
	conflicts := kube.IsApplyConflict(err)
	if len(conflicts) != 1 || conflicts[0].Field != ".data.a" || conflicts[0].Manager != "somebody" || kube.IsTransient(err) {
		t.Errorf("got %+v of %v", conflicts, err)
	}
	dry, err := cluster.Apply(ctx, settings, holding(map[string]any{"a": "3"}), kube.ApplyOptions{Force: true, DryRun: true})
	if err != nil || data(dry)["a"] != "3" {
		t.Errorf("got %v, %v", dry, err)
	}
	live, err := cluster.Get(ctx, settings)
	if err != nil || data(live)["a"] != "2" {
		t.Errorf("the dry run wrote: %v, %v", live, err)
	}
}

func data(obj *unstructured.Unstructured) map[string]string {
	if obj == nil {
		return nil
	}
	values, _, err := unstructured.NestedStringMap(obj.Object, "data")
	if err != nil {
		return nil
	}
	return values
}

func TestAbsentAndInvalid(t *testing.T) {
	t.Parallel()
	cluster, _ := start(t)
	ctx := t.Context()
	foreign := kube.Ref{Resource: kube.NewResource("absent.example.com/v1", "things", "Thing"), Namespace: "default", Name: "x"}
	for _, ref := range []kube.Ref{settings, foreign} {
		if _, err := cluster.Get(ctx, ref); !kube.IsNotFound(err) || kube.IsTransient(err) {
			t.Errorf("%s: got %v", ref, err)
		}
		if err := cluster.Delete(ctx, ref, "some-uid"); err != nil {
			t.Errorf("%s: got %v", ref, err)
		}
		if err := cluster.AwaitGone(ctx, ref, "", "it"); err != nil {
			t.Errorf("%s: got %v", ref, err)
		}
	}
	if served, err := cluster.Served(ctx, foreign.Resource.GroupVersion()); err != nil || len(served) > 0 {
		t.Errorf("got %v, %v", served, err)
	}
	served, err := cluster.Served(ctx, schema.GroupVersion{Version: "v1"})
	if err != nil || !served["services"] || served["services/status"] {
		t.Errorf("got %v, %v", served, err)
	}
	service := kube.Ref{Resource: kube.NewResource("v1", "services", "Service"), Namespace: "default", Name: "s"}
	if _, err := cluster.Apply(ctx, service, service.Object(), kube.ApplyOptions{}); !kube.IsInvalid(err) || !kube.IsDenied(err) {
		t.Errorf("got %v", err)
	}
	if uid, err := cluster.UID(ctx); err != nil || uid == "" {
		t.Errorf("got %q, %v", uid, err)
	}
}

func TestUnauthorized(t *testing.T) {
	t.Parallel()
	_, config := start(t)
	loads := 0
	cluster := kube.NewCluster("management cluster", func(context.Context) (*rest.Config, error) {
		loads++
		stale := rest.CopyConfig(config)
		if loads == 1 {
			stale.BearerToken = "expired"
		}
		return stale, nil
	})
	if _, err := cluster.List(t.Context(), configMaps, "", metav1.ListOptions{}); err != nil || loads != 2 {
		t.Errorf("got %v after %d loads", err, loads)
	}
}

func TestModifyStorm(t *testing.T) {
	t.Parallel()
	cluster, config := start(t)
	other := kube.NewCluster("management cluster", func(context.Context) (*rest.Config, error) { return config, nil })
	if _, err := cluster.Apply(t.Context(), settings, holding(map[string]any{"first": "1"}), kube.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	const writers = 60
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			writer := []*kube.Cluster{cluster, other}[i%2]
			_, err := writer.Modify(t.Context(), settings, func(obj *unstructured.Unstructured) (bool, error) {
				return true, unstructured.SetNestedField(obj.Object, "x", "data", fmt.Sprint("key-", i))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	live, err := cluster.Get(t.Context(), settings)
	if err != nil || len(data(live)) != writers+1 {
		t.Errorf("%d keys, %v", len(data(live)), err)
	}
}

// The wait follows an object from its absence through a change to its end, and wakes within half a second each time.
func TestAwait(t *testing.T) {
	t.Parallel()
	cluster, _ := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wrote time.Time
	later := func(do func() error) {
		time.AfterFunc(1500*time.Millisecond, func() {
			wrote = time.Now()
			if err := do(); err != nil {
				t.Error(err)
			}
		})
	}
	apply := func(value string) func() error {
		return func() error {
			_, err := cluster.Apply(ctx, settings, holding(map[string]any{"a": value}), kube.ApplyOptions{})
			return err
		}
	}
	var last *unstructured.Unstructured
	for _, value := range []string{"1", "2"} {
		later(apply(value))
		obj, err := cluster.AwaitObject(ctx, settings, "the settings", func(obj *unstructured.Unstructured) (kube.Verdict, error) {
			if data(obj)["a"] == value {
				return kube.Done(), nil
			}
			return kube.Pending("Waiting", "a is %q", data(obj)["a"]), nil
		})
		if took := time.Since(wrote); err != nil || took > 500*time.Millisecond {
			t.Errorf("a = %s: %v after %s", value, err, took)
		}
		last = obj
	}
	later(func() error { return cluster.Delete(ctx, settings, last.GetUID()) })
	err := cluster.AwaitGone(ctx, settings, last.GetUID(), "the end of the settings")
	if took := time.Since(wrote); err != nil || took > 500*time.Millisecond {
		t.Errorf("gone: %v after %s", err, took)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	cluster, _ := start(t)
	for name, about := range map[string]string{"one": settings.Name, "two": "another"} {
		ref := kube.Ref{Resource: kube.NewResource("v1", "events", "Event"), Namespace: "default", Name: name}
		obj := ref.Object()
		obj.Object["involvedObject"] = map[string]any{"kind": "ConfigMap", "namespace": "default", "name": about}
		obj.Object["type"], obj.Object["reason"], obj.Object["message"] = "Warning", "Told", "about "+about
		obj.Object["lastTimestamp"] = "2026-01-01T00:00:00Z"
		if _, err := cluster.Apply(t.Context(), ref, obj, kube.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	events, err := cluster.Events(t.Context(), settings)
	if err != nil || len(events) != 1 {
		t.Fatalf("got %v, %v", events, err)
	}
	got := []string{events[0].Type, events[0].Reason, events[0].Message}
	if diff := cmp.Diff([]string{"Warning", "Told", "about settings"}, got); diff != "" {
		t.Error(diff)
	}
}

// Nobody reads the connection's credential in an error.
func TestErrorTellsNoCredential(t *testing.T) {
	t.Parallel()
	_, config := start(t)
	refused := rest.CopyConfig(config)
	refused.BearerToken = "not-a-known-token"
	cluster := kube.NewCluster("management cluster", func(context.Context) (*rest.Config, error) { return refused, nil })
	_, err := cluster.Get(t.Context(), settings)
	var named *kube.Error
	if !errors.As(err, &named) || !kube.IsUnauthorized(err) || strings.Contains(err.Error(), refused.BearerToken) {
		t.Errorf("got %v", err)
	}
}
