package provider

import (
	"context"
	"fmt"
	"os"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// engine is all that resources and data sources need from below. Tests drive them with a scripted one and no cluster.
type engine interface {
	// Driver does the whole job for one ingress. previous is the spec of the prior state on update, nil otherwise.
	Driver(spec appsingress.Spec, previous *appsingress.Spec) appsingress.Driver

	// ResolveMode says which mode an unset one means. known is false when that cannot be said yet.
	ResolveMode(ctx context.Context, spec appsingress.Spec) (mode appsingress.Mode, known bool, err error)

	// Check looks for what a configuration collides with. It writes nothing.
	Check(ctx context.Context, spec appsingress.Spec) (appsingress.Findings, error)

	// Import describes an ingress that exists, from what its import id says of it.
	Import(ctx context.Context, seed appsingress.Spec) (appsingress.Spec, error)

	// Infra reads a VLAN.
	Infra(ctx context.Context, name appsingress.NamespacedName) (appsingress.Infra, error)

	// Ingress reads an ingress that something else manages.
	Ingress(ctx context.Context, query appsingress.Query) (appsingress.Ingress, error)

	// Servers reads where an ingress is published.
	Servers(ctx context.Context, namespace string, publish appsingress.Publish) appsingress.Servers

	// ClusterUID identifies the management cluster.
	ClusterUID(ctx context.Context) (string, error)
}

// connectFunc makes the engine from the provider's arguments. It must not connect and must not read a file: it runs at
// every plan, also before the cluster exists.
type connectFunc func(config kube.Config) (engine, error)

// clusterEngine is the engine on real clusters.
type clusterEngine struct {
	management *kube.Cluster
	clusters   *kube.Clusters
}

// connect is the connectFunc of the released provider.
func connect(config kube.Config) (engine, error) {
	if err := config.Validate(os.Getenv); err != nil {
		return nil, fmt.Errorf("reading the provider's arguments: %w", err)
	}
	return &clusterEngine{
		management: kube.NewCluster("management cluster", config.Loader(os.Getenv)),
		clusters:   &kube.Clusters{},
	}, nil
}

// Driver implements engine.
func (e *clusterEngine) Driver(spec appsingress.Spec, previous *appsingress.Spec) appsingress.Driver {
	return appsingress.New(e.management, e.clusters, spec, previous)
}

// ResolveMode implements engine.
func (e *clusterEngine) ResolveMode(ctx context.Context, spec appsingress.Spec) (appsingress.Mode, bool, error) {
	return appsingress.ResolveMode(ctx, e.management, spec)
}

// Check implements engine.
func (e *clusterEngine) Check(ctx context.Context, spec appsingress.Spec) (appsingress.Findings, error) {
	return appsingress.Check(ctx, e.management, e.clusters, spec)
}

// Import implements engine.
func (e *clusterEngine) Import(ctx context.Context, seed appsingress.Spec) (appsingress.Spec, error) {
	return appsingress.Import(ctx, e.management, e.clusters, seed)
}

// Infra implements engine.
func (e *clusterEngine) Infra(ctx context.Context, name appsingress.NamespacedName) (appsingress.Infra, error) {
	return appsingress.ReadInfra(ctx, e.management, name)
}

// Ingress implements engine.
func (e *clusterEngine) Ingress(ctx context.Context, query appsingress.Query) (appsingress.Ingress, error) {
	return appsingress.ReadIngress(ctx, e.management, e.clusters, query)
}

// Servers implements engine.
func (e *clusterEngine) Servers(ctx context.Context, namespace string, publish appsingress.Publish) appsingress.Servers {
	return appsingress.ReadServers(ctx, e.management, namespace, publish)
}

// ClusterUID implements engine.
func (e *clusterEngine) ClusterUID(ctx context.Context) (string, error) {
	uid, err := e.management.UID(ctx)
	if err != nil {
		return "", err //nolint:wrapcheck // kube names verb, object and cluster already
	}
	return string(uid), nil
}
