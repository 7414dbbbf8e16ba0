package simulator

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
)

const hostedClusterFinalizer = "hypershift.openshift.io/finalizer"

// HostedCluster is one hosted cluster as the management cluster knows it.
type HostedCluster struct {
	Name       string
	Namespace  string // default clusters
	BaseDomain string
	Kubeconfig []byte
	// Server replaces the endpoint in the kubeconfig, as HyperShift's is meant for clients on the VLAN.
	Server string
	// WithoutKubeconfig leaves status.kubeconfig out until PublishKubeconfig.
	WithoutKubeconfig bool
}

func (h HostedCluster) namespace() string {
	if h.Namespace == "" {
		return "clusters"
	}
	return h.Namespace
}

// HyperShift plays HyperShift on the management cluster.
type HyperShift struct {
	client dynamic.Interface
	delays Delays
	runner *runner
	clocks stopwatches

	mu          sync.Mutex
	kubeconfigs map[string][]byte // what each HostedCluster's Secret is to hold, by namespace/name; nil: no Secret
	keep        bool              // deletion never ends
}

func newHyperShift(client dynamic.Interface, delays Delays, logf func(string, ...any)) *HyperShift {
	h := &HyperShift{client: client, delays: delays, kubeconfigs: map[string][]byte{}}
	h.runner = newRunner("hypershift", client, logf, h.reconcile, hostedClustersResource)
	return h
}

// Create makes a HostedCluster; its kubeconfig follows after the delay.
func (h *HyperShift) Create(ctx context.Context, cluster HostedCluster) error {
	kubeconfig, err := withServer(cluster.Kubeconfig, cluster.Server)
	if err != nil {
		return err
	}
	if err := ensureNamespace(ctx, h.client, cluster.namespace()); err != nil {
		return err
	}
	if !cluster.WithoutKubeconfig {
		h.remember(cluster.namespace(), cluster.Name, kubeconfig)
	}
	u := newObject("hypershift.openshift.io/v1beta1", "HostedCluster", cluster.namespace(), cluster.Name)
	u.SetFinalizers([]string{hostedClusterFinalizer})
	u.Object["spec"] = object{"dns": object{"baseDomain": cluster.BaseDomain}}
	if _, err := create(ctx, h.client.Resource(hostedClustersResource), u); err != nil {
		return err
	}
	h.runner.Wake()
	return nil
}

// PublishKubeconfig gives a HostedCluster its kubeconfig now, or rotates it. It returns when the API server has it.
func (h *HyperShift) PublishKubeconfig(ctx context.Context, namespace, name string, kubeconfig []byte) error {
	h.remember(namespace, name, kubeconfig)
	return h.publish(ctx, namespace, name, "kubeconfig", adminSecret(name), kubeconfig)
}

// PublishCustomKubeconfig names a second Secret in status.customkubeconfig, which wins over the first.
func (h *HyperShift) PublishCustomKubeconfig(ctx context.Context, namespace, name string, kubeconfig []byte) error {
	return h.publish(ctx, namespace, name, "customkubeconfig", name+"-custom-admin-kubeconfig", kubeconfig)
}

// RemoveSecret deletes the kubeconfig Secret and leaves the status that names it.
func (h *HyperShift) RemoveSecret(ctx context.Context, namespace, name string) error {
	return remove(ctx, h.client.Resource(secretsResource), namespace, adminSecret(name))
}

// RemoveKubeconfig withdraws the status field and the Secret.
func (h *HyperShift) RemoveKubeconfig(ctx context.Context, namespace, name string) error {
	h.remember(namespace, name, nil)
	err := h.edit(ctx, namespace, name, func(u *unstructured.Unstructured) {
		unstructured.RemoveNestedField(u.Object, "status", "kubeconfig")
	})
	if err != nil {
		return err
	}
	return h.RemoveSecret(ctx, namespace, name)
}

// SetCondition sets a condition of a HostedCluster.
func (h *HyperShift) SetCondition(ctx context.Context, namespace, name, kind, status, reason, message string) error {
	return h.edit(ctx, namespace, name, func(u *unstructured.Unstructured) {
		setCondition(u, kind, status, reason, message)
	})
}

// Delete asks for the HostedCluster to go; it does after the delay, and its Secret with it.
func (h *HyperShift) Delete(ctx context.Context, namespace, name string) error {
	h.remember(namespace, name, nil)
	return remove(ctx, h.client.Resource(hostedClustersResource), namespace, name)
}

