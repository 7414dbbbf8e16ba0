package netlab

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	plainPort = 80 // the only port without TLS

	envoyListeners = "listeners/listeners.json"
	envoyClusters  = "clusters/clusters.json"
	envoyAdmin     = "admin.sock"

	typePrefix = "type.googleapis.com/"
)

// proxyServerSpec is what Envoy is told of the spec of a ProxyServer.
type proxyServerSpec struct {
	Backends []backend `json:"backends"`
}

type backend struct {
	Name               string   `json:"name"`
	Hostname           string   `json:"hostname"`
	AlternateHostnames []string `json:"alternateHostnames"`
	Port               int      `json:"port"`
	TargetService      string   `json:"targetService"`
	TargetPort         int      `json:"targetPort"`
	TargetNamespace    string   `json:"targetNamespace"`
	Protocol           string   `json:"protocol"`
	TimeoutSeconds     int      `json:"timeoutSeconds"`
}

// readProxyServer reads a ProxyServer. No object is one without a backend.
func readProxyServer(live *unstructured.Unstructured) (proxyServerSpec, error) {
	var spec proxyServerSpec
	if err := decodeSpec(live, &spec); err != nil {
		return spec, fmt.Errorf("reading the ProxyServer: %w", err)
	}
	// Only TCP: nothing that is published for apps uses another protocol.
	spec.Backends = slices.DeleteFunc(spec.Backends, func(b backend) bool { return b.Protocol == "UDP" })
	return spec, nil
}

// envoyBootstrap is what Envoy is started with: everything else is in two files, each in a folder of its own, which it reads
// again when something is moved there.
func envoyBootstrap(folder, node string) ([]byte, error) {
	source := func(file string) object {
		return object{
			"resource_api_version": "V3",
			"path_config_source": object{
				"path":              filepath.Join(folder, file),
				"watched_directory": object{"path": filepath.Join(folder, filepath.Dir(file))},
			},
		}
	}
	return json.MarshalIndent(object{
		"node":              object{"id": node, "cluster": node},
		"admin":             object{"address": object{"pipe": object{"path": filepath.Join(folder, envoyAdmin)}}},
		"dynamic_resources": object{"lds_config": source(envoyListeners), "cds_config": source(envoyClusters)},
	}, "", "  ")
}

// envoyResources makes one of those files. Envoy says which version it has accepted.
func envoyResources(version string, resources []object) ([]byte, error) {
	return json.MarshalIndent(object{"version_info": version, "resources": resources}, "", "  ")
}

// listeners are one for each port of the backends. What Envoy refuses, such as one name at two backends of a port, is left
// for it to refuse.
func listeners(spec proxyServerSpec) []object {
	byPort := map[int][]backend{}
	for _, b := range spec.Backends {
		byPort[b.Port] = append(byPort[b.Port], b)
	}
	all := []object{}
	for _, port := range sortedPorts(byPort) {
		listener := object{
			"@type":   typePrefix + "envoy.config.listener.v3.Listener",
			"name":    fmt.Sprintf("port-%d", port),
			"address": socketAddress("0.0.0.0", port),
		}
		if port == plainPort {
			// Without TLS there is no name to choose by: the first backend has the port.
			listener["filter_chains"] = []object{{"filters": []object{tcpProxy(byPort[port][0])}}}
		} else {
			listener["listener_filters"] = []object{extension("envoy.filters.listener.tls_inspector",
				"envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector", object{})}
			listener["filter_chains"] = chainsByName(byPort[port])
		}
		all = append(all, listener)
	}
	return all
}

func sortedPorts(byPort map[int][]backend) []int {
	ports := make([]int, 0, len(byPort))
	for port := range byPort {
		ports = append(ports, port)
	}
	slices.Sort(ports)
	return ports
}

// chainsByName choose the backend by the name that the client asks for. TLS is not ended here, and a connection for any
// other name, or without TLS, is closed.
func chainsByName(backends []backend) []object {
	var chains []object
	for _, b := range backends {
		names := []string{strings.ToLower(b.Hostname)}
		for _, alternate := range b.AlternateHostnames {
			names = append(names, strings.ToLower(alternate))
		}
		chains = append(chains, object{
			"filter_chain_match": object{"server_names": names},
			"filters":            []object{tcpProxy(b)},
		})
	}
	return chains
}

func tcpProxy(b backend) object {
	return extension("envoy.filters.network.tcp_proxy", "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy", object{
		"stat_prefix":  b.Name,
		"cluster":      b.Name,
		"idle_timeout": seconds(b.TimeoutSeconds),
	})
}

// clusters are one for each backend. Names of targets are asked for at the resolver, and often: a lab has no time to wait.
func clusters(spec proxyServerSpec, resolver netip.AddrPort) []object {
	all := []object{}
	for _, b := range spec.Backends {
		cluster := object{
			"@type":           typePrefix + "envoy.config.cluster.v3.Cluster",
			"name":            b.Name,
			"connect_timeout": seconds(b.TimeoutSeconds),
			"load_assignment": object{
				"cluster_name": b.Name,
				"endpoints": []object{{"lb_endpoints": []object{{
					"endpoint": object{"address": socketAddress(targetHost(b), b.TargetPort)},
				}}}},
			},
		}
		if isAddress(b.TargetService) {
			cluster["type"] = "STATIC"
		} else {
			cluster["type"] = "STRICT_DNS"
			cluster["dns_lookup_family"] = "V4_ONLY"
			cluster["dns_refresh_rate"] = "0.5s"
			cluster["dns_failure_refresh_rate"] = object{"base_interval": "0.2s", "max_interval": "0.5s"}
			cluster["typed_dns_resolver_config"] = dnsResolver(resolver)
		}
		all = append(all, cluster)
	}
	return all
}

func dnsResolver(resolver netip.AddrPort) object {
	return extension("envoy.network.dns_resolver.cares", "envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig", object{
		"resolvers": []object{socketAddress(resolver.Addr().String(), int(resolver.Port()))},
		// The search list of the machine has nothing to do with the lab.
		"dns_resolver_options":  object{"no_default_search_domain": true},
		"query_timeout_seconds": 1,
		"query_tries":           1,
	})
}

// targetHost is where a backend's target is: a name without a dot is a Service of the target's namespace.
func targetHost(b backend) string {
	if isAddress(b.TargetService) || strings.Contains(b.TargetService, ".") {
		return b.TargetService
	}
	return b.TargetService + "." + b.TargetNamespace + ".svc"
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func socketAddress(host string, port int) object {
	return object{"socket_address": object{"address": host, "port_value": port}}
}

func extension(name, typeName string, config object) object {
	config["@type"] = typePrefix + typeName
	return object{"name": name, "typed_config": config}
}

func seconds(count int) string { return fmt.Sprintf("%ds", count) }
