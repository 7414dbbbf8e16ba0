package appsingress

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// Infra is a VLAN as its Infra object and the attachments on it describe it. What they do not say, or not in a way that can be
// read, is zero.
type Infra struct {
	CIDR        netip.Prefix
	Gateway     netip.Addr
	DHCPServer  netip.Addr
	DNSServer   netip.Addr
	ProxyServer netip.Addr
	DHCPPool    addresspool.Range
	Attachments []InfraAttachment

	// Free are the addresses that nothing of the above has; nil while the CIDR is not known.
	Free []addresspool.Range
}

// InfraAttachment is the ingress of one hosted cluster on a VLAN, as its attachment describes it.
type InfraAttachment struct {
	Name          string
	HostedCluster NamespacedName
	Domain        Domain
	Enabled       bool // whether it has an ingress at all
	Range         addresspool.Range
	Phase         Phase // with reason and message: the operator's own words, empty while they are not about what is wanted now
	Reason        Reason
	Message       string
	Endpoint      Endpoint
}

// ReadInfra reads a VLAN.
func ReadInfra(ctx context.Context, management *kube.Cluster, name NamespacedName) (Infra, error) {
	obj, err := mustFind(ctx, management, kube.Ref{Resource: infraKind(), Namespace: name.Namespace, Name: name.Name})
	if err != nil {
		return Infra{}, err
	}
	attachments, err := findAll(ctx, management, attachmentKind(), name.Namespace)
	if err != nil {
		return Infra{}, err
	}
	component := func(which string) netip.Addr { return specAddress(obj, "infraComponents", which, "serverIP") }
	infra := Infra{
		Gateway:     specAddress(obj, "networkConfig", "gateway"),
		DHCPServer:  component("dhcp"),
		DNSServer:   component("dns"),
		ProxyServer: component("proxy"),
		DHCPPool: specRange(specText(obj, "infraComponents", "dhcp", "rangeStart") + "-" +
			specText(obj, "infraComponents", "dhcp", "rangeEnd")),
	}
	attachments = slices.DeleteFunc(attachments, func(a unstructured.Unstructured) bool {
		return specText(&a, "infraRef", "name") != name.Name
	})
	for i := range attachments {
		infra.Attachments = append(infra.Attachments, attachmentOnInfra(&attachments[i]))
	}
	vlan := vlanOf(obj)
	reserveAttachments(&vlan, attachments)
	if len(infra.Attachments) == 0 {
		reserveOwnIngress(&vlan, obj)
	}
	infra.CIDR, infra.Free = vlan.CIDR, vlan.Free()
	return infra, nil
}

// reserveOwnIngress adds the range of an ingress that the Infra itself has: that is how it was done before there were attachments,
// and what oooi still does as long as there is none.
func reserveOwnIngress(vlan *addresspool.VLAN, infra *unstructured.Unstructured) {
	taken := specRange(specText(infra, "appsIngress", "metallb", "ipAddressPoolRange"))
	if enabled, _, _ := unstructured.NestedBool(infra.Object, "spec", "appsIngress", "enabled"); enabled && !taken.IsZero() {
		vlan.Reserved = append(vlan.Reserved, addresspool.Reservation{What: "the Infra's own apps ingress", Range: taken})
	}
}

// attachmentOnInfra is what an attachment says. A status of an earlier generation, or with an endpoint that the range does not
// hold, is about something else than what is wanted now.
func attachmentOnInfra(obj *unstructured.Unstructured) InfraAttachment {
	a := InfraAttachment{
		Name:          obj.GetName(),
		HostedCluster: attachedCluster(obj),
		Domain:        attachedDomain(obj),
		Range:         specRange(specText(obj, "appsIngress", "metallb", "ipAddressPoolRange")),
	}
	a.Enabled, _, _ = unstructured.NestedBool(obj.Object, "spec", "appsIngress", "enabled")
	endpoint := reportedEndpoint(obj)
	switch outside := endpoint.IP.IsValid() && !a.Range.IsZero() && !a.Range.Contains(endpoint.IP); {
	case !a.Enabled:
	case !upToDate(obj):
		a.Message = "the oooi operator has not reported on the latest change yet"
	case outside:
		a.Message = fmt.Sprintf("the oooi operator still reports %s, which is not in %s", endpoint, a.Range)
	default:
		a.Endpoint = endpoint
		a.Phase, a.Reason, a.Message = reported(obj)
	}
	return a
}

// attachedCluster is the HostedCluster that an attachment names, without a default for the namespace.
func attachedCluster(obj *unstructured.Unstructured) NamespacedName {
	return NamespacedName{Namespace: specText(obj, "hostedClusterRef", "namespace"), Name: specText(obj, "hostedClusterRef", "name")}
}

func attachedDomain(obj *unstructured.Unstructured) Domain {
	return Domain{ClusterName: specText(obj, "dns", "clusterName"), BaseDomain: specText(obj, "dns", "baseDomain")}
}

// specText reads a text of an object's spec; empty when it is not there.
func specText(obj *unstructured.Unstructured, fields ...string) string {
	value, _, _ := unstructured.NestedString(obj.Object, append([]string{"spec"}, fields...)...)
	return value
}

func specAddress(obj *unstructured.Unstructured, fields ...string) netip.Addr {
	address, err := netip.ParseAddr(specText(obj, fields...))
	if err != nil {
		return netip.Addr{}
	}
	return address
}

func specRange(text string) addresspool.Range {
	r, err := addresspool.Parse(text)
	if err != nil {
		return addresspool.Range{}
	}
	return r
}

// mustFind reads an object that has to be there.
func mustFind(ctx context.Context, c *kube.Cluster, ref kube.Ref) (*unstructured.Unstructured, error) {
	obj, err := c.Get(ctx, ref)
	if kube.IsNotFound(err) {
		return nil, absence(ctx, c, ref, err)
	}
	return obj, err
}

// absence is the error for an object that is not there. A cluster that does not serve its kind is most likely the wrong one.
func absence(ctx context.Context, c *kube.Cluster, ref kube.Ref, err error) error {
	if servedErr := mustServe(ctx, c, ref.Resource); servedErr != nil {
		return servedErr
	}
	return &NotFoundError{Object: ref.String(), Cluster: c.String(), Seen: "does not exist", Err: err}
}

func mustServe(ctx context.Context, c *kube.Cluster, kind kube.Resource) error {
	served, err := c.Served(ctx, kind.GroupVersion())
	if err != nil {
		return err
	}
	if !served[kind.Resource] {
		return fmt.Errorf("the %s does not serve %s: is this the management cluster? %w", c, kind.GroupVersion(), errNotServed)
	}
	return nil
}

// NotFoundError says that what was to be read is not there.
type NotFoundError struct {
	Object  string // "Infra clusters/vlan100"
	Cluster string
	Seen    string // what is wrong with it, continuing a sentence that starts with the object
	Err     error
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s %s in the %s", e.Object, e.Seen, e.Cluster)
}

func (e *NotFoundError) Unwrap() error { return e.Err }
