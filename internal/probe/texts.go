package probe

import (
	"errors"
	"fmt"

	"github.com/miekg/dns"
)

// What was observed. Nothing here comes from the text of an error: that has ports and addresses of this machine in it.
const (
	seenNothing   = "no answer"
	seenNoRecord  = "no A record"
	seenRefused   = "connection refused"
	seenCut       = "connection closed or reset"
	seenTruncated = "truncated answer"
	seenStranger  = "answer to another question"
	seenMalformed = "malformed answer"
	seenBlocked   = "blocked on this machine"
	seenUnmade    = "connection not made"
	seenTLSCut    = "TLS handshake cut"
	seenNoTLS     = "not TLS"
	seenTLSFailed = "TLS handshake failed"
	seenNoHTTP    = "not HTTP"
	seenNoHost    = "host name not found"
	seenNoLookup  = "host name not resolved"
)

// What to make of it, where that is the same for several paths.
const (
	textLeftOut    = "it is not among the paths to check"
	textElsewhere  = "no answer: this machine does not seem to be in that network"
	textOtherView  = "this machine is not in the network of this path, and would be answered from another view"
	textNoRoute    = "this machine has no route to that network"
	textOutOfTime  = "the time given was not enough to know: give more, or fewer and shorter attempts"
	textNoEndpoint = "the ingress has no endpoint yet, or none is given: nothing was asked"
	textNoRecord   = "an endpoint that is a host name gets no record from oooi"
	textNoName     = "the name to ask for is no valid domain name"
	textUnmade     = "this machine cannot make the connection: see whether the address is valid, and how many files this process may open"
	textBlocked    = "this machine does not let the connection out: see its firewall and the rights of this process"
)

// dnsText is what is said of a DNS server.
type dnsText struct {
	none            string // there is no server
	nothingExpected string
	missing         string // it has no address for the name
	wrong           string // it has another
	refused         string
	silent          string
}

var dnsWords = map[string]dnsText{
	VLANDNS: {
		none:            "no DNS server is known for the VLAN",
		nothingExpected: "no address is expected in the VLAN view",
		missing:         "no wildcard entry is loaded in its VLAN view: see its configuration and its log",
		wrong:           "the entry is old or another's, or the answer comes from another view",
		refused:         "nothing listens at the address and port of the DNS server: see whether its pods run",
		silent: "nothing comes back from the DNS server: see whether it is there on the VLAN, its port is let through, " +
			"and this machine reaches that network",
	},
	PodDNS: {
		none:            "no DNS server is known for the pod network",
		nothingExpected: "no internal proxy address: the pod view has no answer of its own",
		missing:         "no wildcard entry is loaded in its pod view: see its configuration and its log",
		wrong:           "the entry is old or another's, or the answer comes from another view",
		refused:         "nothing listens at the ClusterIP and port of the DNS server: see whether its pods run",
		silent: "nothing comes back from the DNS server: see whether its pods run, no network policy is in the way, " +
			"and this machine reaches that network",
	},
	PublicDNS: {
		none:            "no public resolver is given",
		nothingExpected: "no address is expected of the public resolver",
		missing:         "the wildcard record is missing in the public zone, or is not published yet",
		wrong:           "the record is old or another's, or the resolver still remembers one",
		refused:         "nothing listens at the address and port of the resolver: see whether it is the right one",
		silent:          "nothing comes back from the resolver: see whether it is the right one and its port is let through",
	},
}

// rejected is for an answer without an address.
func (t dnsText) rejected(rcode int, name string) string {
	switch rcode {
	case dns.RcodeSuccess, dns.RcodeNameError:
		return fmt.Sprintf("it has no address for %s: %s", name, t.missing)
	case dns.RcodeServerFailure:
		return "the DNS server could not find an answer: see its log, and the server that it forwards to"
	case dns.RcodeRefused:
		return "the DNS server does not serve this name or this client: see its zones and who may ask"
	default:
		return "the DNS server rejects the question: see its log"
	}
}

func rcodeText(rcode int) string {
	if rcode == dns.RcodeBadVers {
		return "BADVERS" // the library calls it by its other name
	}
	if text, known := dns.RcodeToString[rcode]; known {
		return text
	}
	return fmt.Sprintf("RCODE %d", rcode)
}

