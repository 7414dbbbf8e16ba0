package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

const verificationType = "oooi_apps_ingress_verification"

// verifiedPart is a data source with one part of the way to the ingress, and the lines that it has to fail with.
type verifiedPart struct {
	name   string
	body   string
	failed []string
}

// block is its configuration.
func (p verifiedPart) block() string {
	return fmt.Sprintf("\ndata %q %q {\n  domain = \"%s.%s\"\n  external_ip = \"127.0.0.1\"\n  %s\n}\n",
		verificationType, p.name, clusterName, baseDomain, p.body)
}

func vlanOf(server, more string) string {
	return fmt.Sprintf("check_paths = [\"vlan_dns\"]\n  vlan = { dns_server = %q }\n  %s", server, more)
}

func endpointOf(scheme string, port uint16, more string) string {
	return fmt.Sprintf("check_paths = [\"endpoint_%s\"]\n  ports = { %s = %d }\n  %s", scheme, scheme, port, more)
}

// needsTerraform skips a test that needs a program, and no cluster.
func needsTerraform(t *testing.T) {
	t.Helper()
	t.Parallel()
	if testing.Short() {
		t.Skip("it needs Terraform")
	}
	_, err := exec.LookPath(os.Getenv("TF_ACC_TERRAFORM_PATH"))
	testcluster.SkipWithout(t, err)
}

// verifications are what the state has of the data sources, each under its name.
func (c *cli) verifications() map[string]map[string]any {
	c.t.Helper()
	var state struct {
		Values struct {
			RootModule struct{ Resources []shownResource } `json:"root_module"`
		}
	}
	c.show(&state)
	found := map[string]map[string]any{}
	for _, resource := range state.Values.RootModule.Resources {
		if name, is := strings.CutPrefix(resource.Address, "data."+verificationType+"."); is {
			found[name] = resource.Values
		}
	}
	return found
}

// checkParts compares the lines of every part.
func (c *cli) checkParts(parts []verifiedPart) {
	c.t.Helper()
	seen := c.verifications()
	for _, part := range parts {
		if err := differs(part.name+": failed", anys(part.failed), seen[part.name]["failed"]); err != nil {
			c.t.Error(err)
		}
		if healthy := seen[part.name]["healthy"]; healthy != (len(part.failed) == 0) {
			c.t.Errorf("%s: healthy is %v", part.name, healthy)
		}
	}
}

func configOf(provider string, parts []verifiedPart, more ...string) string {
	var out strings.Builder
	out.WriteString(provider)
	for _, part := range parts {
		out.WriteString(part.block())
	}
	return out.String() + strings.Join(more, "\n")
}

// warning is a check block that asks whether a part is healthy.
func warning(part string) string {
	at := "data." + verificationType + "." + part
	return fmt.Sprintf("check %q {\n  assert {\n    condition     = %s.healthy\n    error_message = join(\"; \", %s.failed)\n  }\n}\n",
		part, at, at)
}

