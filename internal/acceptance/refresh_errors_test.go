package acceptance

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// fault is a way for an API not to answer. begin returns what ends it.
type fault struct {
	name  string
	begin func(*testing.T, *testcluster.Proxy) (end func())
	seen  string // what the error says
}

func faults() []fault {
	const impatient = "(?i)(deadline|timed out|gave up|no answer)"
	return []fault{
		{"refused", refusing, "connection\\s+refused"},
		{"another certificate", impostor, "certificate"},
		{"silent", ruled("", testcluster.Hang()), impatient},
		{"credentials refused", ruled("", testcluster.Answer(401, metav1.StatusReasonUnauthorized, "Unauthorized")), "Unauthorized"},
		{"forbidden", ruled("", testcluster.Answer(403, metav1.StatusReasonForbidden, "not for you")), "not\\s+for\\s+you"},
		{"one object forbidden", ruled("/(services/oooi-ingress|dnsservers/vlan-dns)$",
			testcluster.Answer(403, metav1.StatusReasonForbidden, "not this one")), "not\\s+this\\s+one"},
		{"another one forbidden", ruled("/(ipaddresspools|proxyservers/vlan-proxy)$",
			testcluster.Answer(403, metav1.StatusReasonForbidden, "not this one")), "not\\s+this\\s+one"},
		{"too many", ruled("", testcluster.Answer(429, metav1.StatusReasonTooManyRequests, "slow down", "Retry-After", "1")), "slow\\s+down"},
		{"broken", ruled("", testcluster.Answer(500, metav1.StatusReasonInternalError, "etcd is away")), "etcd\\s+is\\s+away"},
	}
}

func refusing(t *testing.T, proxy *testcluster.Proxy) func() {
	t.Helper()
	proxy.Stop()
	return func() {
		if err := proxy.Start(); err != nil {
			t.Fatal(err)
		}
	}
}

func ruled(path string, action testcluster.Action) func(*testing.T, *testcluster.Proxy) func() {
	return func(_ *testing.T, proxy *testcluster.Proxy) func() {
		return proxy.Add(testcluster.Match{Path: path}, action).Remove
	}
}

// impostor is a server with a certificate of somebody else, in the proxy's place.
func impostor(t *testing.T, proxy *testcluster.Proxy) func() {
	t.Helper()
	start := refusing(t, proxy)
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	_ = server.Listener.Close()
	server.Listener = listener
	server.StartTLS()
	return func() {
		server.Close()
		start()
	}
}

// Whatever either API answers but a certain "not found", a refresh is an error and the state stays: nothing is taken for gone.
func TestRefreshErrorsKeepTheState(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.throughProxy = true })
	config := w.config(set("timeouts.read", text("2s")))
	config = strings.ReplaceAll(config, w.managementKubeconfig(), w.pair.Management.KubeconfigThroughProxy(testcluster.UserProvider))
	steps := []resource.TestStep{{Config: config}}
	end := func() {}
	t.Cleanup(func() { end() })
	for _, cluster := range []*testcluster.Cluster{w.pair.Management, w.pair.Hosted} {
		for _, fault := range faults() {
			steps = append(steps, resource.TestStep{
				PreConfig: func() {
					end()
					t.Logf("%s: %s", cluster.Name, fault.name)
					end = fault.begin(t, cluster.Proxy())
				},
				RefreshState: true,
				ExpectError:  regexp.MustCompile(fault.seen),
			})
		}
	}
	steps = append(steps, resource.TestStep{
		PreConfig: func() {
			end()
			end = func() {}
		},
		Config:   config,
		PlanOnly: true, // a state that had lost anything would be something to do
	})
	w.test(steps...)
}
