package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// source is one way to say where the management cluster is.
type source struct {
	name  string
	block string   // the provider block's content
	env   []string // what the environment says
}

// sources are the ways to say where the world's management cluster is.
func (w *world) sources(c *cli) []source {
	w.t.Helper()
	rest := w.pair.Management.REST(testcluster.UserProvider)
	trust := fmt.Sprintf("cluster_ca_certificate = <<-PEM\n%sPEM\n", rest.CAData)
	endpoint := fmt.Sprintf("host = %q\n%s", rest.Host, trust)
	plugin := c.file("credentials", fmt.Sprintf("#!/bin/sh\n"+
		`echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'"$%s"'"}}'`+"\n", "SECRET"))
	if err := os.Chmod(plugin, 0o700); err != nil {
		w.t.Fatal(err)
	}
	file := w.managementKubeconfig()
	clusters, users := w.halves(c)
	return []source{
		{name: "argument config_path", block: fmt.Sprintf("config_path = %q", file)},
		{name: "argument config_paths", block: fmt.Sprintf("config_paths = [%q, %q]", clusters, users)},
		{name: "argument config_context", block: fmt.Sprintf("config_path = %q\nconfig_context = \"management\"", w.wrongByDefault(c))},
		{name: "arguments host and token", block: endpoint + fmt.Sprintf("token = %q", rest.BearerToken)},
		{name: "block exec", block: endpoint + fmt.Sprintf("exec {\napi_version = %q\ncommand = %q\nenv = { SECRET = %q }\n}",
			"client.authentication.k8s.io/v1", plugin, rest.BearerToken)},
		{name: "variable KUBE_CONFIG_PATH", env: []string{"KUBE_CONFIG_PATH=" + file}},
		{name: "variable KUBE_CONFIG_PATHS", env: []string{"KUBE_CONFIG_PATHS=" + clusters + string(filepath.ListSeparator) + users}},
		{name: "variable KUBE_CTX", env: []string{"KUBE_CONFIG_PATH=" + w.wrongByDefault(c), "KUBE_CTX=management"}},
		{name: "variables KUBE_HOST and KUBE_TOKEN", env: []string{
			"KUBE_HOST=" + rest.Host, "KUBE_TOKEN=" + rest.BearerToken, "KUBE_CLUSTER_CA_CERT_DATA=" + string(rest.CAData),
		}},
	}
}

// halves are the management cluster's kubeconfig in two files, neither of which is enough.
func (w *world) halves(c *cli) (clusters, users string) {
	w.t.Helper()
	whole := w.loaded(w.pair.Management.KubeconfigBytes(testcluster.UserProvider))
	half := api.NewConfig()
	half.AuthInfos, whole.AuthInfos = whole.AuthInfos, nil
	return c.kubeconfig("clusters.yaml", whole), c.kubeconfig("users.yaml", half)
}

// wrongByDefault is a kubeconfig whose current context leads nowhere.
func (w *world) wrongByDefault(c *cli) string {
	w.t.Helper()
	config := w.loaded(w.pair.Management.KubeconfigBytes(testcluster.UserProvider))
	config.Clusters["nowhere"] = &api.Cluster{Server: "https://127.0.0.1:1"}
	config.Contexts["nowhere"] = &api.Context{Cluster: "nowhere"}
	config.CurrentContext = "nowhere"
	return c.kubeconfig("wrong.yaml", config)
}

func (w *world) loaded(content []byte) *api.Config {
	w.t.Helper()
	config, err := clientcmd.Load(content)
	if err != nil {
		w.t.Fatal(err)
	}
	return config
}

func (c *cli) kubeconfig(name string, config *api.Config) string {
	c.t.Helper()
	content, err := clientcmd.Write(*config)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.file(name, string(content))
}

// Every way to say where the management cluster is leads there: with each, a refresh finds the ingress unchanged.
func TestConnectionSources(t *testing.T) {
	w := newWorld(t)
	c := newCLI(t, w.config())
	c.apply()
	plain := c.env
	for _, source := range w.sources(c) {
		c.config(strings.Replace(w.config(), fmt.Sprintf("config_path = %q", w.managementKubeconfig()), source.block, 1))
		c.env = append(append([]string{}, plain...), source.env...)
		recorded := w.management.requests()
		if output, code := c.run(planFlags("-detailed-exitcode")...); code != 0 || len(recorded.ofProvider()) == 0 {
			t.Errorf("%s: exit code %d, %d requests\n%s", source.name, code, len(recorded.ofProvider()), output)
		}
	}
	c.env = plain
	c.config(w.config())
	c.destroy()
}

// The hosted cluster is reached at another endpoint than its kubeconfig says, whose name stays the one that is verified; and,
// without any management cluster, with a kubeconfig file.
func TestHostedClusterAccess(t *testing.T) {
	w := newWorld(t)
	w.settled()
	w.publishUnreachable("https://api.hosted.invalid:6443")
	c := newCLI(t, w.config())
	override := []change{set("hosted_cluster_access.host", text(w.pair.Hosted.URL)), set("timeouts.create", text("20s"))}
	c.config(w.config(override...))
	c.fails([]string{"api.hosted.invalid", "certificate"}, applyFlags()...)

	w.publishUnreachable("https://localhost:1") // a name that the API server's certificate has
	c.config(w.config(override...))
	c.must(applyFlags()...)
	c.unchanged()

	c.destroy()

	file := w.pair.Hosted.Kubeconfig(testcluster.UserProvider)
	alone := body{
		"":                      {"name": text("alone")},
		"hosted_cluster_access": {"config_path": text(file)},
		"dns":                   {"cluster_name": text(clusterName), "base_domain": text(baseDomain)},
		"metallb":               {"address_pool_name": text(poolName), "ip_address_pool_range": text(poolRange)},
	}
	recorded := w.management.requests()
	c.config(fmt.Sprintf("resource \"oooi_apps_ingress\" \"test\" {\n%s}\n", alone))
	c.apply()
	if state := c.values(address); state["external_ip"] != firstIP || state["id"] != "clusters/alone" {
		t.Errorf("the state has external_ip %v and id %v", state["external_ip"], state["id"])
	}
	c.unchanged()
	c.destroy()
	if asked := recorded.ofProvider(); len(asked) > 0 {
		t.Errorf("the management cluster was asked:\n%s", lines(asked))
	}
}

// publishUnreachable puts a kubeconfig into the HostedCluster's Secret that says the API were at this URL.
func (w *world) publishUnreachable(url string) {
	w.t.Helper()
	kubeconfig := w.pair.Hosted.KubeconfigBytesFor(url, testcluster.UserProvider)
	if err := w.sims.HyperShift.PublishKubeconfig(w.management.ctx(), "clusters", clusterName, kubeconfig); err != nil {
		w.t.Fatal(err)
	}
}
