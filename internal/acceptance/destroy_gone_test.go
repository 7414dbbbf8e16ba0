package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// adoptedMark is on what destroy leaves in place.
const adoptedMark = "oooi.densityops.com/adopted"

// state is the state file as it is.
func (c *cli) state() string {
	c.t.Helper()
	content, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(content)
}

// publicationCopy is what is published in an object, to be put back: another destroy then finds it again.
type publicationCopy struct {
	at   place
	meta map[string]string
	spec any
}

func (w *world) copyPublication() []publicationCopy {
	var copies []publicationCopy
	for _, k := range []kind{dnsServers, proxyServers} {
		obj := w.at(k).must()
		copies = append(copies, publicationCopy{w.at(k), obj.GetAnnotations(), obj.Object["spec"]})
	}
	return copies
}

func (p publicationCopy) putBack() {
	p.at.patch(map[string]any{"metadata": map[string]any{"annotations": p.meta}, "spec": p.spec})
}

// throughProxies is a configuration whose both clusters are reached through their fault proxies.
func (w *world) throughProxies(changes ...change) string {
	return strings.ReplaceAll(w.config(changes...), w.managementKubeconfig(),
		w.pair.Management.KubeconfigThroughProxy(testcluster.UserProvider))
}

// A hosted cluster that lives and does not answer keeps destroy from beginning: nothing is removed anywhere. One that is gone, or
// on its way and out of reach, is left alone with a warning, and the management cluster is cleaned.
func TestDestroyWithoutTheHostedCluster(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.throughProxy = true })
	c := newCLI(t, w.config(set("timeouts", object("delete", "5s", "read", "10s"))))
	c.apply()
	full, published, shift := c.state(), w.copyPublication(), w.sims.HyperShift
	ctx, proxy := w.management.ctx(), w.pair.Hosted.Proxy()
	kubeconfig := w.pair.Hosted.KubeconfigBytesThroughProxy(testcluster.UserProvider)

	w.hostedClusterLives(c)

	// From here on it is being deleted, and its controller does not come to an end.
	shift.KeepDeleting(true)
	w.must(shift.Delete(ctx, "clusters", clusterName))
	for _, going := range []struct {
		name string
		do   func()
	}{
		{"nothing listens", proxy.Stop},
		{"its API's name is gone", func() { w.publishUnreachable("https://api.hosted.invalid:6443") }},
		{"its kubeconfig is gone", func() { w.must(shift.RemoveSecret(ctx, "clusters", clusterName)) }},
	} {
		going.do()
		w.skipsTheHostedCluster(c, going.name, "HostedCluster clusters/demo is being deleted")
		c.file("terraform.tfstate", full)
		for _, p := range published {
			p.putBack()
		}
	}

	w.must(shift.PublishKubeconfig(ctx, "clusters", clusterName, kubeconfig))
	shift.KeepDeleting(false)
	w.management.await("the end of the HostedCluster", func() bool {
		return w.management.get(hostedClusters, "clusters", clusterName) == nil
	})
	w.skipsTheHostedCluster(c, "it is gone", "HostedCluster clusters/demo does not exist")

	// A kubeconfig file says where it was.
	file := w.pair.Hosted.KubeconfigThroughProxy(testcluster.UserProvider)
	proxy.Stop()
	c.file("terraform.tfstate", strings.Replace(full, `"hosted_cluster_access": null`,
		fmt.Sprintf(`"hosted_cluster_access": { "config_path": %q }`, file), 1))
	for _, p := range published {
		p.putBack()
	}
	w.skipsTheHostedCluster(c, "it is gone, and its API with it", "HostedCluster clusters/demo does not exist")
	w.must(proxy.Start())
}

