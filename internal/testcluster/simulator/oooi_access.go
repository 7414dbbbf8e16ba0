package simulator

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

var errNoHostedCluster = errors.New("the HostedCluster does not exist")

// hostedConnection is the way to one hosted cluster, kept as long as its kubeconfig stays the same.
type hostedConnection struct {
	kubeconfig []byte
	client     dynamic.Interface
}

// connect answers the connection to an attachment's hosted cluster. A new one is tried first.
func (o *Oooi) connect(ctx context.Context, spec attachmentSpec) (*hostedConnection, error) {
	kubeconfig, err := o.kubeconfig(ctx, spec)
	if err != nil {
		return nil, err
	}
	if known := o.connections[spec.key]; known != nil && bytes.Equal(known.kubeconfig, kubeconfig) {
		return known, nil
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.Timeout, config.UserAgent = o.options.HostedTimeout, oooiName
	client, err := newClient(config)
	if err != nil {
		return nil, err
	}
	versions, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if err := versions.RESTClient().Get().AbsPath("/version").Do(ctx).Error(); err != nil {
		return nil, fmt.Errorf("connecting to the hosted cluster: %w", err)
	}
	connection := &hostedConnection{kubeconfig: kubeconfig, client: client}
	o.connections[spec.key] = connection
	return connection, nil
}

// kubeconfig reads the Secret that the HostedCluster names.
func (o *Oooi) kubeconfig(ctx context.Context, spec attachmentSpec) ([]byte, error) {
	cluster, found, err := lookup(ctx, o.client.Resource(hostedClustersResource), spec.hostedCluster.Namespace, spec.hostedCluster.Name)
	if err != nil {
		return nil, fmt.Errorf("hosted cluster: %w", err)
	}
	if !found {
		return nil, fmt.Errorf("hosted cluster %s: %w", spec.hostedCluster, errNoHostedCluster)
	}
	name := text(cluster, "status", "customkubeconfig", "name")
	if name == "" {
		name = text(cluster, "status", "kubeconfig", "name")
	}
	if name == "" {
		return nil, fmt.Errorf("hosted cluster %s has no status.kubeconfig yet", spec.hostedCluster)
	}
	secret, found, err := lookup(ctx, o.client.Resource(secretsResource), spec.hostedCluster.Namespace, name)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig secret: %w", err)
	}
	if !found {
		return nil, fmt.Errorf("kubeconfig secret %s/%s does not exist", spec.hostedCluster.Namespace, name)
	}
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", "kubeconfig")
	kubeconfig, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(kubeconfig) == 0 {
		return nil, fmt.Errorf("secret %s/%s holds no kubeconfig", spec.hostedCluster.Namespace, name)
	}
	return kubeconfig, nil
}
