package acceptance

import (
	"slices"
	"strings"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// The same life in attachment mode, with the rights that only this mode needs. In the hosted cluster, where the operator works,
// nothing is written.
func TestAttachmentLifeWithThePublishedRights(t *testing.T) {
	w := newAttachmentWorld(t)
	management, hosted := &account{live: w.management}, &account{live: w.hosted}
	management.apply("management.yaml")
	needed := slices.Concat(management.apply("management-infra.yaml"), management.apply("management-attachment.yaml"))
	hosted.apply("hosted.yaml")
	c := newCLI(t, "")
	file := c.file("management.yaml", string(management.kubeconfig(w)))
	// The Secret's kubeconfig is the operator's, too: it keeps its rights.
	access := set("hosted_cluster_access.config_path", text(c.file("hosted.yaml", string(hosted.kubeconfig(w)))))
	config := func(changes ...change) string {
		changes = append(changes, access)
		return strings.Replace(w.attached(changes...), w.managementKubeconfig(), file, 1)
	}

	sinceManagement, sinceHosted := w.management.requests(), w.hosted.requests()
	w.sims.Oooi.SetFaults(simulator.OooiFaults{Unpublished: true})
	c.config(config())
	apply := c.start(applyFlags()...)
	management.waits(sinceManagement, "proxyservers")
	w.sims.Oooi.SetFaults(simulator.OooiFaults{})
	if output, code := apply.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, output)
	}
	c.unchanged()
	c.config(config(set("metallb.ip_address_pool_range", text("198.51.100.210-198.51.100.220"))))
	c.apply()
	c.must("state", "rm", address)
	c.must("import", "-no-color", address, "clusters/demo")
	c.apply() // an import does not know of the file
	c.unchanged()
	c.destroy()

	// The DNSServer is written in the same moment as the ProxyServer: it has to be waited for only when that moment is met.
	used := slices.DeleteFunc(needed, func(r right) bool { return r.resource == "dnsservers" && r.verb == "watch" })
	management.exact(used, management.asked(sinceManagement))
	asked := hosted.asked(sinceHosted)
	hosted.refused(asked, nil)
	if writes := slices.DeleteFunc(asked, func(e testcluster.AuditEntry) bool { return !e.Write() }); len(asked) == 0 || len(writes) > 0 {
		t.Errorf("in the hosted cluster: %d requests, and these writes:\n%s", len(asked), lines(writes))
	}
}
