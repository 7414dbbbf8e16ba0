package acceptance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// attachmentOf makes an attachment, as somebody does who attaches a cluster without this provider.
func (w *world) attachmentOf(name, domain, hostedCluster string, more ...any) {
	w.t.Helper()
	spec := tree(more...)
	spec["infraRef"] = tree("name", infraName)
	spec["hostedClusterRef"] = tree("name", hostedCluster, "namespace", "clusters")
	spec["dns"] = tree("clusterName", domain, "baseDomain", baseDomain)
	w.management.create(attachments, "clusters", name, spec)
}

// An attachment of somebody else is used when it stands for the same cluster and has no ingress yet, and is refused otherwise. It
// outlives the ingress, switched off, and can be used again.
func TestAttachmentOfSomebodyElse(t *testing.T) {
	w := newAttachmentWorld(t)
	c := newCLI(t, w.attached())

	w.attachmentOf("demo", "another", clusterName)
	refused := w.management.requests()
	c.says([]string{"stands for another cluster", "spec.dns.clusterName is another, want demo"}, applyFlags()...)
	w.management.delete(attachments, "clusters", "demo")
	w.attachmentOf("demo", clusterName, clusterName, "appsIngress", tree("enabled", true, "metallb",
		tree("addressPoolName", "theirs", "ipAddressPoolRange", "198.51.100.140/32")))
	c.says([]string{"InfraClusterAttachment clusters/demo in the management cluster exists", "adopt_existing"}, applyFlags()...)
	nothingWritten(t, "to an attachment that is refused", refused)

	c.config(w.attached(set("adopt_existing", "true")))
	c.apply()
	w.endsSwitchedOff(c)

	c.config(w.attached())
	c.apply()
	if mark := w.attachment().GetLabels()[managedBy]; mark != "" {
		t.Errorf("an attachment that somebody else made says that it was made by %s", mark)
	}
	w.endsSwitchedOff(c)
}

// says runs a command that has to fail with all these texts.
func (c *cli) says(texts []string, args ...string) {
	c.t.Helper()
	output, code := c.run(args...)
	for _, text := range texts {
		if code != 1 || !strings.Contains(unwrapped(output), text) {
			c.t.Errorf("exit code %d, want an error that says %q:\n%s", code, text, output)
		}
	}
}

// endsSwitchedOff checks the ingress, and that its end leaves the attachment as it was found, the operator's objects gone that
// nobody else may need, and a word about the others.
func (w *world) endsSwitchedOff(c *cli) {
	w.t.Helper()
	c.unchanged()
	if err := w.checkInfraPublishes(firstIP, firstIP); err != nil {
		w.t.Error(err)
	}
	output := unwrapped(c.destroy())
	for _, want := range []string{"Something was left in place", "The operator left MetalLB/metallb and its Subscription"} {
		if !strings.Contains(output, want) {
			w.t.Errorf("destroy does not say %q:\n%s", want, output)
		}
	}
	obj := w.attachment()
	enabled, _, _ := unstructured.NestedBool(obj.Object, "spec", "appsIngress", "enabled")
	none := map[string]string(nil)
	if diff := cmp.Diff([]any{false, none, none}, []any{enabled, obj.GetLabels(), obj.GetAnnotations()}); diff != "" {
		w.t.Errorf("the attachment that stays: enabled, labels, annotations (-want +got):\n%s", diff)
	}
	for _, k := range []kind{services, pools, advertisements} {
		if p := w.at(k); p.live.get(k, p.namespace, p.name) != nil {
			w.t.Errorf("%s %s is left", k.name, p.name)
		}
	}
	if err := w.checkInfraPublishes("", ""); err != nil {
		w.t.Error(err)
	}
}

