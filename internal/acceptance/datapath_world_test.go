package acceptance

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

const (
	appName  = "hello.apps.demo.clusters.example.com"
	vlanDNS  = netlab.DNSAddress + ":53"
	podDNS   = netlab.DNSClusterIP + ":53"
	silence  = 300 * time.Millisecond // how long an answer to an ARP request is waited for
	nxdomain = "NXDOMAIN"
)

// newDataPath is a world with networks: the workers are on a VLAN and run MetalLB's speaker and a router, CoreDNS and Envoy
// do what the DNSServer and the ProxyServer say.
func newDataPath(t *testing.T, changes ...func(*setup)) *world {
	t.Helper()
	testcluster.SkipWithout(t, netlab.DataPathAvailable())
	w := newWorld(t, append([]func(*setup){networks}, changes...)...)
	w.settled()
	return w
}

// newAttachedDataPath is newDataPath with an Infra, and the operator that works for it.
func newAttachedDataPath(t *testing.T) *world {
	t.Helper()
	w := newDataPath(t, patientOperator)
	w.infra()
	return w
}

func networks(s *setup) { s.networks = true }

// startLab starts the networks. API servers are on the loopback of this machine: the clients get a way there.
func (w *world) startLab(s setup) {
	w.t.Helper()
	dnsServer, proxyServer := dnsName, proxyName
	if s.Oooi != nil {
		dnsServer, proxyServer = infraDNS, infraProxy
	}
	lab, err := netlab.StartDataPath(w.t.Context(), netlab.Options{
		Hosted: w.pair.Hosted.REST(testcluster.UserSimulator), Kubeconfig: w.pair.Hosted.Kubeconfig(testcluster.UserMetalLB),
		Domain: clusterName + "." + baseDomain, LogDir: w.t.TempDir(), Logf: w.t.Logf,
	}, netlab.Published{
		Management:  w.pair.Management.REST(testcluster.UserSimulator),
		DNSServer:   types.NamespacedName{Namespace: "clusters", Name: dnsServer},
		ProxyServer: types.NamespacedName{Namespace: "clusters", Name: proxyServer},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(lab.Close)
	w.lab = lab
	for _, cluster := range []*testcluster.Cluster{w.pair.Management, w.pair.Hosted} {
		address, err := url.Parse(cluster.URL)
		if err != nil {
			w.t.Fatal(err)
		}
		port, err := strconv.Atoi(address.Port())
		if err != nil {
			w.t.Fatal(err)
		}
		for _, client := range []*netlab.Namespace{lab.Client, lab.PodClient} {
			if err := client.Relay(w.t.Context(), port); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func (w *world) workers() []simulator.Node {
	var nodes []simulator.Node
	for _, worker := range w.lab.Workers {
		nodes = append(nodes, simulator.Node{Name: worker.Name})
	}
	return nodes
}

// inside is Terraform on a machine of a network.
func (w *world) inside(client *netlab.Namespace, config string) *cli {
	w.t.Helper()
	c := newCLI(w.t, config)
	c.inside = client
	return c
}

// lookup asks a DNS server for the addresses of a name, and returns them or what is said instead.
func lookup(ctx context.Context, client *netlab.Namespace, server, name string) (string, error) {
	conn, err := client.Dial(ctx, "udp", server)
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // the answer was read
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA)
	exchange := dns.Client{Timeout: 2 * time.Second}
	answer, _, err := exchange.ExchangeWithConnContext(ctx, question, &dns.Conn{Conn: conn})
	if err != nil {
		return "", fmt.Errorf("asking %s for %s: %w", server, name, err)
	}
	if answer.Rcode != dns.RcodeSuccess {
		return dns.RcodeToString[answer.Rcode], nil
	}
	var addresses []string
	for _, record := range answer.Answer {
		if a, is := record.(*dns.A); is {
			addresses = append(addresses, a.A.String())
		}
	}
	slices.Sort(addresses)
	return strings.Join(addresses, " "), nil
}

// answer is what came over HTTP or HTTPS.
type answer struct {
	text        string
	certificate []byte // of the server; nil without TLS
}

// fetch asks the application for a URL, from a network, at the address that is found for it.
func (w *world) fetch(ctx context.Context, client *netlab.Namespace, at netlab.Lookup, target string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return answer{}, err
	}
	response, err := client.HTTP(at, &tls.Config{RootCAs: w.lab.CA}).Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	body, err := io.ReadAll(response.Body)
	got := answer{text: fmt.Sprintf("%d %s", response.StatusCode, body)}
	if response.TLS != nil {
		got.certificate = response.TLS.PeerCertificates[0].Raw
	}
	return got, err
}

// view is one of the two networks, with what its clients are told.
type view struct {
	client *netlab.Namespace
	server string
	record string
}

func (w *world) views(vip string) map[string]view {
	return map[string]view{
		"VLAN":        {w.lab.Client, vlanDNS, vip},
		"pod network": {w.lab.PodClient, podDNS, netlab.ProxyClusterIP},
	}
}

// resolves checks what both views say of names below the wildcard, and of others.
func (w *world) resolves(ctx context.Context, vip string) error {
	var wrong []error
	for where, view := range w.views(vip) {
		for name, want := range map[string]string{
			appName: view.record, "a.b.c.apps.demo." + baseDomain: view.record, "HeLLo.APPS.demo." + baseDomain: view.record,
			"apps.demo." + baseDomain: nxdomain, "helloapps.demo." + baseDomain: nxdomain, "hello.xapps.demo." + baseDomain: nxdomain,
			"hello.apps.other." + baseDomain: nxdomain, "demo." + baseDomain: nxdomain, appName + ".example.com": nxdomain,
		} {
			if got, err := lookup(ctx, view.client, view.server, name); err != nil || got != want {
				wrong = append(wrong, fmt.Errorf("%s: %s is %q, want %q: %w", where, name, got, want, errOr(err)))
			}
		}
	}
	return errors.Join(wrong...)
}

// flows checks that the router answers on both ways, and with its own certificate.
func (w *world) flows(ctx context.Context, vip string) error {
	var wrong []error
	for where, view := range w.views(vip) {
		for _, scheme := range []string{"http", "https"} {
			got, err := w.fetch(ctx, view.client, view.client.Resolve(view.server), scheme+"://"+appName+"/")
			switch {
			case err != nil || !strings.HasPrefix(got.text, "200 "+scheme+" "+appName+" from worker-"):
				wrong = append(wrong, fmt.Errorf("%s: %s: got %q: %w", where, scheme, got.text, errOr(err)))
			case scheme == "https" && !slices.Equal(got.certificate, w.lab.Certificate.Raw):
				wrong = append(wrong, fmt.Errorf("%s: the certificate is not the router's", where))
			}
		}
	}
	return errors.Join(wrong...)
}

// reached waits until everything works at an address, and logs how long that took.
func (w *world) reached(vip string) {
	w.t.Helper()
	w.eventually("names resolve", func(ctx context.Context) error { return w.resolves(ctx, vip) })
	w.eventually("bytes flow", func(ctx context.Context) error { return w.flows(ctx, vip) })
}

// deserted checks that nothing leads to an address any more.
func (w *world) deserted(vip string) {
	w.t.Helper()
	w.eventually("nobody answers for "+vip, func(ctx context.Context) error {
		owners, err := w.lab.Client.WhoHas(ctx, netlab.VLANLink, netip.MustParseAddr(vip), silence)
		if len(owners) > 0 {
			return fmt.Errorf("%v do", owners)
		}
		return err
	})
	for _, port := range []string{"80", "443"} {
		for name, client := range map[string]*netlab.Namespace{"client": w.lab.Client, "proxy": w.lab.Proxy} {
			ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Second)
			conn, err := client.Dial(ctx, "tcp", vip+":"+port)
			cancel()
			if err == nil {
				_ = conn.Close()
				w.t.Errorf("%s:%s still answers the %s", vip, port, name)
			}
		}
	}
}

// eventually waits until a check holds.
func (w *world) eventually(what string, check func(context.Context) error) {
	w.t.Helper()
	const interval = 20 * time.Millisecond
	start := time.Now()
	var last error
	err := wait.PollUntilContextTimeout(w.t.Context(), interval, patience, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		w.t.Fatalf("%s: %v: %v", what, err, last)
	}
	w.t.Logf("%s: after %s", what, time.Since(start).Round(time.Millisecond))
}

// errOr is an error also where there is none: the value was wrong.
func errOr(err error) error {
	if err == nil {
		return errors.New("wrong")
	}
	return err
}
