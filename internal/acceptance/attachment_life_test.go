package acceptance

import (
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An Infra calls for attachment mode: the operator does the work, one apply ends with an address that is really published, and
// destroy leaves both clusters as they were found, but for the CSV.
func TestAttachment(t *testing.T) {
	w := newAttachmentWorld(t)
	management, hosted := w.management.snapshot(), w.hosted.snapshot()
	test := w.testCase(resource.TestStep{
		Config: w.attached(),
		ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectUnknownValue(address, path("external_ip")),
		}},
		Check: resource.ComposeAggregateTestCheckFunc(
			resource.TestCheckResourceAttr(address, "mode", "attachment"),
			resource.TestCheckResourceAttr(address, "external_ip", firstIP),
			resource.TestCheckNoResourceAttr(address, "external_hostname"),
			resource.TestCheckResourceAttr(address, "phase", "Ready"),
			resource.TestCheckResourceAttr(address, "drift.#", "0"),
			resource.TestCheckResourceAttr(address, "dns_records.#", "2"),
			resource.TestCheckResourceAttr(address, "proxy_backends.#", "2"),
			resource.TestCheckResourceAttr(downstream, "output", firstIP),
			w.infraPublishes(firstIP, firstIP),
			func(*terraform.State) error { return w.touchedOnce() },
		),
	})
	test.CheckDestroy = func(*terraform.State) error {
		// The attachment goes when the operator has asked for the end of what it made; MetalLB's own operator takes a moment longer.
		w.hosted.await("the end of MetalLB", func() bool { return w.hosted.get(metallbs, "openshift-operators", "metallb") == nil })
		w.hosted.delete(csvs, "openshift-operators", "metallb-operator.v4.18.0-202601010000") // which the operator leaves
		w.management.sameAs(management)
		w.hosted.sameAs(hosted)
		return w.checkInfraPublishes("", "")
	}
	resource.Test(t, test)
}

// An ingress changes in place, and what cannot stay known is open in the plan. After each apply everything shows one address, also
// when the operator has reported the old one as Ready meanwhile.
func TestAttachmentUpdates(t *testing.T) {
	const moved, pinned = "198.51.100.140", "198.51.100.145"
	w := newAttachmentWorld(t)
	w.updates(noPublish(text(infraName)),
		update{
			name: "labels and annotations", action: inPlace, downstream: nothing,
			config: []change{set("service.labels", object("team", "apps")), set("service.annotations", object("note", "kept"))},
			check: func() error {
				service := w.service()
				return errors.Join(
					differs("label", "apps", service.GetLabels()["team"]), differs("annotation", "kept", service.GetAnnotations()["note"]),
					w.checkInfraPublishes(firstIP, firstIP),
				)
			},
		},
		update{
			name: "no labels and annotations any more", action: inPlace, downstream: nothing,
			config: []change{unset("service.labels"), unset("service.annotations")},
			check: func() error {
				service, _, _ := unstructured.NestedMap(w.attachment().Object, "spec", "appsIngress", "service")
				return errors.Join(
					differs("labels", 0, len(attributes(service["labels"]))), differs("annotations", 0, len(attributes(service["annotations"]))),
				)
			},
		},
		update{
			name: "ports", action: inPlace, unknown: unknownPublication(), downstream: nothing,
			config: []change{set("ports.http", "8080"), set("ports.https", "8443")},
			check:  func() error { return w.checkInfraPublishes(firstIP, firstIP, 8080, 8443) },
		},
		update{
			name: "a range that holds the address", action: inPlace, downstream: nothing,
			config: []change{set("metallb.ip_address_pool_range", text("198.51.100.192/27"))},
			check: func() error {
				return errors.Join(w.pooled(poolName, "198.51.100.192/27"), w.checkInfraPublishes(firstIP, firstIP, 8080, 8443))
			},
		},
		update{
			name: "another name of the advertisement", action: inPlace, downstream: nothing,
			config: []change{set("metallb.l2_advertisement_name", text("edge"))},
			check:  func() error { return w.advertised("edge", poolName) },
		},
		update{
			name: "a range that does not hold the address", action: inPlace, unknown: unknownAddress(), downstream: inPlace,
			config: []change{set("metallb.ip_address_pool_range", text("198.51.100.140-198.51.100.149"))},
			check: func() error {
				return errors.Join(w.pooled(poolName, "198.51.100.140-198.51.100.149"), w.checkInfraPublishes(moved, moved, 8080, 8443))
			},
		},
		update{
			name: "a pin", action: inPlace, unknown: unknownAddress(), downstream: inPlace,
			config: []change{set("service.load_balancer_ip", text(pinned))},
			check:  func() error { return w.checkInfraPublishes(pinned, pinned, 8080, 8443) },
		},
		update{
			name: "another name of the pool", action: inPlace, unknown: unknownAll(), downstream: inPlace,
			config: []change{set("metallb.address_pool_name", text("renamed"))},
			check: func() error {
				return errors.Join(w.pooled("renamed", "198.51.100.140-198.51.100.149"), w.checkInfraPublishes(pinned, pinned, 8080, 8443))
			},
		},
	)
}
