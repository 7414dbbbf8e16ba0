package simulator

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const (
	oooiGroup   = "hostedcluster.densityops.com"
	oooiVersion = oooiGroup + "/v1alpha1"
	// oooiName is the operator's field manager and user agent: it tells its requests from those of others who use the same
	// kubeconfig.
	oooiName = "oooi-operator"
	// ingressFinalizer holds a deleted attachment until its hosted cluster is cleaned up.
	ingressFinalizer = oooiGroup + "/apps-ingress-cleanup"
)

var (
	infrasResource       = schema.GroupVersionResource{Group: oooiGroup, Version: "v1alpha1", Resource: "infras"}
	attachmentsResource  = schema.GroupVersionResource{Group: oooiGroup, Version: "v1alpha1", Resource: "infraclusterattachments"}
	dnsServersResource   = schema.GroupVersionResource{Group: oooiGroup, Version: "v1alpha1", Resource: "dnsservers"}
	proxyServersResource = schema.GroupVersionResource{Group: oooiGroup, Version: "v1alpha1", Resource: "proxyservers"}
)

// AttachmentReconciled is a moment of the timeline: the operator has looked at an attachment. Its detail is the phase and
// the reason that came of it.
const AttachmentReconciled Event = "attachment reconciled"

// OooiOptions are the operator's times, and what differs between its versions. Zero fields mean the real operator's.
type OooiOptions struct {
	// WaitInterval is between two looks while there is no Ready node or MetalLB's CRDs are missing. Default 30 s.
	WaitInterval time.Duration
	// AddressInterval is between two looks at a Service without an address. Default 15 s.
	AddressInterval time.Duration
	// ErrorInterval is between two tries after a failure. Default 30 s.
	ErrorInterval time.Duration
	// CleanupInterval is between two tries to clean up for a deleted attachment. Default 30 s.
	CleanupInterval time.Duration
	// Blink is for how long the endpoint is withdrawn after something in the hosted cluster had to be repaired. Default 0.1 s.
	Blink time.Duration
	// HostedTimeout is how long one request to a silent hosted API blocks the only worker. Default 10 s.
	HostedTimeout time.Duration
	// NameLength is how much of an attachment's name goes into the names of its backends: 39 (default), earlier 28.
	NameLength int
	// DisableRemoves takes the hosted objects away when the ingress is disabled; one version of the operator does.
	DisableRemoves bool
}

func (o OooiOptions) withDefaults() OooiOptions {
	fill := func(field *time.Duration, value time.Duration) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&o.WaitInterval, 30*time.Second)
	fill(&o.AddressInterval, 15*time.Second)
	fill(&o.ErrorInterval, 30*time.Second)
	fill(&o.CleanupInterval, 30*time.Second)
	fill(&o.Blink, 100*time.Millisecond)
	fill(&o.HostedTimeout, 10*time.Second)
	if o.NameLength == 0 {
		o.NameLength = 39
	}
	return o
}

// OooiFaults switch the operator's ways to fail on; the zero value is a healthy operator.
type OooiFaults struct {
	Stopped      bool         // does nothing, as when its Deployment is scaled to 0; started again it looks at everything
	Unpublished  bool         // attachments become Ready, but DNSServer and ProxyServer are not written
	KeepDeleting bool         // the attachments' finalizer stays
	Degraded     *OooiFailure // what is reported in place of any work in the hosted cluster
}

// OooiFailure is a phase Degraded with a reason of its own.
type OooiFailure struct {
	Attachment      string // "" for all
	Reason, Message string
}

// Oooi plays the oooi operator: one worker for the attachments, one for the Infras.
type Oooi struct {
	client   dynamic.Interface
	timeline *Timeline
	options  OooiOptions
	logf     func(format string, args ...any)

	attachments, infras *keyedQueue
	// Only the attachments' worker touches the connections to the hosted clusters.
	connections map[types.NamespacedName]*hostedConnection

	mu     sync.Mutex
	faults OooiFaults
}

func newOooi(client dynamic.Interface, timeline *Timeline, options OooiOptions, logf func(string, ...any)) *Oooi {
	return &Oooi{
		client: client, timeline: timeline, options: options.withDefaults(), logf: logf,
		attachments: newKeyedQueue(), infras: newKeyedQueue(), connections: map[types.NamespacedName]*hostedConnection{},
	}
}

// SetFaults replaces all switches at once and makes the operator look at everything.
func (o *Oooi) SetFaults(faults OooiFaults) {
	o.mu.Lock()
	o.faults = faults
	o.mu.Unlock()
	o.attachments.AddAll()
	o.infras.AddAll()
}

func (o *Oooi) fault() OooiFaults {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.faults
}

// run returns when the context ends and all its goroutines have.
func (o *Oooi) run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { o.attachments.run(ctx, o.logged("oooi attachment", o.reconcileAttachment)) })
	running.Go(func() { o.infras.run(ctx, o.logged("oooi infra", o.reconcileInfra)) })
	for resource, changed := range map[schema.GroupVersionResource]objectHandler{
		attachmentsResource:  o.attachmentHandler(),
		infrasResource:       o.infraHandler(),
		dnsServersResource:   o.ownedChanged,
		proxyServersResource: o.ownedChanged,
	} {
		running.Go(func() { o.watchObjects(ctx, resource, changed) })
	}
	running.Wait()
}
