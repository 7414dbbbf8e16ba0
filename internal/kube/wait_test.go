package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// TestAwaitObjectReaction changes the object while it is waited for, under every kind of watch, and asks how long it takes to see.
func TestAwaitObjectReaction(t *testing.T) {
	t.Parallel()
	watches := map[string]struct {
		fault func(r *http.Request) *metav1.Status
		most  time.Duration
	}{
		"watch works":     {nil, 300 * time.Millisecond},
		"watch forbidden": {onWatch(status(403, metav1.StatusReasonForbidden)), 1100 * time.Millisecond},
		"watch fails":     {onWatch(status(500, metav1.StatusReasonInternalError)), 1100 * time.Millisecond},
		"not watchable":   {onWatch(status(405, metav1.StatusReasonMethodNotAllowed)), 1100 * time.Millisecond},
	}
	for name, tt := range watches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.setFault(tt.fault)
				s.put("one", map[string]any{"phase": "New"})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var became time.Time
				time.AfterFunc(23456*time.Millisecond, func() {
					became = time.Now()
					s.put("one", map[string]any{"phase": "Ready"})
				})
				obj, err := s.cluster().AwaitObject(ctx, thing, "the thing", ready)
				if err != nil || phase(obj) != "Ready" {
					t.Fatalf("got %v, %v", obj, err)
				}
				if took := time.Since(became); took > tt.most {
					t.Errorf("seen after %s", took)
				}
			})
		})
	}
}

func onWatch(answer *metav1.Status) func(r *http.Request) *metav1.Status {
	return func(r *http.Request) *metav1.Status {
		if r.URL.Query().Get("watch") == "true" {
			return answer
		}
		return nil
	}
}

func TestAwaitObjectIsDoneAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", map[string]any{"phase": "Ready"})
		start := time.Now()
		must[*unstructured.Unstructured](t)(s.cluster().AwaitObject(t.Context(), thing, "the thing", ready))
		if time.Since(start) > 0 || s.count("WATCH") > 0 {
			t.Errorf("took %s and %d watches", time.Since(start), s.count("WATCH"))
		}
	})
}

// An object that is absent, of a kind that is absent, appears later.
func TestAwaitObjectAbsent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.setFault(func(*http.Request) *metav1.Status { return status(404, metav1.StatusReasonNotFound) })
		time.AfterFunc(20*time.Second, func() { s.setFault(nil) })
		time.AfterFunc(40*time.Second, func() { s.put("one", map[string]any{"phase": "Ready"}) })
		start := time.Now()
		must[*unstructured.Unstructured](t)(s.cluster().AwaitObject(t.Context(), thing, "the thing", ready))
		if took := time.Since(start); took > 40300*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}

// The watch is opened at the version of the read that came before; when that has expired, from now on.
func TestAwaitObjectWatchVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", map[string]any{"phase": "New"}) // version 101
		s.setFault(func(r *http.Request) *metav1.Status {
			if query := r.URL.Query(); query.Get("watch") == "true" && query.Get("resourceVersion") == "101" {
				return status(410, metav1.StatusReasonExpired)
			}
			return nil
		})
		time.AfterFunc(time.Minute, func() { s.put("one", map[string]any{"phase": "Ready"}) })
		start := time.Now()
		must[*unstructured.Unstructured](t)(s.cluster().AwaitObject(t.Context(), thing, "the thing", ready))
		if took := time.Since(start); took > time.Minute+300*time.Millisecond {
			t.Errorf("took %s", took)
		}
		if s.count("WATCH "+collectionPath+"?101") != 1 || s.count("WATCH "+collectionPath+"?") != 2 {
			t.Errorf("requests: %q", s.seen)
		}
	})
}

// A watch that ends is opened again, and what happened in between is seen.
func TestAwaitObjectWatchEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", map[string]any{"phase": "New"})
		end := cutWatches(t, s, 7*time.Second)
		defer end()
		time.AfterFunc(95*time.Second, func() { s.put("one", map[string]any{"phase": "Ready"}) })
		start := time.Now()
		must[*unstructured.Unstructured](t)(s.cluster().AwaitObject(t.Context(), thing, "the thing", ready))
		if took := time.Since(start); took > 95500*time.Millisecond {
			t.Errorf("took %s", took)
		}
		if watches := s.count("WATCH"); watches < 8 || watches > 14 {
			t.Errorf("%d watches", watches)
		}
	})
}

// cutWatches ends every watch after a while.
func cutWatches(t *testing.T, s *server, after time.Duration) (end func()) {
	t.Helper()
	s.setFault(func(r *http.Request) *metav1.Status {
		if r.URL.Query().Get("watch") == "true" {
			ctx, cancel := context.WithTimeout(r.Context(), after)
			context.AfterFunc(ctx, cancel)
			*r = *r.WithContext(ctx)
		}
		return nil
	})
	return func() { s.setFault(nil) }
}

