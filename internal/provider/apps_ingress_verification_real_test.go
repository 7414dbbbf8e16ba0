package provider

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/miekg/dns"
	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

// nameServer answers every name below apps.demo.example.com with this address, on loopback.
func nameServer(t *testing.T, answer string) netip.AddrPort {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := dns.NewServeMux()
	mux.HandleFunc("apps.demo.example.com.", func(w dns.ResponseWriter, question *dns.Msg) {
		reply := new(dns.Msg).SetReply(question)
		record, err := dns.NewRR(question.Question[0].Name + " 30 IN A " + answer)
		if err != nil {
			t.Error(err)
		}
		reply.Answer = []dns.RR{record}
		if err := w.WriteMsg(reply); err != nil {
			t.Error(err)
		}
	})
	started := make(chan struct{})
	server := &dns.Server{PacketConn: conn, Handler: mux, NotifyStartedFunc: func() { close(started) }}
	done := make(chan error, 1)
	go func() { done <- server.ActivateAndServe() }()
	<-started
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return netip.MustParseAddrPort(conn.LocalAddr().String())
}

func portOf(t *testing.T, server *httptest.Server) tftypes.Value {
	t.Helper()
	_, text, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return tftypes.NewValue(tftypes.Number, new(big.Float).SetInt64(port))
}

// From the objects' addresses to the state, with real servers: all is well, the same again, and then a name that leads elsewhere.
func TestVerificationOfRealServers(t *testing.T) {
	t.Parallel()
	router := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") })
	plain, secure := httptest.NewServer(router), httptest.NewTLSServer(router)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	loopback := netip.MustParseAddr("127.0.0.1")
	w := newWorld()
	w.servers.DNS = appsingress.DNSServer{
		Name: appsingress.NamespacedName{Namespace: "clusters", Name: "vlan100-dns"},
		VLAN: nameServer(t, "127.0.0.1"), Pod: nameServer(t, "127.0.0.1"), InternalProxy: loopback,
	}
	p := &oooiProvider{verify: probe.Verify, connect: func(kube.Config) (engine, error) { return w, nil }}
	arguments := map[string]tftypes.Value{
		"domain": textValue("demo.example.com"), "external_ip": textValue("127.0.0.1"),
		"infra_ref": objectValue(map[string]tftypes.Value{"name": textValue("vlan100")}),
		"ports":     objectValue(map[string]tftypes.Value{"http": portOf(t, plain), "https": portOf(t, secure)}),
		"public": objectValue(map[string]tftypes.Value{
			"dns_server": textValue(nameServer(t, "192.0.2.200").String()), "expected": textValue("192.0.2.200"),
		}),
		"request": objectValue(map[string]tftypes.Value{
			"path": tftypes.NewValue(tftypes.String, nil), "status": tftypes.NewValue(tftypes.Number, 200), "body": textValue("fine"),
		}),
	}
	first, second := readVerification(t, p, nil, arguments), readVerification(t, p, nil, arguments)
	if healthy := first["healthy"]; !healthy.Equal(tftypes.NewValue(tftypes.Bool, true)) {
		t.Errorf("not healthy: %q\n%s", failedLines(t, first), first["paths"])
	}
	if diff := cmp.Diff(fmt.Sprint(first), fmt.Sprint(second)); diff != "" {
		t.Errorf("two reads differ:\n%s", diff)
	}

	elsewhere := nameServer(t, "127.0.0.2")
	w.set(func(w *world) { w.servers.DNS.VLAN = elsewhere })()
	moved := failedLines(t, readVerification(t, p, nil, arguments))
	if len(moved) != 1 || !strings.HasPrefix(moved[0], "vlan_dns: "+elsewhere.String()+": it answers 127.0.0.2 instead of 127.0.0.1") {
		t.Errorf("got %q", moved)
	}
}

// A management cluster that takes connections and stays silent leaves time for what needs no word of it; so does one that is away.
func TestVerificationWithoutManagementCluster(t *testing.T) {
	t.Parallel()
	router := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(router.Close)
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	for host, want := range map[string]string{
		"http://" + silent.Addr().String(): "the management cluster at " + silent.Addr().String() + " did not answer in time",
		away.URL:                           "the management cluster at " + away.Listener.Addr().String() + " could not be reached",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			e := &clusterEngine{management: kube.NewCluster("management cluster", func(context.Context) (*rest.Config, error) {
				return &rest.Config{Host: host}, nil
			})}
			p := &oooiProvider{verify: probe.Verify, connect: func(kube.Config) (engine, error) { return e, nil }}
			state := readVerification(t, p, nil, map[string]tftypes.Value{
				"domain": textValue("demo.example.com"), "external_ip": textValue("127.0.0.1"),
				"infra_ref": objectValue(map[string]tftypes.Value{"name": textValue("vlan100")}),
				"ports":     objectValue(map[string]tftypes.Value{"http": portOf(t, router), "https": tftypes.NewValue(tftypes.Number, nil)}),
				"check_paths": tftypes.NewValue(tftypes.Set{ElementType: tftypes.String}, []tftypes.Value{
					textValue("vlan_dns"), textValue("endpoint_http"),
				}),
				"timeouts": objectValue(map[string]tftypes.Value{"read": textValue("2s")}),
			})
			lines := []string{"vlan_dns: the DNSServer clusters/vlan100-dns could not be read: " + want}
			if diff := cmp.Diff(lines, failedLines(t, state)); diff != "" {
				t.Errorf("failed (-want +got):\n%s", diff)
			}
		})
	}
}
