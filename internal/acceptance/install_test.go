package acceptance

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// With install = false a MetalLB that is there already is used, and OLM is not asked for anything. One that is not there is an
// error on that attribute.
func TestMetalLBIsThereAlready(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.MetalLB = &simulator.MetalLBOperatorOptions{WithoutCSV: true} })
	config := w.config(set("metallb.install", "false"))
	recorded := w.hosted.requests()
	w.test(
		resource.TestStep{
			Config:      config,
			ExpectError: regexp.MustCompile(`(?s)metallb\.install\s+is\s+false.*Nothing\s+was\s+changed`),
		},
		resource.TestStep{
			PreConfig: w.installMetalLB,
			Config:    config,
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(address, "external_ip", firstIP),
				resource.TestCheckNoResourceAttr(address, "installed_csv"),
				w.published(firstIP, firstIP),
			),
		},
	)
	for _, entry := range recorded.ofProvider() {
		if strings.Contains(entry.RequestURI, "operators.coreos.com") {
			t.Errorf("OLM was asked: %s", entry)
		}
	}
	if w.hosted.get(metallbs, "openshift-operators", "metallb") == nil {
		t.Error("destroy removed the MetalLB that was there before")
	}
}

// installMetalLB does by hand what OLM would.
func (w *world) installMetalLB() {
	w.t.Helper()
	crds, err := testcluster.MetalLBCRDs()
	if err == nil {
		err = w.pair.Hosted.InstallCRDs(w.hosted.ctx(), crds...)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.hosted.await("MetalLB's kinds", func() bool { return w.hosted.serves(metallbs) })
	w.hosted.create(metallbs, "openshift-operators", "metallb", map[string]any{})
}
