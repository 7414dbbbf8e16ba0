package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// 100 writers of one list: nobody's entry is lost, although somebody outside writes as well.
func TestModifyStorm(t *testing.T) {
	t.Parallel()
	for name, clusters := range map[string]int{"one process": 1, "ten processes": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { modifyStorm(t, clusters) })
		})
	}
}

func modifyStorm(t *testing.T, processes int) {
	t.Helper()
	const writers = 100
	s := newServer()
	s.put("one", map[string]any{"entries": []any{}})
	clusters := make([]*kube.Cluster, processes)
	for i := range clusters {
		clusters[i] = s.cluster()
	}
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			_, err := clusters[i%processes].Modify(t.Context(), thing, add(fmt.Sprint("entry-", i)))
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	obj := must[*unstructured.Unstructured](t)(s.cluster().Get(t.Context(), thing))
	entries, _, err := unstructured.NestedStringSlice(obj.Object, "entries")
	if err != nil || len(entries) != writers {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	if puts := s.count("PUT"); processes == 1 && puts != writers {
		t.Errorf("%d writes: they did not take turns", puts)
	}
}

func add(entry string) func(obj *unstructured.Unstructured) (bool, error) {
	return func(obj *unstructured.Unstructured) (bool, error) {
		entries, _, err := unstructured.NestedStringSlice(obj.Object, "entries")
		if err != nil {
			return false, err
		}
		return true, unstructured.SetNestedStringSlice(obj.Object, append(entries, entry), "entries")
	}
}

func TestModifyWithoutChange(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.put("one", map[string]any{"phase": "New"})
	refused := errors.New("not ours")
	for name, tt := range map[string]struct {
		change func(*unstructured.Unstructured) (bool, error)
		want   error
	}{
		"unchanged": {func(*unstructured.Unstructured) (bool, error) { return false, nil }, nil},
		"refused":   {func(*unstructured.Unstructured) (bool, error) { return true, refused }, refused},
	} {
		if _, err := s.cluster().Modify(t.Context(), thing, tt.change); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if s.count("PUT") > 0 {
		t.Error("something was written")
	}
}

// A writer that waits for its turn gives up when its context ends, and leaves no trace.
func TestModifyTurnHonoursContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", map[string]any{"entries": []any{}})
		cluster := s.cluster()
		var first sync.WaitGroup
		first.Go(func() {
			_, err := cluster.Modify(t.Context(), thing, func(*unstructured.Unstructured) (bool, error) {
				<-time.After(10 * time.Second)
				return false, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := cluster.Modify(ctx, thing, add("late"))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		first.Wait()
		must[*unstructured.Unstructured](t)(cluster.Modify(t.Context(), thing, add("next")))
	})
}

// Conflicts that never end are ended by the context.
func TestModifyConflictWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", map[string]any{"entries": []any{}})
		s.setFault(func(r *http.Request) *metav1.Status {
			if r.Method == http.MethodPut {
				return status(409, metav1.StatusReasonConflict)
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := s.cluster().Modify(ctx, thing, add("x")); !kube.IsConflict(err) {
			t.Errorf("got %v", err)
		}
		if puts := s.count("PUT"); puts > 40 {
			t.Errorf("%d writes in 30 s", puts)
		}
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := newServer()
	cluster := s.cluster()
	if err := cluster.Delete(t.Context(), thing, ""); err != nil {
		t.Errorf("absent: %v", err)
	}
	s.put("one", nil)
	if err := cluster.Delete(t.Context(), thing, "uid-0"); err != nil {
		t.Errorf("another UID: %v", err)
	}
	if _, err := cluster.Get(t.Context(), thing); err != nil {
		t.Errorf("the object of another UID is deleted: %v", err)
	}
	if err := cluster.Delete(t.Context(), thing, "uid-1"); err != nil {
		t.Error(err)
	}
	if _, err := cluster.Get(t.Context(), thing); !kube.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

// The request parameters are those of the field manager, by force or not, dry or not.
func TestWritesSayWhoWrites(t *testing.T) {
	t.Parallel()
	s := newServer()
	var queries []string
	s.setFault(func(r *http.Request) *metav1.Status {
		queries = append(queries, fmt.Sprint(r.Method, " ", r.Header.Get("Content-Type"), " ", r.URL.Query().Encode()))
		return nil
	})
	cluster := s.cluster()
	dry := kube.ApplyOptions{Force: true, DryRun: true}
	must[*unstructured.Unstructured](t)(cluster.Apply(t.Context(), thing, thing.Object(), dry))
	must[*unstructured.Unstructured](t)(cluster.Apply(t.Context(), thing, thing.Object(), kube.ApplyOptions{}))
	obj := must[*unstructured.Unstructured](t)(cluster.Get(t.Context(), thing))
	must[*unstructured.Unstructured](t)(cluster.Update(t.Context(), thing, obj))
	must[*unstructured.Unstructured](t)(cluster.Patch(t.Context(), thing, []byte(`{}`), "another"))
	want := []string{
		"PATCH application/apply-patch+yaml dryRun=All&fieldManager=terraform-provider-oooi&force=true",
		"PATCH application/apply-patch+yaml fieldManager=terraform-provider-oooi&force=false",
		"GET  ",
		"PUT application/json fieldManager=terraform-provider-oooi",
		"PATCH application/merge-patch+json fieldManager=another",
	}
	if diff := cmp.Diff(want, queries); diff != "" {
		t.Error(diff)
	}
}

func TestServed(t *testing.T) {
	t.Parallel()
	s := newServer()
	served, err := s.cluster().Served(t.Context(), schema.GroupVersion{Group: "example.com", Version: "v1"})
	if diff := cmp.Diff(map[string]bool{"things": true}, served); diff != "" || err != nil {
		t.Error(diff, err)
	}
	served, err = s.cluster().Served(t.Context(), schema.GroupVersion{Group: "example.org", Version: "v1"})
	if len(served) > 0 || err != nil {
		t.Error(served, err)
	}
	s.setFault(func(*http.Request) *metav1.Status { return status(503, metav1.StatusReasonServiceUnavailable) })
	if _, err := s.cluster().Served(t.Context(), schema.GroupVersion{Group: "example.com", Version: "v1"}); !kube.IsTransient(err) {
		t.Error(err)
	}
}

// After a 401 the credentials are read again, once for all that wait for them.
func TestUnauthorizedReadsCredentialsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", nil)
		good := atomic.Value{}
		good.Store("Bearer old")
		s.setFault(func(r *http.Request) *metav1.Status {
			if r.Header.Get("Authorization") != good.Load() {
				return status(401, metav1.StatusReasonUnauthorized)
			}
			return nil
		})
		var loads atomic.Int32
		cluster := kube.NewCluster("test cluster", func(context.Context) (*rest.Config, error) {
			<-time.After(time.Second)
			config := s.config()
			config.BearerToken = map[int32]string{1: "old", 2: "new"}[loads.Add(1)]
			return config, nil
		})
		get50 := func() {
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if _, err := cluster.Get(t.Context(), thing); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		get50()
		good.Store("Bearer new")
		get50()
		if loads.Load() != 2 {
			t.Errorf("credentials read %d times", loads.Load())
		}
		good.Store("Bearer unknown")
		if _, err := cluster.Get(t.Context(), thing); !kube.IsUnauthorized(err) || !kube.IsTransient(err) {
			t.Errorf("got %v", err)
		}
	})
}

// A caller that gives up while it connects does not fail those who share the attempt.
func TestConnectSharedAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", nil)
		cluster := kube.NewCluster("test cluster", func(ctx context.Context) (*rest.Config, error) {
			select {
			case <-time.After(5 * time.Second):
				return s.config(), nil
			case <-ctx.Done():
				return nil, fmt.Errorf("read the Secret: %w", ctx.Err())
			}
		})
		var all sync.WaitGroup
		impatient, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		all.Go(func() {
			if _, err := cluster.Get(impatient, thing); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		if _, err := cluster.Get(t.Context(), thing); err != nil {
			t.Error(err)
		}
		all.Wait()
	})
}

// A missing Secret with the kubeconfig is not a missing object: reading that would drop the object from state.
func TestConnectionErrorIsNotAnAnswer(t *testing.T) {
	t.Parallel()
	management := newServer()
	hosted := kube.NewCluster("hosted cluster clusters/demo", func(ctx context.Context) (*rest.Config, error) {
		_, err := management.cluster().Get(ctx, thing)
		return nil, err
	})
	_, err := hosted.Get(t.Context(), thing)
	var connection *kube.ConnectionError
	if kube.IsNotFound(err) || kube.IsTransient(err) || !errors.As(err, &connection) {
		t.Errorf("got %v", err)
	}
	if !kube.IsNotFound(connection.Err) {
		t.Errorf("the reason is lost: %v", connection.Err)
	}
	management.setFault(func(*http.Request) *metav1.Status { return status(503, metav1.StatusReasonServiceUnavailable) })
	if _, err := hosted.Get(t.Context(), thing); !kube.IsTransient(err) {
		t.Errorf("got %v", err)
	}
}

func TestClusterIsLazy(t *testing.T) {
	t.Parallel()
	cluster := kube.NewCluster("test cluster", func(context.Context) (*rest.Config, error) { panic("not used yet") })
	if cluster.String() != "test cluster" {
		t.Error(cluster)
	}
	var clusters kube.Clusters
	one := clusters.Get("a", func() *kube.Cluster { return cluster })
	if one != clusters.Get("a", func() *kube.Cluster { panic("there is one") }) {
		t.Error("two clusters for one key")
	}
}

func TestUIDIsReadOnce(t *testing.T) {
	t.Parallel()
	reads := 0
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads++
		if r.URL.Path != "/api/v1/namespaces/kube-system" {
			t.Errorf("path %s", r.URL.Path)
		}
		answer(w, http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"uid": "u"}})
	})
	cluster := kube.NewCluster("test cluster", func(context.Context) (*rest.Config, error) {
		return &rest.Config{Host: "http://cluster.test", Transport: inMemory{handler}}, nil
	})
	for range 2 {
		if uid, err := cluster.UID(t.Context()); err != nil || uid != "u" {
			t.Errorf("got %q, %v", uid, err)
		}
	}
	if reads != 1 {
		t.Errorf("%d reads", reads)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want := "involvedObject.kind=Thing,involvedObject.name=one,involvedObject.namespace=ns"
		if got := r.URL.Query().Get("fieldSelector"); r.URL.Path != "/api/v1/namespaces/ns/events" || got != want {
			t.Errorf("asked %s with %s", r.URL.Path, got)
		}
		answer(w, http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "EventList", "items": []any{
			map[string]any{
				"type": "Warning", "reason": "AllocationFailed", "message": "no available IPs", "count": 3,
				"metadata": map[string]any{"creationTimestamp": "2026-01-01T00:00:00Z"}, "lastTimestamp": "2026-01-01T00:00:09Z",
			},
			map[string]any{
				"type": "Normal", "reason": "IPAllocated", "eventTime": "2026-01-01T00:00:05.000001Z",
				"series": map[string]any{"count": 2, "lastObservedTime": "2026-01-01T00:00:10.000000Z"},
			},
			map[string]any{"reason": "Bare", "metadata": map[string]any{"creationTimestamp": "2026-01-01T00:00:01Z"}, "lastTimestamp": nil},
		}})
	})
	cluster := kube.NewCluster("test cluster", func(context.Context) (*rest.Config, error) {
		return &rest.Config{Host: "http://cluster.test", Transport: inMemory{handler}}, nil
	})
	events, err := cluster.Events(t.Context(), thing)
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }
	want := []kube.Event{
		{Reason: "Bare", Last: at(1), Count: 1},
		{Type: "Warning", Reason: "AllocationFailed", Message: "no available IPs", Last: at(9), Count: 3},
		{Type: "Normal", Reason: "IPAllocated", Last: at(10), Count: 2},
	}
	if diff := cmp.Diff(want, events); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// The generated clientset and discovery would weigh more than the rest of the provider.
func TestNoGeneratedClient(t *testing.T) {
	t.Parallel()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for path := range strings.Lines(string(output)) {
		for _, heavy := range []string{"k8s.io/client-go/kubernetes", "k8s.io/client-go/discovery", "k8s.io/client-go/informers"} {
			if strings.HasPrefix(path, heavy) {
				t.Errorf("depends on %s", path)
			}
		}
	}
}