// brokenParts are ways to an ingress with one thing wrong on each.
func brokenParts(t *testing.T) []verifiedPart {
	t.Helper()
	const (
		short   = "attempt_timeout = \"300ms\""
		enough  = "attempt_timeout = \"2s\""  // to connect, on a busy machine too
		patient = "attempt_timeout = \"50s\"" // for what must not run out on a busy machine
	)
	wrong, unknown, silent := nameServer(t, always("192.0.2.9")), nameServer(t, always("")), udpPort(t).LocalAddr().String()
	cutOff := udpOnly(t, truncating(nil))
	closed, slow, cutting := mustClosedPort(t), silentPort(t).Port(), cuttingPort(t)
	return []verifiedPart{
		{"right_answer", vlanOf(nameServer(t, always("127.0.0.1")), patient), nil},
		{"wrong_answer", vlanOf(wrong, patient), []string{"vlan_dns: " + wrong + ": it answers 192.0.2.9 instead of 127.0.0.1: " +
			"the entry is old or another's, or the answer comes from another view"}},
		{"no_name", vlanOf(unknown, patient), []string{"vlan_dns: " + unknown + ": NXDOMAIN: it has no address for " + wildcard +
			": no wildcard entry is loaded in its VLAN view: see its configuration and its log"}},
		{"silent_dns", vlanOf(silent, short), []string{"vlan_dns: " + silent + ": no answer: nothing comes back from the DNS server: " +
			"see whether it is there on the VLAN, its port is let through, and this machine reaches that network"}},
		{"out_of_time", vlanOf(silent, "attempt_timeout = \"10m\"\n  timeouts = { read = \"1s\" }"), []string{
			"vlan_dns: " + silent + ": no answer: the time given was not enough to know: give more, or fewer and shorter attempts",
		}},
		{"truncated", vlanOf(nameServer(t, truncating(always("127.0.0.1"))), patient), nil},
		{"truncated_without_tcp", vlanOf(cutOff, patient), []string{"vlan_dns: " + cutOff + ": truncated answer: " +
			"the answer is cut off and cannot be had whole over TCP: see whether the DNS port is open for TCP, too"}},
		{"router", endpointOf("http", router(t), patient), nil},
		{"refused", endpointOf("http", closed, patient), []string{fmt.Sprintf("endpoint_http: 127.0.0.1:%d: connection refused: "+
			"nothing listens at this port of the endpoint: see whether the ingress's service has endpoints", closed)}},
		{"slow_router", endpointOf("http", slow, enough), []string{fmt.Sprintf("endpoint_http: 127.0.0.1:%d: "+
			"no answer while waiting for the answer: the endpoint takes the connection and says no more: "+
			"see whether the router's pods are ready", slow)}},
		{"cut_handshake", endpointOf("https", cutting, patient), []string{fmt.Sprintf("endpoint_https: 127.0.0.1:%d: TLS handshake cut: "+
			"the endpoint takes the connection and ends it: see whether the router's pods are ready", cutting)}},
	}
}

// unreadParts are to be read from a management cluster that is not there, but for what is given.
func unreadParts(t *testing.T, host string) []verifiedPart {
	t.Helper()
	server := nameServer(t, always("127.0.0.1"))
	read := fmt.Sprintf("infra_ref = { name = \"vlan100\" }\n  vlan = { dns_server = %q }\n  public = { dns_server = %q }\n"+
		"  ports = { http = %d }\n  check_paths = ", server, server, router(t))
	away := " could not be read: the management cluster at " + host + " could not be reached"
	dnsUnread, proxyUnread := "the DNSServer clusters/vlan100-dns"+away, "the ProxyServer clusters/vlan100-proxy"+away
	return []verifiedPart{
		{
			"given_and_unread", read + `["vlan_dns", "endpoint_http", "pod_dns", "proxy_http", "proxy_https", "public_dns"]`,
			[]string{"pod_dns: " + dnsUnread, "proxy_http: " + proxyUnread, "proxy_https: " + proxyUnread},
		},
		{"all_given", read + fmt.Sprintf(`["vlan_dns", "endpoint_http", "pod_dns", "proxy_http", "public_dns"]
  pod = { dns_server = %q, proxy = "127.0.0.1" }`, server), nil},
	}
}

// Whatever is broken, a plan works, says so of each part in the same words every time, and is empty. A check block warns of it.
// No management cluster is needed for what is given, and its credential is nowhere.
func TestVerificationOfBrokenParts(t *testing.T) {
	needsTerraform(t)
	host := fmt.Sprintf("127.0.0.1:%d", mustClosedPort(t))
	provider := fmt.Sprintf("variable \"token\" {\n  sensitive = true\n}\nprovider \"oooi\" {\n  host = \"https://%s\"\n"+
		"  token = var.token\n}\n", host)
	parts := slices.Concat(brokenParts(t), unreadParts(t, host))
	config := configOf(provider, parts, warning("wrong_answer"), warning("right_answer"), warning("given_and_unread"))
	for name, program := range map[string]func() (string, error){
		"Terraform": func() (string, error) { return os.Getenv("TF_ACC_TERRAFORM_PATH"), nil },
		"OpenTofu":  func() (string, error) { return testcluster.Binary("tofu") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			binary, err := program()
			testcluster.SkipWithout(t, err)
			const token = "a-token-that-nobody-may-see"
			c := newCLI(t, config, "TF_VAR_token="+token, "TF_LOG=TRACE")
			c.program = binary
			c.env = append(c.env, "TF_LOG_PATH="+filepath.Join(c.dir, "trace.log"))
			c.showsParts(parts)

			secret := credentials{}
			secret.add("the token", token)
			if files := (&world{t: t}).files(c, secret); files["trace.log"] < 1000 || files["terraform.tfstate"] < 1000 {
				t.Errorf("log and state were not looked at: %v", files)
			}
		})
	}
}