// A storm of events costs few reads.
func TestAwaitObjectCoalescesEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", map[string]any{"phase": "New"})
		go func() {
			for i := range 2000 {
				<-time.After(5 * time.Millisecond) // 10 s in all
				s.put("one", map[string]any{"phase": "New", "count": int64(i)})
			}
			s.put("one", map[string]any{"phase": "Ready"})
		}()
		must[*unstructured.Unstructured](t)(s.cluster().AwaitObject(t.Context(), thing, "the thing", ready))
		if reads := s.count("GET"); reads < 10 || reads > 40 {
			t.Errorf("%d reads", reads)
		}
	})
}

func TestAwaitObjectTransientErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", map[string]any{"phase": "Ready"})
		answers := []*metav1.Status{
			status(500, metav1.StatusReasonInternalError), status(503, metav1.StatusReasonServiceUnavailable),
			status(401, metav1.StatusReasonUnauthorized), status(401, metav1.StatusReasonUnauthorized),
			status(504, metav1.StatusReasonTimeout),
		}
		s.setFault(func(*http.Request) *metav1.Status {
			if len(answers) == 0 {
				return nil
			}
			next := answers[0]
			answers = answers[1:]
			return next
		})
		start := time.Now()
		must[*unstructured.Unstructured](t)(s.cluster().AwaitObject(t.Context(), thing, "the thing", ready))
		// Four pauses of 200, 400, 800 and 1600 ms, each at least half of that; the two 401 are one try.
		if took := time.Since(start); took < 1500*time.Millisecond || took > 3*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestAwaitObjectHonoursRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", map[string]any{"phase": "Ready"})
		s.setFault(func(*http.Request) *metav1.Status {
			s.setFault(nil)
			busy := status(429, metav1.StatusReasonTooManyRequests)
			busy.Details = &metav1.StatusDetails{RetryAfterSeconds: 17}
			return busy
		})
		start := time.Now()
		must[*unstructured.Unstructured](t)(s.cluster().AwaitObject(t.Context(), thing, "the thing", ready))
		if took := time.Since(start); took != 17*time.Second {
			t.Errorf("took %s", took)
		}
		if reads := s.count("GET"); reads != 2 {
			t.Errorf("%d reads", reads)
		}
	})
}

// One silent read does not eat the budget.
func TestAwaitObjectSilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", map[string]any{"phase": "Ready"})
		s.setFault(func(r *http.Request) *metav1.Status {
			s.setFault(nil)
			<-r.Context().Done()
			return nil
		})
		start := time.Now()
		must[*unstructured.Unstructured](t)(s.cluster().AwaitObject(t.Context(), thing, "the thing", ready))
		if took := time.Since(start); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestAwaitObjectTerminal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer *metav1.Status
		want   func(error) bool
	}{
		"check fails":    {nil, func(err error) bool { return errors.Is(err, errBroken) }},
		"read forbidden": {status(403, metav1.StatusReasonForbidden), kube.IsForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.put("one", map[string]any{"phase": "Broken"})
				s.setFault(func(*http.Request) *metav1.Status { return tt.answer })
				start := time.Now()
				_, err := s.cluster().AwaitObject(t.Context(), thing, "the thing", ready)
				if !tt.want(err) || !strings.HasPrefix(err.Error(), "the thing: ") || time.Since(start) > 0 {
					t.Errorf("got %v after %s", err, time.Since(start))
				}
			})
		})
	}
}

func TestAwaitObjectCancel(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(r *http.Request) *metav1.Status{
		"while it sleeps":  nil,
		"while it pauses":  func(*http.Request) *metav1.Status { return status(500, metav1.StatusReasonInternalError) },
		"while it reads":   func(r *http.Request) *metav1.Status { <-r.Context().Done(); return nil },
		"while it watches": onWatch(status(403, metav1.StatusReasonForbidden)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.setFault(fault)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(34567*time.Millisecond, cancel)
				start := time.Now()
				_, err := s.cluster().AwaitObject(ctx, thing, "the thing", ready)
				var timeout *kube.TimeoutError
				if !errors.Is(err, context.Canceled) || errors.As(err, &timeout) || kube.IsTransient(err) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took != 34567*time.Millisecond {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

func TestAwaitObjectTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", map[string]any{"phase": "New"})
		time.AfterFunc(20*time.Second, func() {
			s.setFault(func(*http.Request) *metav1.Status { return status(503, metav1.StatusReasonServiceUnavailable) })
		})
		budget := errors.New("step 5 has 30 seconds")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, budget)
		defer cancel()
		_, err := s.cluster().AwaitObject(ctx, thing, "the thing", ready)
		var timeout *kube.TimeoutError
		if !errors.As(err, &timeout) || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, budget) {
			t.Fatalf("got %v", err)
		}
		if kube.IsTransient(err) || kube.IsNotFound(err) {
			t.Error("a wait that timed out is neither transient nor a missing object")
		}
		want := kube.Verdict{Reason: "Waiting", Message: `phase is "New"`}
		if diff := cmp.Diff(want, timeout.Last); diff != "" {
			t.Error(diff)
		}
		if timeout.What != "the thing" || timeout.LastErr == nil || timeout.Elapsed != 30*time.Second || timeout.Attempts < 4 {
			t.Errorf("got %+v", timeout)
		}
		wantText := fmt.Sprintf(`the thing: gave up after 30s (%d attempts): Waiting: phase is "New"; `+
			`last error: get Thing ns/one in the test cluster: the server answers 503`, timeout.Attempts)
		if err.Error() != wantText {
			t.Errorf("got  %s\nwant %s", err, wantText)
		}
	})
}

