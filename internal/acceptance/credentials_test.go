package acceptance

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// revoke has a cluster answer 401 to the token of a user from now on, also on connections that are open.
func (w *world) revoke(cluster *testcluster.Cluster, user string) *testcluster.Rule {
	w.t.Helper()
	old := "Bearer " + cluster.REST(user).BearerToken
	rule := cluster.Proxy().Add(testcluster.Match{}, func(e testcluster.Exchange) {
		if e.Request.Header.Get("Authorization") == old {
			testcluster.Answer(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")(e)
			return
		}
		testcluster.Pass()(e)
	})
	cluster.Proxy().Stop()
	w.must(cluster.Proxy().Start())
	return rule
}

// execKubeconfig is a kubeconfig whose user is a credential plugin of API version v1 that says nothing of interactiveMode. It
// prints the token that is in a file.
func (c *cli) execKubeconfig(cluster *testcluster.Cluster, tokenFile string) string {
	c.t.Helper()
	plugin := c.file("plugin", "#!/bin/sh\n"+
		`printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$(cat "$TOKEN_FILE")"`+"\n")
	if err := os.Chmod(plugin, 0o700); err != nil {
		c.t.Fatal(err)
	}
	return c.file("exec.yaml", fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: it
contexts: [{name: it, context: {cluster: it, user: it}}]
clusters: [{name: it, cluster: {server: %q, certificate-authority-data: %q}}]
users:
- name: it
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: %q
      env: [{name: TOKEN_FILE, value: %q}]
`, cluster.Proxy().URL, encode(cluster.REST(testcluster.UserProvider).CAData), plugin, tokenFile))
}

// A create goes on waiting while its credentials are refused, and goes on working once there are new ones: of a credential plugin
// for the management cluster, of a rotated Secret for the hosted cluster.
func TestCredentialsChangeDuringWaits(t *testing.T) {
	w := newWorld(t, reluctant)
	c := newCLI(t, "")
	management, hosted, shift := w.pair.Management, w.pair.Hosted, w.sims.HyperShift
	token := c.file("token", management.REST(testcluster.UserProvider).BearerToken)
	c.config(strings.Replace(w.config(), w.managementKubeconfig(), c.execKubeconfig(management, token), 1))
	watched, nodes := w.management.requests(), w.hosted.requests()

	apply := c.start(applyFlags()...)
	w.awaitRequest(watched, "watch", "hostedclusters")
	refused := w.revoke(management, testcluster.UserProvider)
	w.management.await("refused requests", func() bool { return refused.Hits() > 4 })
	w.must(shift.PublishKubeconfig(w.management.ctx(), "clusters", clusterName, hosted.KubeconfigBytesThroughProxy(testcluster.UserProvider)))
	c.file("token", management.REST(testcluster.UserTest).BearerToken)

	w.awaitRequest(nodes, "watch", "nodes")
	refused = w.revoke(hosted, testcluster.UserProvider)
	w.hosted.await("refused requests", func() bool { return refused.Hits() > 4 })
	w.must(shift.PublishKubeconfig(w.management.ctx(), "clusters", clusterName, hosted.KubeconfigBytesThroughProxy(testcluster.UserTest)))
	w.must(w.sims.Nodes.SetReady(w.hosted.ctx(), "worker-2", true))
	w.must(w.sims.Nodes.Cordon(w.hosted.ctx(), "worker-2", false))
	if output, code := apply.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, output)
	}
	if ip := c.values(address)["external_ip"]; ip != firstIP {
		t.Errorf("external_ip is %v", ip)
	}
	c.unchanged()
	c.destroy()
}

// badAccess is a kubeconfig, or a way to one, that cannot be used.
type badAccess struct {
	name   string
	block  string   // of the provider; empty: a good one
	env    []string // what the environment says
	secret string   // what the HostedCluster's Secret holds; empty: a good kubeconfig
	access string   // hosted_cluster_access
	seen   []string // what the error has to name
}

// secretText must be in no error.
const secretText = "s3cr3t-t0k3n-0123456789"

func badAccesses(c *cli, good string) []badAccess {
	malformed := "apiVersion: v1\nkind: Config\nusers:\n- name: x\n  user: {token: " + secretText + "\n" + secretText + ": [\n"
	wrongType := `{"apiVersion":"v1","kind":"Config","users":[{"name":"x","user":{"token":["` + secretText + `"]}}]}`
	noPEM := strings.Replace(good, "    token: ", "    client-certificate-data: "+encode([]byte(secretText))+
		"\n    client-key-data: "+encode([]byte(secretText))+"\n    token: ", 1)
	file, other := c.file("malformed", malformed), c.file("type", wrongType)
	pem, usable := c.file("pem", noPEM), c.file("good", good)
	const management, hosted = "management cluster", "hosted cluster clusters/demo"
	const secret = "Secret clusters/demo-admin-kubeconfig"
	path := func(p string) string { return fmt.Sprintf("config_path = %q", p) }
	return []badAccess{
		{name: "no file", block: path("/nowhere/kubeconfig"), seen: []string{management, "argument config_path", "/nowhere/kubeconfig"}},
		{name: "malformed", block: path(file), seen: []string{management, "argument config_path", "malformed"}},
		{name: "of another type", block: path(other), seen: []string{management, "argument config_path", other, "malformed"}},
		{name: "no PEM", block: path(pem), seen: []string{management, "config_path", pem, "PEM form"}},
		{
			name: "no such context", block: path(usable) + "\nconfig_context = \"elsewhere\"",
			seen: []string{management, "argument config_context", `no context "elsewhere"`},
		},
		{
			name: "variables", block: "# nothing", env: []string{"KUBE_CONFIG_PATH=" + usable, "KUBE_CTX=elsewhere"},
			seen: []string{management, "environment variable KUBE_CTX", `no context "elsewhere"`},
		},
		{
			name: "variable", block: "# nothing", env: []string{"KUBE_CONFIG_PATH=" + file},
			seen: []string{management, "environment variable KUBE_CONFIG_PATH", "malformed"},
		},
		{name: "malformed Secret", secret: malformed, seen: []string{hosted, secret, "malformed"}},
		{name: "Secret of another type", secret: wrongType, seen: []string{hosted, secret, "malformed"}},
		{name: "Secret without PEM", secret: noPEM, seen: []string{hosted, secret, "PEM form"}},
		{
			name: "no such context in the Secret", access: `{ config_context = "elsewhere" }`,
			seen: []string{hosted, secret, `no context "elsewhere"`},
		},
		{
			name: "no hosted file", access: `{ config_path = "/nowhere/kubeconfig" }`,
			seen: []string{hosted, "hosted_cluster_access.config_path", "/nowhere/kubeconfig"},
		},
		{
			name: "malformed hosted file", access: fmt.Sprintf("{ config_path = %q }", file),
			seen: []string{hosted, "hosted_cluster_access.config_path", file, "malformed"},
		},
		{
			name: "no such context in the hosted file", access: fmt.Sprintf(`{ config_path = %q, config_context = "elsewhere" }`, usable),
			seen: []string{hosted, "hosted_cluster_access.config_path", `no context "elsewhere"`},
		},
	}
}

// Whatever is wrong with a kubeconfig, the error names where it is from and the cluster it is for, and nothing that is in it.
func TestUnusableKubeconfigs(t *testing.T) {
	w := newWorld(t)
	w.settled()
	c := newCLI(t, "")
	plain := c.env
	good := string(w.pair.Hosted.KubeconfigBytes(testcluster.UserProvider))
	token := w.pair.Hosted.REST(testcluster.UserProvider).BearerToken
	for _, bad := range badAccesses(c, good) {
		content := good
		if bad.secret != "" {
			content = bad.secret
		}
		w.must(w.sims.HyperShift.PublishKubeconfig(w.management.ctx(), "clusters", clusterName, []byte(content)))
		var changes []change
		if bad.access != "" {
			changes = append(changes, set("hosted_cluster_access", bad.access))
		}
		config := w.config(changes...)
		if bad.block != "" {
			config = strings.Replace(config, fmt.Sprintf("config_path = %q", w.managementKubeconfig()), bad.block, 1)
		}
		c.env = append(append([]string{}, plain...), bad.env...)
		c.config(config)
		t.Log(bad.name)
		output := c.fails(bad.seen, applyFlags()...)
		for _, credential := range []string{secretText, encode([]byte(secretText)), token} {
			if strings.Contains(strings.Join(strings.Fields(output), ""), credential) {
				t.Errorf("%s: the credential is in the output:\n%s", bad.name, output)
			}
		}
		if c.values(address) != nil {
			c.must("state", "rm", address)
		}
	}
}
