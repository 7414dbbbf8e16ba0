package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

const verificationAddress = "data.oooi_apps_ingress_verification.test"

func verificationOf(body string) string {
	return "data \"oooi_apps_ingress_verification\" \"test\" {\n domain = \"demo.example.com\"\n" + body + "\n}\n"
}

// pathsOf are all paths; those not named are not configured.
func pathsOf(results map[string]probe.Path) []probe.Path {
	paths := make([]probe.Path, 0, len(pathsInOrder()))
	for _, name := range pathsInOrder() {
		path, ok := results[name]
		if !ok {
			path = probe.Path{Result: probe.NotConfigured, Message: "there is none"}
		}
		path.Name = name
		paths = append(paths, path)
	}
	return paths
}

func reported(p probe.Path) knownvalue.Check {
	text := func(value string) knownvalue.Check {
		if value == "" {
			return knownvalue.Null()
		}
		return knownvalue.StringExact(value)
	}
	return knownvalue.ObjectExact(map[string]knownvalue.Check{
		"name": text(p.Name), "result": text(string(p.Result)), "expected": text(p.Expected), "observed": text(p.Observed),
		"message": text(p.Message), "asked": text(p.Asked),
	})
}

func TestVerificationDataSource(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.servers = published()
	w.paths = pathsOf(map[string]probe.Path{
		probe.VLANDNS: {Result: probe.OK, Asked: "192.0.2.3:53", Expected: "192.0.2.200", Observed: "192.0.2.200"},
		probe.PodDNS:  {Result: probe.NotTestable, Expected: "203.0.113.20", Message: "not from here"},
	})
	broken := pathsOf(map[string]probe.Path{
		probe.VLANDNS:   {Result: probe.OK},
		probe.PodDNS:    {Result: probe.Failed, Observed: "no answer", Message: "no answer while connecting"},
		probe.ProxyHTTP: {Result: probe.Failed, Asked: "192.0.2.30:80", Observed: "connection refused", Message: "nothing listens"},
	})
	lines := []knownvalue.Check{
		knownvalue.StringExact("pod_dns: no answer while connecting"),
		knownvalue.StringExact("proxy_http: 192.0.2.30:80: connection refused: nothing listens"),
	}
	read := wantedRequest()
	read.Web.Path, read.Attempt = "/", probe.Attempt{Timeout: 5 * time.Second, Count: 1, Pause: time.Second}
	paths := make([]knownvalue.Check, 0, len(w.paths))
	for _, p := range w.paths {
		paths = append(paths, reported(p))
	}
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{
				Config: verificationOf(`external_ip = "192.0.2.200"
					infra_ref = { name = "vlan100" }`),
				ConfigStateChecks: []statecheck.StateCheck{
					seen(verificationAddress, knownvalue.Bool(true), "healthy"), seen(verificationAddress, knownvalue.ListExact(paths), "paths"),
					seen(verificationAddress, knownvalue.ListExact(nil), "failed"), seen(verificationAddress, knownvalue.Null(), "label"),
				},
				Check: resource.ComposeTestCheckFunc(
					w.askedFor(t, time.Minute, read), w.askedServers("clusters", appsingress.DefaultPublish("vlan100")),
				),
			},
			{
				PreConfig: w.set(func(w *world) { w.paths, w.asked = broken, nil }),
				Config:    verificationOf(``),
				ConfigStateChecks: []statecheck.StateCheck{
					seen(verificationAddress, knownvalue.Bool(false), "healthy"),
					seen(verificationAddress, knownvalue.ListExact(lines), "failed"),
				},
				Check: w.askedNoServers(),
			},
			{ // the last step's paths again, and the resource's own shapes
				PreConfig: w.set(func(w *world) { w.asked = nil }),
				Config: ingress() + strings.Replace(verificationOf(`external_ip = oooi_apps_ingress.test.external_ip
					external_hostname = oooi_apps_ingress.test.external_hostname
					ports = oooi_apps_ingress.test.ports
					namespace = oooi_apps_ingress.test.namespace
					infra_ref = oooi_apps_ingress.test.infra_ref
					publish = oooi_apps_ingress.test.publish
					check_paths = ["pod_dns"]`), `"demo.example.com"`, `oooi_apps_ingress.test.domain`, 1),
				ConfigStateChecks: []statecheck.StateCheck{
					seen(verificationAddress, knownvalue.ListExact(lines), "failed"),
				},
				Check: w.askedServers("clusters", appsingress.Publish{DNSServer: "shared-dns", ProxyServer: "shared-proxy"}),
			},
		},
	})
}

