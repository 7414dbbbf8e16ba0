package main

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
)

// createPublishers makes the DNSServer and the ProxyServer, which serve another cluster already, or the Infra that has its own.
func (c *clusters) createPublishers(ctx context.Context) error {
	if c.attachment {
		return c.create(ctx, infras, publisher("Infra", infraName, map[string]any{
			"networkConfig": map[string]any{"cidr": netlab.VLAN, "gateway": "198.51.100.1", "dnsServers": []any{netlab.UpstreamPodAddress}},
			"infraComponents": map[string]any{
				"dns":   map[string]any{"serverIP": netlab.DNSAddress},
				"proxy": map[string]any{"serverIP": netlab.ProxyAddress, "internalProxyService": netlab.ProxyClusterIP},
			},
		}))
	}
	return errors.Join(
		c.create(ctx, dnsServers, publisher("DNSServer", dnsName, map[string]any{
			"networkConfig": map[string]any{
				"serverIP": netlab.DNSAddress, "proxyIP": netlab.ProxyAddress, "internalProxyIP": netlab.ProxyClusterIP,
				"secondaryNetworkCIDR": netlab.VLAN,
			},
			"hostedClusterDomain": baseDomain,
			"upstreamDNS":         []any{netlab.UpstreamPodAddress},
			"staticEntries":       []any{map[string]any{"hostname": "api.other." + baseDomain, "ip": "198.51.100.9"}},
		})),
		c.create(ctx, proxyServers, publisher("ProxyServer", proxyName, map[string]any{
			"networkConfig": map[string]any{"serverIP": netlab.ProxyAddress},
			"backends": []any{map[string]any{
				"name": "other-api", "hostname": "api.other." + baseDomain, "port": int64(6443),
				"targetService": "kube-apiserver", "targetPort": int64(6443), "targetNamespace": "clusters-other",
			}},
		})),
	)
}

func (c *clusters) create(ctx context.Context, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	client := c.pair.Management.Dynamic(testcluster.UserAdmin).Resource(resource)
	if _, err := client.Namespace(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

func publisher(kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "hostedcluster.densityops.com/v1alpha1", "kind": kind,
		"metadata": map[string]any{"namespace": "clusters", "name": name},
		"spec":     spec,
	}}
}
