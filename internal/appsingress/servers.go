package appsingress

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// Servers are where an ingress is published, as the management cluster describes them.
type Servers struct {
	DNS   DNSServer
	Proxy ProxyServer
}

// DNSServer is a DNS server with two views. What its object does not say, or not in a way that can be read, is zero.
type DNSServer struct {
	Name NamespacedName // zero: none is published at
	Err  error          // why the object is not known

	VLAN          netip.AddrPort // where clients on the VLAN ask
	Pod           netip.AddrPort // where everybody else asks
	Network       netip.Prefix   // the VLAN: whoever asks from there gets its view
	InternalProxy netip.Addr     // what the other view answers; zero: nothing
}

// ProxyServer is the Envoy in front of ingresses.
type ProxyServer struct {
	Name NamespacedName // zero: none is published at
	Err  error          // why the object is not known

	VLAN netip.Addr // where clients on the VLAN connect to
}

// ReadServers reads both objects side by side. What cannot be read is told beside what can.
func ReadServers(ctx context.Context, management *kube.Cluster, namespace string, publish Publish) Servers {
	var (
		servers Servers
		both    sync.WaitGroup
	)
	read := func(kind kube.Resource, name NamespacedName, describe func(obj *unstructured.Unstructured, err error)) {
		if name.Name != "" {
			both.Go(func() {
				describe(mustFind(ctx, management, kube.Ref{Resource: kind, Namespace: name.Namespace, Name: name.Name}))
			})
		}
	}
	dns := NamespacedName{Namespace: namespace, Name: publish.DNSServer}
	read(dnsServerKind(), dns, func(obj *unstructured.Unstructured, err error) { servers.DNS = dnsServer(dns, obj, err) })
	proxy := NamespacedName{Namespace: namespace, Name: publish.ProxyServer}
	read(proxyServerKind(), proxy, func(obj *unstructured.Unstructured, err error) { servers.Proxy = proxyServer(proxy, obj, err) })
	both.Wait()
	return servers
}

// IsNotServed says that a cluster does not know the kind that was asked for: most likely it is another cluster than was meant.
func IsNotServed(err error) bool { return errors.Is(err, errNotServed) }

func dnsServer(name NamespacedName, obj *unstructured.Unstructured, err error) DNSServer {
	s := DNSServer{Name: name, Err: err}
	if err != nil {
		return s
	}
	port := dnsPort(obj)
	if address := specAddress(obj, "networkConfig", "serverIP"); address.IsValid() {
		s.VLAN = netip.AddrPortFrom(address, port)
	}
	clusterIP, _, _ := unstructured.NestedString(obj.Object, "status", "serviceClusterIP")
	if address, err := netip.ParseAddr(clusterIP); err == nil {
		s.Pod = netip.AddrPortFrom(address, port)
	}
	if network, err := netip.ParsePrefix(specText(obj, "networkConfig", "secondaryNetworkCIDR")); err == nil {
		s.Network = network.Masked()
	}
	s.InternalProxy = specAddress(obj, "networkConfig", "internalProxyIP")
	return s
}

// dnsPort is the port that a DNS server listens on. An object of before the API server filled in its defaults names none.
func dnsPort(obj *unstructured.Unstructured) uint16 {
	const domain = 53
	port, _, _ := unstructured.NestedInt64(obj.Object, "spec", "networkConfig", "dnsPort")
	if port < 1 || port > math.MaxUint16 {
		return domain
	}
	return uint16(port)
}

func proxyServer(name NamespacedName, obj *unstructured.Unstructured, err error) ProxyServer {
	s := ProxyServer{Name: name, Err: err}
	if err == nil {
		s.VLAN = specAddress(obj, "networkConfig", "serverIP")
	}
	return s
}