// brokenDNS is for an error instead of an answer.
func brokenDNS(err error, words dnsText) finding {
	kind := faultOf(err)
	found := finding{late: kind == faultLate}
	switch {
	case errors.Is(err, errTruncated):
		found.observed = seenTruncated
		found.message = "the answer is cut off and cannot be had whole over TCP: see whether the DNS port is open for TCP, too"
		return found
	case errors.Is(err, errStranger):
		found.observed = seenStranger
		found.message = "what answers there does not answer the question: see what else listens at the address"
		return found
	case errors.Is(err, errMalformed):
		found.observed, found.message = seenMalformed, "what answers there is no DNS server: see what else listens at the address"
		return found
	}

	switch kind {
	case faultLate, faultUnreachable:
		_, heard := errors.AsType[*heardError](err)
		found.observed, found.message, found.silent = seenNothing, words.silent, !heard
		if heard {
			found.message = "the DNS server is there but stops answering: see its log and its load"
		}
	case faultRefused:
		found.observed, found.message = seenRefused, words.refused
	case faultCut:
		found.observed, found.message = seenCut, "the DNS server closes the connection without an answer: see its log"
	case faultBlocked:
		found.observed, found.message = seenBlocked, textBlocked
	default:
		found.observed, found.message = seenUnmade, textUnmade
	}
	return found
}

// webText is what is said of what answers over HTTP.
type webText struct {
	none    string
	refused string
	silent  string
	cut     string
	stuck   string // it has taken the connection, and no more
}

var (
	endpointWords = webText{
		refused: "nothing listens at this port of the endpoint: see whether the ingress's service has endpoints",
		silent: "see whether the address of the endpoint is announced in the VLAN, no firewall is in the way, " +
			"and this machine reaches that network",
		cut:   "the endpoint takes the connection and ends it: see whether the router's pods are ready",
		stuck: "the endpoint takes the connection and says no more: see whether the router's pods are ready",
	}
	proxyWords = webText{
		none:    "no proxy is known",
		refused: "nothing listens at this port of the proxy: see whether its pods run",
		silent:  "see whether the proxy's pods run, no network policy is in the way, and this machine reaches that network",
		cut:     "the proxy takes the connection and ends it: it does not reach the endpoint, or has no way for this name",
		stuck:   "the proxy takes the connection and says no more: see whether it reaches the endpoint",
	}
)

// brokenWeb is for a connection that brought no answer; at says what it was doing.
func brokenWeb(at stage, err error, words webText) finding {
	kind := faultOf(err)
	found := finding{late: kind == faultLate}
	switch kind {
	case faultLate, faultUnreachable:
		hint := words.stuck
		if at == connecting {
			found.silent, hint = true, words.silent
		}
		found.observed, found.message = seenNothing, fmt.Sprintf("no answer while %s: %s", at, hint)
	case faultRefused:
		found.observed, found.message = seenRefused, words.refused
	case faultCut:
		found.observed, found.message = seenCut, words.cut
		if at == handshaking {
			found.observed = seenTLSCut
		}
	case faultBlocked:
		found.observed, found.message = seenBlocked, textBlocked
	case faultNotTLS:
		found.observed, found.message = seenNoTLS, "what listens at the HTTPS port does not speak TLS: see where the port leads to"
	case faultUnknownHost:
		found.observed, found.message = seenNoHost, "this machine's resolver does not know the host name of the endpoint"
	case faultHostNotFound:
		found.silent = true
		found.observed, found.message = seenNoLookup, "this machine's resolver cannot look up the host name of the endpoint"
	default:
		if at == connecting { // then nobody has said anything
			found.observed, found.message = seenUnmade, textUnmade
			return found
		}
		found.observed, found.message = seenNoHTTP, "what listens there does not speak HTTP: see where the port leads to"
		// With TLS 1.3 a client is done with the handshake before it hears that its certificate is missed.
		if at == handshaking || at == waiting && kind == faultAlert {
			found.observed = seenTLSFailed
			found.message = "the two sides do not agree on TLS: see which versions and client certificates the other side demands"
		}
	}
	return found
}
