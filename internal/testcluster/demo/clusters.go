package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/netlab"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

// The names that examples/demo uses.
const (
	clusterName = "demo"
	baseDomain  = "clusters.example.com"
	poolName    = "apps-pool"
	dnsName     = "shared-dns"
	proxyName   = "shared-proxy"
	infraName   = "vlan100" // in attachment mode, in place of the two
)

// workerDelay is how long the hosted cluster is without a worker.
const workerDelay = 3 * time.Second

// delays are short, and long enough to see each wait.
func delays() simulator.Delays {
	const moment = 500 * time.Millisecond
	return simulator.Delays{
		NodeReady: workerDelay, Kubeconfig: moment, HostedClusterDelete: moment, Resolve: moment, Unpack: 2 * moment, CRDs: moment,
		CSVPhase: moment, MetalLBStart: 2 * moment, MetalLBRemove: moment,
	}
}

var (
	infras         = schema.GroupVersionResource{Group: "hostedcluster.densityops.com", Version: "v1alpha1", Resource: "infras"}
	dnsServers     = schema.GroupVersionResource{Group: "hostedcluster.densityops.com", Version: "v1alpha1", Resource: "dnsservers"}
	proxyServers   = schema.GroupVersionResource{Group: "hostedcluster.densityops.com", Version: "v1alpha1", Resource: "proxyservers"}
	services       = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	subscriptions  = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "subscriptions"}
	csvs           = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "clusterserviceversions"}
	metallbs       = schema.GroupVersionResource{Group: "metallb.io", Version: "v1beta1", Resource: "metallbs"}
	pools          = schema.GroupVersionResource{Group: "metallb.io", Version: "v1beta1", Resource: "ipaddresspools"}
	advertisements = schema.GroupVersionResource{Group: "metallb.io", Version: "v1beta1", Resource: "l2advertisements"}
)

// clusters are a management and a hosted cluster, and what runs in them.
type clusters struct {
	managementKubeconfig string
	hostedKubeconfig     string
	attachment           bool // the oooi operator does the work

	environment *testcluster.Environment
	pair        *testcluster.Pair
	lab         *netlab.DataPath // nil: without networks
	simulators  *simulator.Simulators
}

// startClusters starts everything; what it started is gone again when it fails. Programs log into dir.
func startClusters(ctx context.Context, dir string, attachment, networks bool) (_ *clusters, err error) {
	environment, err := testcluster.NewEnvironment(ctx)
	if err != nil {
		return nil, fmt.Errorf("starting etcd: %w", err)
	}
	c := &clusters{environment: environment, attachment: attachment}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	if c.pair, err = environment.NewPair(ctx); err != nil {
		return nil, fmt.Errorf("starting the API servers: %w", err)
	}
	c.managementKubeconfig = c.pair.Management.Kubeconfig(testcluster.UserProvider)
	c.hostedKubeconfig = c.pair.Hosted.Kubeconfig(testcluster.UserProvider)
	if err := c.createPublishers(ctx); err != nil {
		return nil, err
	}
	if networks {
		if err := c.startNetworks(ctx, dir); err != nil {
			return nil, err
		}
	}
	config, err := c.simulatorConfig(dir)
	if err != nil {
		return nil, err
	}
	// Not ended by Ctrl-C: while Terraform stops, and destroys, its clusters have to live.
	if c.simulators, err = simulator.Start(context.WithoutCancel(ctx), config); err != nil {
		return nil, fmt.Errorf("starting the simulators: %w", err)
	}
	return c, nil
}

func (c *clusters) stop() error {
	var err error
	if c.simulators != nil {
		err = c.simulators.Stop()
	}
	if c.lab != nil {
		c.lab.Close()
	}
	return errors.Join(err, c.environment.Close())
}

func (c *clusters) simulatorConfig(dir string) (simulator.Config, error) {
	crds, err := testcluster.MetalLBCRDs()
	if err != nil {
		return simulator.Config{}, fmt.Errorf("reading MetalLB's CRDs: %w", err)
	}
	metallb, err := c.metalLB(filepath.Join(dir, "metallb.log"))
	if err != nil {
		return simulator.Config{}, fmt.Errorf("looking for MetalLB: %w", err)
	}
	config := simulator.Config{
		Management: c.pair.Management.REST(testcluster.UserSimulator),
		Hosted:     c.pair.Hosted.REST(testcluster.UserSimulator),
		Delays:     delays(),
		Workers:    c.workers(),
		OLM:        &simulator.OLMOptions{CRDs: crds},
		MetalLB:    &simulator.MetalLBOperatorOptions{Start: metallb},
		HostedClusters: []simulator.HostedCluster{{
			Name: clusterName, BaseDomain: baseDomain, Kubeconfig: c.pair.Hosted.KubeconfigBytes(testcluster.UserProvider),
		}},
	}
	if c.attachment {
		config.Oooi = &simulator.OooiOptions{}
	}
	return config, nil
}

