package testcluster_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

func oooi(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "hostedcluster.densityops.com", Version: "v1alpha1", Resource: plural}
}

var (
	kinds = map[string]schema.GroupVersionResource{
		"Infra": oooi("infras"), "InfraClusterAttachment": oooi("infraclusterattachments"),
		"DNSServer": oooi("dnsservers"), "ProxyServer": oooi("proxyservers"),
		"HostedCluster": {Group: "hypershift.openshift.io", Version: "v1beta1", Resource: "hostedclusters"},
		"MetalLB":       {Group: "metallb.io", Version: "v1beta1", Resource: "metallbs"},
	}

	// minimal specs are those that have what is required, and nothing else.
	minimal = map[string]string{
		"Infra": `{networkConfig: {cidr: 198.51.100.0/24}}`,
		"InfraClusterAttachment": `{infraRef: {name: lab}, hostedClusterRef: {name: demo},
      dns: {clusterName: demo, baseDomain: clusters.example.com}}`,
		"DNSServer":   `{networkConfig: {serverIP: 198.51.100.3, proxyIP: 198.51.100.4}, hostedClusterDomain: demo.example.com}`,
		"ProxyServer": `{networkConfig: {serverIP: 198.51.100.4}, backends: [` + backend + `]}`,
	}
)

const backend = `{name: demo-apps-http, hostname: "*.apps.demo.example.com", port: 80, targetService: 198.51.100.200, targetPort: 80,
  targetNamespace: default}`

func TestDefaults(t *testing.T) { //nolint:tparallel // subtests that wait for a turn would keep the clusters from the tests that have it
	t.Parallel()
	cluster := testcluster.Start(t).Management
	tests := map[string]struct{ kind, spec, want string }{
		"infra": {
			"Infra", `{networkConfig: {cidr: 198.51.100.0/24}, infraComponents: {dhcp: {}, dns: {}, proxy: {}}}`,
			`{networkConfig: {cidr: 198.51.100.0/24},
        infraComponents: {dhcp: {enabled: true, leaseTime: 1h}, dns: {enabled: true}, proxy: {enabled: true}}}`,
		},
		"attachment": {
			"InfraClusterAttachment", `{infraRef: {name: lab}, hostedClusterRef: {name: demo},
        dns: {clusterName: demo, baseDomain: example.com}, appsIngress: {service: {}, ports: {}}}`,
			`{infraRef: {name: lab}, hostedClusterRef: {name: demo, namespace: clusters},
        dns: {clusterName: demo, baseDomain: example.com},
        appsIngress: {enabled: false, service: {name: oooi-ingress}, ports: {http: 80, https: 443}}}`,
		},
		"dns server": {"DNSServer", minimal["DNSServer"], `{networkConfig: {serverIP: 198.51.100.3, proxyIP: 198.51.100.4, dnsPort: 53},
        hostedClusterDomain: demo.example.com, reloadInterval: 5s, cacheTTL: 30s}`},
		"proxy server": {"ProxyServer", minimal["ProxyServer"], `{networkConfig: {serverIP: 198.51.100.4}, port: 443, xdsPort: 18000,
        backends: [{name: demo-apps-http, hostname: "*.apps.demo.example.com", port: 80, targetService: 198.51.100.200,
        targetPort: 80, targetNamespace: default, protocol: TCP, timeoutSeconds: 30}]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			created, err := createKind(t, cluster, test.kind, fields(t, test.spec))
			must(t, err)
			if diff := cmp.Diff(fields(t, test.want), toFloats(t, created.Object["spec"])); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusals(t *testing.T) { //nolint:tparallel // subtests that wait for a turn would keep the clusters from the tests that have it
	t.Parallel()
	cluster := testcluster.Start(t).Management
	tests := map[string]struct{ kind, change string }{
		"infra without CIDR":              {"Infra", `{networkConfig: {gateway: 198.51.100.1}}`},
		"infra with a bad CIDR":           {"Infra", `{networkConfig: {cidr: 198.51.100.0}}`},
		"infra with a number as text":     {"Infra", `{networkConfig: {cidr: 198.51.100.0/24}, appsIngress: {ports: {http: "80"}}}`},
		"attachment without infra":        {"InfraClusterAttachment", `{infraRef: null}`},
		"attachment without cluster":      {"InfraClusterAttachment", `{hostedClusterRef: {namespace: clusters}}`},
		"attachment, upper case name":     {"InfraClusterAttachment", `{dns: {clusterName: Demo, baseDomain: example.com}}`},
		"attachment, trailing dot":        {"InfraClusterAttachment", `{dns: {clusterName: demo, baseDomain: example.com.}}`},
		"attachment, domain of one label": {"InfraClusterAttachment", `{dns: {clusterName: demo, baseDomain: example}}`},
		"attachment, port 0":              {"InfraClusterAttachment", `{appsIngress: {ports: {http: 0}}}`},
		"attachment, port 65536":          {"InfraClusterAttachment", `{appsIngress: {ports: {https: 65536}}}`},
		"DNS server without proxy":        {"DNSServer", `{networkConfig: {serverIP: 198.51.100.3}}`},
		"DNS server without domain":       {"DNSServer", `{hostedClusterDomain: null}`},
		"DNS entry without address":       {"DNSServer", `{staticEntries: [{hostname: a.example.com}]}`},
		"DNS entry without name":          {"DNSServer", `{staticEntries: [{ip: 198.51.100.1}]}`},
		"DNS entry with a name as IP":     {"DNSServer", `{staticEntries: [{hostname: a.example.com, ip: b.example.com}]}`},
		"DNS entry with IPv6":             {"DNSServer", `{staticEntries: [{hostname: a.example.com, ip: "2001:db8::1"}]}`},
		"proxy server without backend":    {"ProxyServer", `{backends: []}`},
		"backend without target":          {"ProxyServer", `{backends: [{name: a, hostname: a.example.com, port: 80}]}`},
		"backend with a long name": {"ProxyServer", `{backends: [{name: ` +
			`a123456789012345678901234567890123456789012345678901234567890123, hostname: a.example.com,
      port: 80, targetService: a, targetPort: 80, targetNamespace: default}]}`},
		"backend with an unknown protocol": {"ProxyServer", `{backends: [{name: a, hostname: a.example.com, port: 80,
      targetService: a, targetPort: 80, targetNamespace: default, protocol: SCTP}]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := fields(t, minimal[test.kind])
			maps.Copy(spec, fields(t, test.change))
			maps.DeleteFunc(spec, func(_ string, value any) bool { return value == nil })
			if _, err := createKind(t, cluster, test.kind, spec); !apierrors.IsInvalid(err) {
				t.Errorf("got %v, want that it is refused as invalid", err)
			}
		})
	}
}

func TestOwnKindsPruneWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	for kind, spec := range minimal {
		given := fields(t, spec)
		given["unheardOf"] = "value"
		created, err := createKind(t, cluster, kind, given)
		must(t, err)
		if _, kept, _ := unstructured.NestedString(created.Object, "spec", "unheardOf"); kept {
			t.Errorf("%s keeps a field that it does not know", kind)
		}
	}
	hosted, err := createKind(t, cluster, "HostedCluster", fields(t, `{dns: {baseDomain: example.com}, platform: {type: KubeVirt}}`))
	must(t, err)
	if kept, _, _ := unstructured.NestedString(hosted.Object, "spec", "platform", "type"); kept != "KubeVirt" {
		t.Errorf("a HostedCluster lost a field that is not looked at here")
	}
}

func TestStatusIsASubresource(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	created, err := createKind(t, cluster, "DNSServer", fields(t, minimal["DNSServer"]))
	must(t, err)
	client := cluster.Dynamic(testcluster.UserTest).Resource(kinds["DNSServer"]).Namespace("clusters")
	created.Object["status"] = map[string]any{"serviceName": "lab-dns", "observedGeneration": int64(1)}
	updated, err := client.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
	must(t, err)
	if name, _, _ := unstructured.NestedString(updated.Object, "status", "serviceName"); name != "lab-dns" || updated.GetGeneration() != 1 {
		t.Errorf("status %v, generation %d: want it written, and no new generation", updated.Object["status"], updated.GetGeneration())
	}
	delete(updated.Object, "status")
	kept, err := client.Update(t.Context(), updated, metav1.UpdateOptions{})
	must(t, err)
	if _, there := kept.Object["status"]; !there {
		t.Error("an update of the object took its status away")
	}
}

// An atomic list belongs to whoever applied it last: applying another one replaces all of it, or conflicts.
func TestSharedListsAreAtomic(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Management
	client := cluster.Dynamic(testcluster.UserTest).Resource(kinds["DNSServer"]).Namespace("clusters")
	apply := func(manager, entries string) error {
		obj := object("hostedcluster.densityops.com/v1alpha1", "DNSServer", "clusters", "applied")
		spec := fields(t, minimal["DNSServer"])
		spec["staticEntries"] = fields(t, "{list: "+entries+"}")["list"]
		obj.Object["spec"] = spec
		_, err := client.Apply(t.Context(), "applied", obj, metav1.ApplyOptions{FieldManager: manager})
		return err
	}
	must(t, apply("one", `[{hostname: a.example.com, ip: 198.51.100.1}]`))
	if err := apply("two", `[{hostname: b.example.com, ip: 198.51.100.2}]`); !apierrors.IsConflict(err) {
		t.Errorf("applying another list: got %v, want a conflict", err)
	}
}

func TestMetalLBKind(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t).Hosted
	installed, err := testcluster.MetalLBCRDs()
	must(t, err)
	must(t, cluster.InstallCRDs(t.Context(), installed...))
	obj := object("metallb.io/v1beta1", "MetalLB", "openshift-operators", "metallb")
	obj.Object["spec"] = fields(t, `{loadBalancerClass: example.com/oooi, nodeSelector: {a: b}}`)
	create(t, cluster, kinds["MetalLB"], obj)
	for _, plural := range []string{"ipaddresspools", "l2advertisements"} {
		resource := kinds["MetalLB"].GroupVersion().WithResource(plural)
		_, err := cluster.Dynamic(testcluster.UserTest).Resource(resource).List(t.Context(), metav1.ListOptions{})
		must(t, err)
	}
}

func createKind(t *testing.T, cluster *testcluster.Cluster, kind string, spec map[string]any) (*unstructured.Unstructured, error) {
	t.Helper()
	obj := object(kinds[kind].GroupVersion().String(), kind, "clusters", "")
	obj.SetGenerateName("test-")
	obj.Object["spec"] = spec
	client := cluster.Dynamic(testcluster.UserTest).Resource(kinds[kind]).Namespace("clusters")
	return client.Create(t.Context(), obj, metav1.CreateOptions{})
}

// fields parses YAML. Its numbers are what JSON decodes to, as those of toFloats.
func fields(t *testing.T, text string) map[string]any {
	t.Helper()
	var parsed map[string]any
	must(t, yaml.Unmarshal([]byte(text), &parsed))
	return parsed
}

func toFloats(t *testing.T, value any) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(value)
	must(t, err)
	return fields(t, string(text))
}
