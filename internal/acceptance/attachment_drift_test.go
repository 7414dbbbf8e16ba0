package acceptance

import (
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// Whatever is changed behind Terraform's back, on the attachment or in the hosted cluster, is named by the plan and repaired by the
// apply, which has the operator do it. Touches stay one annotation and never show.
func TestAttachmentDrift(t *testing.T) {
	w := newAttachmentWorld(t)
	config := w.attached(set("service.labels", object("team", "apps")))
	steps := []resource.TestStep{{Config: config}}
	for _, r := range w.attachmentRounds() {
		steps = append(steps, w.attachedStep(config, r))
	}
	w.test(steps...)
}

// attachedStep is step, and everything that the Infra publishes is right again.
func (w *world) attachedStep(config string, r round) resource.TestStep {
	step := w.step(config, r)
	step.Check = resource.ComposeAggregateTestCheckFunc(step.Check, w.infraPublishes(firstIP, firstIP),
		func(*terraform.State) error { return w.touchedOnce() })
	return step
}

func (w *world) attachmentRounds() []round {
	const status, proxy = "status.appsIngressStatus.", "ProxyServer clusters/vlan100-proxy: "
	attachment := place{w.management, attachments, "clusters", clusterName}
	return []round{
		{name: "what does not decide the address", breaks: []breakage{
			{"label", func() { w.at(services).label("team", "other") }, []string{serviceLine + "metadata.labels[team] is other, want apps"}},
			{
				"selector", func() { w.at(services).spec("selector", tree(routerKey, "internal")) },
				[]string{serviceLine + `spec.selector is {"` + routerKey + `":"internal"}, want {"` + routerKey + `":"default"}`},
			},
			{
				"advertised pool", func() { w.at(advertisements).spec("ipAddressPools", []any{"other"}) },
				[]string{advertisementLine + `spec.ipAddressPools is ["other"], want ["apps-pool"]`},
			},
		}},
		// The operator takes this for a touch, and repairs whatever else there is.
		{name: "mark removed", breaks: []breakage{
			{"mark", func() { attachment.annotate(ingressMark, nil) }, []string{
				attachmentLine + "metadata.annotations[" + ingressMark + "] is missing, want clusters/demo",
			}},
		}},
		{name: "Service deleted", address: true, remade: true, breaks: []breakage{
			{"Service", w.at(services).gone, []string{serviceLine + "missing"}},
		}},
		{name: "range of the pool", address: true, breaks: []breakage{{
			"pool", func() {
				w.at(pools).spec("addresses", []any{"198.51.100.140/32"})
				w.awaitAddress("198.51.100.140")
			},
			[]string{poolLine + `spec.addresses is ["198.51.100.140/32"], want ["` + poolRange + `"]`},
		}}},
		{name: "pool and advertisement deleted", address: true, breaks: []breakage{
			{"pool", func() { w.at(pools).gone(); w.awaitAddress("") }, []string{poolLine + "missing"}},
			{"advertisement", w.at(advertisements).gone, []string{advertisementLine + "missing"}},
		}},
		{name: "ports of the attachment", breaks: []breakage{{
			"https", func() {
				attachment.spec("appsIngress", tree("ports", tree("https", 9443)))
				w.management.await("the other port", func() bool { return w.checkInfraPublishes(firstIP, firstIP, 80, 9443) == nil })
			},
			[]string{
				attachmentLine + "spec.appsIngress.ports.https is 9443, want 443",
				serviceLine + "spec.ports is missing, want 443",
				proxy + "spec.backends[" + wildcard + ":443] is missing, want " +
					`{"hostname":"` + wildcard + `","port":443,"protocol":"TCP","targetNamespace":"default","targetPort":443,` +
					`"targetService":"` + firstIP + `","timeoutSeconds":30}`,
				proxy + "spec.backends[" + wildcard + ":9443] is " +
					`{"hostname":"` + wildcard + `","name":"demo-apps-https","port":9443,"protocol":"TCP","targetNamespace":"default",` +
					`"targetPort":9443,"targetService":"` + firstIP + `","timeoutSeconds":30}, want none`,
			},
		}}},
		{name: "switched off", address: true, breaks: []breakage{{
			"enabled", func() {
				attachment.spec("appsIngress", tree("enabled", false))
				w.management.await("the withdrawal", func() bool { return w.checkInfraPublishes("", "") == nil })
			},
			[]string{
				attachmentLine + "spec.appsIngress.enabled is false, want true",
				attachmentLine + status + "phase is missing, want Ready",
			},
		}}},
	}
}

// The address moves in the hosted cluster, within the range: the operator does not notice. The plan says so, what uses the address
// follows in the same apply, and DNS and Envoy do.
func TestAttachmentAddressMoved(t *testing.T) {
	const moved = "198.51.100.210"
	w := newAttachmentWorld(t)
	w.test(
		resource.TestStep{Config: w.attached()},
		resource.TestStep{
			PreConfig: func() {
				w.at(services).annotate("metallb.io/loadBalancerIPs", moved)
				w.awaitAddress(moved)
			},
			Config: w.attached(),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{drifted{
				lines:   []string{attachmentLine + "status.appsIngressStatus.externalIP is " + firstIP + ", want " + moved},
				address: true,
			}}},
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(address, "external_ip", moved),
				resource.TestCheckResourceAttr(downstream, "output", moved),
				w.infraPublishes(moved, moved),
			),
		},
		resource.TestStep{
			PreConfig: func() {
				w.management.delete(attachments, "clusters", clusterName)
				w.management.await("the end of the attachment", func() bool { return w.management.get(attachments, "clusters", clusterName) == nil })
			},
			Config: w.attached(),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(address, plancheck.ResourceActionCreate),
			}},
			Check: w.infraPublishes(firstIP, firstIP),
		},
	)
	if err := errors.Join(w.checkInfraPublishes("", "")); err != nil {
		t.Error(err)
	}
}