func (c *cli) showsParts(parts []verifiedPart) {
	c.t.Helper()
	start := time.Now()
	output := unwrapped(c.apply())
	if took := time.Since(start); took > time.Minute {
		c.t.Errorf("the apply took %s", took)
	}
	if count := strings.Count(output, "Check block assertion failed"); count != 2 || strings.Contains(output, "Error:") {
		c.t.Errorf("%d warnings, want 2 and no error:\n%s", count, output)
	}
	for _, text := range []string{": it answers 192.0.2.9 instead of 127.0.0.1", "pod_dns: the DNSServer clusters/vlan100-dns"} {
		if !strings.Contains(output, text) {
			c.t.Errorf("no check says %q:\n%s", text, output)
		}
	}
	c.checkParts(parts)
	first := c.verifications()
	c.unchanged()
	c.apply("-refresh-only")
	if err := differs("a second look", first, c.verifications()); err != nil {
		c.t.Error(err)
	}
}

// Certificates are taken as they are, unless they are to be verified; then what is wrong with one is said.
func TestVerificationOfCertificates(t *testing.T) {
	needsTerraform(t)
	const name = "console.apps." + clusterName + "." + baseDomain
	ca := newAuthority(t)
	right, expired := router(t, issue(t, ca, name, time.Time{})), router(t, issue(t, ca, name, time.Now().Add(-time.Hour)))
	other := "console.apps.other." + baseDomain
	otherName := router(t, issue(t, ca, other, time.Time{}))
	const patient = "attempt_timeout = \"50s\"\n  label = \"console\""
	verify := patient + "\n  verify_certificate = true"
	trust := func(pem string) string { return verify + "\n  ca_certificate = <<-PEM\n" + pem + "PEM\n" }
	refused := func(port uint16, shown, why string) []string {
		return []string{fmt.Sprintf("endpoint_https: 127.0.0.1:%d: certificate for %s: the certificate %s", port, shown, why)}
	}
	unknown := refused(right, name, "is of an unknown authority: see whether the right one is trusted here")
	parts := []verifiedPart{
		{"unasked", endpointOf("https", expired, patient), nil},
		{"right", endpointOf("https", right, trust(string(ca.PEM))), nil},
		{"machine", endpointOf("https", right, verify), unknown},
		{"other_authority", endpointOf("https", right, trust(string(newAuthority(t).PEM))), unknown},
		{"expired", endpointOf("https", expired, trust(string(ca.PEM))), refused(expired, name,
			"has expired, or is not valid yet: see its dates, and this machine's clock")},
		{"other_name", endpointOf("https", otherName, trust(string(ca.PEM))), refused(otherName, other,
			"is for another name than "+name+": see which one the router is given")},
	}
	c := newCLI(t, configOf("", parts))
	c.apply()
	c.checkParts(parts)
	c.unchanged()
}