func (w *world) askedServers(want ...any) resource.TestCheckFunc {
	return func(*terraform.State) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.asked) < 3 {
			return fmt.Errorf("asked for %v", w.asked)
		}
		if got := w.asked[len(w.asked)-3 : len(w.asked)-1]; !slices.Equal(got, want) {
			return fmt.Errorf("the servers asked for are %v, want %v", got, want)
		}
		return nil
	}
}

func (w *world) askedNoServers() resource.TestCheckFunc {
	return func(*terraform.State) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, asked := range w.asked {
			if _, ok := asked.(probe.Request); !ok {
				return fmt.Errorf("the management cluster was asked for %v", asked)
			}
		}
		return nil
	}
}

// Every argument arrives where it belongs.
func TestVerificationArguments(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.paths = pathsOf(nil)
	vlan := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	certain := probe.Location{Certain: true}
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{{
			Config: strings.Replace(verificationOf(`
				external_ip        = "192.0.2.200"
				ports              = { https = 8443 }
				vlan               = { dns_server = "192.0.2.3", network = "192.0.2.77/24" }
				pod                = { dns_server = "203.0.113.10:5353", proxy = "203.0.113.20" }
				public             = { dns_server = "198.51.100.53", expected = "198.51.100.200" }
				label              = "a.b"
				request            = { path = "/healthz", status = 204, body = "fine" }
				verify_certificate = true
				attempts           = 3
				attempt_timeout    = "2s"
				attempt_pause      = "100ms"
				transport          = "tcp"
				timeouts           = { read = "5m" }`), "example.com", "example.com.", 1),
			Check: w.askedFor(t, 5*time.Minute, probe.Request{
				Domain: "apps.demo.example.com", Label: "a.b", IP: netip.MustParseAddr("192.0.2.200"), HTTP: 80, HTTPS: 8443,
				VLAN: probe.Resolver{
					Server: netip.MustParseAddrPort("192.0.2.3:53"), Expected: netip.MustParseAddr("192.0.2.200"), TCP: true,
					Location: probe.Location{Inside: vlan, Certain: true},
				},
				Pod: probe.Resolver{
					Server: netip.MustParseAddrPort("203.0.113.10:5353"), Expected: netip.MustParseAddr("203.0.113.20"), TCP: true,
					Location: probe.Location{Outside: vlan, Certain: true},
				},
				Public: probe.Resolver{
					Server: netip.MustParseAddrPort("198.51.100.53:53"), Expected: netip.MustParseAddr("198.51.100.200"), TCP: true,
					Location: certain,
				},
				Proxy:   probe.Proxy{Address: netip.MustParseAddr("203.0.113.20"), Location: certain},
				Web:     probe.Web{Path: "/healthz", Status: 204, Body: "fine", Verify: true},
				Attempt: probe.Attempt{Timeout: 2 * time.Second, Count: 3, Pause: 100 * time.Millisecond},
			}),
		}},
	})
}

// What it is made for: a check warns, and a postcondition ends the run, with the words of the paths that failed.
func TestVerificationInConditions(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.paths = pathsOf(map[string]probe.Path{probe.VLANDNS: {Result: probe.Failed, Message: "no answer"}})
	condition := `
		condition     = data.oooi_apps_ingress_verification.test.healthy
		error_message = join("\n", data.oooi_apps_ingress_verification.test.failed)`
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: verificationOf(``) + "check \"reachable\" {\nassert {" + condition + "\n}\n}\n"},
			{ // Terraform puts off to the apply, every time, what is in a check
				Config:             "check \"reachable\" {\n" + verificationOf(``) + "assert {" + condition + "\n}\n}\n",
				ExpectNonEmptyPlan: true,
			},
			{
				Config:      verificationOf(``) + "resource \"terraform_data\" \"next\" {\nlifecycle {\nprecondition {" + condition + "\n}\n}\n}\n",
				ExpectError: regexp.MustCompile(`vlan_dns: no answer`),
			},
			{
				PreConfig: w.set(func(w *world) { w.paths = pathsOf(map[string]probe.Path{probe.VLANDNS: {Result: probe.OK}}) }),
				Config:    verificationOf(``) + "resource \"terraform_data\" \"next\" {\nlifecycle {\nprecondition {" + condition + "\n}\n}\n}\n",
			},
		},
	})
}

