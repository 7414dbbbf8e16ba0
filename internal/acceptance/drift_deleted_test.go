package acceptance

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// Every object of the ingress, and every entry that it publishes, is deleted by hand: each is named and made again.
func TestDeletedObjectsAreNamedAndMadeAgain(t *testing.T) {
	w := newWorld(t)
	config := w.config(
		set("service.labels", object("team", "apps")),
		set("metallb.load_balancer_class", text("example.com/vlan")),
	)
	steps := []resource.TestStep{{Config: config}}
	for _, r := range []round{
		w.serviceDeleted(), w.poolDeleted(), w.metallbDeleted(), w.csvDeleted(), w.subscriptionDeleted(), w.operatorDeleted(), w.classLost(),
	} {
		steps = append(steps, w.step(config, r))
	}
	w.test(steps...)
}

func (w *world) serviceDeleted() round {
	return round{name: "Service, advertisement and a backend deleted", address: true, remade: true, breaks: []breakage{
		{"Service", func() { w.at(services).gone() }, []string{serviceLine + "missing"}},
		{"advertisement", func() { w.at(advertisements).gone() }, []string{advertisementLine + "missing"}},
	}}
}

func (w *world) poolDeleted() round {
	return round{name: "pool, record and a backend deleted", address: true, breaks: []breakage{
		{"pool", func() {
			w.at(pools).gone()
			w.awaitAddress("")
		}, []string{
			poolLine + "missing",
			serviceLine + "status.loadBalancer.ingress is missing, want " + poolRange,
		}},
	}}
}

func (w *world) metallbDeleted() round {
	return round{name: "MetalLB, record and a backend deleted", address: true, breaks: []breakage{
		{"MetalLB", func() { w.at(metallbs).gone() }, []string{metallbLine + "missing"}},
		{"record", func() { w.unpublished(dnsServers, "staticEntries", "hostname", wildcard) }, []string{
			dnsLine + "spec.staticEntries[" + wildcard + `] is missing, want {"hostname":"` + wildcard + `","ip":"` + firstIP + `"}`,
		}},
		{
			"http's backend", func() { w.unpublished(proxyServers, "backends", "name", "demo-apps-http") },
			[]string{proxyLine + "spec.backends[demo-apps-http] is missing, want " + backendText("http", "80")},
		},
	}}
}

func (w *world) csvDeleted() round {
	return round{name: "CSV and a backend deleted", breaks: []breakage{
		{"CSV", func() { w.csv().gone() }, []string{w.csv().line() + "missing"}},
		{
			"https' backend", func() { w.unpublished(proxyServers, "backends", "name", "demo-apps-https") },
			[]string{proxyLine + "spec.backends[demo-apps-https] is missing, want " + backendText("https", "443")},
		},
	}}
}

// subscriptionDeleted leaves the CSV without its Subscription, beside which OLM installs nothing.
func (w *world) subscriptionDeleted() round {
	return round{name: "Subscription and both backends deleted", breaks: []breakage{
		{"Subscription", func() { w.at(subscriptions).gone() }, []string{subscriptionLine + "missing"}},
		{"both backends", func() { w.unpublished(proxyServers, "backends", "hostname", wildcard) }, []string{
			proxyLine + "spec.backends[demo-apps-http] is missing, want " + backendText("http", "80"),
			proxyLine + "spec.backends[demo-apps-https] is missing, want " + backendText("https", "443"),
		}},
	}}
}

func (w *world) operatorDeleted() round {
	return round{name: "Subscription and CSV deleted", breaks: []breakage{
		{"both", func() {
			w.at(subscriptions).gone()
			w.csv().gone()
		}, []string{subscriptionLine + "missing"}},
	}}
}

// classLost has the Service made anew by hand, from its own manifest but for the class, which cannot be edited.
func (w *world) classLost() round {
	return round{name: "Service without its class", address: true, remade: true, breaks: []breakage{
		{"class", func() {
			manifest := w.at(services).must()
			w.at(services).gone()
			w.hosted.remake(services, manifest, "loadBalancerClass", "clusterIP", "clusterIPs", "healthCheckNodePort")
		}, []string{
			serviceLine + "spec.loadBalancerClass is missing, want example.com/vlan",
			serviceLine + "status.loadBalancer.ingress is missing, want " + poolRange,
		}},
	}}
}

// csv is the CSV that the Subscription installs.
func (w *world) csv() place {
	return place{w.hosted, csvs, "openshift-operators", "metallb-operator.v4.18.0-202601010000"}
}

// unpublished takes entries out of a list by hand.
func (w *world) unpublished(k kind, field, key string, value any) {
	w.at(k).entries(field, func(entries []map[string]any) []map[string]any { return without(entries, key, value) })
}

func backendText(name, port string) string {
	return `{"hostname":"` + wildcard + `","name":"demo-apps-` + name + `","port":` + port + `,"protocol":"TCP","targetNamespace":"default",` +
		`"targetPort":` + port + `,"targetService":"` + firstIP + `","timeoutSeconds":30}`
}
