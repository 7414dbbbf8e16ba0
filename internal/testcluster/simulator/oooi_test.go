package simulator_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

const (
	oooiGroup   = "hostedcluster.densityops.com"
	clusters    = "clusters"
	demoDomain  = "demo.clusters.example.com"
	firstOfApps = "198.51.100.200"
)

var (
	infras       = resource(oooiGroup, "v1alpha1", "infras")
	attachments  = resource(oooiGroup, "v1alpha1", "infraclusterattachments")
	dnsServers   = resource(oooiGroup, "v1alpha1", "dnsservers")
	proxyServers = resource(oooiGroup, "v1alpha1", "proxyservers")
)

// startOooi runs everything, with an Infra, and with HostedClusters that all lead to the one hosted cluster. The operator
// never looks twice by itself within a test unless its options say so.
func startOooi(t *testing.T, options simulator.OooiOptions, changes ...func(*testcluster.Pair, *simulator.Config)) *fixture {
	t.Helper()
	binary, err := testcluster.Binary("metallb-controller")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, func(pair *testcluster.Pair, config *simulator.Config) {
		config.Management = pair.Management.REST(testcluster.UserSimulator)
		config.Hosted = pair.Hosted.REST(testcluster.UserSimulator)
		config.Workers = worker()
		config.OLM = &simulator.OLMOptions{CRDs: metalLBCRDs(t)}
		config.MetalLB = &simulator.MetalLBOperatorOptions{Start: simulator.RealController{
			Binary: binary, Kubeconfig: pair.Hosted.Kubeconfig(testcluster.UserMetalLB), Namespace: operatorNamespace,
			LogFile: filepath.Join(t.TempDir(), "metallb.log"),
		}.Start}
		config.Oooi = &options
		for _, name := range []string{"demo", "other"} {
			config.HostedClusters = append(config.HostedClusters, simulator.HostedCluster{
				Name: name, BaseDomain: "clusters.example.com",
				Kubeconfig: pair.Hosted.KubeconfigBytesThroughProxy(testcluster.UserProvider),
			})
		}
		for _, change := range changes {
			change(pair, config)
		}
	})
	s.create(infras, newObject(oooiGroup+"/v1alpha1", "Infra", clusters, "vlan", map[string]any{
		"networkConfig": map[string]any{"cidr": "198.51.100.0/24", "dnsServers": []any{"198.51.100.1"}},
		"infraComponents": map[string]any{
			"dns":   map[string]any{"serverIP": "198.51.100.3"},
			"proxy": map[string]any{"serverIP": "198.51.100.4", "internalProxyService": "172.30.0.80"},
		},
	}))
	return s
}

// attachment is one with the ingress enabled, for the hosted cluster of its name.
func attachment(name string) *unstructured.Unstructured {
	return newObject(oooiGroup+"/v1alpha1", "InfraClusterAttachment", clusters, name, map[string]any{
		"infraRef":         map[string]any{"name": "vlan"},
		"hostedClusterRef": map[string]any{"name": name},
		"dns":              map[string]any{"clusterName": name, "baseDomain": "clusters.example.com"},
		"appsIngress": map[string]any{
			"enabled": true,
			"metallb": map[string]any{"addressPoolName": "apps", "ipAddressPoolRange": "198.51.100.200-198.51.100.209"},
		},
	})
}

// touch changes an annotation of an attachment, so that the operator looks at it.
func (f *fixture) touch(name string) {
	f.t.Helper()
	f.patch(attachments, clusters, name, fmt.Sprintf(`{"metadata":{"annotations":{"touched":%q}}}`, time.Now().Format(time.RFC3339Nano)))
}

// touchUntil touches an attachment until it is as wanted, and the operator has looked since the last touch and is idle.
func (f *fixture) touchUntil(name, what string, want state) {
	f.t.Helper()
	const idle = 300 * time.Millisecond // a look takes much less
	touched := time.Time{}
	f.eventually(attachments, clusters, name, what, func(u *unstructured.Unstructured) bool {
		looked := f.lastLook(name)
		switch {
		case looked.Before(touched) || time.Since(looked) < idle:
			return false
		case !touched.IsZero() && want(u):
			return true
		}
		touched = time.Now()
		f.touch(name)
		return false
	})
}

// lastLook is when the operator last looked at an attachment.
func (f *fixture) lastLook(name string) time.Time {
	last := time.Time{}
	for _, m := range f.Timeline().Moments() {
		if m.Event == simulator.AttachmentReconciled && m.Object == clusters+"/"+name {
			last = m.At
		}
	}
	return last
}

