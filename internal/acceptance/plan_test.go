package acceptance

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// planFlags are what every plan of these tests has.
func planFlags(more ...string) []string {
	return append([]string{"plan", "-input=false", "-no-color"}, more...)
}

// A plan works whatever the clusters are like: without MetalLB's API, and with nothing that answers. It writes nothing.
func TestPlan(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.throughProxy = true })
	w.settled()
	config := w.config()
	config = strings.ReplaceAll(config, w.managementKubeconfig(), w.pair.Management.KubeconfigThroughProxy(testcluster.UserProvider))
	c := newCLI(t, config)

	if w.hosted.serves(pools) {
		t.Fatal("the hosted cluster serves metallb.io before the test")
	}
	management, hosted := w.management.requests(), w.hosted.requests()
	c.must(planFlags("-out=fresh")...)
	plan := c.planned("fresh", address)
	for _, name := range []string{"external_ip", "external_hostname", "dns_records", "proxy_backends", "installed_csv"} {
		if plan.AfterUnknown[name] != true {
			t.Errorf("%s is known in the plan of a new ingress", name)
		}
	}
	if plan.After["wildcard_domain"] != wildcard || plan.After["mode"] != "direct" {
		t.Errorf("the plan has wildcard domain %v and mode %v", plan.After["wildcard_domain"], plan.After["mode"])
	}

	w.silence(func() {
		c.must(planFlags("-out=unreachable")...)
		if plan := c.planned("unreachable", address); plan.AfterUnknown["external_ip"] != true {
			t.Error("external_ip is known in the plan of a new ingress though nothing answers")
		}
	})
	if writes := append(management.writes(), hosted.writes()...); len(writes) > 0 {
		t.Errorf("the plans wrote:\n%s", lines(writes))
	}

	c.must("apply", "-input=false", "-no-color", "unreachable")
	if ip := c.values(address)["external_ip"]; ip != firstIP {
		t.Errorf("external_ip is %v", ip)
	}
	management, hosted = w.management.requests(), w.hosted.requests()
	w.silence(func() {
		c.unchanged("-refresh=false")
		c.fails([]string{"The apps ingress could not be read"}, planFlags()...)
	})
	c.unchanged()
	if writes := append(management.writes(), hosted.writes()...); len(writes) > 0 {
		t.Errorf("the plans wrote:\n%s", lines(writes))
	}
	c.destroy()
}

// silence stops both proxies for a while: connections are refused.
func (w *world) silence(during func()) {
	w.t.Helper()
	both := []*testcluster.Proxy{w.pair.Management.Proxy(), w.pair.Hosted.Proxy()}
	for _, proxy := range both {
		proxy.Stop()
	}
	during()
	for _, proxy := range both {
		if err := proxy.Start(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// The cluster's kubeconfig is made in the same run: nothing is asked anywhere before it is known, not even the cluster that the
// environment names. One apply then does everything.
func TestPlanBeforeTheConnectionIsKnown(t *testing.T) {
	w := newWorld(t)
	w.settled()
	bait, connections := listener(t)
	c := newCLI(t, strings.Replace(w.config(), fmt.Sprintf("config_path = %q", w.managementKubeconfig()),
		"config_path = terraform_data.kubeconfig.output", 1)+
		fmt.Sprintf("resource \"terraform_data\" \"kubeconfig\" {\n  input = %q\n}\n", w.managementKubeconfig()))

	management, hosted := w.management.requests(), w.hosted.requests()
	plain := c.env
	c.env = append(slices.Clone(plain), "KUBE_HOST=https://"+bait)
	c.must(planFlags("-out=plan")...)
	if asked := append(management.ofProvider(), hosted.ofProvider()...); len(asked) > 0 || connections.Load() > 0 {
		t.Errorf("the plan made %d connections elsewhere and asked:\n%s", connections.Load(), lines(asked))
	}
	if plan := c.planned("plan", address); plan.After["id"] != "clusters/demo" || plan.After["mode"] != "direct" {
		t.Errorf("the plan has id %v and mode %v", plan.After["id"], plan.After["mode"])
	}

	c.env = plain
	c.must("apply", "-input=false", "-no-color", "plan")
	if ip := c.values(downstream)["output"]; ip != firstIP {
		t.Errorf("the downstream resource has %v", ip)
	}
	c.unchanged()
	c.destroy()
}

// listener counts the connections to a port of this machine.
func listener(t *testing.T) (address string, connections *atomic.Int64) {
	t.Helper()
	open, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = open.Close() })
	connections = &atomic.Int64{}
	go func() {
		for {
			connection, err := open.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_ = connection.Close()
		}
	}()
	return open.Addr().String(), connections
}

// ingressBlock is the configuration of an ingress that needs no cluster to be looked at.
func ingressBlock(name, addresses string) string {
	return fmt.Sprintf(`
resource "oooi_apps_ingress" %q {
  name               = %q
  hosted_cluster_ref = { name = %q }
  dns                = { cluster_name = %q, base_domain = %q }
  metallb = {
    address_pool_name     = "apps-pool"
    ip_address_pool_range = %q
  }
}
`, name, name, clusterName, name, baseDomain, addresses)
}

// Nothing says where the management cluster is: a new ingress plans, and the first use is one error that says what would.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	c := newCLI(t, ingressBlock("test", poolRange))
	c.must(planFlags()...)
	c.fails([]string{"config_path", "KUBE_CONFIG_PATH", "config_paths", "KUBE_CONFIG_PATHS", "host", "KUBE_HOST"},
		"apply", "-auto-approve", "-input=false", "-no-color")
	if values := c.values(address); values != nil {
		t.Errorf("the state has %v", values)
	}
}

// A range that can never work is refused before anything is connected to, on its attribute.
func TestRangeRefusedAtValidate(t *testing.T) {
	t.Parallel()
	refused := map[string]string{
		"reversed":      "198.51.100.20-198.51.100.10",
		"ipv6":          "2001:db8::1-2001:db8::9",
		"single":        "198.51.100.1",
		"two":           "198.51.100.1-198.51.100.2,198.51.100.4-198.51.100.5",
		"everything":    "0.0.0.0/0",
		"nothing":       "",
		"short":         "10.0.0.1-10.0.0",
		"letters":       "a-b",
		"long-prefix":   "10.0.0.0/33",
		"good":          poolRange,
		"good-prefix":   "198.51.100.192/28",
		"good-one":      "198.51.100.192-198.51.100.192",
		"good-spacious": "198.51.100.192 - 198.51.100.199",
	}
	var config strings.Builder
	for name, addresses := range refused {
		config.WriteString(ingressBlock(name, addresses))
	}
	c := newCLI(t, config.String())
	output, _ := c.run("validate", "-json", "-no-color")
	var found struct {
		Diagnostics []struct {
			Severity, Summary, Detail, Address string
		}
	}
	if err := json.Unmarshal([]byte(output), &found); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	count := map[string]int{}
	for _, diagnostic := range found.Diagnostics {
		if diagnostic.Severity != "error" {
			continue
		}
		count[strings.TrimPrefix(diagnostic.Address, "oooi_apps_ingress.")]++
		if !strings.HasPrefix(diagnostic.Detail, "metallb.ip_address_pool_range: ") {
			t.Errorf("the error does not name the attribute: %+v", diagnostic)
		}
	}
	for name, addresses := range refused {
		want := 1
		if strings.HasPrefix(name, "good") {
			want = 0
		}
		if count[name] != want {
			t.Errorf("range %q: want %d errors, got %d", addresses, want, count[name])
		}
	}
}
