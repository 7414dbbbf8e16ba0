package appsingress

import (
	"fmt"
	"net/netip"
)

// Phase is where an ingress stands, in the feature's own words.
type Phase string

// Reason is why, in the feature's own words.
type Reason string

// The phases.
const (
	PhasePending  Phase = "Pending"
	PhaseReady    Phase = "Ready"
	PhaseDegraded Phase = "Degraded"
)

// The reasons.
const (
	ReasonWaitingForNodes           Reason = "WaitingForHostedClusterNodes"
	ReasonWaitingForMetalLBCRDs     Reason = "WaitingForMetalLBCRDs"
	ReasonWaitingForExternalIP      Reason = "WaitingForExternalIP"
	ReasonReconciliationSucceeded   Reason = "ReconciliationSucceeded"
	ReasonHostedClusterAccessFailed Reason = "HostedClusterAccessFailed"
	ReasonMetalLBInstallFailed      Reason = "MetalLBInstallFailed"
	ReasonIngressServiceFailed      Reason = "IngressServiceFailed"
	ReasonExternalIPDiscoveryFailed Reason = "ExternalIPDiscoveryFailed"
	// ReasonPublicationFailed is the one reason the feature's reference has no word for: there, other controllers publish.
	ReasonPublicationFailed Reason = "PublicationFailed"
)

// Status is what is really there.
type Status struct {
	// Found is false when every object of this ingress answered 404: the ingress is gone.
	Found bool

	Phase         Phase
	Reason        Reason
	Message       string
	Endpoint      Endpoint
	DNSRecords    []DNSRecord
	ProxyBackends []ProxyBackend
	InstalledCSV  string
	Drift         []Difference

	// Unseen says why the hosted cluster could not be looked into, where that is no error; empty: it was.
	Unseen string
}

// compare adds the drift that the steps find. The first one that differs gives the reason, unless there is one already.
func (s *Status) compare(r *run, steps []step, reason Reason) {
	for _, step := range steps {
		found := step.drift(r)
		if len(found) > 0 && reason == "" {
			reason = step.broken()
		}
		s.Drift = append(s.Drift, found...)
	}
	if reason != "" {
		s.degrade(reason)
	}
}

// degrade turns a status into Degraded, with the first difference as its message.
func (s *Status) degrade(reason Reason) {
	s.Phase, s.Reason, s.Message = PhaseDegraded, reason, s.Drift[0].String()
	if more := len(s.Drift) - 1; more > 0 {
		s.Message += fmt.Sprintf(" (and %d more)", more)
	}
}

// Endpoint is where the ingress is reached: an IP or a host name, never both. The zero value is no endpoint.
type Endpoint struct {
	IP       netip.Addr
	Hostname string
}

// IsZero says that there is no endpoint.
func (e Endpoint) IsZero() bool { return !e.IP.IsValid() && e.Hostname == "" }

// String is the address or the host name; empty without an endpoint.
func (e Endpoint) String() string {
	if e.IP.IsValid() {
		return e.IP.String()
	}
	return e.Hostname
}

// View is who gets a DNS answer.
type View string

// The views of a DNSServer.
const (
	ViewVLAN View = "vlan"
	ViewPod  View = "pod"
)

// DNSRecord is an A record that is published.
type DNSRecord struct {
	Name  string
	View  View
	Value string
}

// ProxyBackend is an Envoy backend that is published.
type ProxyBackend struct {
	Name       string
	Hostname   string
	Port       int32
	Target     string
	TargetPort int32
}

// Affects says which published values a difference, once repaired, may change. Values are combined with |.
type Affects uint8

// What a difference can affect.
const (
	AffectsAddress     Affects = 1 << iota // the endpoint, and with it everything that is published
	AffectsPublication                     // DNS records and Envoy backends
	AffectsOperator                        // the installed CSV
)

// Difference is one difference between what is live and what is wanted.
type Difference struct {
	Object  string // "Service openshift-ingress/oooi-ingress"
	Field   string // "spec.type"; empty when the object as a whole is missing
	Want    string
	Got     string // empty: missing
	Affects Affects
}

// String is the line shown to the user.
func (d Difference) String() string {
	switch {
	case d.Field == "":
		return d.Object + ": missing"
	case d.Got == "":
		return fmt.Sprintf("%s: %s is missing, want %s", d.Object, d.Field, d.Want)
	case d.Want == "":
		return fmt.Sprintf("%s: %s is %s, want none", d.Object, d.Field, d.Got)
	}
	return fmt.Sprintf("%s: %s is %s, want %s", d.Object, d.Field, d.Got, d.Want)
}