func phase(phase, reason string) state {
	return func(u *unstructured.Unstructured) bool {
		return field(phase, "status", "appsIngressStatus", "phase")(u) && field(reason, "status", "appsIngressStatus", "reason")(u)
	}
}

func readyAt(ip string) state {
	return func(u *unstructured.Unstructured) bool {
		return phase("Ready", "ReconciliationSucceeded")(u) && field(ip, "status", "appsIngressStatus", "externalIP")(u)
	}
}

// entry looks for one entry of a list of the spec; with no value it must be absent.
func entry(list, hostname, key, value string) state {
	return func(u *unstructured.Unstructured) bool {
		if u == nil {
			return false
		}
		all, _, _ := unstructured.NestedSlice(u.Object, "spec", list)
		for _, e := range all {
			if m, ok := e.(map[string]any); ok && m["hostname"] == hostname {
				return value != "" && m[key] == value
			}
		}
		return value == ""
	}
}

func record(name, ip string) state {
	return entry("staticEntries", "*.apps."+name+".clusters.example.com", "ip", ip)
}

func backends(name, target string) state {
	return entry("backends", "*.apps."+name+".clusters.example.com", "targetService", target)
}

// publishedIs waits for the entry and the backends of an attachment; without an address, for their absence.
func (f *fixture) publishedIs(name, ip string) {
	f.t.Helper()
	f.eventually(dnsServers, clusters, "vlan-dns", name+"'s record "+ip, record(name, ip))
	f.eventually(proxyServers, clusters, "vlan-proxy", name+"'s backends "+ip, backends(name, ip))
}

func TestOooiInstallsOneLookAtATime(t *testing.T) {
	s := startOooi(t, simulator.OooiOptions{}, func(_ *testcluster.Pair, config *simulator.Config) {
		config.Workers = []simulator.Node{{Name: "worker-1", NotReady: true}}
	})
	s.create(attachments, attachment("demo"))
	s.touchUntil("demo", "waiting for nodes", phase("Pending", "WaitingForHostedClusterNodes"))
	s.steadily(subscriptions, operatorNamespace, "metallb-operator", "no subscription before a worker", gone)
	s.OLM.SetFaults(simulator.OLMFaults{Hold: simulator.StageCRDs})
	if err := s.Nodes.SetReady(t.Context(), "worker-1", true); err != nil {
		t.Fatal(err)
	}
	s.steadily(subscriptions, operatorNamespace, "metallb-operator", "no subscription without a touch", gone)
	s.touch("demo")
	s.eventually(attachments, clusters, "demo", "waiting for CRDs", phase("Pending", "WaitingForMetalLBCRDs"))
	s.OLM.SetFaults(simulator.OLMFaults{})
	s.subscriptionIs("installed", field(defaultCSV, "status", "installedCSV"))
	s.steadily(attachments, clusters, "demo", "no look without a touch", phase("Pending", "WaitingForMetalLBCRDs"))
	s.touch("demo")
	s.addressIs("oooi-ingress", firstOfApps)
	s.steadily(attachments, clusters, "demo", "no look without a touch", phase("Pending", "WaitingForExternalIP"))
	s.touchUntil("demo", "Ready", readyAt(firstOfApps))
	s.publishedIs("demo", firstOfApps)
}

func TestOooiFaults(t *testing.T) {
	s := startOooi(t, simulator.OooiOptions{})
	s.Oooi.SetFaults(simulator.OooiFaults{Stopped: true})
	s.create(attachments, attachment("demo"))
	s.steadily(attachments, clusters, "demo", "no look", phase("", ""))
	s.Oooi.SetFaults(simulator.OooiFaults{
		Unpublished: true, Degraded: &simulator.OooiFailure{Attachment: "demo", Reason: "IngressServiceFailed", Message: "refused"},
	})
	s.eventually(attachments, clusters, "demo", "Degraded", phase("Degraded", "IngressServiceFailed"))
	s.Oooi.SetFaults(simulator.OooiFaults{Unpublished: true})
	s.touchUntil("demo", "Ready", readyAt(firstOfApps))
	s.steadily(dnsServers, clusters, "vlan-dns", "no record", func(u *unstructured.Unstructured) bool {
		return u == nil || record("demo", "")(u)
	})
	s.Oooi.SetFaults(simulator.OooiFaults{KeepDeleting: true})
	s.publishedIs("demo", firstOfApps)
	s.delete(attachments, clusters, "demo")
	s.steadily(attachments, clusters, "demo", "the finalizer stays", there)
	s.Oooi.SetFaults(simulator.OooiFaults{})
	s.eventually(attachments, clusters, "demo", "gone", gone)
}
