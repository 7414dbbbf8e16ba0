package appsingress

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// errNoKubeconfig says that a HostedCluster does not name a kubeconfig Secret yet.
var errNoKubeconfig = errors.New("its status names no kubeconfig Secret")

// access finds the hosted cluster. Its kubeconfig is kept in memory only.
type access struct {
	management *kube.Cluster
	clusters   *kube.Clusters
	spec       Spec
}

// name is the hosted cluster's name in messages.
func (a access) name() string {
	if a.spec.HostedCluster.IsZero() {
		return "hosted cluster"
	}
	return "hosted cluster " + a.spec.HostedCluster.String()
}

// connect finds the hosted cluster as it is now, without waiting for anything. The HostedCluster object is nil when the
// configuration says where the kubeconfig is and names no HostedCluster.
func (a access) connect(ctx context.Context) (*kube.Cluster, *unstructured.Unstructured, error) {
	if a.spec.Access.ConfigPath != "" {
		return a.fromFile(), nil, nil
	}
	hosted, err := a.hostedCluster(ctx)
	if err != nil {
		return nil, nil, err
	}
	cluster, err := a.fromSecret(ctx, hosted)
	return cluster, hosted, err
}

// await is connect that waits until the HostedCluster names its kubeconfig. A HostedCluster that does not exist is an error at
// once.
func (a access) await(ctx context.Context) (*kube.Cluster, error) {
	if a.spec.Access.ConfigPath != "" {
		return a.fromFile(), nil
	}
	ref := a.hostedClusterRef()
	hosted, err := a.management.AwaitObject(ctx, ref, "the kubeconfig of "+ref.String(), a.hasKubeconfig)
	if err != nil {
		return nil, err
	}
	var cluster *kube.Cluster
	err = kube.Retry(ctx, "read the kubeconfig Secret of "+ref.String(), func(ctx context.Context) (err error) {
		cluster, err = a.fromSecret(ctx, hosted)
		return err
	})
	return cluster, err
}

func (a access) hasKubeconfig(hosted *unstructured.Unstructured) (kube.Verdict, error) {
	switch {
	case hosted == nil:
		return kube.Verdict{}, &HostedClusterGoneError{HostedCluster: a.spec.HostedCluster}
	case kubeconfigSecret(hosted) == "":
		return kube.Pending(string(ReasonHostedClusterAccessFailed), "%s", errNoKubeconfig.Error()), nil
	}
	return kube.Done(), nil
}

func (a access) hostedClusterRef() kube.Ref {
	return kube.Ref{Resource: hostedClusterKind(), Namespace: a.spec.HostedCluster.Namespace, Name: a.spec.HostedCluster.Name}
}

// hostedCluster reads the HostedCluster. A 404 counts as "gone" only where the API itself is served: a management cluster
// without HyperShift is another cluster, or a broken one.
func (a access) hostedCluster(ctx context.Context) (*unstructured.Unstructured, error) {
	hosted, err := a.management.Get(ctx, a.hostedClusterRef())
	if !kube.IsNotFound(err) {
		return hosted, err
	}
	if servedErr := mustServe(ctx, a.management, hostedClusterKind()); servedErr != nil {
		return nil, servedErr
	}
	return nil, &HostedClusterGoneError{HostedCluster: a.spec.HostedCluster, Err: err}
}

// blame finds out whether a hosted cluster could not be looked at because it is no more: its HostedCluster is gone, or on its way
// and its API is gone already. hosted is the HostedCluster, nil where it was not asked for. Any other error is passed on.
func (a access) blame(ctx context.Context, hosted *unstructured.Unstructured, err error) error {
	if err == nil || !outOfReach(err) {
		return err
	}
	if hosted == nil && a.spec.Access.ConfigPath != "" && !a.spec.HostedCluster.IsZero() {
		var gone *HostedClusterGoneError
		current, readErr := a.hostedCluster(ctx)
		if errors.As(readErr, &gone) {
			return gone
		}
		hosted = current
	}
	if hosted == nil || hosted.GetDeletionTimestamp() == nil {
		return err
	}
	since := hosted.GetDeletionTimestamp().UTC().Format(time.RFC3339)
	return &HostedClusterGoneError{HostedCluster: a.spec.HostedCluster, Deleting: since, Err: err}
}

