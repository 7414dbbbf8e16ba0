package appsingress

import (
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
)

// testSpec is a complete spec, which each test changes where it has to.
func testSpec(t *testing.T, change ...func(*Spec)) Spec {
	t.Helper()
	const text = "198.51.100.200-198.51.100.220"
	pool, err := addresspool.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{
		Namespace:     DefaultNamespace,
		Name:          "demo",
		Mode:          ModeDirect,
		Publish:       Publish{DNSServer: "vlan100-dns", ProxyServer: "vlan100-proxy"},
		HostedCluster: NamespacedName{Namespace: DefaultNamespace, Name: "demo"},
		Domain:        Domain{ClusterName: "demo", BaseDomain: "clusters.example.com"},
		MetalLB: MetalLB{
			Namespace:           DefaultMetalLBNamespace,
			Install:             true,
			AddressPoolName:     "apps-pool",
			Range:               pool,
			RangeText:           text,
			L2AdvertisementName: DefaultL2AdvertisementName("apps-pool"),
			Subscription: Subscription{
				Channel: DefaultChannel, Source: DefaultSource, SourceNamespace: DefaultSourceNamespace, Package: DefaultPackage,
			},
		},
		Service: Service{
			Namespace: DefaultServiceNamespace, Name: DefaultServiceName, ExternalTrafficPolicy: DefaultExternalTrafficPolicy,
		},
		Ports: Ports{HTTP: DefaultHTTPPort, HTTPS: DefaultHTTPSPort},
	}
	for _, c := range change {
		c(&spec)
	}
	return spec
}