// KeepDeleting holds HostedClusters in deletion, or lets them go.
func (h *HyperShift) KeepDeleting(keep bool) {
	h.mu.Lock()
	h.keep = keep
	h.mu.Unlock()
	h.runner.Wake()
}

func (h *HyperShift) reconcile(ctx context.Context) (time.Duration, error) {
	clusters, err := list(ctx, h.client.Resource(hostedClustersResource), "")
	if err != nil {
		return 0, fmt.Errorf("hosted clusters: %w", err)
	}
	var next time.Duration
	for i := range clusters {
		after, err := h.cluster(ctx, &clusters[i])
		if err != nil {
			return 0, fmt.Errorf("hosted cluster %s: %w", clusters[i].GetName(), err)
		}
		next = sooner(next, after)
	}
	return next, nil
}

func (h *HyperShift) cluster(ctx context.Context, u *unstructured.Unstructured) (time.Duration, error) {
	namespace, name, uid := u.GetNamespace(), u.GetName(), string(u.GetUID())
	h.mu.Lock()
	kubeconfig, keep := h.kubeconfigs[namespace+"/"+name], h.keep
	h.mu.Unlock()
	if u.GetDeletionTimestamp() != nil {
		if keep || !slices.Contains(u.GetFinalizers(), hostedClusterFinalizer) {
			return 0, nil
		}
		if left := h.clocks.Left(uid+"/delete", h.delays.HostedClusterDelete); left > 0 {
			return left, nil
		}
		return 0, h.letGo(ctx, u)
	}
	if kubeconfig == nil || text(u, "status", "kubeconfig", "name") != "" {
		return 0, nil
	}
	if left := h.clocks.Left(uid+"/kubeconfig", h.delays.Kubeconfig); left > 0 {
		return left, nil
	}
	return 0, h.publish(ctx, namespace, name, "kubeconfig", adminSecret(name), kubeconfig)
}

func (h *HyperShift) letGo(ctx context.Context, u *unstructured.Unstructured) error {
	if err := h.RemoveSecret(ctx, u.GetNamespace(), u.GetName()); err != nil {
		return err
	}
	u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == hostedClusterFinalizer }))
	_, err := h.client.Resource(hostedClustersResource).Namespace(u.GetNamespace()).Update(ctx, u, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("removing finalizer: %w", err)
	}
	return nil
}

// publish writes the Secret before the status that names it, as HyperShift does.
func (h *HyperShift) publish(ctx context.Context, namespace, name, field, secretName string, kubeconfig []byte) error {
	secret := newObject("v1", "Secret", namespace, secretName)
	secret.Object["type"] = "Opaque"
	secret.Object["stringData"] = object{"kubeconfig": string(kubeconfig)}
	api := h.client.Resource(secretsResource).Namespace(namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := create(ctx, h.client.Resource(secretsResource), secret.DeepCopy())
		if err != nil {
			return err
		}
		live.Object["stringData"] = secret.Object["stringData"]
		_, err = api.Update(ctx, live, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("writing kubeconfig secret: %w", err)
	}
	return h.edit(ctx, namespace, name, func(u *unstructured.Unstructured) {
		setStatus(u, object{"name": secretName}, field)
		setCondition(u, "Available", "True", "AsExpected", "The hosted control plane is available")
		// Lasts until ingress works in the hosted cluster, so nobody may wait for it.
		setCondition(u, "ClusterVersionProgressing", "True", "ClusterOperatorNotAvailable", "waiting for cluster operator ingress")
	})
}

func (h *HyperShift) remember(namespace, name string, kubeconfig []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kubeconfigs[namespace+"/"+name] = kubeconfig
}

func (h *HyperShift) edit(ctx context.Context, namespace, name string, change func(*unstructured.Unstructured)) error {
	api := h.client.Resource(hostedClustersResource)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		u, err := api.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		before := u.DeepCopy()
		change(u)
		_, err = updateStatus(ctx, api, before, u)
		return err
	})
	if err != nil {
		return fmt.Errorf("changing hosted cluster %s/%s: %w", namespace, name, err)
	}
	return nil
}

func adminSecret(name string) string { return name + "-admin-kubeconfig" }

// withServer replaces the endpoint of every cluster of a kubeconfig.
func withServer(kubeconfig []byte, server string) ([]byte, error) {
	if server == "" {
		return kubeconfig, nil
	}
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = server
	}
	changed, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("writing kubeconfig: %w", err)
	}
	return changed, nil
}
