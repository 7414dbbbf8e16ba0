package simulator

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type ownedKind struct {
	resource        schema.GroupVersionResource
	kind, component string
}

// ownedKinds are what an Infra owns, each one called <infra>-<component>. DHCP is left out: it concerns nobody here.
var ownedKinds = []ownedKind{
	{dnsServersResource, "DNSServer", "dns"},
	{proxyServersResource, "ProxyServer", "proxy"},
}

// publish makes the specs of the Infra's DNSServer and ProxyServer what follows from the Infra and these attachments.
func (o *Oooi) publish(ctx context.Context, infra *unstructured.Unstructured, attached []attachmentSpec) error {
	internal, err := o.internalProxy(ctx, infra)
	if err != nil {
		return err
	}
	specs := map[string]object{"dns": dnsSpec(infra, internal, attached), "proxy": proxySpec(infra, attached)}
	for _, kind := range ownedKinds {
		name := infra.GetName() + "-" + kind.component
		if err := o.publishOne(ctx, infra, kind, name, specs[kind.component]); err != nil {
			return fmt.Errorf("%s %s: %w", kind.kind, name, err)
		}
	}
	return nil
}

func (o *Oooi) publishOne(ctx context.Context, infra *unstructured.Unstructured, kind ownedKind, name string, spec object) error {
	api := o.client.Resource(kind.resource)
	live, found, err := lookup(ctx, api, infra.GetNamespace(), name)
	if err != nil {
		return err
	}
	owner := (*metav1.OwnerReference)(nil)
	if found {
		owner = metav1.GetControllerOf(live)
	}
	mine := owner != nil && owner.UID == infra.GetUID()
	switch {
	case found && live.GetDeletionTimestamp() != nil:
		return nil // its end is an event
	case owner != nil && !mine && owner.Kind == "Infra" && owner.Name == infra.GetName():
		return remove(ctx, api, infra.GetNamespace(), name) // left by an earlier Infra; its end is an event
	case owner != nil && !mine:
		return fmt.Errorf("it belongs to %s %s", owner.Kind, owner.Name)
	case !componentEnabled(infra, kind.component):
		if mine {
			return remove(ctx, api, infra.GetNamespace(), name)
		}
		return nil
	case !found:
		u := newObject(oooiVersion, kind.kind, infra.GetNamespace(), name)
		u.Object["spec"] = spec
		own(u, infra)
		_, err = api.Namespace(infra.GetNamespace()).Create(ctx, u, metav1.CreateOptions{FieldManager: oooiName})
		return err
	case mine && sameJSON(live.Object["spec"], spec):
		return nil
	}
	live.Object["spec"] = spec
	if !mine {
		own(live, infra)
	}
	_, err = api.Namespace(infra.GetNamespace()).Update(ctx, live, metav1.UpdateOptions{FieldManager: oooiName})
	return err
}

func own(u, infra *unstructured.Unstructured) {
	yes := true
	u.SetOwnerReferences(append(u.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: oooiVersion, Kind: "Infra", Name: infra.GetName(), UID: infra.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
	}))
}

// internalProxy is the address that pods reach Envoy at: given as such, or as the name of a Service.
func (o *Oooi) internalProxy(ctx context.Context, infra *unstructured.Unstructured) (string, error) {
	given := text(infra, "spec", "infraComponents", "proxy", "internalProxyService")
	if _, err := netip.ParseAddr(given); err == nil || given == "" {
		return given, nil
	}
	parts := strings.SplitN(given, ".", 3)
	if len(parts) < 2 {
		return "", nil
	}
	service, found, err := lookup(ctx, o.client.Resource(servicesResource), parts[1], parts[0])
	if err != nil || !found {
		return "", err
	}
	return text(service, "spec", "clusterIP"), nil
}

// network are the fields of an Infra that its components share.
func network(infra *unstructured.Unstructured, more map[string]string) object {
	all := object{}
	for field, value := range more {
		if value != "" || field == "serverIP" || field == "proxyIP" {
			all[field] = value
		}
	}
	for field, from := range map[string]string{
		"networkAttachmentName": "networkAttachmentDefinition", "networkAttachmentNamespace": "networkAttachmentNamespace",
	} {
		if value := text(infra, "spec", "networkConfig", from); value != "" {
			all[field] = value
		}
	}
	return all
}

