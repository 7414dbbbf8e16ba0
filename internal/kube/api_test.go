package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

var (
	things = kube.NewResource("example.com/v1", "things", "Thing")
	thing  = kube.Ref{Resource: things, Namespace: "ns", Name: "one"}
)

const (
	collectionPath = "/apis/example.com/v1/namespaces/ns/things"
	objectPath     = collectionPath + "/one"
)

// server is an API server of one namespaced collection in memory: resource versions, watches and faults. It has no network, so
// that it also works in a synctest bubble.
type server struct {
	mu      sync.Mutex
	version int
	objects map[string]map[string]any
	events  []event // all there ever were
	changed chan struct{}
	served  []string

	fault func(r *http.Request) *metav1.Status // nil: none
	seen  []string                             // "GET /path", watches as "WATCH /path?version"
}

type event struct {
	Type    string         `json:"type"`
	Object  map[string]any `json:"object"`
	version int
}

func newServer() *server {
	return &server{
		version: 100, objects: map[string]map[string]any{}, changed: make(chan struct{}), served: []string{"things", "things/status"},
	}
}

// cluster is a Cluster that talks to the server.
func (s *server) cluster() *kube.Cluster {
	return kube.NewCluster("test cluster", func(context.Context) (*rest.Config, error) { return s.config(), nil })
}

func (s *server) config() *rest.Config {
	return &rest.Config{Host: "http://cluster.test", Transport: inMemory{s}}
}

// put stores an object as if somebody had written it.
func (s *server) put(name string, fields map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(name, fields)
}

func (s *server) store(name string, fields map[string]any) map[string]any {
	s.version++
	obj := unstructured.Unstructured{Object: maps.Clone(fields)}
	obj.SetAPIVersion("example.com/v1")
	obj.SetKind("Thing")
	obj.SetName(name)
	obj.SetNamespace("ns")
	if obj.GetUID() == "" {
		obj.SetUID("uid-" + "1")
	}
	obj.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[name] = obj.Object
	s.tell("MODIFIED", obj.DeepCopy().Object)
	return obj.Object
}

func (s *server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	obj := s.objects[name]
	delete(s.objects, name)
	s.tell("DELETED", obj)
}

func (s *server) tell(kind string, obj map[string]any) {
	s.events = append(s.events, event{kind, obj, s.version})
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *server) setFault(fault func(r *http.Request) *metav1.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// count is how many requests began with the prefix.
func (s *server) count(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, request := range s.seen {
		if strings.HasPrefix(request, prefix) {
			n++
		}
	}
	return n
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	verb := r.Method
	if r.URL.Query().Get("watch") == "true" {
		verb = "WATCH"
	}
	s.seen = append(s.seen, verb+" "+r.URL.Path+"?"+r.URL.Query().Get("resourceVersion"))
	fault := s.fault
	s.mu.Unlock()
	if fault != nil {
		if status := fault(r); status != nil {
			answer(w, int(status.Code), status)
			return
		}
	}
	switch {
	case verb == "WATCH":
		s.serveWatch(w, r)
	case r.URL.Path == "/apis/example.com/v1":
		s.serveResources(w)
	case strings.HasPrefix(r.URL.Path, collectionPath):
		s.serveObjects(w, r, strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, collectionPath), "/"))
	default:
		http.NotFound(w, r)
	}
}

func (s *server) serveResources(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := metav1.APIResourceList{GroupVersion: "example.com/v1"}
	for _, name := range s.served {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
	}
	answer(w, http.StatusOK, list)
}

func (s *server) serveObjects(w http.ResponseWriter, r *http.Request, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.objects[name]
	switch {
	case name == "":
		s.serveList(w)
	case live == nil && r.Method != http.MethodPatch:
		answer(w, http.StatusNotFound, status(http.StatusNotFound, metav1.StatusReasonNotFound))
	case r.Method == http.MethodGet:
		answer(w, http.StatusOK, live)
	case r.Method == http.MethodDelete:
		s.serveDelete(w, r, name)
	case r.Method == http.MethodPut:
		sent := decode(r)
		if sent.GetResourceVersion() != (&unstructured.Unstructured{Object: live}).GetResourceVersion() {
			answer(w, http.StatusConflict, status(http.StatusConflict, metav1.StatusReasonConflict))
			return
		}
		answer(w, http.StatusOK, s.store(name, sent.Object))
	default: // apply and merge patch: as sent
		answer(w, http.StatusOK, s.store(name, decode(r).Object))
	}
}