// Two attachments for one name or one HostedCluster shut each other out: a second one is refused, in the plan and, when it has
// appeared since, in the apply. When it appears later, what is missing shows, and an apply ends at once with what the Infra says,
// although the operator reports the attachment as Ready.
func TestAttachmentShutOut(t *testing.T) {
	w := newAttachmentWorld(t)
	c := newCLI(t, w.attached())
	for attribute, other := range map[string]struct{ domain, hostedCluster string }{
		"dns":                {clusterName, "other"},
		"hosted_cluster_ref": {"other", clusterName},
	} {
		c.must(planFlags("-out=plan")...)
		w.attachmentOf("other", other.domain, other.hostedCluster)
		refused := []string{"InfraClusterAttachment clusters/other has the same, and the Infra vlan100 would publish neither"}
		recorded := w.management.requests()
		c.says(append(refused, attribute), planFlags()...)
		c.says(refused, "apply", "-input=false", "-no-color", "plan")
		nothingWritten(t, "by an ingress that is refused", recorded)
		w.management.delete(attachments, "clusters", "other")
	}
	c.apply()
	c.unchanged()
	w.attachmentOf("other", clusterName, "other")
	w.management.await("the withdrawal", func() bool { return w.checkInfraPublishes("", "") == nil })
	output, code := c.run(planFlags("-detailed-exitcode")...)
	if code != 2 || !strings.Contains(output, "DNSServer clusters/vlan100-dns: spec.staticEntries["+wildcard+"] is missing") {
		t.Errorf("the plan does not say that the name is not published (exit code %d):\n%s", code, output)
	}
	c.says([]string{"DuplicateHostname"}, applyFlags()...)
	w.management.delete(attachments, "clusters", "other")
	c.apply()
	c.unchanged()
	if err := w.checkInfraPublishes(firstIP, firstIP); err != nil {
		t.Error(err)
	}
	c.destroy()
}

// An attachment with an ingress that Terraform has forgotten, or that somebody else has made, is imported by its name.
func TestAttachmentImport(t *testing.T) {
	w := newAttachmentWorld(t)
	changes := []change{
		set("service.labels", object("team", "apps")), set("service.annotations", object("note", "kept")),
		set("ports.https", "8443"), set("service.load_balancer_ip", text("198.51.100.205")),
	}
	c := newCLI(t, w.attached(changes...))
	c.apply()
	before := c.values(address)
	c.must("state", "rm", address)
	c.must("import", "-no-color", address, "clusters/demo")
	if diff := cmp.Diff(before, c.values(address)); diff != "" {
		t.Errorf("the imported state differs (-before +after):\n%s", diff)
	}
	c.unchanged()

	management, hosted := w.management.requests(), w.hosted.requests()
	c.config(w.attached(append(changes, set("timeouts.create", text("20m")), set("adopt_existing", "true"))...))
	c.apply()
	c.unchanged()
	nothingWritten(t, "by an update of what no cluster sees", management)
	nothingWritten(t, "by an update of what no cluster sees", hosted)

	c.config(w.attached(append(changes, set("service.labels", object("team", "other")))...))
	c.apply()
	c.unchanged()
	if got := w.service().GetLabels()["team"]; got != "other" {
		t.Errorf("the label is %q", got)
	}
	c.destroy()
	if w.management.get(attachments, "clusters", clusterName) != nil {
		t.Error("the attachment is left")
	}

	w.attachmentOf("demo", clusterName, clusterName, "appsIngress", tree("enabled", true, "metallb",
		tree("addressPoolName", poolName, "ipAddressPoolRange", poolRange)))
	w.management.await("the publication", func() bool {
		w.management.patch(attachments, "clusters", clusterName, map[string]any{"metadata": map[string]any{"labels": tree("look", "again")}})
		w.management.patch(attachments, "clusters", clusterName, map[string]any{"metadata": map[string]any{"labels": tree("look", nil)}})
		return w.checkInfraPublishes(firstIP, firstIP) == nil
	})
	c.config(w.attached())
	c.must("import", "-no-color", address, "clusters/demo")
	c.must(planFlags("-out=plan")...)
	if diff := cmp.Diff([]string{"no-op"}, c.planned("plan", address).Actions); diff != "" {
		t.Errorf("the plan after the import (-want +got):\n%s", diff)
	}
	c.destroy()
	if w.management.get(attachments, "clusters", clusterName) != nil {
		t.Error("the imported attachment is left")
	}
}