// dnsSpec has every default that the API server would set, so that it compares with what is live.
func dnsSpec(infra *unstructured.Unstructured, internal string, attached []attachmentSpec) object {
	proxy := text(infra, "spec", "infraComponents", "proxy", "serverIP")
	shared := network(infra, map[string]string{
		"serverIP": text(infra, "spec", "infraComponents", "dns", "serverIP"), "proxyIP": proxy, "internalProxyIP": internal,
		"secondaryNetworkCIDR": text(infra, "spec", "networkConfig", "cidr"),
	})
	shared["dnsPort"] = int64(53)
	domain := infra.GetName() + ".invalid"
	var entries []any
	for i, spec := range attached {
		if i == 0 {
			domain = spec.baseDomain
		}
		if proxy != "" {
			entries = append(entries,
				object{"hostname": "api." + spec.domain, "ip": proxy}, object{"hostname": "api-int." + spec.domain, "ip": proxy})
		}
		if spec.exposed() && spec.reportedAddress.ip != "" {
			entries = append(entries, object{"hostname": "*.apps." + spec.domain, "ip": spec.reportedAddress.ip})
		}
	}
	spec := object{"networkConfig": shared, "hostedClusterDomain": domain, "reloadInterval": "5s", "cacheTTL": "30s"}
	if len(entries) > 0 {
		spec["staticEntries"] = entries
	}
	if servers, _, _ := unstructured.NestedSlice(infra.Object, "spec", "networkConfig", "dnsServers"); len(servers) > 0 {
		spec["upstreamDNS"] = servers
	}
	if image := text(infra, "spec", "infraComponents", "dns", "image"); image != "" {
		spec["image"] = image
	}
	return spec
}

// proxySpec always has a backend: the API servers, and without any a placeholder.
func proxySpec(infra *unstructured.Unstructured, attached []attachmentSpec) object {
	var backends []any
	for _, spec := range attached {
		backends = append(backends, object{
			"name": spec.backendsPrefix + "api", "hostname": "api." + spec.domain, "alternateHostnames": []any{"api-int." + spec.domain},
			"port": int64(6443), "targetService": spec.apiServer, "targetPort": int64(6443), "targetNamespace": spec.controlPlane,
			"protocol": "TCP", "timeoutSeconds": int64(30),
		})
		if spec.exposed() {
			backends = append(backends, spec.backend("http", spec.http), spec.backend("https", spec.https))
		}
	}
	if len(backends) == 0 {
		backends = []any{object{
			"name": "placeholder", "hostname": "placeholder." + infra.GetName() + ".invalid", "port": int64(6443),
			"targetService": "placeholder", "targetPort": int64(6443), "targetNamespace": infra.GetNamespace(),
			"protocol": "TCP", "timeoutSeconds": int64(30),
		}}
	}
	spec := object{
		"networkConfig": network(infra, map[string]string{"serverIP": text(infra, "spec", "infraComponents", "proxy", "serverIP")}),
		"backends":      backends, "port": int64(443), "xdsPort": int64(18000),
	}
	for _, image := range []string{"proxyImage", "managerImage"} {
		if value := text(infra, "spec", "infraComponents", "proxy", image); value != "" {
			spec[image] = value
		}
	}
	return spec
}

// exposed says that the endpoint is to be published. It goes by the phase alone, not by the generation it is for.
func (s attachmentSpec) exposed() bool {
	return s.enabled && s.reportedPhase == phaseReady && s.reportedAddress != endpointAddress{}
}

func (s attachmentSpec) backend(name string, port int64) object {
	return object{
		"name": s.backendsPrefix + "apps-" + name, "hostname": "*.apps." + s.domain, "port": port,
		"targetService": s.reportedAddress.String(), "targetPort": port, "targetNamespace": "default",
		"protocol": "TCP", "timeoutSeconds": int64(30),
	}
}
