package acceptance

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// Every field that the ingress owns is edited by hand, under another field manager, beside things that others have added: each
// edit is named and repaired, and what others have added is neither shown nor lost.
func TestEditedFieldsAreNamedAndRepaired(t *testing.T) {
	w := newWorld(t)
	config := w.config(
		set("service.labels", object("team", "apps", "tier", "edge")),
		set("service.annotations", object("example.com/owner", "apps", "example.com/zone", "a")),
		set("metallb.load_balancer_class", text("example.com/vlan")),
		set("timeouts.delete", text("10s")),
	)
	steps := []resource.TestStep{{Config: config}, w.foreign(config)}
	for _, r := range []round{
		w.valuesEdited(), w.valuesAdded(), w.portsEdited(), w.addressAnnotationsEdited(), w.portRemoved(), w.typeChanged(),
		w.rangeMoved(), w.classChanged(), w.marksRemoved(),
	} {
		steps = append(steps, w.step(config, r))
	}
	steps = append(steps, resource.TestStep{PreConfig: w.withoutFinalizers, Config: config, PlanOnly: true})
	w.test(steps...)
}

func (w *world) valuesEdited() round {
	return round{name: "values edited", breaks: []breakage{
		{
			"channel", func() { w.at(subscriptions).spec("channel", "candidate") },
			[]string{subscriptionLine + "spec.channel is candidate, want stable"},
		},
		{
			"catalog", func() { w.at(subscriptions).spec("source", "other-operators") },
			[]string{subscriptionLine + "spec.source is other-operators, want redhat-operators"},
		},
		{
			"automatic assignment", func() { w.at(pools).spec("autoAssign", true) },
			[]string{poolLine + "spec.autoAssign is true, want false"},
		},
		{
			"advertised pool", func() { w.at(advertisements).spec("ipAddressPools", []any{"other"}) },
			[]string{advertisementLine + `spec.ipAddressPools is ["other"], want ["apps-pool"]`},
		},
		{
			"selector", func() { w.at(services).spec("selector", tree(routerKey, "internal")) },
			[]string{serviceLine + `spec.selector is {"` + routerKey + `":"internal"}, want {"` + routerKey + `":"default"}`},
		},
		{
			"traffic policy", func() { w.at(services).spec("externalTrafficPolicy", "Local") },
			[]string{serviceLine + "spec.externalTrafficPolicy is Local, want Cluster"},
		},
		{
			"label", func() { w.at(services).label("team", "other") },
			[]string{serviceLine + "metadata.labels[team] is other, want apps"},
		},
		{
			"annotation", func() { w.at(services).annotate("example.com/owner", "other") },
			[]string{serviceLine + "metadata.annotations[example.com/owner] is other, want apps"},
		},
		{
			"record's address", func() { w.at(dnsServers).entries("staticEntries", edited("hostname", wildcard, "ip", "198.51.100.77")) },
			[]string{dnsLine + "spec.staticEntries[" + wildcard + "].ip is 198.51.100.77, want " + firstIP},
		},
		{
			"backend's port", func() { w.at(proxyServers).entries("backends", edited("name", "demo-apps-http", "port", int64(81))) },
			[]string{proxyLine + "spec.backends[demo-apps-http].port is 81, want 80"},
		},
		{"backend's host name", func() {
			w.at(proxyServers).entries("backends", edited("name", "demo-apps-https", "hostname", "other.example.com"))
		}, []string{proxyLine + "spec.backends[demo-apps-https].hostname is other.example.com, want " + wildcard}},
	}}
}

func (w *world) valuesAdded() round {
	return round{name: "values added and removed", address: true, breaks: []breakage{
		{
			"approval", func() { w.at(subscriptions).spec("installPlanApproval", "Manual") },
			[]string{subscriptionLine + "spec.installPlanApproval is Manual, want Automatic"},
		},
		{
			"second range", func() { w.at(pools).spec("addresses", []any{poolRange, "198.51.100.240/30"}) },
			[]string{poolLine + `spec.addresses is ["` + poolRange + `","198.51.100.240/30"], want ["` + poolRange + `"]`},
		},
		{
			"second pool advertised", func() { w.at(advertisements).spec("ipAddressPools", []any{poolName, "other"}) },
			[]string{advertisementLine + `spec.ipAddressPools is ["apps-pool","other"], want ["apps-pool"]`},
		},
		{
			"selector key", func() { w.at(services).spec("selector", tree("app", "x")) },
			[]string{serviceLine + `spec.selector is {"app":"x","` + routerKey + `":"default"}, want {"` + routerKey + `":"default"}`},
		},
		{
			"label", func() { w.at(services).label("team", nil) },
			[]string{serviceLine + "metadata.labels[team] is missing, want apps"},
		},
		{
			"annotation", func() { w.at(services).annotate("example.com/owner", nil) },
			[]string{serviceLine + "metadata.annotations[example.com/owner] is missing, want apps"},
		},
		{
			"pinned address", func() { w.at(services).annotate("metallb.io/loadBalancerIPs", firstIP) },
			[]string{serviceLine + "metadata.annotations[metallb.io/loadBalancerIPs] is " + firstIP + ", want none"},
		},
		{"second record", func() {
			w.at(dnsServers).entries("staticEntries", appended(tree("hostname", wildcard, "ip", "198.51.100.78")))
		}, []string{dnsLine + "spec.staticEntries[" + wildcard + `] is {"hostname":"` + wildcard + `","ip":"198.51.100.78"}, want none`}},
		{"backend's target", func() {
			w.at(proxyServers).entries("backends", edited("name", "demo-apps-http", "targetService", "198.51.100.79"))
		}, []string{proxyLine + "spec.backends[demo-apps-http].targetService is 198.51.100.79, want " + firstIP}},
		{"backend's target port", func() {
			w.at(proxyServers).entries("backends", edited("name", "demo-apps-https", "targetPort", int64(8443)))
		}, []string{proxyLine + "spec.backends[demo-apps-https].targetPort is 8443, want 443"}},
	}}
}

