package acceptance

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
)

const (
	movedRange = "198.51.100.230-198.51.100.231"
	movedIP    = "198.51.100.230"
	verified   = "data.oooi_apps_ingress_verification.test"
)

// Names resolve and bytes flow as soon as an apply is over, in both views and on both ways; and after a range change in one
// apply at the new address, and nowhere else.
func TestDataPath(t *testing.T) {
	w := newDataPath(t)
	w.dataPathLife(w.config)
}

// The operator's work leads to the same.
func TestDataPathOfAnAttachment(t *testing.T) {
	w := newAttachedDataPath(t)
	w.dataPathLife(w.attached)
}

func (w *world) dataPathLife(config func(...change) string) {
	w.t.Helper()
	vlan := w.inside(w.lab.Client, w.verifying(config()))
	vlan.apply()
	w.reached(firstIP)
	w.separate(firstIP)
	vlan.apply("-refresh-only")
	w.checkVerified(vlan, true, map[string]string{
		"vlan_dns": "ok", "endpoint_http": "ok", "endpoint_https": "ok", "pod_dns": "not_testable_from_here",
		"proxy_http": "not_testable_from_here", "proxy_https": "not_testable_from_here", "public_dns": "not_configured",
	})
	vlan.unchanged()

	pod := w.inside(w.lab.PodClient, w.verification(fmt.Sprintf("external_ip = %q", firstIP)))
	pod.apply()
	w.checkVerified(pod, true, map[string]string{
		"vlan_dns": "not_testable_from_here", "endpoint_http": "not_testable_from_here", "endpoint_https": "not_testable_from_here",
		"pod_dns": "ok", "proxy_http": "ok", "proxy_https": "ok", "public_dns": "not_configured",
	})

	vlan.config(w.verifying(config(set("metallb.ip_address_pool_range", text(movedRange)))))
	vlan.apply()
	w.reached(movedIP)
	w.deserted(firstIP)
	vlan.unchanged()
	w.checkVerified(vlan, true, map[string]string{"vlan_dns": "ok", "endpoint_https": "ok"})

	vlan.destroy()
	w.deserted(movedIP)
	w.eventually("no name is left", func(ctx context.Context) error {
		for where, view := range w.views("") {
			if got, err := view.client.LookupA(ctx, view.server, appName); err != nil || got != nxdomain {
				return fmt.Errorf("%s: %q: %w", where, got, errOr(err))
			}
		}
		return nil
	})
	w.eventually("the proxy leads nowhere", func(ctx context.Context) error {
		conn, err := w.lab.PodClient.Dial(ctx, "tcp", netlab.ProxyClusterIP+":443")
		if err == nil {
			return errors.Join(errors.New("it answers"), conn.Close())
		}
		return nil
	})
}

// separate checks that the pod network has no way to the address but the proxy.
func (w *world) separate(vip string) {
	w.t.Helper()
	if _, err := w.lab.PodClient.Dial(w.t.Context(), "tcp", vip+":443"); !errors.Is(err, syscall.ENETUNREACH) {
		w.t.Errorf("from the pod network to %s: got %v, want no route", vip, err)
	}
}

// verifying is a configuration whose ingress is verified, in the objects that it is published in.
func (w *world) verifying(config string) string {
	return config + w.verificationBlock("external_ip = oooi_apps_ingress.test.external_ip")
}

// verification is a configuration that only verifies.
func (w *world) verification(arguments ...string) string {
	return fmt.Sprintf("provider \"oooi\" {\n  config_path = %q\n}\n", w.managementKubeconfig()) + w.verificationBlock(arguments...)
}

func (w *world) verificationBlock(arguments ...string) string {
	where := fmt.Sprintf("publish = { dns_server = %q, proxy_server = %q }", dnsName, proxyName)
	if w.sims.Oooi != nil {
		where = fmt.Sprintf("infra_ref = { name = %q }", infraName)
	}
	return fmt.Sprintf(`
data "oooi_apps_ingress_verification" "test" {
  domain          = "%s.%s"
  attempt_timeout = "2s"
  attempts        = 10
  attempt_pause   = "500ms"
  request         = { status = 200 }
  %s
  %s
}
`, clusterName, baseDomain, where, strings.Join(arguments, "\n  "))
}

// checkVerified compares the verdicts, of these paths alone.
func (w *world) checkVerified(c *cli, healthy bool, want map[string]string) {
	w.t.Helper()
	seen := c.values(verified)
	if seen["healthy"] != healthy {
		w.t.Errorf("healthy is %v, want %t: %v", seen["healthy"], healthy, seen["failed"])
	}
	paths, _ := seen["paths"].([]any)
	if len(paths) != 7 {
		w.t.Fatalf("%d paths, want 7: %v", len(paths), seen)
	}
	for _, p := range paths {
		path, _ := p.(map[string]any)
		if result, asked := want[fmt.Sprint(path["name"])]; asked && path["result"] != result {
			w.t.Errorf("%v, want %s", path, result)
		}
	}
}

