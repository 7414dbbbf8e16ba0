// Package probe checks, from where it runs, whether a published apps ingress can really be reached: what DNS servers
// answer, and what HTTP and HTTPS answer at an address. It knows neither Kubernetes nor Terraform.
package probe

import (
	"context"
	"crypto/x509"
	"net/netip"
	"time"
)

// Result is the verdict on a path.
type Result string

// The verdicts.
const (
	OK            Result = "ok"
	Failed        Result = "failed"
	NotConfigured Result = "not_configured"         // there is no such path, or nothing is expected of it
	NotTestable   Result = "not_testable_from_here" // the path is of a network that this machine is not in
)

// The names of the paths, in the order in which Verify returns them: always all of them.
const (
	VLANDNS       = "vlan_dns"       // VLAN → DNS server: the address of the ingress
	EndpointHTTP  = "endpoint_http"  // VLAN → endpoint
	EndpointHTTPS = "endpoint_https" // the same, with TLS
	PodDNS        = "pod_dns"        // pod network → DNS server: the address of the proxy
	ProxyHTTP     = "proxy_http"     // pod network → proxy → endpoint
	ProxyHTTPS    = "proxy_https"    // the same, with TLS
	PublicDNS     = "public_dns"     // any network → public resolver
)

// Path is what is known of one path. The texts are the same in every run that meets the same: no random label, no port of
// this machine, no time is in them.
type Path struct {
	Name     string
	Result   Result
	Asked    string // address and port; empty when nothing was asked
	Expected string
	Observed string
	Message  string // what to make of it; empty when the result is OK
}

// Request is what Verify checks.
type Request struct {
	Domain   string     // "apps.demo.clusters.example.com", below which every name is to be answered; no trailing dot
	Label    string     // of the name that is asked for; empty: a random one
	IP       netip.Addr // the endpoint of the ingress: an address,
	Hostname string     // or a host name; neither: it has none yet

	VLAN, Pod, Public Resolver
	HTTP, HTTPS       uint16 // ports, at the endpoint and at the proxy
	Proxy             Proxy

	Only    []string // the names of the paths to check; nil: all
	Web     Web
	Attempt Attempt
}

// Resolver is a DNS server.
type Resolver struct {
	Server   netip.AddrPort // zero: there is none
	Expected netip.Addr     // what its answer has to be; zero: of a public one what a host name as the endpoint has, else nothing
	Location

	TCP bool // ask over TCP only; else over UDP, and over TCP what UDP truncates
}

// Proxy is the Envoy in front of the endpoint.
type Proxy struct {
	Address netip.Addr // zero: there is none
	Location
}

// Location says who can test a path.
type Location struct {
	// Missing says why a path that should be there has no address, such as an object that could not be read: it fails with that.
	Missing string
	// Inside are the networks whose members can test the path, Outside those whose members cannot: they are answered from
	// another view. Both empty: everybody can.
	Inside, Outside []netip.Prefix
	// Certain says that this machine can test the path, because the user says so: silence is then a failure, and so is the lack of a
	// route. Else they are taken for a network that this machine is not in.
	Certain bool
}

// Web is what is asked over HTTP and HTTPS, and what is expected.
type Web struct {
	Path   string         // default "/"
	Status int            // 0: any answer of an HTTP server will do
	Body   string         // a text that the body contains; empty: any
	Verify bool           // the certificate has to be valid for the name; else it is taken as it is
	Roots  *x509.CertPool // with Verify; nil: those of the machine
}

// Attempt says how patient each check is.
type Attempt struct {
	Timeout time.Duration // of one attempt; 0: 5 s
	Count   int           // attempts at most; 0: 1
	Pause   time.Duration // between two
}

// Verify checks all paths side by side and returns when all are known. A path that the context does not leave enough time
// for has failed.
func Verify(ctx context.Context, request Request) []Path {
	return newCheck(request).paths(ctx)
}

// Healthy says that at least one path is OK and none has failed.
func Healthy(paths []Path) bool {
	healthy := false
	for _, path := range paths {
		switch path.Result {
		case Failed:
			return false
		case OK:
			healthy = true
		case NotConfigured, NotTestable:
		}
	}
	return healthy
}
