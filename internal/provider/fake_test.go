package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

// world is an engine without clusters: it holds what is "live" and does what a test scripts. One world serves one test.
type world struct {
	mu sync.Mutex

	uid     string
	uidErr  error
	mode    appsingress.Mode
	known   bool
	modeErr error

	live     appsingress.Status // what the next read sees, its drift included
	specs    []appsingress.Spec // of every Ensure
	previous *appsingress.Spec  // of the last Ensure
	calls    []string           // the driver's verbs, in order

	ensureErr  error
	observeErr error
	removeErr  error
	warnings   []string
	findings   appsingress.Findings
	infra      appsingress.Infra
	infraErr   error
	ingress    appsingress.Ingress
	ingressErr error
	servers    appsingress.Servers
	paths      []probe.Path  // what a verification finds
	asked      []any         // what the data sources have asked for
	readBudget time.Duration // of the last read of an ingress
	moveTo     string        // the address that the next Ensure ends with
}

func newWorld() *world { return &world{uid: "uid-1", mode: appsingress.ModeDirect, known: true} }

// factories make the provider of this world.
func (w *world) factories() map[string]func() (tfprotov6.ProviderServer, error) {
	connect := func(kube.Config) (engine, error) { return w, nil }
	return map[string]func() (tfprotov6.ProviderServer, error){
		"oooi": providerserver.NewProtocol6WithError(&oooiProvider{version: "test", connect: connect, verify: w.verify}),
	}
}

func (w *world) verify(ctx context.Context, request probe.Request) []probe.Path {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls, w.asked = append(w.calls, "verify"), append(w.asked, request)
	deadline, _ := ctx.Deadline()
	w.readBudget = time.Until(deadline)
	return w.paths
}

func (w *world) Servers(_ context.Context, namespace string, publish appsingress.Publish) appsingress.Servers {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, namespace, publish)
	return w.servers
}

// set changes the world between two steps of a test.
func (w *world) set(change func(*world)) func() {
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		change(w)
	}
}

func (w *world) Check(context.Context, appsingress.Spec) (appsingress.Findings, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.findings, nil
}

func (w *world) Import(context.Context, appsingress.Spec) (appsingress.Spec, error) {
	return appsingress.Spec{}, errors.New("nothing to import")
}

func (w *world) Infra(_ context.Context, name appsingress.NamespacedName) (appsingress.Infra, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, name)
	return w.infra, w.infraErr
}

func (w *world) Ingress(ctx context.Context, query appsingress.Query) (appsingress.Ingress, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, query)
	deadline, _ := ctx.Deadline()
	w.readBudget = time.Until(deadline)
	return w.ingress, w.ingressErr
}

func (w *world) ClusterUID(context.Context) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.uid, w.uidErr
}

func (w *world) ResolveMode(context.Context, appsingress.Spec) (appsingress.Mode, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mode, w.known, w.modeErr
}

func (w *world) Driver(spec appsingress.Spec, previous *appsingress.Spec) appsingress.Driver {
	return &fakeDriver{world: w, spec: spec, previous: previous}
}

type fakeDriver struct {
	world    *world
	spec     appsingress.Spec
	previous *appsingress.Spec
}

func (d *fakeDriver) Ensure(context.Context) (appsingress.Status, error) {
	w := d.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, "ensure")
	w.specs, w.previous = append(w.specs, d.spec), d.previous
	if w.ensureErr != nil {
		return w.live, w.ensureErr
	}
	e := w.live.Endpoint
	switch {
	case w.moveTo != "":
		e = address(w.moveTo)
	case d.spec.Service.LoadBalancerIP.IsValid():
		e = appsingress.Endpoint{IP: d.spec.Service.LoadBalancerIP}
	case !d.spec.Fits(e):
		e = appsingress.Endpoint{IP: d.spec.MetalLB.Range.First()}
	}
	w.live = ready(d.spec, e)
	return w.live, nil
}

func (d *fakeDriver) Observe(context.Context) (appsingress.Status, error) {
	w := d.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, "observe")
	return w.live, w.observeErr
}

func (d *fakeDriver) Remove(context.Context) ([]string, error) {
	w := d.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, "remove")
	if w.removeErr != nil {
		return w.warnings, w.removeErr
	}
	w.live = appsingress.Status{}
	return w.warnings, nil
}

// ready is what a driver ends with for this spec and endpoint.
func ready(spec appsingress.Spec, e appsingress.Endpoint) appsingress.Status {
	status := appsingress.Status{
		Found:    true,
		Phase:    appsingress.PhaseReady,
		Reason:   appsingress.ReasonReconciliationSucceeded,
		Message:  appsingress.ReadyMessage(spec, e),
		Endpoint: e,
	}
	if spec.MetalLB.Install {
		status.InstalledCSV = spec.MetalLB.Subscription.Package + "." + spec.MetalLB.Subscription.Channel
	}
	if spec.Publish.DNSServer != "" && e.IP.IsValid() {
		status.DNSRecords = []appsingress.DNSRecord{{Name: spec.Domain.Wildcard(), View: appsingress.ViewVLAN, Value: e.String()}}
	}
	if spec.Publish.ProxyServer != "" {
		for suffix, port := range map[string]int32{"http": spec.Ports.HTTP, "https": spec.Ports.HTTPS} {
			status.ProxyBackends = append(status.ProxyBackends, appsingress.ProxyBackend{
				Name: spec.Name + "-" + suffix, Hostname: spec.Domain.Wildcard(), Port: port, Target: e.String(), TargetPort: port,
			})
		}
		slices.SortFunc(status.ProxyBackends, func(a, b appsingress.ProxyBackend) int { return strings.Compare(a.Name, b.Name) })
	}
	return status
}

// drifted adds a difference that the next refresh finds.
func drifted(affects appsingress.Affects) func(*world) {
	return func(w *world) {
		w.live.Drift = []appsingress.Difference{{
			Object: "Service openshift-ingress/oooi-ingress", Field: "spec.type", Want: "LoadBalancer", Got: "ClusterIP", Affects: affects,
		}}
		w.live.Phase, w.live.Reason, w.live.Message = appsingress.PhaseDegraded, appsingress.ReasonIngressServiceFailed, "not as wanted"
	}
}

// ingress is the configuration of one ingress. Each change is "attribute = value"; it replaces that attribute's own line, and
// an empty value takes the line out.
func ingress(changes ...string) string {
	lines := map[string]string{
		"hosted_cluster_ref": `{ name = "demo" }`,
		"publish":            `{ dns_server = "shared-dns", proxy_server = "shared-proxy" }`,
		"dns":                `{ cluster_name = "demo", base_domain = "clusters.example.com" }`,
		"metallb":            `{ address_pool_name = "apps", ip_address_pool_range = "192.0.2.200-192.0.2.220" }`,
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, " = ")
		lines[name] = value
	}
	var text strings.Builder
	text.WriteString("resource \"oooi_apps_ingress\" \"test\" {\n")
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		if lines[name] != "" {
			fmt.Fprintf(&text, "  %s = %s\n", name, lines[name])
		}
	}
	text.WriteString("}\n")
	return text.String()
}

func address(text string) appsingress.Endpoint {
	return appsingress.Endpoint{IP: netip.MustParseAddr(text)}
}

func wantCalls(t *testing.T, w *world, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := slices.DeleteFunc(slices.Clone(w.calls), func(call string) bool { return call == "observe" })
	if !slices.Equal(got, want) {
		t.Errorf("the driver was called for %v, want %v", got, want)
	}
}
