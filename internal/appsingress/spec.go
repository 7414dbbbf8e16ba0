package appsingress

import (
	"net/netip"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
)

// Defaults of the feature, as its reference states them.
const (
	DefaultNamespace             = "clusters"
	DefaultMetalLBNamespace      = "openshift-operators"
	DefaultServiceName           = "oooi-ingress"
	DefaultServiceNamespace      = "openshift-ingress"
	DefaultHTTPPort              = 80
	DefaultHTTPSPort             = 443
	DefaultChannel               = "stable"
	DefaultSource                = "redhat-operators"
	DefaultSourceNamespace       = "openshift-marketplace"
	DefaultPackage               = "metallb-operator"
	DefaultExternalTrafficPolicy = "Cluster"
)

// DefaultL2AdvertisementName is the advertisement's name when none is given.
func DefaultL2AdvertisementName(pool string) string { return "advertise-" + pool }

// NamespacedName names an object of a kind that is clear from the context.
type NamespacedName struct{ Namespace, Name string }

// String is "namespace/name".
func (n NamespacedName) String() string { return n.Namespace + "/" + n.Name }

// IsZero says that nothing is named.
func (n NamespacedName) IsZero() bool { return n == NamespacedName{} }

// Spec is what the user wants: one apps ingress. Every default is already filled in.
type Spec struct {
	Namespace string // management namespace
	Name      string

	Mode          Mode
	Infra         string // name of the Infra; empty: none
	Publish       Publish
	HostedCluster NamespacedName // zero: none, Access says how to reach the hosted cluster
	Access        Access
	Domain        Domain
	MetalLB       MetalLB
	Service       Service
	Ports         Ports
	AdoptExisting bool

	// Imported is true from the import until the first update has set the marks: what has none, under the names of the spec, is
	// this ingress's then. Shared things are not.
	Imported bool
}

// ID identifies the ingress in the marks on everything it creates: "namespace/name".
func (s Spec) ID() string { return s.Namespace + "/" + s.Name }

// Mode says who does the work on the hosted cluster and who publishes.
type Mode string

// The modes. ModeUnset is only ever seen before ResolveMode.
const (
	ModeUnset      Mode = ""
	ModeDirect     Mode = "direct"
	ModeAttachment Mode = "attachment"
)

// Publish names the objects, in the ingress's namespace, that DNS and Envoy are configured from. Empty: not published there.
type Publish struct{ DNSServer, ProxyServer string }

// Access says where the hosted cluster's kubeconfig is when not in the HostedCluster's Secret, and what of it to override.
type Access struct {
	ConfigPath           string
	ConfigContext        string
	Host                 string
	TLSServerName        string
	ClusterCACertificate string
	Insecure             bool
	ProxyURL             string
}

// DefaultPublish is where an ingress of an Infra is published when nothing else is said.
func DefaultPublish(infra string) Publish {
	return Publish{DNSServer: infra + "-dns", ProxyServer: infra + "-proxy"}
}

// Domain is the cluster's DNS name. BaseDomain has no trailing dot.
type Domain struct{ ClusterName, BaseDomain string }

// String is "<cluster>.<base>".
func (d Domain) String() string { return d.ClusterName + "." + d.BaseDomain }

// Wildcard is "*.apps.<cluster>.<base>".
func (d Domain) Wildcard() string { return "*.apps." + d.String() }

// MetalLB is what is installed in the hosted cluster and which addresses it may give.
type MetalLB struct {
	Namespace           string
	Install             bool
	Subscription        Subscription
	AddressPoolName     string
	Range               addresspool.Range
	RangeText           string // as the user wrote it; this is what the pool carries
	AutoAssign          bool
	L2AdvertisementName string
	LoadBalancerClass   string
}

// Subscription is how OLM installs the MetalLB operator.
type Subscription struct{ Channel, Source, SourceNamespace, Package, StartingCSV string }

// Service is the LoadBalancer Service in front of the default IngressController.
type Service struct {
	Namespace             string
	Name                  string
	Annotations           map[string]string
	Labels                map[string]string
	LoadBalancerIP        netip.Addr // zero: not pinned
	ExternalTrafficPolicy string
}

// Ports are the ports of the Service and of the Envoy backends.
type Ports struct{ HTTP, HTTPS int32 }
