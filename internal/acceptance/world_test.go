package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/provider"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// The names of the world that every test starts in.
const (
	clusterName  = "demo"
	baseDomain   = "clusters.example.com"
	wildcard     = "*.apps.demo.clusters.example.com"
	dnsName      = "vlan-dns"
	proxyName    = "vlan-proxy"
	poolName     = "apps-pool"
	poolRange    = "198.51.100.200-198.51.100.220"
	firstIP      = "198.51.100.200" // the first address MetalLB gives from it
	proxyForPods = netlab.ProxyClusterIP
	address      = "oooi_apps_ingress.test"
	downstream   = "terraform_data.downstream"
)

// world is a pair of clusters with everything that runs in them, and with a DNSServer and a ProxyServer that have entries of
// somebody else.
type world struct {
	t          *testing.T
	pair       *testcluster.Pair
	sims       *simulator.Simulators
	management live
	hosted     live
	lab        *netlab.DataPath // nil: without networks
}

// setup is what a test may change about its world before it starts.
type setup struct {
	simulator.Config

	answer       simulator.Answer // what a load balancer in place of the real MetalLB controller answers
	throughProxy bool             // both kubeconfigs lead through the clusters' fault proxies
	networks     bool             // the workers, the DNSServer and the ProxyServer have real networks, see datapath_world_test.go
	noPodAddress bool             // the DNSServer has no address of the proxy for pods
	pair         []testcluster.Option
}

// newWorld starts a world that ends with the test.
func newWorld(t *testing.T, changes ...func(*setup)) *world {
	t.Helper()
	t.Parallel()
	var s setup
	for _, change := range changes {
		change(&s)
	}
	w := &world{t: t, pair: testcluster.Start(t, s.pair...)}
	w.management = live{t, w.pair.Management}
	w.hosted = live{t, w.pair.Hosted}
	w.publishers(s)
	if s.networks {
		w.startLab(s)
	}
	w.simulate(s)
	return w
}

// publishers makes the DNSServer and the ProxyServer, as one that shares them with others finds them.
func (w *world) publishers(s setup) {
	network := map[string]any{"serverIP": "198.51.100.3", "proxyIP": "198.51.100.4"}
	if !s.noPodAddress {
		network["internalProxyIP"] = proxyForPods
	}
	if s.networks {
		network["secondaryNetworkCIDR"] = netlab.VLAN
	}
	w.management.create(dnsServers, "clusters", dnsName, map[string]any{
		"networkConfig":       network,
		"hostedClusterDomain": baseDomain,
		"staticEntries":       []any{map[string]any{"hostname": "api.other." + baseDomain, "ip": "198.51.100.9"}},
		"upstreamDNS":         []any{netlab.UpstreamPodAddress},
	})
	w.management.create(proxyServers, "clusters", proxyName, map[string]any{
		"networkConfig": map[string]any{"serverIP": "198.51.100.4"},
		"backends": []any{map[string]any{
			"name": "other-api", "hostname": "api.other." + baseDomain, "port": int64(6443),
			"targetService": "kube-apiserver", "targetPort": int64(6443), "targetNamespace": "clusters-other",
		}},
	})
}

