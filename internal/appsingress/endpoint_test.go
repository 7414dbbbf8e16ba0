package appsingress

import (
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func serviceWithIngress(entries ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"status": map[string]any{"loadBalancer": map[string]any{"ingress": entries}},
	}}
}

func TestFittingEndpoint(t *testing.T) {
	t.Parallel()
	ip := func(s string) any { return map[string]any{"ip": s, "ipMode": "VIP"} }
	hostname := func(s string) any { return map[string]any{"hostname": s} }
	pinned := func(s *Spec) { s.Service.LoadBalancerIP = netip.MustParseAddr("198.51.100.210") }
	for name, test := range map[string]struct {
		service *unstructured.Unstructured
		change  func(*Spec)
		want    string
	}{
		"no Service":                     {},
		"no status":                      {service: &unstructured.Unstructured{Object: map[string]any{}}},
		"empty entry":                    {service: serviceWithIngress(map[string]any{})},
		"an address":                     {service: serviceWithIngress(ip("198.51.100.200")), want: "198.51.100.200"},
		"an address of an earlier range": {service: serviceWithIngress(ip("198.51.100.10"))},
		"not an address":                 {service: serviceWithIngress(ip("pending"))},
		"a host name":                    {service: serviceWithIngress(hostname("lb.example.com")), want: "lb.example.com"},
		"v6 first":                       {service: serviceWithIngress(ip("2001:db8::1"), ip("198.51.100.201")), want: "198.51.100.201"},
		"v4 first":                       {service: serviceWithIngress(ip("198.51.100.201"), ip("2001:db8::1")), want: "198.51.100.201"},
		"only v6":                        {service: serviceWithIngress(ip("2001:db8::1"))},
		"two, ascending":                 {service: serviceWithIngress(ip("198.51.100.201"), ip("198.51.100.202")), want: "198.51.100.201"},
		"two, descending":                {service: serviceWithIngress(ip("198.51.100.202"), ip("198.51.100.201")), want: "198.51.100.201"},
		"an address before a host name":  {service: serviceWithIngress(hostname("a.example.com"), ip("198.51.100.201")), want: "198.51.100.201"},
		"host names, whatever the order": {
			service: serviceWithIngress(hostname("b.example.com"), hostname("a.example.com")), want: "a.example.com",
		},
		"pinned":              {service: serviceWithIngress(ip("198.51.100.210")), change: pinned, want: "198.51.100.210"},
		"pinned to another":   {service: serviceWithIngress(ip("198.51.100.200")), change: pinned},
		"pinned, a host name": {service: serviceWithIngress(hostname("lb.example.com")), change: pinned},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := testSpec(t)
			if test.change != nil {
				test.change(&spec)
			}
			if got := fittingEndpoint(spec, test.service).String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSettledWaitsForTheNewPool(t *testing.T) {
	t.Parallel()
	service := serviceWithIngress(map[string]any{"ip": "198.51.100.200"})
	service.SetAnnotations(map[string]string{newMetalLBPrefix + fromAnnotation: "old-pool"})
	r := &run{spec: testSpec(t)}
	if verdict, err := r.settled(service); err != nil || !verdict.Done {
		t.Errorf("no address is held: got %v, %v", verdict, err)
	}
	r.held = Endpoint{IP: netip.MustParseAddr("198.51.100.200")}
	if verdict, err := r.settled(service); err != nil || verdict.Done {
		t.Errorf("the status is what the old pool left: got %v, %v", verdict, err)
	}
	service.SetAnnotations(map[string]string{newMetalLBPrefix + fromAnnotation: r.spec.MetalLB.AddressPoolName})
	if verdict, err := r.settled(service); err != nil || !verdict.Done {
		t.Errorf("the address is from the new pool: got %v, %v", verdict, err)
	}
}
