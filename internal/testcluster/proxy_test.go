package testcluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// soon is how long something takes at most that happens at once; soonNot is how long is waited for what must not happen.
const (
	soon    = 10 * time.Second
	soonNot = 200 * time.Millisecond
)

func restConfig(kubeconfig []byte) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// get asks an API server, by a kubeconfig, for a path.
func get(ctx context.Context, kubeconfig []byte, path string) error {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("asking for %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("asking for %s: %s", path, response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// throughProxy is a client that goes through the proxy.
func throughProxy(t *testing.T, cluster *testcluster.Cluster) dynamic.Interface {
	t.Helper()
	config, err := restConfig(cluster.KubeconfigBytesThroughProxy(testcluster.UserProvider))
	must(t, err)
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	return client
}

func TestProxyFaults(t *testing.T) { //nolint:tparallel // subtests that wait for a turn would keep the clusters from the tests that have it
	t.Parallel()
	cluster := testcluster.Start(t).Management
	tests := map[string]struct {
		action testcluster.Action
		want   func(error) bool
	}{
		"pass":     {testcluster.Pass(), func(err error) bool { return err == nil }},
		"delay":    {testcluster.Delay(soonNot), func(err error) bool { return err == nil }},
		"refuse":   {testcluster.Refuse(), func(err error) bool { return errors.Is(err, io.EOF) }},
		"cut":      {testcluster.Cut(), func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		"lose":     {testcluster.Lose(), func(err error) bool { return errors.Is(err, io.EOF) }},
		"conflict": {testcluster.Answer(http.StatusConflict, metav1.StatusReasonConflict, "on purpose"), apierrors.IsConflict},
		"unauthorized": {
			testcluster.Answer(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "on purpose"), apierrors.IsUnauthorized,
		},
		"too-many-requests": {
			testcluster.Answer(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "on purpose"), apierrors.IsTooManyRequests,
		},
	}
	proxy := cluster.Proxy()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			create(t, cluster, configMaps, configMap("clusters", name))
			rule := proxy.Add(testcluster.Match{Path: "/configmaps/" + name + "$"}, test.action)
			defer rule.Remove()
			_, err := throughProxy(t, cluster).Resource(configMaps).Namespace("clusters").Get(t.Context(), name, metav1.GetOptions{})
			if !test.want(err) {
				t.Errorf("got %v", err)
			}
			if rule.Hits() == 0 {
				t.Error("the rule met no request")
			}
		})
	}
}