func (s *server) serveDelete(w http.ResponseWriter, r *http.Request, name string) {
	var options metav1.DeleteOptions
	if err := json.NewDecoder(r.Body).Decode(&options); err != nil {
		answer(w, http.StatusBadRequest, status(http.StatusBadRequest, metav1.StatusReasonBadRequest))
		return
	}
	live := unstructured.Unstructured{Object: s.objects[name]}
	if options.Preconditions != nil && *options.Preconditions.UID != live.GetUID() {
		answer(w, http.StatusConflict, status(http.StatusConflict, metav1.StatusReasonConflict))
		return
	}
	delete(s.objects, name)
	answer(w, http.StatusOK, status(http.StatusOK, ""))
}

func (s *server) serveList(w http.ResponseWriter) {
	list := unstructured.UnstructuredList{}
	list.SetAPIVersion("example.com/v1")
	list.SetKind("ThingList")
	list.SetResourceVersion(strconv.Itoa(s.version))
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		list.Items = append(list.Items, unstructured.Unstructured{Object: s.objects[name]})
	}
	body, err := list.MarshalJSON()
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

func (s *server) serveWatch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	from, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		from = s.version
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for sent := 0; ; {
		s.mu.Lock()
		pending, changed := s.events[sent:], s.changed
		sent = len(s.events)
		s.mu.Unlock()
		for _, e := range pending {
			if e.version > from {
				send(w, e)
			}
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func decode(r *http.Request) *unstructured.Unstructured {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &obj.Object); err != nil {
		panic(err)
	}
	return obj
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	if s, ok := body.(*metav1.Status); ok && s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
	}
	w.WriteHeader(code)
	send(w, body)
}

// send does not mind when the client has gone.
func send(w io.Writer, body any) {
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // objects of the tests' own
}

func status(code int32, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: fmt.Sprintf("the server answers %d", code),
	}
}

// inMemory is an HTTP transport without a network.
type inMemory struct{ handler http.Handler }

func (t inMemory) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	reader, writer := io.Pipe()
	stream := &stream{header: http.Header{}, body: writer, started: make(chan struct{})}
	inner := request.WithContext(ctx)
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	go func() {
		t.handler.ServeHTTP(stream, inner)
		stream.WriteHeader(http.StatusOK)
		_ = writer.Close()
	}()
	stop := context.AfterFunc(request.Context(), func() { _ = reader.CloseWithError(request.Context().Err()) })
	select {
	case <-stream.started:
		body := &closing{reader, func() { stop(); cancel() }}
		return &http.Response{
			Status: http.StatusText(stream.code), StatusCode: stream.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: stream.header, Body: body, ContentLength: -1, Request: request,
		}, nil
	case <-request.Context().Done():
		cancel()
		return nil, request.Context().Err()
	}
}

type stream struct {
	header  http.Header
	body    *io.PipeWriter
	code    int
	once    sync.Once
	started chan struct{}
}

func (s *stream) Header() http.Header { return s.header }

func (s *stream) WriteHeader(code int) {
	s.once.Do(func() {
		s.code = code
		close(s.started)
	})
}

func (s *stream) Write(data []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return s.body.Write(data)
}

type closing struct {
	*io.PipeReader
	stop func()
}

func (c *closing) Close() error {
	c.stop()
	return c.PipeReader.Close()
}

// phase is what the tests wait for.
func phase(obj *unstructured.Unstructured) string {
	if obj == nil {
		return ""
	}
	value, _, err := unstructured.NestedString(obj.Object, "phase")
	if err != nil {
		return ""
	}
	return value
}

// ready is done when the object's phase is Ready, and fails for good when it is Broken.
func ready(obj *unstructured.Unstructured) (kube.Verdict, error) {
	switch {
	case obj == nil:
		return kube.Pending("Absent", "nothing there"), nil
	case phase(obj) == "Ready":
		return kube.Done(), nil
	case phase(obj) == "Broken":
		return kube.Verdict{}, errBroken
	default:
		return kube.Pending("Waiting", "phase is %q", phase(obj)), nil
	}
}

var errBroken = fmt.Errorf("it is broken")

func noEnvironment(string) string { return "" }

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func must[T any](t *testing.T) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
