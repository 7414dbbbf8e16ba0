package acceptance

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
)

// checkPublished compares the live lists of the DNSServer and the ProxyServer with what they must be, entry by entry.
func (w *world) checkPublished(record, target string, http, https int64) error {
	entries := []map[string]any{{"hostname": "api.other." + baseDomain, "ip": "198.51.100.9"}}
	if record != "" {
		entries = append(entries, map[string]any{"hostname": wildcard, "ip": record})
	}
	backends := []map[string]any{{
		"name": "other-api", "hostname": "api.other." + baseDomain, "port": int64(6443), "protocol": "TCP", "timeoutSeconds": int64(30),
		"targetService": "kube-apiserver", "targetPort": int64(6443), "targetNamespace": "clusters-other",
	}}
	if target != "" {
		backends = append(backends, wantBackend("demo-apps-http", target, http), wantBackend("demo-apps-https", target, https))
	}
	if diff := cmp.Diff(entries, list(w.management.must(dnsServers, "clusters", dnsName), "spec", "staticEntries")); diff != "" {
		return fmt.Errorf("DNSServer's entries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(backends, list(w.management.must(proxyServers, "clusters", proxyName), "spec", "backends")); diff != "" {
		return fmt.Errorf("ProxyServer's backends (-want +got):\n%s", diff)
	}
	return nil
}

func wantBackend(name, target string, port int64) map[string]any {
	return map[string]any{
		"name": name, "hostname": wildcard, "port": port, "protocol": "TCP", "timeoutSeconds": int64(30),
		"targetService": target, "targetPort": port, "targetNamespace": "default",
	}
}