// A precondition stops the resource that has it, and no other; when the ingress is reached, the next apply goes on.
func TestVerificationStopsWhatWaitsForIt(t *testing.T) {
	needsTerraform(t)
	var moved atomic.Bool
	server := nameServer(t, answering(func() string {
		if moved.Load() {
			return "127.0.0.1"
		}
		return "192.0.2.9"
	}))
	guarded := func(name, part string) string {
		at := "data." + verificationType + "." + part
		return fmt.Sprintf("resource \"terraform_data\" %q {\n  input = 1\n  lifecycle {\n    precondition {\n      condition     = %s.healthy\n"+
			"      error_message = join(\"; \", %s.failed)\n    }\n  }\n}\n", name, at, at)
	}
	// Only a read at apply leaves the others to be made.
	const after = "depends_on = [terraform_data.first]\n  attempt_timeout = \"50s\""
	c := newCLI(t, configOf("", []verifiedPart{
		{name: "broken", body: vlanOf(server, after)},
		{name: "fine", body: endpointOf("http", router(t), after)},
	}, "resource \"terraform_data\" \"first\" {\n  input = 1\n}\n", guarded("stopped", "broken"), guarded("made", "fine")))
	c.fails([]string{"Resource precondition failed", "vlan_dns: " + server + ": it answers 192.0.2.9 instead of 127.0.0.1"}, applyFlags()...)
	if c.values("terraform_data.stopped") != nil || c.values("terraform_data.made") == nil {
		t.Error("want the one that is not reached stopped, and the other one made")
	}
	moved.Store(true)
	c.apply()
	if c.values("terraform_data.stopped") == nil {
		t.Error("it is still stopped")
	}
	c.unchanged()
}

// record is what the DNSServer's object has for the ingress, so what its server answers; empty: nothing.
func (w *world) record() string {
	obj, err := w.management.client(dnsServers, "clusters").Get(w.management.ctx(), dnsName, metav1.GetOptions{})
	if err != nil {
		return "" // this is not the test's own goroutine, which fails for want of an answer
	}
	for _, entry := range list(obj, "spec", "staticEntries") {
		if entry["hostname"] == wildcard {
			return fmt.Sprint(entry["ip"])
		}
	}
	return ""
}

// With depends_on it is read after what an apply does to the ingress, when that is created and when it moves; its postcondition
// would end the run otherwise.
func TestVerificationAfterTheIngress(t *testing.T) {
	w := newWorld(t)
	var astray atomic.Bool
	server := nameServer(t, answering(func() string {
		if astray.Load() {
			return "192.0.2.9"
		}
		return w.record()
	}))
	verified := fmt.Sprintf(`
data "oooi_apps_ingress_verification" "test" {
  domain          = oooi_apps_ingress.test.domain
  external_ip     = oooi_apps_ingress.test.external_ip
  publish         = oooi_apps_ingress.test.publish
  vlan            = { dns_server = %q }
  check_paths     = ["vlan_dns"]
  attempt_timeout = "50s"
  depends_on      = [oooi_apps_ingress.test]

  lifecycle {
    postcondition {
      condition     = self.healthy
      error_message = join("; ", self.failed)
    }
  }
}
`, server)
	c := newCLI(t, w.config()+verified)
	for _, step := range []struct {
		changes []change
		want    string
	}{
		{nil, firstIP},
		{[]change{set("metallb.ip_address_pool_range", text(movedRange))}, movedIP},
	} {
		c.config(w.config(step.changes...) + verified)
		c.apply()
		paths, _ := c.verifications()["test"]["paths"].([]any)
		want := map[string]any{
			"name": "vlan_dns", "result": "ok", "asked": server, "expected": step.want, "observed": step.want, "message": nil,
		}
		if err := differs("vlan_dns", want, paths[0]); err != nil {
			t.Error(err)
		}
		c.unchanged()
	}

	w.management.patchJSON(dnsServers, "clusters", dnsName, []any{map[string]any{"op": "remove", "path": "/spec/staticEntries/1"}})
	c.apply() // the repair comes first
	c.unchanged()

	astray.Store(true)
	c.fails([]string{"Resource postcondition failed", "vlan_dns: " + server + ": it answers 192.0.2.9 instead of " + movedIP}, planFlags()...)
	astray.Store(false)
	c.destroy()
}

