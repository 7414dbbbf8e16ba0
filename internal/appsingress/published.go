package appsingress

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// publishedRecords are the A records that a DNSServer gives for the wildcard: the VLAN view answers each entry's own address, the
// pod view answers the proxy's, when it has one.
func publishedRecords(spec Spec, obj *unstructured.Unstructured) []DNSRecord {
	if obj == nil {
		return nil
	}
	podAddress, _, _ := unstructured.NestedString(obj.Object, "spec", "networkConfig", "internalProxyIP")
	var records []DNSRecord
	for _, entry := range dnsEntries(spec).own(obj) {
		address, _ := entry["ip"].(string)
		records = append(records, DNSRecord{Name: spec.Domain.Wildcard(), View: ViewVLAN, Value: address})
		if podAddress != "" {
			records = append(records, DNSRecord{Name: spec.Domain.Wildcard(), View: ViewPod, Value: podAddress})
		}
	}
	return records
}

// publishedBackends are the Envoy backends of the ingress that a ProxyServer has.
func publishedBackends(spec Spec, obj *unstructured.Unstructured) []ProxyBackend {
	if obj == nil {
		return nil
	}
	var backends []ProxyBackend
	for _, entry := range proxyBackends(spec).own(obj) {
		backends = append(backends, ProxyBackend{
			Name:       text(entry["name"]),
			Hostname:   text(entry["hostname"]),
			Port:       number(entry["port"]),
			Target:     text(entry["targetService"]),
			TargetPort: number(entry["targetPort"]),
		})
	}
	return backends
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func number(v any) int32 {
	n, _ := v.(int64)
	return int32(n) //nolint:gosec // the API bounds ports
}