// A server that never says a word leaves more than an empty message.
func TestAwaitObjectTimeoutInTheFirstRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.setFault(func(r *http.Request) *metav1.Status { <-r.Context().Done(); return nil })
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := s.cluster().AwaitObject(ctx, thing, "the thing", ready)
		var timeout *kube.TimeoutError
		if !errors.As(err, &timeout) || timeout.LastErr == nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestAwaitListSeesAllChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		for i := range 5 {
			time.AfterFunc(time.Duration(i+1)*15*time.Second, func() { s.put(fmt.Sprint("n", i), nil) })
		}
		start := time.Now()
		five := func(items []unstructured.Unstructured) (kube.Verdict, error) {
			if len(items) == 5 {
				return kube.Done(), nil
			}
			return kube.Pending("TooFew", "%d of 5", len(items)), nil
		}
		err := s.cluster().AwaitList(t.Context(), things, "ns", "five things", five)
		if took := time.Since(start); err != nil || took > 75300*time.Millisecond {
			t.Errorf("got %v after %s", err, took)
		}
	})
}

func TestAwaitGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		dying := unstructured.Unstructured{Object: map[string]any{}}
		dying.SetFinalizers([]string{"example.com/hold"})
		dying.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		s.put("one", dying.Object)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		err := s.cluster().AwaitGone(ctx, thing, "uid-1", "the thing's end")
		var timeout *kube.TimeoutError
		if !errors.As(err, &timeout) || !strings.Contains(timeout.Last.Message, "example.com/hold") {
			t.Errorf("got %v", err)
		}
		if err := s.cluster().AwaitGone(t.Context(), thing, "uid-0", "another's end"); err != nil {
			t.Errorf("another UID: %v", err)
		}
		time.AfterFunc(5*time.Second, func() { s.remove("one") })
		start := time.Now()
		err = s.cluster().AwaitGone(t.Context(), thing, "", "the thing's end")
		if err != nil || time.Since(start) > 5300*time.Millisecond {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

func TestAwaitServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.served = nil
		time.AfterFunc(10*time.Second, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.served = []string{"things", "others/status"}
		})
		time.AfterFunc(20*time.Second, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.served = []string{"things", "others"}
		})
		start := time.Now()
		gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
		err := s.cluster().AwaitServed(t.Context(), gv, "the API", "things", "others")
		if took := time.Since(start); err != nil || took < 20*time.Second || took > 20500*time.Millisecond {
			t.Errorf("got %v after %s", err, took)
		}
	})
}

func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.setFault(func(*http.Request) *metav1.Status { return status(500, metav1.StatusReasonInternalError) })
		time.AfterFunc(20*time.Second, func() { s.setFault(nil) })
		apply := func(ctx context.Context) error {
			_, err := s.cluster().Apply(ctx, thing, thing.Object(), kube.ApplyOptions{})
			return err
		}
		start := time.Now()
		if err := kube.Retry(t.Context(), "apply the thing", apply); err != nil || time.Since(start) > 26*time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		s.setFault(func(*http.Request) *metav1.Status { return status(422, metav1.StatusReasonInvalid) })
		start = time.Now()
		if err := kube.Retry(t.Context(), "apply the thing", apply); !kube.IsInvalid(err) || time.Since(start) > 0 {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		s.setFault(func(*http.Request) *metav1.Status { return status(503, metav1.StatusReasonServiceUnavailable) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var timeout *kube.TimeoutError
		if err := kube.Retry(ctx, "apply the thing", apply); !errors.As(err, &timeout) || timeout.LastErr == nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestProgressTellsOfChangesOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.put("one", map[string]any{"phase": "New"})
		time.AfterFunc(60*time.Second, func() {
			s.setFault(func(*http.Request) *metav1.Status { return status(500, metav1.StatusReasonInternalError) })
		})
		time.AfterFunc(90*time.Second, func() { s.setFault(nil) })
		time.AfterFunc(120*time.Second, func() { s.put("one", map[string]any{"phase": "Ready"}) })
		var (
			mu   sync.Mutex
			told []string
		)
		ctx := kube.WithProgress(t.Context(), func(what string, v kube.Verdict) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(what, " ", v.Done, " ", v.Reason))
		})
		must[*unstructured.Unstructured](t)(s.cluster().AwaitObject(ctx, thing, "it", ready))
		want := []string{"it false Waiting", "it false Retrying", "it false Waiting", "it true "}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Error(diff)
		}
	})
}
