package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Served is the set of plurals that the API server serves of a group version; empty when it serves none. It asks for the one
// group only, never for a list of all groups, and remembers nothing.
func (c *Cluster) Served(ctx context.Context, gv schema.GroupVersion) (map[string]bool, error) {
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	ref := Ref{Resource: Resource{GroupVersionResource: gv.WithResource(""), Kind: "resources of " + gv.String()}}
	var body []byte
	err := c.request(ctx, verbGet, ref, func(ctx context.Context, conn *connection) (err error) {
		body, err = conn.rest.Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
		return err
	})
	if IsNotFound(err) {
		return map[string]bool{}, nil
	}
	if err != nil {
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, c.wrap(verbGet, ref, fmt.Errorf("decode the answer: %w", err))
	}
	served := make(map[string]bool, len(list.APIResources))
	for _, resource := range list.APIResources {
		if !strings.Contains(resource.Name, "/") { // a subresource
			served[resource.Name] = true
		}
	}
	return served, nil
}

// UID identifies the cluster: the UID of its namespace kube-system. It is read once, however many ask at the same time.
func (c *Cluster) UID(ctx context.Context) (types.UID, error) {
	ref := Ref{Resource: NewResource("v1", "namespaces", "Namespace"), Name: metav1.NamespaceSystem}
	done, err := c.turns.take(ctx, ref)
	if err != nil {
		return "", c.wrap(verbGet, ref, err)
	}
	defer done()
	if c.uid != "" {
		return c.uid, nil
	}
	namespace, err := c.Get(ctx, ref)
	if err != nil {
		return "", err
	}
	c.uid = namespace.GetUID()
	return c.uid, nil
}