// simulate starts what runs in the clusters.
func (w *world) simulate(s setup) {
	w.t.Helper()
	config := s.Config
	config.Management = w.pair.Management.REST(testcluster.UserSimulator)
	config.Hosted = w.pair.Hosted.REST(testcluster.UserSimulator)
	if w.lab != nil {
		config.Workers = w.workers()
	}
	if config.Workers == nil {
		config.Workers = []simulator.Node{{Name: "worker-1"}}
	}
	if config.OLM == nil {
		config.OLM = &simulator.OLMOptions{}
	}
	if config.OLM.CRDs == nil {
		crds, err := testcluster.MetalLBCRDs()
		if err != nil {
			w.t.Fatal(err)
		}
		config.OLM.CRDs = crds
	}
	if config.MetalLB == nil {
		config.MetalLB = &simulator.MetalLBOperatorOptions{}
	}
	config.MetalLB.Start = w.metalLB(s)
	kubeconfig := w.pair.Hosted.KubeconfigBytes(testcluster.UserProvider)
	if s.throughProxy {
		kubeconfig = w.pair.Hosted.KubeconfigBytesThroughProxy(testcluster.UserProvider)
	}
	if config.HostedClusters == nil {
		config.HostedClusters = []simulator.HostedCluster{{Name: clusterName, BaseDomain: baseDomain}}
	}
	for i := range config.HostedClusters {
		config.HostedClusters[i].Kubeconfig = kubeconfig
	}
	sims, err := simulator.Start(context.WithoutCancel(w.t.Context()), config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.sims = sims
	w.t.Cleanup(func() {
		if err := sims.Stop(); err != nil {
			w.t.Error(err)
		}
	})
}

// settled waits until what the world starts with is all there.
func (w *world) settled() {
	w.t.Helper()
	w.hosted.await("a Ready worker", func() bool {
		_, ready := w.sims.Timeline().First(simulator.WorkerReady)
		return ready
	})
	w.management.await("the kubeconfig of the HostedCluster", func() bool {
		name, _, _ := unstructured.NestedString(w.management.must(hostedClusters, "clusters", clusterName).Object,
			"status", "kubeconfig", "name")
		return name != ""
	})
}

func (w *world) metalLB(s setup) simulator.StartOperand {
	if s.answer != nil {
		client := w.pair.Hosted.Dynamic(testcluster.UserSimulator)
		return simulator.NewFakeLoadBalancer(client, simulator.FakeLoadBalancerOptions{Answer: s.answer}, nil).Start
	}
	if w.lab != nil {
		return w.lab.StartMetalLB
	}
	binary, err := testcluster.Binary("metallb-controller")
	if err != nil {
		w.t.Fatal(err)
	}
	controller := simulator.RealController{
		Binary:     binary,
		Kubeconfig: w.pair.Hosted.Kubeconfig(testcluster.UserMetalLB),
		Namespace:  "openshift-operators",
		LogFile:    filepath.Join(w.t.TempDir(), "metallb.log"),
	}
	w.t.Cleanup(func() {
		if log, err := os.ReadFile(controller.LogFile); err == nil && w.t.Failed() {
			w.t.Logf("MetalLB's errors:\n%s", errorLines(string(log)))
		}
	})
	return controller.Start
}

// test runs Terraform through the steps and destroys at the end.
func (w *world) test(steps ...resource.TestStep) {
	w.t.Helper()
	resource.Test(w.t, w.testCase(steps...))
}

func (w *world) testCase(steps ...resource.TestStep) resource.TestCase {
	return resource.TestCase{
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"oooi": providerserver.NewProtocol6WithError(provider.New("test")()),
		},
		Steps: steps,
	}
}

// managementKubeconfig is the file the provider connects to the management cluster with.
func (w *world) managementKubeconfig() string {
	return w.pair.Management.Kubeconfig(testcluster.UserProvider)
}

// config is the configuration of one ingress and a downstream resource that follows its address, changed as the test wants.
func (w *world) config(changes ...change) string {
	block := body{
		"hosted_cluster_ref": {"name": text(clusterName)},
		"publish":            {"dns_server": text(dnsName), "proxy_server": text(proxyName)},
		"dns":                {"cluster_name": text(clusterName), "base_domain": text(baseDomain)},
		"metallb":            {"address_pool_name": text(poolName), "ip_address_pool_range": text(poolRange)},
		"":                   {},
	}
	for _, change := range changes {
		change(block)
	}
	return fmt.Sprintf(`
provider "oooi" {
  config_path = %q
}

resource "oooi_apps_ingress" "test" {
%s}

resource "terraform_data" "downstream" {
  input = coalesce(oooi_apps_ingress.test.external_ip, oooi_apps_ingress.test.external_hostname)
}
`, w.managementKubeconfig(), block)
}

// errorLines are the lines of MetalLB's log that tell of an error.
func errorLines(log string) string {
	var out strings.Builder
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"level":"error"`) {
			out.WriteString(line[:min(len(line), 300)] + "\n")
		}
	}
	return out.String()
}
