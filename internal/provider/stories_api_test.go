package provider

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type object = map[string]any

// paperAPI is as much of an API server as it takes to bring about the errors of an ingress: objects by path, which requests of a
// test may be answered for. It serves no watch, so waits ask again every second.
type paperAPI struct {
	url string

	mu      sync.Mutex
	objects map[string]object
	unknown []string                  // path prefixes of APIs that are not served
	answers map[string]metav1.Status  // to "METHOD path", in place of what would happen
	written map[string]func(o object) // what a controller does to an object right after a write
}

func newPaperAPI(t *testing.T) *paperAPI {
	t.Helper()
	a := &paperAPI{objects: map[string]object{}, answers: map[string]metav1.Status{}, written: map[string]func(object){}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// put makes an object. Its path is the one of the API; kind and fields are as given.
func (a *paperAPI) put(path, kind string, fields object) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	version := parts[1]
	if parts[0] == "apis" {
		version += "/" + parts[2]
	}
	metadata := object{"name": parts[len(parts)-1], "uid": "uid-of-" + parts[len(parts)-1], "resourceVersion": "1"}
	if i := slices.Index(parts, "namespaces"); i >= 0 && len(parts) > i+3 {
		metadata["namespace"] = parts[i+1]
	}
	made := object{"apiVersion": version, "kind": kind, "metadata": metadata}
	merge(made, fields)
	a.objects[path] = made
}

// answer has a request answered with an error.
func (a *paperAPI) answer(request string, code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) {
	status := metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
	status.Kind, status.APIVersion = "Status", "v1"
	if len(causes) > 0 {
		status.Details = &metav1.StatusDetails{Causes: causes}
	}
	a.answers[request] = status
}

// ServeHTTP implements http.Handler.
func (a *paperAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	path := r.URL.Path
	status, refused := a.answers[r.Method+" "+path]
	switch {
	case refused:
		respond(w, int(status.Code), status)
	case r.URL.Query().Has("watch"):
		respond(w, http.StatusForbidden, failure(http.StatusForbidden, metav1.StatusReasonForbidden))
	case slices.ContainsFunc(a.unknown, func(prefix string) bool { return strings.HasPrefix(path, prefix) }):
		respond(w, http.StatusNotFound, failure(http.StatusNotFound, metav1.StatusReasonNotFound))
	case r.Method == http.MethodGet:
		a.read(w, path)
	case r.Method == http.MethodDelete:
		delete(a.objects, path)
		respond(w, http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
	default:
		a.write(w, r)
	}
}

func (a *paperAPI) read(w http.ResponseWriter, path string) {
	if found, ok := a.objects[path]; ok {
		respond(w, http.StatusOK, found)
		return
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[0] == "apis" && len(parts) == 3 {
		respond(w, http.StatusOK, discovered())
		return
	}
	group := 2 // the parts before the path inside of a group version
	if parts[0] == "apis" {
		group = 3
	}
	plural, named := parts[len(parts)-1], (len(parts)-group)%2 == 0
	if named {
		respond(w, http.StatusNotFound, failure(http.StatusNotFound, metav1.StatusReasonNotFound))
		return
	}
	prefix := strings.TrimSuffix(path, plural)
	items := []any{}
	for _, at := range slices.Sorted(maps.Keys(a.objects)) {
		if strings.HasPrefix(at, prefix) && strings.Contains(at, "/"+plural+"/") {
			items = append(items, a.objects[at])
		}
	}
	respond(w, http.StatusOK, object{"apiVersion": "v1", "kind": "List", "metadata": object{"resourceVersion": "1"}, "items": items})
}

func (a *paperAPI) write(w http.ResponseWriter, r *http.Request) {
	var body object
	content, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(content, &body)
	}
	if err != nil {
		respond(w, http.StatusBadRequest, failure(http.StatusBadRequest, metav1.StatusReasonBadRequest))
		return
	}
	if r.URL.Query().Has("dryRun") {
		respond(w, http.StatusOK, body)
		return
	}
	if a.objects[r.URL.Path] == nil {
		kind, _ := body["kind"].(string)
		a.put(r.URL.Path, kind, nil)
	}
	merge(a.objects[r.URL.Path], body)
	if act := a.written[r.URL.Path]; act != nil {
		act(a.objects[r.URL.Path])
	}
	respond(w, http.StatusOK, a.objects[r.URL.Path])
}

func merge(into, from object) {
	for key, value := range from {
		inner, isObject := value.(object)
		if old, both := into[key].(object); isObject && both {
			merge(old, inner)
			continue
		}
		into[key] = value
	}
}

func discovered() metav1.APIResourceList {
	var list metav1.APIResourceList
	for _, plural := range []string{"metallbs", "ipaddresspools", "l2advertisements", "hostedclusters"} {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: plural})
	}
	return list
}

func failure(code int32, reason metav1.StatusReason) metav1.Status {
	status := metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: string(reason)}
	status.Kind, status.APIVersion = "Status", "v1"
	return status
}

func respond(w http.ResponseWriter, code int, body any) {
	content, err := json.Marshal(body)
	if err != nil {
		panic(err) // what a story made up cannot be encoded
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(content) // the client may be gone
}
