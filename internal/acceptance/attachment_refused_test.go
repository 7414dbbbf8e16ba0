package acceptance

import (
	"strings"
	"testing"
)

// What the operator has no option for is refused by attribute, whether the mode was said or is worked out; so is direct mode where an
// Infra owns what is published, and a range that collides. Nothing is written.
func TestAttachmentRefused(t *testing.T) {
	w := newAttachmentWorld(t)
	w.management.create(attachments, "clusters", "neighbour", map[string]any{
		"infraRef": tree("name", infraName), "hostedClusterRef": tree("name", "neighbour"),
		"dns": tree("clusterName", "neighbour", "baseDomain", baseDomain),
		"appsIngress": tree("enabled", true, "metallb", tree(
			"addressPoolName", "neighbour-pool", "ipAddressPoolRange", "198.51.100.120-198.51.100.129")),
	})
	management, hosted := w.management.requests(), w.hosted.requests()
	c := newCLI(t, "")
	options := map[string]change{
		"publish":                         set("publish.dns_server", text(dnsName)),
		"metallb.auto_assign":             set("metallb.auto_assign", "false"),
		"metallb.namespace":               set("metallb.namespace", text("metallb-system")),
		"metallb.install":                 set("metallb.install", "true"),
		"metallb.subscription":            set("metallb.subscription", object("channel", "stable")),
		"metallb.load_balancer_class":     set("metallb.load_balancer_class", text("example.com/vlan")),
		"service.external_traffic_policy": set("service.external_traffic_policy", text("Local")),
	}
	for name, modes := range map[string][]change{"said": {set("mode", text("attachment"))}, "worked out": nil} {
		changes := modes
		for _, option := range options {
			changes = append(changes, option)
		}
		c.config(w.attached(changes...))
		output, code := c.run(planFlags()...)
		for option := range options {
			if want := option + ": it is set, and the oooi operator"; code == 0 || !strings.Contains(unwrapped(output), want) {
				t.Errorf("mode %s: exit code %d, want %q:\n%s", name, code, want, output)
			}
		}
	}
	for name, test := range map[string]struct {
		change change
		want   string
	}{
		"direct mode":        {set("mode", text("direct")), "belongs to Infra vlan100"},
		"the gateway":        {set("metallb.ip_address_pool_range", text("198.51.100.1/32")), "the gateway of Infra vlan100"},
		"the DHCP pool":      {set("metallb.ip_address_pool_range", text("198.51.100.99-198.51.100.105")), "the DHCP pool of Infra vlan100"},
		"another attachment": {set("metallb.ip_address_pool_range", text("198.51.100.120/30")), "attachment neighbour of Infra vlan100"},
	} {
		c.config(w.attached(test.change))
		if output, code := c.run(planFlags()...); code != 1 || !strings.Contains(unwrapped(output), test.want) {
			t.Errorf("%s: exit code %d, want %q:\n%s", name, code, test.want, output)
		}
	}
	nothingWritten(t, "by a plan", management)
	nothingWritten(t, "by a plan", hosted)

	// What direct mode would write does not last: the operator reverts it.
	w.management.patch(dnsServers, "clusters", infraDNS, map[string]any{"spec": map[string]any{
		"staticEntries": []any{tree("hostname", wildcard, "ip", firstIP)},
	}})
	w.management.await("the reverted entry", func() bool { return w.checkInfraPublishes("", "") == nil })
}
