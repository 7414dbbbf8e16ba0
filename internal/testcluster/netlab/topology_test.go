package netlab_test

import (
	"errors"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
)

// startNetworks starts a lab without clusters.
func startNetworks(t *testing.T) *netlab.Lab {
	t.Helper()
	needLab(t)
	began := time.Now()
	lab, err := netlab.Start(t.Context(), netlab.Options{Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the networks took %s to start", time.Since(began).Round(time.Millisecond))
	t.Cleanup(lab.Close)
	return lab
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	lab := startNetworks(t)
	for _, address := range []string{netlab.DNSAddress, netlab.DNSClusterIP} {
		listener, err := lab.DNS.Listen(t.Context(), "tcp", address+":53")
		if err != nil {
			t.Fatal(err)
		}
		serve(t, listener, address)
	}
	for _, test := range []struct {
		name    string
		from    *netlab.Namespace
		address string
		err     error
	}{
		{"on the VLAN", lab.Client, netlab.DNSAddress, nil},
		{"from a worker", lab.Workers[1].Namespace, netlab.DNSAddress, nil},
		{"from Envoy", lab.Proxy, netlab.DNSAddress, nil},
		{"on the pod network", lab.PodClient, netlab.DNSClusterIP, nil},
		{"from the VLAN to the pod network", lab.Client, netlab.DNSClusterIP, syscall.ENETUNREACH},
		{"from the pod network to the VLAN", lab.PodClient, netlab.DNSAddress, syscall.ENETUNREACH},
		{"nobody there", lab.Client, "198.51.100.99", syscall.EHOSTUNREACH},
	} {
		got, err := read(t.Context(), test.from.Dial, test.address+":53")
		if !errors.Is(err, test.err) || err == nil && got != test.address {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
	answers, err := lab.Client.WhoHas(t.Context(), netlab.VLANLink, netip.MustParseAddr(netlab.DNSAddress), arpWait)
	if err != nil || len(answers) != 1 || !slices.Equal(answers[0], hardwareAddress(t, lab.DNS)) {
		t.Errorf("the DNS server is said to be at %v, %v", answers, err)
	}
	answers, err = lab.Client.WhoHas(t.Context(), netlab.VLANLink, netip.MustParseAddr(netlab.DNSClusterIP), arpWait)
	if err != nil || answers != nil {
		t.Errorf("an address of the pod network is answered for on the VLAN by %v, %v", answers, err)
	}
}

// The links of the machine and their addresses are the same with a lab as without. (No packet is sent to find out.)
func TestMachineIsLeftAlone(t *testing.T) {
	needLab(t)
	before := links(t)
	startNetworks(t)
	if now := links(t); !maps.Equal(before, now) {
		t.Errorf("the machine's links were %v, and are %v", before, now)
	}
}

func links(t *testing.T) map[string]string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, link := range all {
		addresses, err := link.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		found[link.Name] = link.HardwareAddr.String()
		for _, address := range addresses {
			found[link.Name] += " " + address.String()
		}
	}
	return found
}

func TestOptionsAreRefused(t *testing.T) {
	t.Parallel()
	needLab(t)
	elsewhere := filepath.Join(t.TempDir(), "kubeconfig")
	content := "apiVersion: v1\nkind: Config\ncurrent-context: a\n" +
		"clusters: [{name: a, cluster: {server: 'https://api.example.com:6443'}}]\ncontexts: [{name: a, context: {cluster: a}}]\n"
	if err := os.WriteFile(elsewhere, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, options := range map[string]netlab.Options{
		"it has room for":  {Workers: 21},
		"needs its domain": {Hosted: &rest.Config{}},
		"not to a port of": {Hosted: &rest.Config{}, Domain: domain, Kubeconfig: elsewhere},
		"no such file":     {Hosted: &rest.Config{}, Domain: domain, Kubeconfig: elsewhere + ".missing"},
	} {
		lab, err := netlab.Start(t.Context(), options)
		if err == nil {
			lab.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not why there is no lab: %v", want, err)
		}
	}
}
