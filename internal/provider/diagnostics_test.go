package provider

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	spec := appsingress.Spec{
		Namespace:     "clusters",
		Name:          "demo",
		HostedCluster: appsingress.NamespacedName{Namespace: "clusters", Name: "demo"},
		MetalLB:       appsingress.MetalLB{Namespace: "openshift-operators"},
		Service:       appsingress.Service{Namespace: "openshift-ingress", Name: "oooi-ingress"},
	}
	waited := &appsingress.StepError{
		Step: 6, Of: 7, Name: "endpoint",
		Object:  "Service openshift-ingress/oooi-ingress in hosted cluster clusters/demo",
		Last:    "WaitingForExternalIP: the Service has no address yet",
		Events:  []string{`Warning AllocationFailed: Failed to allocate IP for "openshift-ingress/oooi-ingress": no available IPs`},
		Elapsed: 28*time.Minute + 51200*time.Millisecond,
		Done:    []appsingress.StepTime{{Name: "worker", Elapsed: 3 * time.Second}, {Name: "operator", Elapsed: 65 * time.Second}},
		Exists:  []string{"IPAddressPool openshift-operators/apps", "Service openshift-ingress/oooi-ingress"},
		Err:     fmt.Errorf("waiting for an address: %w", context.DeadlineExceeded),
	}
	stopped := *waited
	stopped.Err = fmt.Errorf("waiting for an address: %w", context.Canceled)
	foreign := &appsingress.OwnershipError{
		Cluster:   "hosted cluster clusters/demo",
		Object:    "Service openshift-ingress/oooi-ingress",
		Conflicts: []kube.FieldConflict{{Field: "spec.type", Manager: "kubectl"}},
	}
	config := &appsingress.ConfigError{
		Attribute: "metallb.ip_address_pool_range",
		Problem:   "192.0.2.200-192.0.2.220 overlaps IPAddressPool metallb-system/other",
		Remedy:    "choose other addresses",
	}
	another := &appsingress.ConfigError{
		Attribute: "publish.dns_server",
		Problem:   "DNSServer clusters/shared-dns does not exist in the management cluster",
		Remedy:    "create it first, or change publish",
	}
	op := func(v verb) operation { return operation{verb: v, spec: spec, budget: 30 * time.Minute} }
	one := func(d diag.Diagnostic) diag.Diagnostics { return diag.Diagnostics{d} }
	first := func(err error) *appsingress.StepError {
		return &appsingress.StepError{Step: 1, Of: 7, Name: "worker", Refused: true, Err: err}
	}

	for name, diags := range map[string]diag.Diagnostics{
		"create_timeout":     failed(op(verbCreate), 30*time.Minute, waited),
		"create_interrupted": failed(op(verbCreate), 29*time.Minute, &stopped),
		"create_foreign":     failed(op(verbCreate), time.Second, first(foreign)),
		"create_other_ingress": failed(op(verbCreate), time.Second,
			first(&appsingress.OwnershipError{Cluster: foreign.Cluster, Object: foreign.Object, Owner: "clusters/other"})),
		"create_refused":      failed(op(verbCreate), time.Second, first(errors.Join(config, another))),
		"create_refused_both": failed(op(verbCreate), time.Second, first(errors.Join(config, foreign))),
		"create_foreign_entry": failed(op(verbCreate), time.Second, first(&appsingress.OwnershipError{
			Cluster: "management cluster", Object: "DNSServer clusters/shared-dns", Entry: "*.apps.demo.example.com",
		})),
		"update_failed": failed(op(verbUpdate), 90*time.Second, &appsingress.StepError{
			Step: 7, Of: 7, Name: "publication", Object: "DNSServer clusters/shared-dns", Exists: waited.Exists,
			Err: errors.New("update DNSServer clusters/shared-dns in management cluster: the server refused"),
		}),
		"read_failed": failed(op(verbRead), 2*time.Second, errors.New("get HostedCluster clusters/demo in management cluster: refused")),
		"delete_timeout": failed(op(verbDelete), 15*time.Minute, &appsingress.StepError{
			Step: 5, Of: 7, Name: "service", Object: waited.Object, Last: "finalizers: example.com/keep", Exists: waited.Exists,
			Elapsed: 15 * time.Minute, Err: fmt.Errorf("waiting for its end: %w", context.DeadlineExceeded),
		}),
		"value_refused":    one(valueRefused(path.Root("ports"), "http and https are both 443", "Choose two different ports")),
		"mode_unread":      one(modeUnread(errors.New("connection refused"))),
		"provider_refused": one(providerArgumentsRefused(errors.New("host and config_path are both set"))),
		"provider_unknown": one(providerUnknown(verbUpdate)),
		"cluster_unread":   one(clusterUnread(verbDelete, errors.New("connection refused"))),
		"cluster_changed":  one(clusterChanged("uid-1", "uid-2")),
		"address_moved":    one(addressMoved(appsingress.Endpoint{Hostname: "a.example.com"}, appsingress.Endpoint{})),
		"left_behind":      one(leftBehind("the MetalLB operator stays: IPAddressPool other/pool needs it")),
		"defect":           one(providerDefect("reading the private state x", errors.New("invalid character"))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for _, d := range diags {
				if len(d.Summary()) > 60 {
					t.Errorf("the summary has %d characters: %s", len(d.Summary()), d.Summary())
				}
				fmt.Fprintf(&text, "%s: %s\n", d.Severity(), d.Summary())
				if at, ok := d.(diag.DiagnosticWithPath); ok {
					fmt.Fprintf(&text, "at %s\n", at.Path())
				}
				fmt.Fprintf(&text, "\n%s\n", d.Detail())
			}
			golden(t, name, text.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestShortDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		30 * time.Minute: "30m", time.Hour: "1h", 90 * time.Second: "1m30s",
		1499 * time.Millisecond: "1s", 12345 * time.Microsecond: "12ms", 0: "0s",
		10 * time.Minute: "10m", 20 * time.Hour: "20h",
	} {
		if got := shortDuration(d); got != want {
			t.Errorf("%d: got %s, want %s", d, got, want)
		}
	}
}