func TestProxyRetryAfter(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	rule := cluster.Proxy().Add(testcluster.Match{Times: 2, Verbs: []string{testcluster.VerbList}},
		testcluster.Answer(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slow down", "Retry-After", "0"))
	_, err := throughProxy(t, cluster).Resource(configMaps).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	if rule.Hits() != 2 {
		t.Errorf("the rule met %d requests, want 2", rule.Hits())
	}
}

func TestProxyCountsByVerb(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	proxy, client := cluster.Proxy(), throughProxy(t, cluster).Resource(configMaps).Namespace("clusters")
	rules := map[string]*testcluster.Rule{}
	for _, verb := range []string{
		testcluster.VerbGet, testcluster.VerbList, testcluster.VerbWatch, testcluster.VerbPost, testcluster.VerbPut, testcluster.VerbDelete,
	} {
		rules[verb] = proxy.Add(testcluster.Match{Verbs: []string{verb}}, testcluster.Pass())
	}
	created, err := client.Create(t.Context(), configMap("clusters", "counted"), metav1.CreateOptions{})
	must(t, err)
	_, err = client.Update(t.Context(), created, metav1.UpdateOptions{})
	must(t, err)
	_, err = client.Get(t.Context(), "counted", metav1.GetOptions{})
	must(t, err)
	_, err = client.List(t.Context(), metav1.ListOptions{})
	must(t, err)
	watcher, err := client.Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	watcher.Stop()
	must(t, client.Delete(t.Context(), "counted", metav1.DeleteOptions{}))
	for verb, rule := range rules {
		if rule.Hits() != 1 {
			t.Errorf("%s was met %d times, want once", verb, rule.Hits())
		}
	}
}

func TestProxySkipsThenMeetsThenPasses(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	cluster.Proxy().Add(testcluster.Match{Path: "/configmaps", Skip: 1, Times: 1},
		testcluster.Answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "on purpose"))
	client := throughProxy(t, cluster).Resource(configMaps)
	var failed []bool
	for range 4 {
		_, err := client.List(t.Context(), metav1.ListOptions{})
		failed = append(failed, err != nil)
	}
	if got, want := fmt.Sprint(failed), "[false true false false]"; got != want {
		t.Errorf("failed: %s, want %s", got, want)
	}
}

func TestProxyHangsUntilTheRuleIsRemoved(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	rule := cluster.Proxy().Add(testcluster.Match{}, testcluster.Hang())
	client := throughProxy(t, cluster).Resource(configMaps)

	ctx, cancel := context.WithTimeout(t.Context(), soonNot)
	defer cancel()
	if _, err := client.List(ctx, metav1.ListOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the client runs out of time", err)
	}
	rule.Remove()
	_, err := client.List(t.Context(), metav1.ListOptions{})
	must(t, err)
}

func TestProxyHoldsEvents(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	hold, release := testcluster.Hold()
	cluster.Proxy().Add(testcluster.Match{Verbs: []string{testcluster.VerbWatch}}, hold)
	watcher, err := throughProxy(t, cluster).Resource(configMaps).Namespace("clusters").Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	defer watcher.Stop()
	create(t, cluster, configMaps, configMap("clusters", "seen-late"))
	select {
	case event := <-watcher.ResultChan():
		t.Fatalf("got %s before it was released", event.Type)
	case <-time.After(soonNot):
	}
	release()
	wantEvent(t, watcher)
}

func TestProxyStreamsWatches(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	watcher, err := throughProxy(t, cluster).Resource(configMaps).Namespace("clusters").Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	defer watcher.Stop()
	create(t, cluster, configMaps, configMap("clusters", "seen"))
	wantEvent(t, watcher)
}

func wantEvent(t *testing.T, watcher watch.Interface) {
	t.Helper()
	select {
	case event, open := <-watcher.ResultChan():
		if !open || event.Type != watch.Added {
			t.Fatalf("got %v (open: %t), want an added object", event, open)
		}
	case <-time.After(soon):
		t.Fatal("no event came")
	}
}

func TestProxyHooksSeeTheRequestFirst(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	client := throughProxy(t, cluster).Resource(configMaps).Namespace("clusters")
	create(t, cluster, configMaps, configMap("clusters", "deleted-just-before"))
	var seen []string
	cluster.Proxy().Before(func(request *http.Request) {
		seen = append(seen, testcluster.RequestVerb(request)+" "+request.URL.Path)
		direct := cluster.Dynamic(testcluster.UserTest).Resource(configMaps).Namespace("clusters")
		if err := direct.Delete(request.Context(), "deleted-just-before", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	_, err := client.Get(t.Context(), "deleted-just-before", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want not found", err)
	}
	if got, want := fmt.Sprint(seen), "[GET /api/v1/namespaces/clusters/configmaps/deleted-just-before]"; got != want {
		t.Errorf("saw %s, want %s", got, want)
	}
}

func TestProxyStoppedLooksDown(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	kubeconfig := cluster.KubeconfigBytesThroughProxy(testcluster.UserProvider)
	must(t, get(t.Context(), kubeconfig, "/version"))
	cluster.Proxy().Stop()
	if err := get(t.Context(), kubeconfig, "/version"); err == nil {
		t.Error("a stopped proxy answers")
	}
	must(t, cluster.Proxy().Start())
	must(t, get(t.Context(), kubeconfig, "/version"))
}

func TestRequestVerb(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"/api/v1/namespaces":                                   testcluster.VerbList,
		"/api/v1/namespaces/one":                               testcluster.VerbGet,
		"/api/v1/namespaces/one/status":                        testcluster.VerbGet,
		"/api/v1/namespaces/one/services":                      testcluster.VerbList,
		"/api/v1/namespaces/one/services/two":                  testcluster.VerbGet,
		"/api/v1/namespaces/one/services?watch=true":           testcluster.VerbWatch,
		"/api/v1/services?watch=1":                             testcluster.VerbWatch,
		"/api/v1/nodes":                                        testcluster.VerbList,
		"/apis/metallb.io/v1beta1/ipaddresspools":              testcluster.VerbList,
		"/apis/metallb.io/v1beta1/namespaces/a/ipaddresspools": testcluster.VerbList,
		"/apis/metallb.io/v1beta1/namespaces/a/metallbs/b":     testcluster.VerbGet,
		"/apis/metallb.io/v1beta1":                             testcluster.VerbGet,
		"/api/v1":                                              testcluster.VerbGet,
		"/apis":                                                testcluster.VerbGet,
		"/version":                                             testcluster.VerbGet,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1"+url, http.NoBody)
		must(t, err)
		if got := testcluster.RequestVerb(request); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}