// With depends_on, what an apply does to the ingress comes first; a plan with nothing to do verifies at once.
func TestVerificationComesAfterTheIngress(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.paths = pathsOf(map[string]probe.Path{probe.VLANDNS: {Result: probe.OK}})
	config := ingress() + verificationOf(`external_ip = oooi_apps_ingress.test.external_ip
		depends_on = [oooi_apps_ingress.test]`)
	firstIs := func(want string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			calls := slices.DeleteFunc(slices.Clone(w.calls), func(call string) bool { return call == "observe" })
			if len(calls) < 1 || calls[0] != want || calls[len(calls)-1] != "verify" {
				return fmt.Errorf("the calls are %v, want %s first", calls, want)
			}
			return nil
		}
	}
	forget := func(w *world) { w.calls = nil }
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: config, Check: firstIs("ensure")},
			{PreConfig: w.set(forget), Config: config, Check: firstIs("verify")},
			{PreConfig: w.set(func(w *world) { forget(w); drifted(appsingress.AffectsPublication)(w) }), Config: config, Check: firstIs("ensure")},
		},
	})
}

func TestVerificationRefusals(t *testing.T) {
	t.Parallel()
	var steps []resource.TestStep
	for _, test := range []struct{ body, want string }{
		{`external_ip = "2001:db8::1"`, `external_ip: "2001:db8::1" is not an IPv4 address`},
		{`external_hostname = "a b"`, `is not a host name`},
		{`external_ip = "192.0.2.1"
		  external_hostname = "lb.example.com"`, `external_hostname: external_ip is set, too`},
		{`ports = { http = 0 }`, `ports.http: 0 is not a port`},
		{`vlan = { dns_server = "dns.example.com" }`, `vlan.dns_server: "dns.example.com" is not an IPv4 address, with or`},
		{`vlan = { network = "192.0.2.0" }`, `is not an IPv4 network`},
		{`public = {}`, `attribute "dns_server" is required`},
		{`check_paths = []`, `check_paths: it names no path`},
		{`check_paths = ["vlan"]`, `check_paths: "vlan" is not the name of a path`},
		{`label = "a..b"`, `cannot stand before a domain`},
		{`request = { path = "healthz" }`, `is not the path of a URL`},
		{`request = { status = 99 }`, `99 is not an HTTP status`},
		{`ca_certificate = "x"
		  verify_certificate = true`, `ca_certificate: there is no certificate in it`},
		{`ca_certificate = "x"`, `without verify_certificate = true`},
		{`attempts = 101`, `Write a number of attempts from 1 to 100`},
		{`attempt_timeout = "0s"`, `leaves no time`},
		{`transport = "tls"`, `is not among the possible values`},
	} {
		steps = append(steps, resource.TestStep{
			Config: verificationOf(test.body), PlanOnly: true,
			ExpectError: regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(test.want), " ", `\s+`)),
		})
	}
	terraformTest(t, resource.TestCase{ProtoV6ProviderFactories: newWorld().factories(), Steps: steps})
}

// readVerification reads the data source once, without Terraform, and gives the state that comes of it.
func readVerification(t *testing.T, p *oooiProvider, providerArguments, arguments map[string]tftypes.Value) map[string]tftypes.Value {
	t.Helper()
	ctx := t.Context()
	server := providerserver.NewProtocol6(p)()
	configured, err := server.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{
		Config: dynamic(t, providerSchema().Type().TerraformType(ctx), providerArguments),
	})
	if err != nil || len(configured.Diagnostics) > 0 {
		t.Fatalf("%v; %+v", err, configured.Diagnostics)
	}
	objectType := verificationSchema().Type().TerraformType(ctx)
	resp, err := server.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{
		TypeName: "oooi_apps_ingress_verification", Config: dynamic(t, objectType, arguments),
	})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("%v; %+v", err, resp.Diagnostics)
	}
	state, err := resp.State.Unmarshal(objectType)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]tftypes.Value
	if err := state.As(&values); err != nil {
		t.Fatal(err)
	}
	return values
}