// unknownCluster is the refusal of a HostedCluster that does not exist.
func (a access) unknownCluster() *ConfigError {
	return &ConfigError{
		Attribute: "hosted_cluster_ref",
		Problem:   fmt.Sprintf("HostedCluster %s does not exist in the %s", a.spec.HostedCluster, a.management),
		Remedy:    "correct hosted_cluster_ref, create the cluster first, or check that the provider block leads to its management cluster",
	}
}

// outOfReach says that no API of a hosted cluster has answered, or that there is nothing to ask it with.
func outOfReach(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	return !kube.IsAnswer(err) || kube.IsNotFound(err) || kube.IsTransient(err)
}

// errNotServed keeps an API that is not served apart from an object that is gone.
var errNotServed = errors.New("the API is not served")

// kubeconfigSecret is the name of the Secret that holds the admin kubeconfig; a custom one wins, as HyperShift has it.
func kubeconfigSecret(hosted *unstructured.Unstructured) string {
	for _, field := range []string{"customkubeconfig", "kubeconfig"} {
		if name, _, _ := unstructured.NestedString(hosted.Object, "status", field, "name"); name != "" {
			return name
		}
	}
	return ""
}

// fromSecret is the cluster that the Secret's kubeconfig leads to: the same one, with its open connections, as long as the
// Secret does not change.
func (a access) fromSecret(ctx context.Context, hosted *unstructured.Unstructured) (*kube.Cluster, error) {
	kubeconfig, source, err := a.readSecret(ctx, hosted)
	if err != nil {
		return nil, err
	}
	config, err := a.parse(kubeconfig, source)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(kubeconfig)
	load := func(ctx context.Context) (*rest.Config, error) {
		if first := config; first != nil {
			config = nil
			return first, nil
		}
		return a.reload(ctx)
	}
	return a.cached(hex.EncodeToString(sum[:]), load), nil
}

// reload reads the kubeconfig afresh, after the API server refused the credentials of the one in use.
func (a access) reload(ctx context.Context) (*rest.Config, error) {
	hosted, err := a.hostedCluster(ctx)
	if err != nil {
		return nil, err
	}
	kubeconfig, source, err := a.readSecret(ctx, hosted)
	if err != nil {
		return nil, err
	}
	return a.parse(kubeconfig, source)
}

// parse reads the kubeconfig of a Secret. Its errors say which cluster it is for: no request to that one is there to do so.
func (a access) parse(kubeconfig []byte, source string) (*rest.Config, error) {
	config, err := kube.FromKubeconfig(kubeconfig, source, a.spec.Access.ConfigContext, a.overrides())
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig of the %s: %w", a.name(), err)
	}
	return config, nil
}

func (a access) readSecret(ctx context.Context, hosted *unstructured.Unstructured) (kubeconfig []byte, source string, err error) {
	name := kubeconfigSecret(hosted)
	if name == "" {
		return nil, "", fmt.Errorf("find the kubeconfig of %s: %w", a.hostedClusterRef(), errNoKubeconfig)
	}
	ref := kube.Ref{Resource: secretKind(), Namespace: hosted.GetNamespace(), Name: name}
	secret, err := a.management.Get(ctx, ref)
	if err != nil {
		return nil, "", err
	}
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", "kubeconfig")
	kubeconfig, err = base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(kubeconfig) == 0 {
		return nil, "", fmt.Errorf("use the kubeconfig of the %s: %s in the %s has no usable key kubeconfig", a.name(), ref, a.management)
	}
	return kubeconfig, ref.String(), nil
}

func (a access) fromFile() *kube.Cluster {
	path := a.spec.Access.ConfigPath
	return a.cached("file "+path, func(context.Context) (*rest.Config, error) {
		return kube.FromKubeconfigFile(os.Getenv, path, "hosted_cluster_access.config_path", a.spec.Access.ConfigContext, a.overrides())
	})
}

func (a access) overrides() kube.Overrides {
	o := a.spec.Access
	return kube.Overrides{
		Host:                 o.Host,
		TLSServerName:        o.TLSServerName,
		ClusterCACertificate: o.ClusterCACertificate,
		Insecure:             o.Insecure,
		ProxyURL:             o.ProxyURL,
	}
}

// cached is the one Cluster of a kubeconfig and its overrides.
func (a access) cached(source string, load func(context.Context) (*rest.Config, error)) *kube.Cluster {
	key := fmt.Sprintf("%s %s %+v", a.name(), source, a.spec.Access)
	return a.clusters.Get(key, func() *kube.Cluster { return kube.NewCluster(a.name(), load) })
}