// A host name as the endpoint: Envoy finds it by name, and neither view has a record of its own.
func TestDataPathByHostname(t *testing.T) {
	const name = "lb-1.cloud.example.com"
	w := newDataPath(t, hostnameLoadBalancer(name))
	worker := w.lab.Workers[0]
	if err := worker.Expose(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.lab.Outside.Set(name, worker.Address.String())
	tf := w.inside(w.lab.PodClient, w.config()+w.verificationBlock(
		"external_hostname = oooi_apps_ingress.test.external_hostname"))
	tf.apply()
	w.eventually("Envoy leads to it", func(ctx context.Context) error {
		return w.throughProxy(ctx, "200 https "+appName+" from "+worker.Name)
	})
	for where, view := range w.views("") {
		if got, err := view.client.LookupA(t.Context(), view.server, appName); err != nil || got != nxdomain {
			t.Errorf("%s: %q, %v, want %s", where, got, err, nxdomain)
		}
	}
	if records := tf.values(address)["dns_records"]; len(records.([]any)) != 0 { //nolint:errcheck,forcetypeassert // a list by its schema
		t.Errorf("dns_records is %v, want none", records)
	}
	tf.unchanged()
	tf.apply("-refresh-only")
	w.checkVerified(tf, true, map[string]string{
		"vlan_dns": "not_configured", "pod_dns": "not_configured", "proxy_http": "ok", "proxy_https": "ok",
		"endpoint_http": "not_testable_from_here", "endpoint_https": "not_testable_from_here",
	})
	tf.destroy()
}

// throughProxy asks the proxy itself for the application, whatever DNS says.
func (w *world) throughProxy(ctx context.Context, want string) error {
	got, err := w.lab.Fetch(ctx, w.lab.PodClient, netlab.To(netip.MustParseAddr(netlab.ProxyClusterIP)), "https://"+appName+"/")
	if err != nil || !strings.HasPrefix(got.String(), want) {
		return fmt.Errorf("got %q: %w", got.String(), errOr(err))
	}
	return nil
}

// A worker that dies is replaced by the other; with both dead the verification says so, and with one back that all is well.
func TestDataPathSurvivesAWorker(t *testing.T) {
	w := newDataPath(t)
	tf := w.inside(w.lab.Client, w.verifying(w.config()))
	tf.apply()
	w.reached(firstIP)
	first := w.servedBy()
	w.fail(first)
	tf.apply("-refresh-only")
	w.checkVerified(tf, true, map[string]string{"endpoint_http": "ok", "endpoint_https": "ok"})
	second := w.servedBy()
	if second == first {
		t.Errorf("%s still serves", first)
	}

	w.fail(second)
	quick := w.inside(w.lab.Client, strings.Replace(w.verification(fmt.Sprintf("external_ip = %q", firstIP)), "attempts        = 10", "", 1))
	quick.apply()
	w.checkVerified(quick, false, map[string]string{"vlan_dns": "ok", "endpoint_http": "failed", "endpoint_https": "failed"})

	if err := w.lab.RestoreWorker(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if err := w.sims.Nodes.SetReady(t.Context(), second, true); err != nil {
		t.Fatal(err)
	}
	w.announced(firstIP) // whoever remembers the hardware address gets answers before that
	tf.apply("-refresh-only")
	w.checkVerified(tf, true, map[string]string{"endpoint_http": "ok", "endpoint_https": "ok"})
	tf.destroy()
}

func (w *world) fail(worker string) {
	w.t.Helper()
	if err := errors.Join(w.lab.FailWorker(w.t.Context(), worker), w.sims.Nodes.SetReady(w.t.Context(), worker, false)); err != nil {
		w.t.Fatal(err)
	}
}

// servedBy is the worker whose router answers on the VLAN.
func (w *world) servedBy() string {
	w.t.Helper()
	var worker string
	w.eventually("a router answers", func(ctx context.Context) error {
		got, err := w.lab.Fetch(ctx, w.lab.Client, w.lab.Client.Resolve(vlanDNS), "http://"+appName+"/")
		_, worker, _ = strings.Cut(strings.TrimSpace(got.Body), " from ")
		return err
	})
	return worker
}

// Without an address of the proxy for pods they get no answer of the DNSServer's, and dns_records says so.
func TestDataPathWithoutPodAddress(t *testing.T) {
	w := newDataPath(t, func(s *setup) { s.noPodAddress = true })
	w.lab.Outside.Set("*.apps.demo."+baseDomain, "198.51.100.77") // what the world outside would say
	tf := w.inside(w.lab.Client, w.verifying(w.config()))
	tf.apply()
	w.eventually("the views differ", func(ctx context.Context) error {
		inVLAN, err := w.lab.Client.LookupA(ctx, vlanDNS, appName)
		inPods, podErr := w.lab.PodClient.LookupA(ctx, podDNS, appName)
		if inVLAN != firstIP || inPods != "198.51.100.77" {
			return fmt.Errorf("%q and %q: %w", inVLAN, inPods, errOr(errors.Join(err, podErr)))
		}
		return nil
	})
	want := []any{map[string]any{"name": wildcard, "view": "vlan", "value": firstIP}}
	if err := differs("dns_records", want, tf.values(address)["dns_records"]); err != nil {
		t.Error(err)
	}
	tf.apply("-refresh-only")
	w.checkVerified(tf, true, map[string]string{"vlan_dns": "ok", "pod_dns": "not_configured"})
	tf.destroy()
}

// What is wrong is said of each path, without making a plan fail or a second plan differ; a check block warns of it.
func TestDataPathVerifiedWhenBroken(t *testing.T) {
	w := newDataPath(t)
	tf := w.inside(w.lab.Client, w.config())
	tf.apply()
	w.reached(firstIP)
	w.lab.Outside.Set("*.apps.demo."+baseDomain, firstIP)
	once := strings.NewReplacer("attempts        = 10", "attempts = 1")
	config := once.Replace(w.verification(fmt.Sprintf("external_ip = %q", firstIP), fmt.Sprintf("public = { dns_server = %q }",
		netlab.UpstreamAddress))) + `
check "reachable" {
  assert {
    condition     = data.oooi_apps_ingress_verification.test.healthy
    error_message = join("; ", data.oooi_apps_ingress_verification.test.failed)
  }
}
`
	vlan, pod := w.inside(w.lab.Client, config), w.inside(w.lab.PodClient, config)
	vlan.apply()
	w.checkVerified(vlan, true, map[string]string{"vlan_dns": "ok", "endpoint_https": "ok", "public_dns": "ok"})

	w.lab.Outside.Set("*.apps.demo."+baseDomain, "198.51.100.78")
	w.management.patchJSON(dnsServers, "clusters", dnsName, []any{
		map[string]any{"op": "replace", "path": "/spec/staticEntries/1/ip", "value": "198.51.100.79"},
	})
	w.resolvesTo(w.lab.Client, vlanDNS, "198.51.100.79")
	w.warned(vlan, "Check block assertion failed", "vlan_dns: ", "198.51.100.79", "public_dns: ", "198.51.100.78")
	w.checkVerified(vlan, false, map[string]string{"vlan_dns": "failed", "endpoint_https": "ok", "public_dns": "failed"})

	w.management.patchJSON(dnsServers, "clusters", dnsName, []any{map[string]any{"op": "remove", "path": "/spec/staticEntries/1"}})
	w.lab.Outside.Set("*.apps.demo." + baseDomain)
	w.resolvesTo(w.lab.Client, vlanDNS, nxdomain)
	w.management.patchJSON(proxyServers, "clusters", proxyName, []any{
		map[string]any{"op": "replace", "path": "/spec/backends/1/targetPort", "value": 81},
		map[string]any{"op": "replace", "path": "/spec/backends/2/targetPort", "value": 81},
	})
	w.eventually("Envoy leads to a closed port", func(ctx context.Context) error {
		if w.throughProxy(ctx, "200") == nil {
			return errors.New("it leads to the router")
		}
		return nil
	})
	w.warned(vlan, "vlan_dns: ", "no wildcard entry")
	w.warned(pod, "pod_dns: ", "no wildcard entry", "proxy_http: ", "proxy_https: ")
	w.checkVerified(pod, false, map[string]string{
		"pod_dns": "failed", "proxy_http": "failed", "proxy_https": "failed", "endpoint_http": "not_testable_from_here",
	})

	tf.apply()
	w.reached(firstIP)
	w.hosted.patch(services, "openshift-ingress", "oooi-ingress", map[string]any{
		"spec": map[string]any{"selector": map[string]any{"tier": "canary"}},
	})
	w.deserted(firstIP) // no pod of the router has that label
	w.warned(vlan, "endpoint_http: ", "endpoint_https: ")
	w.checkVerified(vlan, false, map[string]string{"vlan_dns": "ok", "endpoint_http": "failed", "endpoint_https": "failed"})

	tf.apply()
	w.reached(firstIP)
	vlan.apply("-refresh-only")
	w.checkVerified(vlan, false, map[string]string{"vlan_dns": "ok", "endpoint_https": "ok", "public_dns": "failed"})
	tf.destroy()
}

// resolvesTo waits for an answer.
func (w *world) resolvesTo(client *netlab.Namespace, server, want string) {
	w.t.Helper()
	w.eventually(appName+" is "+want, func(ctx context.Context) error {
		if got, err := client.LookupA(ctx, server, appName); err != nil || got != want {
			return fmt.Errorf("got %q: %w", got, errOr(err))
		}
		return nil
	})
}

// warned applies what has something to warn of, twice: the second time nothing has changed.
func (w *world) warned(c *cli, texts ...string) {
	w.t.Helper()
	output := unwrapped(c.apply())
	for _, text := range texts {
		if !strings.Contains(output, text) {
			w.t.Errorf("no word of %q:\n%s", text, output)
		}
	}
	first := c.values(verified)
	c.apply()
	if err := differs("the verification at a second look", first, c.values(verified)); err != nil {
		w.t.Error(err)
	}
}
