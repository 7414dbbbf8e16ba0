package acceptance

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// The names of the world in which an Infra owns what is published, and the oooi operator runs.
const (
	infraName      = "vlan100"
	infraDNS       = "vlan100-dns"
	infraProxy     = "vlan100-proxy"
	attachmentLine = "InfraClusterAttachment clusters/demo: "
	touched        = "oooi.densityops.com/touched"
)

// newAttachmentWorld starts a world with the oooi operator and an Infra. The operator never looks again by itself: whatever happens,
// happens because it was told to look.
func newAttachmentWorld(t *testing.T, changes ...func(*setup)) *world {
	t.Helper()
	w := newWorld(t, append([]func(*setup){patientOperator}, changes...)...)
	w.infra()
	w.settled()
	return w
}

// patientOperator is an operator that never looks again by itself.
func patientOperator(s *setup) {
	s.Oooi = &simulator.OooiOptions{
		WaitInterval: time.Hour, AddressInterval: time.Hour, ErrorInterval: time.Hour, CleanupInterval: time.Hour,
	}
}

// infra makes the Infra, and waits for what the operator makes of it.
func (w *world) infra() {
	w.t.Helper()
	w.management.create(infras, "clusters", infraName, map[string]any{
		"networkConfig": map[string]any{
			"cidr": netlab.VLAN, "gateway": "198.51.100.1", "dnsServers": []any{netlab.UpstreamPodAddress},
		},
		"infraComponents": map[string]any{
			"dhcp":  map[string]any{"serverIP": "198.51.100.2", "rangeStart": "198.51.100.50", "rangeEnd": "198.51.100.99"},
			"dns":   map[string]any{"serverIP": "198.51.100.3"},
			"proxy": map[string]any{"serverIP": "198.51.100.4", "internalProxyService": proxyForPods},
		},
	})
	w.management.await("the operator's DNSServer and ProxyServer", func() bool {
		return w.management.get(dnsServers, "clusters", infraDNS) != nil && w.management.get(proxyServers, "clusters", infraProxy) != nil
	})
}

// attached is the configuration of an ingress on the Infra, whose mode is left to the provider.
func (w *world) attached(changes ...change) string {
	return w.config(append(noPublish(text(infraName)), changes...)...)
}

// attachment is the live one.
func (w *world) attachment() *unstructured.Unstructured {
	return w.management.must(attachments, "clusters", clusterName)
}

// checkInfraPublishes compares what the Infra's servers have for the wildcard, and no other name. An empty record or target: none.
func (w *world) checkInfraPublishes(record, target string, ports ...int64) error {
	var records, backends []string
	for _, entry := range list(w.management.must(dnsServers, "clusters", infraDNS), "spec", "staticEntries") {
		if entry["hostname"] == wildcard {
			records = append(records, fmt.Sprint(entry["ip"]))
		}
	}
	for _, entry := range list(w.management.must(proxyServers, "clusters", infraProxy), "spec", "backends") {
		if entry["hostname"] == wildcard {
			backends = append(backends, fmt.Sprintf("%v to %v:%v", entry["port"], entry["targetService"], entry["targetPort"]))
		}
	}
	var wantRecords, wantBackends []string
	if record != "" {
		wantRecords = []string{record}
	}
	if len(ports) == 0 {
		ports = []int64{80, 443}
	}
	for _, port := range ports {
		if target != "" {
			wantBackends = append(wantBackends, fmt.Sprintf("%d to %s:%d", port, target, port))
		}
	}
	return errors.Join(differs("records of the Infra", wantRecords, records), differs("backends of the Infra", wantBackends, backends))
}

func (w *world) infraPublishes(record, target string, ports ...int64) resource.TestCheckFunc {
	return func(*terraform.State) error { return w.checkInfraPublishes(record, target, ports...) }
}

// touchedOnce checks that touches leave one annotation beside the mark.
func (w *world) touchedOnce(others ...string) error {
	var keys []string
	for key := range w.attachment().GetAnnotations() {
		keys = append(keys, key)
	}
	want := append([]string{ingressMark}, others...)
	if _, is := w.attachment().GetAnnotations()[touched]; is {
		want = append(want, touched)
	}
	if diff := cmp.Diff(sorted(anys(want)), sorted(anys(keys))); diff != "" {
		return fmt.Errorf("annotations of the attachment (-want +got):\n%s", diff)
	}
	return nil
}