// Where the ingress is published is read with the published rights, in one request for each object; without the right the paths
// have failed, and say what is missing. What is given needs no request.
func TestVerificationWithThePublishedRights(t *testing.T) {
	w := newWorld(t)
	server := nameServer(t, always("127.0.0.1"))
	_, port, _ := strings.Cut(server, ":")
	w.publishOnLoopback(port)
	management := &account{live: w.management}
	rights := management.apply("management.yaml")
	c := newCLI(t, "")
	file := c.file("management.yaml", string(management.kubeconfig(w)))
	provider := fmt.Sprintf("provider \"oooi\" {\n  config_path = %q\n}\n", file)
	ca := newAuthority(t)
	ports := fmt.Sprintf("ports = { http = %d, https = %d }\n  attempt_timeout = \"50s\"\n  ",
		router(t), router(t, issue(t, ca, wildcard, time.Time{})))
	read := verifiedPart{name: "read", body: ports + fmt.Sprintf("publish = { dns_server = %q, proxy_server = %q }", dnsName, proxyName)}

	since := w.management.requests()
	c.config(configOf(provider, []verifiedPart{read}))
	c.apply()
	for _, p := range c.verifications()["read"]["paths"].([]any)[:6] { //nolint:errcheck,forcetypeassert // a list by its schema
		if path, _ := p.(map[string]any); path["result"] != "ok" {
			t.Errorf("%v", path)
		}
	}
	var asked []string
	for _, entry := range management.all(since) {
		asked = append(asked, entry.Verb+" "+entry.Object.Resource+"/"+entry.Object.Name)
	}
	slices.Sort(asked)
	if err := differs("requests", []string{"get dnsservers/" + dnsName, "get proxyservers/" + proxyName}, asked); err != nil {
		t.Error(err)
	}

	management.drop("")
	for _, r := range rights {
		management.await(r, false)
	}
	const (
		noDNS = "the DNSServer clusters/" + dnsName + " could not be read: the provider's user is not allowed to get " +
			"dnsservers.hostedcluster.densityops.com in namespace clusters"
		noProxy = "the ProxyServer clusters/" + proxyName + " could not be read: the provider's user is not allowed to get " +
			"proxyservers.hostedcluster.densityops.com in namespace clusters"
	)
	read.failed = []string{"vlan_dns: " + noDNS, "pod_dns: " + noDNS, "proxy_http: " + noProxy, "proxy_https: " + noProxy}
	c.apply()
	c.checkParts([]verifiedPart{read})
	c.unchanged()

	since = w.management.requests()
	given := verifiedPart{name: "given", body: ports + fmt.Sprintf(
		"vlan = { dns_server = %q }\n  pod = { dns_server = %q, proxy = \"127.0.0.1\" }", server, server)}
	c.config(configOf(provider, []verifiedPart{given}))
	c.apply()
	c.checkParts([]verifiedPart{given})
	if asked := management.all(since); len(asked) > 0 {
		t.Errorf("the management cluster was asked:\n%s", lines(asked))
	}
}

// all are the account's requests since a moment, those that need no right, too.
func (a *account) all(since requests) []testcluster.AuditEntry {
	a.live.t.Helper()
	entries, err := since.audit.Since(since.mark, testcluster.ByUser(a.user))
	if err != nil {
		a.live.t.Fatal(err)
	}
	return entries
}

// publishOnLoopback has the objects of the DNSServer and the ProxyServer lead to this machine: in both views, at this port.
func (w *world) publishOnLoopback(port string) {
	w.t.Helper()
	var number int64
	if _, err := fmt.Sscan(port, &number); err != nil {
		w.t.Fatal(err)
	}
	w.management.patch(dnsServers, "clusters", dnsName, map[string]any{"spec": map[string]any{"networkConfig": map[string]any{
		"serverIP": "127.0.0.1", "internalProxyIP": "127.0.0.1", "dnsPort": number,
	}}})
	w.management.patch(proxyServers, "clusters", proxyName, map[string]any{"spec": map[string]any{"networkConfig": map[string]any{
		"serverIP": "127.0.0.1",
	}}})
	w.management.send(dnsServers, "clusters", dnsName, types.MergePatchType,
		map[string]any{"status": map[string]any{"serviceClusterIP": "127.0.0.1"}}, "status")
}