// failedLines are the lines of a state's failed.
func failedLines(t *testing.T, state map[string]tftypes.Value) []string {
	t.Helper()
	var elements []tftypes.Value
	if err := state["failed"].As(&elements); err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(elements))
	for i, element := range elements {
		if err := element.As(&lines[i]); err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

func textValue(value string) tftypes.Value { return tftypes.NewValue(tftypes.String, value) }

func objectValue(values map[string]tftypes.Value) tftypes.Value {
	attributes := map[string]tftypes.Type{}
	for name, value := range values {
		attributes[name] = value.Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: attributes}, values)
}

// A management cluster that does not say where the ingress is published makes the paths fail, and no plan.
func TestVerificationWithoutServers(t *testing.T) {
	t.Parallel()
	servers := schema.GroupResource{Group: "hostedcluster.densityops.com", Resource: "dnsservers"}
	const raw = "read tcp 127.0.0.1:41234->127.0.0.1:6443"
	in := func(err error) error { return &kube.Error{Verb: "get", Cluster: "management cluster", Err: err} }
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"missing": {&appsingress.NotFoundError{Seen: "does not exist", Err: errors.New(raw)}, "it does not exist"},
		"no connection": {
			in(&kube.ConnectionError{Source: "argument config_path", Err: errors.New("no such file")}), "argument config_path: no such file",
		},
		"forbidden":     {in(apierrors.NewForbidden(servers, "a", errors.New(raw))), "the provider's user is not allowed to get it"},
		"unauthorized":  {in(apierrors.NewUnauthorized(raw)), "the management cluster refused the credentials"},
		"its own error": {in(apierrors.NewInternalError(errors.New(raw))), "the management cluster answered with an error of its own"},
		"certificate": {
			in(&tls.CertificateVerificationError{Err: errors.New(raw)}), "the certificate of the management cluster could not be verified",
		},
		"late": {in(fmt.Errorf("%w: %s", context.DeadlineExceeded, raw)), "the management cluster did not answer in time"},
		"away": {in(errors.New(raw)), "the management cluster could not be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.servers.DNS = appsingress.DNSServer{Name: appsingress.NamespacedName{Namespace: "clusters", Name: "vlan100-dns"}, Err: test.err}
			p := &oooiProvider{verify: probe.Verify, connect: func(kube.Config) (engine, error) { return w, nil }}
			state := readVerification(t, p, nil, map[string]tftypes.Value{
				"domain": textValue("demo.example.com"), "infra_ref": objectValue(map[string]tftypes.Value{"name": textValue("vlan100")}),
			})
			message := "the DNSServer clusters/vlan100-dns could not be read: " + test.want
			for _, path := range []string{probe.VLANDNS, probe.PodDNS} {
				if lines := failedLines(t, state); !slices.Contains(lines, path+": "+message) {
					t.Errorf("got %q, want %q for %s", lines, message, path)
				}
			}
		})
	}
}

// With arguments of the provider unknown, a client that can defer is told to; for the others the paths have failed.
func TestVerificationWithUnknownProviderArguments(t *testing.T) {
	t.Parallel()
	connect := func(kube.Config) (engine, error) { return nil, errors.New("connected") }
	p := &oooiProvider{verify: probe.Verify, connect: connect}
	state := readVerification(t, p,
		map[string]tftypes.Value{"host": tftypes.NewValue(tftypes.String, tftypes.UnknownValue)},
		map[string]tftypes.Value{
			"domain": textValue("demo.example.com"), "infra_ref": objectValue(map[string]tftypes.Value{"name": textValue("vlan100")}),
		})
	const why = " could not be read: an argument of the provider is not known yet"
	for _, want := range []string{
		"vlan_dns: the DNSServer clusters/vlan100-dns" + why, "pod_dns: the DNSServer clusters/vlan100-dns" + why,
		"proxy_https: the ProxyServer clusters/vlan100-proxy" + why,
	} {
		if lines := failedLines(t, state); !slices.Contains(lines, want) {
			t.Errorf("got %q, want %q", lines, want)
		}
	}
}
