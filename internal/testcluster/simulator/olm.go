package simulator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// OLMOptions say what the catalogs offer and what an installation brings.
type OLMOptions struct {
	// Package, Channel and CSV are what the catalog offers.
	Package string // default metallb-operator
	Channel string // default stable
	CSV     string // head of the channel, default metallb-operator.v4.18.0-202601010000
	// OlderCSVs can be asked for by startingCSV; nil accepts any name that starts with the package's.
	OlderCSVs []string
	// CatalogSources are created in CatalogNamespace at start; nil means those of an OpenShift cluster.
	CatalogSources   []string
	CatalogNamespace string // default openshift-marketplace
	// OperatorNamespace gets the global OperatorGroup of an OpenShift cluster. Default openshift-operators.
	OperatorNamespace string
	// CRDs are what the operator brings.
	CRDs []*unstructured.Unstructured
	// UnpackTimeout is how long the bundle may wait for a worker before OLM gives up for good; 0 is for ever.
	UnpackTimeout time.Duration
	// ReinstallCSV brings back a CSV that was deleted while its Subscription lives. OLM does not.
	ReinstallCSV bool
	// AdoptOrphans lets a new Subscription take over a CSV that is there already. OLM does not.
	AdoptOrphans bool
	// CopyTo are namespaces that get a copy of the installed CSV, as under a global OperatorGroup.
	CopyTo []string
}

func (o OLMOptions) withDefaults() OLMOptions {
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	fill(&o.Package, "metallb-operator")
	fill(&o.Channel, "stable")
	fill(&o.CSV, "metallb-operator.v4.18.0-202601010000")
	fill(&o.CatalogNamespace, "openshift-marketplace")
	fill(&o.OperatorNamespace, "openshift-operators")
	if o.CatalogSources == nil {
		o.CatalogSources = []string{"redhat-operators", "certified-operators", "community-operators", "redhat-marketplace"}
	}
	return o
}

// Stage is a point at which OLM can be held.
type Stage string

// The stages of an installation; OLM held at one does nothing of it and of what follows.
const (
	StageResolve     Stage = "resolve"
	StageUnpack      Stage = "unpack"
	StageInstallPlan Stage = "install plan"
	StageCRDs        Stage = "crds"
	StageCSV         Stage = "csv"
)

// Failure is what OLM reports, with the reason and message of a condition.
type Failure struct {
	Reason, Message string
	For             time.Duration // 0: until switched off
}

// OLMFaults switch OLM's ways to fail on; the zero value is a healthy OLM.
type OLMFaults struct {
	Hold               Stage // never gets past
	NoStatus           bool  // creates what it creates without ever writing a status
	ResolutionFailed   *Failure
	BundleUnpackFailed *Failure
	InstallPlanFailed  *Failure
	CSVFailed          *Failure
}

// OLM plays the Operator Lifecycle Manager of the hosted cluster for one package.
type OLM struct {
	client   dynamic.Interface
	timeline *Timeline
	delays   Delays
	options  OLMOptions
	runner   *runner
	clocks   stopwatches

	// Only the runner's goroutine touches these.
	seen     map[string]bool // Subscriptions, by UID
	created  map[string]bool // CSVs that this OLM made, by the UID of their Subscription and name
	timedOut map[string]bool // bundles whose time to unpack is over for good

	mu      sync.Mutex
	faults  OLMFaults
	since   time.Time // when the faults were set
	upgrade string    // head of the channel after OfferUpgrade
}

func newOLM(client dynamic.Interface, timeline *Timeline, delays Delays, options OLMOptions, logf func(string, ...any)) *OLM {
	o := &OLM{
		client: client, timeline: timeline, delays: delays, options: options.withDefaults(),
		seen: map[string]bool{}, created: map[string]bool{}, timedOut: map[string]bool{},
	}
	o.runner = newRunner("olm", client, logf, o.reconcile,
		subscriptionsResource, csvsResource, installPlansResource, catalogSourcesResource, nodesResource)
	return o
}

// SetFaults replaces all switches at once.
func (o *OLM) SetFaults(faults OLMFaults) {
	o.mu.Lock()
	o.faults, o.since = faults, time.Now()
	o.mu.Unlock()
	o.runner.Wake()
}

// OfferUpgrade puts a newer CSV at the head of the channel. A Subscription with Manual approval then has a plan pending
// beside its installed CSV; one with Automatic approval upgrades.
func (o *OLM) OfferUpgrade(csv string) {
	o.mu.Lock()
	o.upgrade = csv
	o.mu.Unlock()
	o.runner.Wake()
}

