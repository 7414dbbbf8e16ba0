package acceptance

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The pool, its range, the advertisement, the pin and the place of publication change in place: the address stays whenever it may,
// and where it moves, everything that shows it has moved with it when the apply returns.
func TestUpdateOfTheAddress(t *testing.T) {
	const pinned, moved, other = "198.51.100.205", "198.51.100.60", "203.0.113.10"
	w := newWorld(t)
	w.otherPublishers()
	w.updates(nil,
		update{
			name: "a range that holds the address", action: inPlace, downstream: nothing,
			config: []change{set("metallb.ip_address_pool_range", text("198.51.100.192/27"))},
			check:  func() error { return errors.Join(w.pooled(poolName, "198.51.100.192/27"), w.has(firstIP)) },
		},
		update{
			name: "a pin", action: inPlace, unknown: unknownAddress(), downstream: inPlace,
			config: []change{set("service.load_balancer_ip", text(pinned))},
			check:  func() error { return w.has(pinned, "loadBalancerIPs") },
		},
		update{
			name: "no pin any more", action: inPlace, downstream: nothing,
			config: []change{unset("service.load_balancer_ip")},
			check:  func() error { return w.has(pinned) },
		},
		update{
			// The address is not the first of the range: it is not what MetalLB would give anyway.
			name: "another name of the pool", action: inPlace, downstream: nothing,
			config: []change{set("metallb.address_pool_name", text("renamed"))},
			check: func() error {
				return errors.Join(w.pooled("renamed", "198.51.100.192/27"), w.advertised("advertise-renamed", "renamed"), w.has(pinned))
			},
		},
		update{
			name: "another name of the advertisement", action: inPlace, downstream: nothing,
			config: []change{set("metallb.l2_advertisement_name", text("edge"))},
			check:  func() error { return errors.Join(w.advertised("edge", "renamed"), w.has(pinned)) },
		},
		update{
			name: "a range that does not hold the address", action: inPlace, unknown: unknownAddress(), downstream: inPlace,
			config: []change{set("metallb.ip_address_pool_range", text("198.51.100.60-198.51.100.70"))},
			check:  func() error { return errors.Join(w.pooled("renamed", "198.51.100.60-198.51.100.70"), w.has(moved)) },
		},
		update{
			name: "another name and another range", action: inPlace, unknown: unknownAddress(), downstream: inPlace,
			config: []change{
				set("metallb.address_pool_name", text("both")), set("metallb.ip_address_pool_range", text("203.0.113.10-203.0.113.20")),
			},
			check: func() error {
				return errors.Join(w.pooled("both", "203.0.113.10-203.0.113.20"), w.advertised("edge", "both"), w.has(other))
			},
		},
		update{
			name: "another way of installing", action: inPlace, unknown: unknownOperator(), downstream: nothing,
			config: []change{set("metallb.subscription", object("starting_csv", "metallb-operator.v4.18.0-202601010000"))},
			check:  func() error { return w.has(other) },
		},
		update{
			name: "published elsewhere", action: inPlace, unknown: unknownPublication(), downstream: nothing,
			config: []change{set("publish.dns_server", text("other-dns")), set("publish.proxy_server", text("other-proxy"))},
			check: func() error {
				return errors.Join(w.checkPublished("", "", 0, 0), w.publishedElsewhere(other, other, other), w.withoutMarks(dnsName, proxyName))
			},
		},
		update{
			name: "published nowhere", action: inPlace, unknown: unknownPublication(), downstream: nothing,
			config: []change{unset("publish")},
			check: func() error {
				return errors.Join(w.publishedElsewhere(""), w.withoutMarks("other-dns", "other-proxy"))
			},
		},
		update{
			name: "a load balancer class", action: replace, unknown: unknownAll(), downstream: inPlace,
			config: []change{set("metallb.load_balancer_class", text("example.com/vlan"))},
		},
	)
}

// has checks what the Service has, and that it carries no pin but a wanted one. While it is published, DNS and Envoy have the same.
func (w *world) has(address string, annotations ...string) error {
	service := w.service()
	got := list(service, "status", "loadBalancer", "ingress")
	if len(got) != 1 || got[0]["ip"] != address {
		return fmt.Errorf("the Service has %v, want %s", got, address)
	}
	for _, prefix := range []string{"metallb.io/", "metallb.universe.tf/"} {
		if pin, is := service.GetAnnotations()[prefix+"loadBalancerIPs"]; is != (len(annotations) > 0) {
			return fmt.Errorf("the Service is pinned to %q", pin)
		}
	}
	return w.checkPublished(address, address, 80, 443)
}

// pooled checks that there is this one pool.
func (w *world) pooled(name, addresses string) error {
	return w.only(pools, name, "addresses", addresses)
}

// advertised checks that there is this one advertisement.
func (w *world) advertised(name, pool string) error {
	return w.only(advertisements, name, "ipAddressPools", pool)
}

// only checks that there is one object of a kind, with one value in a field.
func (w *world) only(k kind, name, field, value string) error {
	found := map[string][]string{}
	for key, object := range w.hosted.snapshot().Objects {
		if strings.Contains(key, "/"+k.Resource+" ") {
			values, _, _ := unstructured.NestedStringSlice(object, "spec", field)
			found[key[strings.LastIndex(key, "/")+1:]] = values
		}
	}
	return differs(k.name, map[string][]string{name: {value}}, found)
}

// otherPublishers makes a second DNSServer and a second ProxyServer, of which somebody else has a backend.
func (w *world) otherPublishers() {
	w.management.create(dnsServers, "clusters", "other-dns", map[string]any{
		"networkConfig":       map[string]any{"serverIP": "198.51.100.5", "proxyIP": "198.51.100.6"},
		"hostedClusterDomain": baseDomain,
	})
	w.management.create(proxyServers, "clusters", "other-proxy", map[string]any{
		"networkConfig": map[string]any{"serverIP": "198.51.100.6"},
		"backends": []any{map[string]any{
			"name": "theirs", "hostname": "theirs.example.com", "port": int64(443),
			"targetService": "theirs", "targetPort": int64(443), "targetNamespace": "default",
		}},
	})
}

// publishedElsewhere checks the record and the targets of the ingress in the other DNSServer and ProxyServer.
func (w *world) publishedElsewhere(record string, targets ...any) error {
	var records, got []any
	for _, entry := range list(w.management.must(dnsServers, "clusters", "other-dns"), "spec", "staticEntries") {
		records = append(records, entry["ip"])
	}
	for _, backend := range list(w.management.must(proxyServers, "clusters", "other-proxy"), "spec", "backends")[1:] {
		got = append(got, backend["targetService"])
	}
	var want []any
	if record != "" {
		want = []any{record}
	}
	return errors.Join(differs("records", want, records), differs("targets", targets, got))
}

// withoutMarks checks that nothing says any more that there is something of the ingress in a DNSServer and a ProxyServer.
func (w *world) withoutMarks(dns, proxy string) error {
	for _, obj := range []*unstructured.Unstructured{
		w.management.must(dnsServers, "clusters", dns), w.management.must(proxyServers, "clusters", proxy),
	} {
		if diff := cmp.Diff(map[string]string(nil), obj.GetAnnotations()); diff != "" {
			return fmt.Errorf("annotations of %s %s: %s", obj.GetKind(), obj.GetName(), diff)
		}
	}
	return nil
}
