package kube_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// classes are the answers of all questions about an error.
func classes(err error) string {
	var yes []string
	for _, class := range []struct {
		name string
		is   func(error) bool
	}{
		{"not found", kube.IsNotFound},
		{"conflict", kube.IsConflict},
		{"forbidden", kube.IsForbidden},
		{"unauthorized", kube.IsUnauthorized},
		{"invalid", kube.IsInvalid},
		{"transient", kube.IsTransient},
		{"denied", kube.IsDenied},
	} {
		if class.is(err) {
			yes = append(yes, class.name)
		}
	}
	return strings.Join(yes, ", ")
}

func TestClassesOfAnswers(t *testing.T) {
	t.Parallel()
	resource, kind := schema.GroupResource{Resource: "things"}, schema.GroupKind{Kind: "Thing"}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"nil":            {nil, ""},
		"something":      {errors.New("refused"), ""},
		"no such kind":   {&meta.NoKindMatchError{GroupKind: kind}, "not found"},
		"404":            {apierrors.NewNotFound(resource, "x"), "not found"},
		"404 of no kind": {apierrors.NewGenericServerResponse(404, "get", resource, "x", "404 page not found", 0, true), "not found"},
		"400":            {apierrors.NewBadRequest("x"), "denied"},
		"401":            {apierrors.NewUnauthorized("x"), "unauthorized, transient"},
		"403":            {apierrors.NewForbidden(resource, "x", errors.New("no")), "forbidden, denied"},
		"409":            {apierrors.NewConflict(resource, "x", errors.New("no")), "conflict, transient"},
		"409 exists":     {apierrors.NewAlreadyExists(resource, "x"), ""},
		"409 of apply": {
			apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict}}, "x"),
			"conflict",
		},
		"410":             {apierrors.NewResourceExpired("x"), ""},
		"413":             {apierrors.NewRequestEntityTooLargeError("x"), "denied"},
		"422":             {apierrors.NewInvalid(kind, "x", nil), "invalid, denied"},
		"429":             {apierrors.NewTooManyRequests("x", 1), "transient"},
		"500":             {apierrors.NewInternalError(errors.New("failed calling webhook")), "transient"},
		"500 with a wait": {apierrors.NewServerTimeout(resource, "get", 1), "transient"},
		"502":             {apierrors.NewGenericServerResponse(502, "get", resource, "x", "x", 0, true), "transient"},
		"503":             {apierrors.NewServiceUnavailable("x"), "transient"},
		"504":             {apierrors.NewTimeoutError("x", 1), "transient"},
		"cancel":          {context.Canceled, ""},
		"deadline":        {context.DeadlineExceeded, ""},
		"deadline beside": {fmt.Errorf("%w: %w", context.DeadlineExceeded, errors.New("x")), ""},
	} {
		if got := classes(tt.err); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		if tt.err == nil {
			continue
		}
		if got := classes(fmt.Errorf("step: %w", &kube.Error{Verb: "get", Ref: thing, Err: tt.err})); got != tt.want {
			t.Errorf("%s, wrapped: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestClassesOfRealNetworkErrors meets every way in which a connection fails, for real.
func TestClassesOfRealNetworkErrors(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, tt := range map[string]struct {
		config    *rest.Config
		transient bool
	}{
		"refused":            {&rest.Config{Host: "http://" + closedPort(t)}, true},
		"closed at once":     {&rest.Config{Host: "http://" + listener(t, func(c net.Conn) { _ = c.Close() })}, true},
		"reset":              {&rest.Config{Host: "http://" + listener(t, reset)}, true},
		"cut in the body":    {&rest.Config{Host: "http://" + listener(t, cut)}, true},
		"TLS closed at once": {&rest.Config{Host: "https://" + listener(t, func(c net.Conn) { _ = c.Close() })}, true},
		"plain HTTP":         {&rest.Config{Host: "https://" + strings.TrimPrefix(plain.URL, "http://")}, false},
		"unknown authority":  {&rest.Config{Host: secure.URL}, false},
		"no such name":       {&rest.Config{Host: "http://no-such-name.invalid"}, false},
		"silent":             {&rest.Config{Host: "http://" + listener(t, nil), Timeout: time.Hour}, false}, // the caller's own deadline
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err := kube.NewCluster("test cluster", func(context.Context) (*rest.Config, error) { return tt.config, nil }).Get(ctx, thing)
			var named *kube.Error
			if !errors.As(err, &named) || kube.IsTransient(err) != tt.transient {
				t.Errorf("transient is %v: %v", kube.IsTransient(err), err)
			}
			if name == "silent" && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A timeout of the network itself is worth a retry, although errors.Is takes it for a deadline.
func TestNetworkTimeoutIsTransient(t *testing.T) {
	t.Parallel()
	dialer := net.Dialer{Timeout: time.Nanosecond}
	_, err := dialer.DialContext(t.Context(), "tcp", closedPort(t))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if !kube.IsTransient(err) {
		t.Errorf("not transient: %v", err)
	}
	client, server := net.Pipe()
	defer func() { _, _ = client.Close(), server.Close() }()
	transport := &http.Transport{
		DialContext:         func(context.Context, string, string) (net.Conn, error) { return client, nil },
		TLSHandshakeTimeout: time.Millisecond,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
	}
	request := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster.test", http.NoBody))
	if _, err := transport.RoundTrip(request); !kube.IsTransient(err) { //nolint:bodyclose // there is none
		t.Errorf("not transient: %v", err)
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	l := must[net.Listener](t)((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// listener accepts and lets serve do what it likes; nil says nothing.
func listener(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l := must[net.Listener](t)((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if serve != nil {
				serve(conn)
			} else {
				t.Cleanup(func() { _ = conn.Close() })
			}
		}
	}()
	return l.Addr().String()
}

func reset(conn net.Conn) {
	_, _ = conn.Read(make([]byte, 1))
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func cut(conn net.Conn) {
	_, _ = conn.Read(make([]byte, 4096))
	_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"))
	_ = conn.Close()
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: "things"}, "one", refused)
	denied := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: 403, Reason: metav1.StatusReasonForbidden, Message: `admission webhook "v.example.com" denied the request: overlap`,
	}}
	for _, tt := range []struct {
		err  kube.Error
		want string
	}{
		{kube.Error{Verb: "get", Ref: thing, Err: refused}, "get Thing ns/one in the hosted cluster clusters/demo: refused"},
		{
			kube.Error{Verb: "list", Ref: kube.Ref{Resource: things, Namespace: "ns"}, Err: refused},
			"list Thing in namespace ns in the hosted cluster clusters/demo: refused",
		},
		{
			kube.Error{Verb: "list", Ref: kube.Ref{Resource: things}, Err: refused},
			"list Thing in the hosted cluster clusters/demo: refused",
		},
		{
			kube.Error{Verb: "apply", Ref: thing, Err: forbidden},
			"apply Thing ns/one in the hosted cluster clusters/demo: not allowed to patch things.example.com in namespace ns: " +
				`things.example.com "one" is forbidden: refused`,
		},
		{
			kube.Error{Verb: "apply", Ref: thing, Err: denied},
			`apply Thing ns/one in the hosted cluster clusters/demo: admission webhook "v.example.com" denied the request: overlap`,
		},
	} {
		tt.err.Cluster = "hosted cluster clusters/demo"
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestIsApplyConflict(t *testing.T) {
	t.Parallel()
	message := `conflict with "kubectl-client-side-apply" using example.com/v1`
	conflict := apierrors.NewApplyConflict([]metav1.StatusCause{
		{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.type", Message: message},
		{Type: metav1.CauseTypeFieldValueInvalid, Field: ".spec.other"},
	}, "Apply failed with 1 conflict")
	want := []kube.FieldConflict{{Field: ".spec.type", Manager: "kubectl-client-side-apply", Message: message}}
	if diff := cmp.Diff(want, kube.IsApplyConflict(&kube.Error{Err: conflict})); diff != "" {
		t.Error(diff)
	}
	if got := kube.IsApplyConflict(apierrors.NewConflict(schema.GroupResource{}, "x", nil)); got != nil {
		t.Errorf("got %v", got)
	}
}
