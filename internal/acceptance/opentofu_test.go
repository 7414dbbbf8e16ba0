package acceptance

import (
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// OpenTofu drives the same life: create, an empty plan, a change, drift that is named and repaired, destroy.
func TestOpenTofu(t *testing.T) {
	w := newWorld(t)
	binary, err := testcluster.Binary("tofu")
	if err != nil {
		t.Fatal(err)
	}
	tofu := newCLI(t, w.config())
	tofu.program = binary
	tofu.apply()
	tofu.unchanged()
	if got := tofu.values(address)["external_ip"]; got != firstIP {
		t.Errorf("external_ip is %v", got)
	}

	tofu.config(w.config(set("service.labels", object("team", "apps"))))
	tofu.apply()
	tofu.unchanged()

	w.hosted.delete(services, "openshift-ingress", "oooi-ingress")
	tofu.apply()
	tofu.unchanged()
	w.hosted.must(services, "openshift-ingress", "oooi-ingress")

	tofu.destroy()
	if w.hosted.get(services, "openshift-ingress", "oooi-ingress") != nil {
		t.Error("the Service is still there")
	}
}
