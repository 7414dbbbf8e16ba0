package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

func TestDataSourceDiagnostics(t *testing.T) {
	t.Parallel()
	infra := appsingress.NamespacedName{Namespace: "clusters", Name: "vlan100"}
	attached := appsingress.Query{Attachment: appsingress.NamespacedName{Namespace: "clusters", Name: "demo"}}
	direct := appsingress.Query{
		HostedCluster: appsingress.NamespacedName{Namespace: "clusters", Name: "demo"},
		Service:       appsingress.NamespacedName{Namespace: "openshift-ingress", Name: "oooi-ingress"},
	}
	failed := func(err error) reading { return reading{budget: 10 * time.Minute, elapsed: 2 * time.Second, err: err} }
	refused := errors.New("get Infra clusters/vlan100 in the management cluster: connection refused")
	late := &kube.TimeoutError{
		What: "phase Ready of InfraClusterAttachment clusters/demo", Elapsed: 10 * time.Minute, Attempts: 60,
		Last: kube.Pending("WaitingForExternalIP", "no address yet"),
	}
	for name, d := range map[string]diag.Diagnostic{
		"data_provider_unknown": dataUnreadable(infraNoun),
		"data_infra_missing": infraUnread(infra, failed(&appsingress.NotFoundError{
			Object: "Infra clusters/vlan100", Cluster: "management cluster", Seen: "does not exist",
		})),
		"data_infra_refused": infraUnread(infra, failed(refused)),
		"data_ingress_missing": ingressUnread(attached, failed(&appsingress.NotFoundError{
			Object: "InfraClusterAttachment clusters/demo", Cluster: "management cluster", Seen: "has no apps ingress enabled",
		})),
		"data_ingress_other": ingressUnread(direct, failed(&appsingress.NotImportableError{
			Seen: "Service openshift-ingress/oooi-ingress names no address pool in an annotation",
		})),
		"data_ingress_gone": ingressUnread(direct, failed(&appsingress.HostedClusterGoneError{HostedCluster: direct.HostedCluster})),
		"data_ingress_late": ingressUnread(attached, reading{budget: 10 * time.Minute, elapsed: 10 * time.Minute, err: late}),
		"data_ingress_interrupted": ingressUnread(direct, failed(
			fmt.Errorf("a Ready ingress behind Service openshift-ingress/oooi-ingress: %w", context.Canceled))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			fmt.Fprintf(&text, "%s: %s\n", d.Severity(), d.Summary())
			if at, ok := d.(diag.DiagnosticWithPath); ok {
				fmt.Fprintf(&text, "at %s\n", at.Path())
			}
			fmt.Fprintf(&text, "\n%s\n", d.Detail())
			golden(t, name, text.String())
		})
	}
}