// portsEdited needs more than an apply: a port of our name with another number is in its way.
func (w *world) portsEdited() round {
	return round{name: "ports edited", breaks: []breakage{
		{"http's number", func() { w.port("http", "port", 81) }, []string{serviceLine + "spec.ports[http].port is 81, want 80"}},
		{
			"http's target", func() { w.port("http", "targetPort", 8080) },
			[]string{serviceLine + "spec.ports[http].targetPort is 8080, want http"},
		},
		{"https' number", func() { w.port("https", "port", 444) }, []string{serviceLine + "spec.ports[https].port is 444, want 443"}},
		{
			"https' target", func() { w.port("https", "targetPort", "http") },
			[]string{serviceLine + "spec.ports[https].targetPort is http, want https"},
		},
	}}
}

func (w *world) portRemoved() round {
	return round{name: "port removed", remade: true, breaks: []breakage{
		{"https", func() {
			w.at(services).entries("ports", func(ports []map[string]any) []map[string]any {
				return without(ports, "name", "https")
			})
		}, []string{serviceLine + "spec.ports[https] is missing, want 443"}},
	}}
}

func (w *world) addressAnnotationsEdited() round {
	return round{name: "pool annotations edited", address: true, breaks: []breakage{
		{
			"old prefix", func() { w.at(services).annotate("metallb.universe.tf/address-pool", nil) },
			[]string{serviceLine + "metadata.annotations[metallb.universe.tf/address-pool] is missing, want apps-pool"},
		},
		{"new prefix", func() {
			w.at(services).annotate("metallb.io/address-pool", "nowhere")
			w.awaitAddress("")
		}, []string{
			serviceLine + "metadata.annotations[metallb.io/address-pool] is nowhere, want apps-pool",
			serviceLine + "status.loadBalancer.ingress is missing, want " + poolRange,
		}},
	}}
}

func (w *world) typeChanged() round {
	return round{name: "type changed", address: true, remade: true, breaks: []breakage{
		{"type", func() {
			w.at(services).spec("type", "ClusterIP")
			w.awaitAddress("")
		}, []string{
			serviceLine + "spec.type is ClusterIP, want LoadBalancer",
			serviceLine + "spec.loadBalancerClass is missing, want example.com/vlan",
			serviceLine + "status.loadBalancer.ingress is missing, want " + poolRange,
		}},
	}}
}

// rangeMoved has MetalLB move the address out of the range that is wanted.
func (w *world) rangeMoved() round {
	return round{name: "range moved", address: true, breaks: []breakage{
		{"addresses", func() {
			w.at(pools).spec("addresses", []any{"198.51.100.150/31"})
			w.awaitAddress("198.51.100.150")
		}, []string{
			poolLine + `spec.addresses is ["198.51.100.150/31"], want ["` + poolRange + `"]`,
			serviceLine + "status.loadBalancer.ingress is 198.51.100.150, want " + poolRange,
		}},
	}}
}

func (w *world) classChanged() round {
	return round{name: "MetalLB's class changed", address: true, breaks: []breakage{
		{
			"class", func() { w.at(metallbs).spec("loadBalancerClass", "example.com/other") },
			[]string{metallbLine + "spec.loadBalancerClass is example.com/other, want example.com/vlan"},
		},
	}}
}

// marksRemoved takes off what says that the objects are ours.
func (w *world) marksRemoved() round {
	r := round{name: "marks removed"}
	for _, p := range w.places() {
		if p.live == w.management {
			mark := ingressMark + "-" + wildcardHash
			r.breaks = append(r.breaks, breakage{
				p.kind.name, func() { p.annotate(mark, nil) },
				[]string{p.line() + "metadata.annotations[" + mark + "] is missing, want clusters/demo"},
			})
			continue
		}
		r.breaks = append(r.breaks, breakage{p.kind.name, func() {
			p.annotate(ingressMark, nil)
			p.label(managedBy, nil)
		}, []string{
			p.line() + "metadata.annotations[" + ingressMark + "] is missing, want clusters/demo",
			p.line() + "metadata.labels[" + managedBy + "] is missing, want terraform-provider-oooi",
		}})
	}
	return r
}