// hostedClusterLives tries to destroy while the hosted cluster lives and cannot be worked in.
func (w *world) hostedClusterLives(c *cli) {
	w.t.Helper()
	proxy, shift, ctx := w.pair.Hosted.Proxy(), w.sims.HyperShift, w.management.ctx()
	kubeconfig := w.pair.Hosted.KubeconfigBytesThroughProxy(testcluster.UserProvider)
	untouched := func(name string) {
		if err := w.checkPublished(firstIP, firstIP, 80, 443); err != nil {
			w.t.Errorf("%s: %v", name, err)
		}
	}
	proxy.Stop()
	c.fails([]string{"The apps ingress could not be read", "connection refused"}, destroyFlags()...)
	c.stays([]string{"in time", "connection refused", "hosted cluster clusters/demo", "nothing was removed"}, "-refresh=false")
	untouched("refused")
	w.must(proxy.Start())

	silent := proxy.Add(testcluster.Match{}, testcluster.Hang())
	c.stays([]string{"in time", "hosted cluster clusters/demo", "nothing was removed"}, "-refresh=false")
	untouched("silent")
	silent.Remove()

	w.must(shift.RemoveKubeconfig(ctx, "clusters", clusterName))
	c.stays([]string{"HostedCluster clusters/demo", "names no kubeconfig Secret", "nothing was removed"}, "-refresh=false")
	untouched("without kubeconfig")
	w.must(shift.PublishKubeconfig(ctx, "clusters", clusterName, kubeconfig))
}

// skipsTheHostedCluster destroys with a warning that says why nothing was removed in the hosted cluster.
func (w *world) skipsTheHostedCluster(c *cli, name, why string) {
	w.t.Helper()
	output, code := c.run(destroyFlags()...)
	for _, text := range []string{why, "Warning: ", "nothing was removed in it"} {
		if code != 0 || !strings.Contains(unwrapped(output), text) {
			w.t.Errorf("%s: exit code %d, want a warning with %q:\n%s", name, code, text, output)
		}
	}
	if c.values(address) != nil {
		w.t.Errorf("%s: the ingress is still in the state", name)
	}
	if err := w.checkPublished("", "", 0, 0); err != nil {
		w.t.Errorf("%s: %v", name, err)
	}
	w.at(services).must()
}

// Another cluster under the same configuration, or one that does not serve what a management cluster serves, is never taken for
// one in which everything is gone.
func TestWrongManagementCluster(t *testing.T) {
	w := newWorld(t)
	c := newCLI(t, "")
	both := w.loaded(w.pair.Management.KubeconfigBytesThroughProxy(testcluster.UserProvider))
	hosted := w.loaded(w.pair.Hosted.KubeconfigBytes(testcluster.UserProvider))
	both.Clusters["other"] = hosted.Clusters["hosted"]
	both.Contexts["other"] = &api.Context{Cluster: "other", AuthInfo: testcluster.UserProvider}
	file := c.kubeconfig("both.yaml", both)
	config := func(context string) string {
		return strings.Replace(w.config(set("timeouts", object("delete", "5s", "read", "5s"))),
			"config_path = \""+w.managementKubeconfig()+"\"", "config_path = \""+file+"\"\n  config_context = \""+context+"\"", 1)
	}
	c.config(config("management"))
	c.apply()
	before := c.values(address)
	refused := func(text string) {
		t.Helper()
		for _, command := range [][]string{planFlags(), destroyFlags(), destroyFlags("-refresh=false")} {
			c.fails([]string{text}, command...)
			if diff := cmp.Diff(before, c.values(address)); diff != "" {
				t.Fatalf("%v changed the state:\n%s", command, diff)
			}
		}
		if err := w.checkPublished(firstIP, firstIP, 80, 443); err != nil {
			t.Error(err)
		}
	}
	c.config(config("other"))
	refused("The management cluster is another one than before")

	c.config(config("management"))
	for _, unserved := range []string{"^/apis/hypershift.openshift.io/", "^/apis/"} {
		rule := w.pair.Management.Proxy().Add(testcluster.Match{Path: unserved},
			testcluster.Answer(404, metav1.StatusReasonNotFound, "the server could not find the requested resource"))
		refused("does not serve hypershift.openshift.io/v1beta1: is this the management cluster?")
		rule.Remove()
	}
	c.apply() // the one that follows the address went with the first destroy
	c.unchanged()
	c.destroy()
}