// metalLB is how MetalLB is started: with networks its speakers run too, one on each worker.
func (c *clusters) metalLB(logFile string) (simulator.StartOperand, error) {
	if c.lab != nil {
		return c.lab.StartMetalLB, nil
	}
	binary, err := testcluster.Binary("metallb-controller")
	if err != nil {
		return nil, err
	}
	return simulator.RealController{
		Binary:     binary,
		Kubeconfig: c.pair.Hosted.Kubeconfig(testcluster.UserMetalLB),
		Namespace:  "openshift-operators",
		LogFile:    logFile,
	}.Start, nil
}

func (c *clusters) workers() []simulator.Node {
	if c.lab == nil {
		return []simulator.Node{{Name: "worker-1"}}
	}
	var nodes []simulator.Node
	for _, worker := range c.lab.Workers {
		nodes = append(nodes, simulator.Node{Name: worker.Name})
	}
	return nodes
}

// moment is something that happened in a cluster.
type moment struct {
	after time.Duration
	text  string
}

// moments are what happened since start, each event once.
func (c *clusters) moments(start time.Time) []moment {
	var all []moment
	seen := map[simulator.Event]bool{}
	for _, m := range c.simulators.Timeline().Moments() {
		if seen[m.Event] {
			continue
		}
		seen[m.Event] = true
		text := string(m.Event)
		if m.Event == simulator.AddressAssigned {
			text += ": " + m.Detail
		}
		all = append(all, moment{after: m.At.Sub(start), text: text})
	}
	return all
}

// breakThings does behind Terraform's back what people do, and says what.
func (c *clusters) breakThings(ctx context.Context) ([]string, error) {
	hosted := c.pair.Hosted.Dynamic(testcluster.UserTest)
	advertisement := "advertise-" + poolName
	err := hosted.Resource(advertisements).Namespace("openshift-operators").Delete(ctx, advertisement, metav1.DeleteOptions{})
	if err != nil {
		return nil, fmt.Errorf("deleting the L2Advertisement: %w", err)
	}
	patch := []byte(`{"spec":{"selector":{"tier":"canary"}}}`)
	_, err = hosted.Resource(services).Namespace("openshift-ingress").Patch(ctx, "oooi-ingress", types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "kubectl-edit"})
	if err != nil {
		return nil, fmt.Errorf("editing the Service: %w", err)
	}
	return []string{
		"deleted L2Advertisement openshift-operators/" + advertisement + ": nobody announces the address any more",
		"added tier=canary to the selector of Service openshift-ingress/oooi-ingress: no router pod matches any more",
	}, nil
}

// leftovers are what the provider made and is still there: objects in the hosted cluster, which had none of these kinds
// before, and entries of the lists in the management cluster. The oooi operator leaves the CSV that OLM made, and does not
// wait for the end of what it deletes.
func (c *clusters) leftovers(ctx context.Context) ([]string, error) {
	made := func(object *unstructured.Unstructured) bool {
		going := c.attachment && object.GetDeletionTimestamp() != nil
		return object.GetNamespace() != metav1.NamespaceDefault && !going
	}
	kinds := []schema.GroupVersionResource{services, subscriptions, metallbs, pools, advertisements}
	if !c.attachment {
		kinds = append(kinds, csvs)
	}
	left, err := find(ctx, c.pair.Hosted, made, kinds...)
	if err != nil {
		return nil, err
	}
	published := func(object *unstructured.Unstructured) bool {
		return strings.Contains(fmt.Sprint(object.Object["spec"]), "*.apps."+clusterName+"."+baseDomain)
	}
	entries, err := find(ctx, c.pair.Management, published, dnsServers, proxyServers)
	return append(left, entries...), err
}

// find names the objects of these kinds for which wanted is true.
func find(ctx context.Context, cluster *testcluster.Cluster, wanted func(*unstructured.Unstructured) bool,
	resources ...schema.GroupVersionResource,
) (found []string, err error) {
	for _, resource := range resources {
		list, err := cluster.Dynamic(testcluster.UserTest).Resource(resource).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		for i := range list.Items {
			if object := &list.Items[i]; wanted(object) {
				found = append(found, fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName()))
			}
		}
	}
	return found, nil
}