// active is the failure while it lasts.
func (o *OLM) active(pick func(OLMFaults) *Failure) *Failure {
	o.mu.Lock()
	defer o.mu.Unlock()
	failure := pick(o.faults)
	if failure == nil || (failure.For > 0 && time.Since(o.since) >= failure.For) {
		return nil
	}
	return failure
}

func (o *OLM) held(stage Stage) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.faults.Hold == stage
}

func (o *OLM) silent() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.faults.NoStatus
}

// faultEnds is when a failure of limited time is over.
func (o *OLM) faultEnds() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	var next time.Duration
	for _, failure := range []*Failure{
		o.faults.ResolutionFailed, o.faults.BundleUnpackFailed, o.faults.InstallPlanFailed, o.faults.CSVFailed,
	} {
		if failure == nil || failure.For == 0 {
			continue
		}
		if left := failure.For - time.Since(o.since); left > 0 {
			next = sooner(next, left)
		}
	}
	return next
}

// seed creates what an OpenShift cluster has before anything is subscribed to.
func (o *OLM) seed(ctx context.Context) error {
	for _, namespace := range []string{o.options.CatalogNamespace, o.options.OperatorNamespace, "openshift-ingress"} {
		if err := ensureNamespace(ctx, o.client, namespace); err != nil {
			return err
		}
	}
	group := newObject(olmGroup+"/v1", "OperatorGroup", o.options.OperatorNamespace, "global-operators")
	group.Object["spec"] = object{}
	if _, err := create(ctx, o.client.Resource(operatorGroupsResource), group); err != nil {
		return err
	}
	for _, name := range o.options.CatalogSources {
		if err := o.AddCatalogSource(ctx, o.options.CatalogNamespace, name); err != nil {
			return err
		}
	}
	return nil
}

// AddCatalogSource creates a healthy catalog that offers the package.
func (o *OLM) AddCatalogSource(ctx context.Context, namespace, name string) error {
	source := newObject(olmGroup+"/v1alpha1", "CatalogSource", namespace, name)
	source.Object["spec"] = object{"sourceType": "grpc", "image": "catalog.invalid/" + name + ":latest", "displayName": name}
	created, err := create(ctx, o.client.Resource(catalogSourcesResource), source)
	if err != nil {
		return err
	}
	before := created.DeepCopy()
	setStatus(created, object{"lastObservedState": "READY", "lastConnect": now()}, "connectionState")
	_, err = updateStatus(ctx, o.client.Resource(catalogSourcesResource), before, created)
	return err
}

// reconcile takes every Subscription to the package one step further.
func (o *OLM) reconcile(ctx context.Context) (time.Duration, error) {
	subscriptions, err := list(ctx, o.client.Resource(subscriptionsResource), "")
	if err != nil {
		return 0, fmt.Errorf("subscriptions: %w", err)
	}
	next := o.faultEnds()
	for i := range subscriptions {
		if subscriptions[i].GetDeletionTimestamp() != nil {
			continue
		}
		after, err := o.subscription(ctx, &subscriptions[i])
		if err != nil {
			return 0, fmt.Errorf("subscription %s: %w", subscriptions[i].GetName(), err)
		}
		next = sooner(next, after)
	}
	if err := o.collectPlans(ctx, subscriptions); err != nil {
		return 0, err
	}
	after, err := o.csvs(ctx)
	return sooner(next, after), err
}

// collectPlans removes the InstallPlans of deleted Subscriptions, as the garbage collector would; CSVs stay.
func (o *OLM) collectPlans(ctx context.Context, subscriptions []unstructured.Unstructured) error {
	alive := map[string]bool{}
	for i := range subscriptions {
		alive[string(subscriptions[i].GetUID())] = true
	}
	plans, err := list(ctx, o.client.Resource(installPlansResource), "")
	if err != nil {
		return fmt.Errorf("install plans: %w", err)
	}
	for i := range plans {
		for _, owner := range plans[i].GetOwnerReferences() {
			if owner.Kind != "Subscription" || alive[string(owner.UID)] {
				continue
			}
			if err := remove(ctx, o.client.Resource(installPlansResource), plans[i].GetNamespace(), plans[i].GetName()); err != nil {
				return err
			}
		}
	}
	return nil
}
