package testcluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

// servedAPIs are the built-in APIs that the clusters serve: what the provider, OLM and MetalLB use, and what an API
// server needs for itself. Each API more costs a watch, memory and start-up time.
var servedAPIs = []string{
	"v1", "apps/v1", "batch/v1", "discovery.k8s.io/v1", "events.k8s.io/v1", "coordination.k8s.io/v1",
	"rbac.authorization.k8s.io/v1", "authorization.k8s.io/v1", "authentication.k8s.io/v1",
	"apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1", "admissionregistration.k8s.io/v1",
	"networking.k8s.io/v1", // ServiceCIDRs: without them no Service gets a cluster IP
}

// uselessAdmission are plugins that need a controller which does not run here, or an API that is not served. Namespace
// life cycle, webhooks and admission policies stay.
var uselessAdmission = []string{
	"CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "ClusterTrustBundleAttest",
	"DefaultIngressClass", "DefaultStorageClass", "DefaultTolerationSeconds", "LimitRanger",
	"NodeDeclaredFeatureValidator", "PersistentVolumeClaimResize", "PodGroupProtection", "PodResizeValidator",
	"PodSecurity", "PodTopologyLabels", "Priority", "ResourceQuota", "RuntimeClass", "ServiceAccount",
	"StorageObjectInUseProtection", "TaintNodesByCondition",
}

// auditPolicy records every request once it is answered (watches also when they start), writes with their bodies.
// Secrets and tokens are recorded without.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: Metadata
  resources:
  - resources: [secrets, serviceaccounts/token, events]
  - group: authentication.k8s.io
  - group: events.k8s.io
- level: RequestResponse
  verbs: [create, update, patch, delete, deletecollection]
- level: Metadata
`

// serverFiles are the files of one API server.
type serverFiles struct {
	certificate, key, signingKey, tokens, policy, audit, log string
}

// writeServerFiles makes the files that an API server reads when it starts.
func writeServerFiles(dir string, ca *authority, users tokens) (serverFiles, error) {
	at := func(name string) string { return filepath.Join(dir, name) }
	files := serverFiles{
		certificate: at("tls.crt"), key: at("tls.key"), signingKey: at("service-account.key"), tokens: at("tokens.csv"),
		policy: at("audit-policy.yaml"), audit: at("audit.log"), log: at("kube-apiserver.log"),
	}
	if err := ca.WriteServer(files.certificate, files.key); err != nil {
		return files, err
	}
	if err := ca.writeKey(files.signingKey); err != nil {
		return files, err
	}
	if err := users.Write(files.tokens); err != nil {
		return files, err
	}
	if err := os.WriteFile(files.policy, []byte(auditPolicy), 0o600); err != nil {
		return files, fmt.Errorf("writing the audit policy: %w", err)
	}
	return files, nil
}

// startAPIServer starts an API server whose data is below a prefix of its own in etcd. It returns its URL.
func startAPIServer(ctx context.Context, etcdURL, prefix string, files serverFiles) (*process.Process, string, error) {
	binary, err := Binary("kube-apiserver")
	if err != nil {
		return nil, "", err
	}
	ports, err := process.FreePorts(ctx, 1)
	if err != nil {
		return nil, "", err
	}
	server, err := process.Start(process.Options{Program: binary, LogFile: files.log, Args: []string{
		"--etcd-servers=" + etcdURL,
		"--etcd-prefix=" + prefix,
		"--etcd-compaction-interval=0", // several servers on one etcd would compact each other's history
		"--etcd-count-metric-poll-period=0",
		"--etcd-db-metric-poll-interval=0",
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", ports[0]),
		"--tls-cert-file=" + files.certificate,
		"--tls-private-key-file=" + files.key,
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + files.signingKey,
		"--service-account-signing-key-file=" + files.signingKey,
		"--token-auth-file=" + files.tokens,
		"--authorization-mode=RBAC",
		"--allow-privileged",
		"--audit-policy-file=" + files.policy,
		"--audit-log-path=" + files.audit,
		"--audit-log-mode=blocking", // whoever got an answer finds the request in the file
		"--audit-log-maxsize=0",     // no rotation: marks are offsets
		"--disable-admission-plugins=" + strings.Join(uselessAdmission, ","),
		"--runtime-config=api/all=false," + strings.Join(enabled(servedAPIs), ","),
		"--enable-priority-and-fairness=false",
		"--endpoint-reconciler-type=none",
		"--profiling=false",
		"--event-ttl=15m",
	}})
	if err != nil {
		return nil, "", err
	}
	return server, fmt.Sprintf("https://127.0.0.1:%d", ports[0]), nil
}

func enabled(apis []string) []string {
	var all []string
	for _, api := range apis {
		if api == "v1" {
			api = "api/v1"
		}
		all = append(all, api+"=true")
	}
	return all
}

// waitReady waits until an API server says that all its start-up work is done.
func waitReady(ctx context.Context, server *process.Process, url string, ca *authority) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	return server.Ready(ctx, func(ctx context.Context) error { return healthy(ctx, client, url+"/readyz") })
}
