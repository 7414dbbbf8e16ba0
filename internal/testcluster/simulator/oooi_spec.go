package simulator

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// attachmentSpec is what an attachment asks for, with the operator's defaults.
type attachmentSpec struct {
	key             types.NamespacedName
	hostedCluster   types.NamespacedName
	domain          string
	baseDomain      string
	controlPlane    string // namespace
	apiServer       string // Service in it
	enabled         bool
	names           hostedNames
	addresses       string
	labels          map[string]string
	annotations     map[string]string
	http, https     int64
	backendsPrefix  string
	changed         bool // since the last report
	reportedPhase   string
	reportedAddress endpointAddress
}

// hostedNames are those of the objects in the hosted cluster that can be called differently.
type hostedNames struct {
	pool, advertisement, service, serviceNamespace string
}

// endpointAddress is one or the other.
type endpointAddress struct{ ip, hostname string }

func (a endpointAddress) String() string { return a.ip + a.hostname }

func (o *Oooi) readAttachment(u *unstructured.Unstructured) attachmentSpec {
	read := func(fallback string, path ...string) string {
		if value := text(u, append([]string{"spec"}, path...)...); value != "" {
			return value
		}
		return fallback
	}
	number := func(fallback int64, path ...string) int64 {
		if value, ok, _ := unstructured.NestedInt64(u.Object, append([]string{"spec", "appsIngress"}, path...)...); ok {
			return value
		}
		return fallback
	}
	s := attachmentSpec{
		key: keyOf(u),
		hostedCluster: types.NamespacedName{
			Namespace: read("clusters", "hostedClusterRef", "namespace"), Name: read("", "hostedClusterRef", "name"),
		},
		baseDomain: read("", "dns", "baseDomain"),
		domain:     read("", "dns", "clusterName") + "." + read("", "dns", "baseDomain"),
		apiServer:  read("kube-apiserver", "apiServerService"),
		names: hostedNames{
			pool:             read("", "appsIngress", "metallb", "addressPoolName"),
			service:          read("oooi-ingress", "appsIngress", "service", "name"),
			serviceNamespace: read("openshift-ingress", "appsIngress", "service", "namespace"),
		},
		addresses:      read("", "appsIngress", "metallb", "ipAddressPoolRange"),
		http:           number(80, "ports", "http"),
		https:          number(443, "ports", "https"),
		backendsPrefix: backendsPrefix(u.GetName(), o.options.NameLength),
		reportedPhase:  text(u, "status", "appsIngressStatus", "phase"),
		reportedAddress: endpointAddress{
			ip:       text(u, "status", "appsIngressStatus", "externalIP"),
			hostname: text(u, "status", "appsIngressStatus", "externalHostname"),
		},
	}
	s.names.advertisement = read("advertise-"+s.names.pool, "appsIngress", "metallb", "l2AdvertisementName")
	s.controlPlane = read(s.hostedCluster.Namespace+"-"+s.hostedCluster.Name, "controlPlaneNamespace")
	s.enabled, _, _ = unstructured.NestedBool(u.Object, "spec", "appsIngress", "enabled")
	s.labels, _, _ = unstructured.NestedStringMap(u.Object, "spec", "appsIngress", "service", "labels")
	s.annotations, _, _ = unstructured.NestedStringMap(u.Object, "spec", "appsIngress", "service", "annotations")
	observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	s.changed = observed != u.GetGeneration()
	return s
}

// applied are the names of the objects that were made for the attachment; the zero value when there are none.
func applied(u *unstructured.Unstructured) hostedNames {
	return hostedNames{
		pool:             text(u, "status", "appsIngressStatus", "appliedAddressPoolName"),
		advertisement:    text(u, "status", "appsIngressStatus", "appliedL2AdvertisementName"),
		service:          text(u, "status", "appsIngressStatus", "appliedServiceName"),
		serviceNamespace: text(u, "status", "appsIngressStatus", "appliedServiceNamespace"),
	}
}

// moved says that the objects that were made have other names than are wanted now. The advertisement does not count.
func (n hostedNames) moved(wanted hostedNames) bool {
	n.advertisement, wanted.advertisement = "", ""
	return n != hostedNames{} && n != wanted
}

// backendsPrefix is the part of an attachment's name that its backends are called after.
func backendsPrefix(name string, length int) string {
	clean := strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return clean[:min(len(clean), length)] + "-"
}
