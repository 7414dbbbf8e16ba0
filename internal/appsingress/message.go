package appsingress

import (
	"fmt"
	"maps"
	"slices"
)

// ReadyMessage is the message of phase Ready. It depends on the configuration and the endpoint alone, so a plan knows it whenever
// it knows the endpoint.
func ReadyMessage(spec Spec, e Endpoint) string {
	text := fmt.Sprintf("%s is served at %s", spec.Domain.Wildcard(), e)
	switch p := spec.Publish; {
	case spec.Mode == ModeAttachment:
		text += ", published by oooi for Infra " + spec.Infra
	case p.DNSServer != "" && p.ProxyServer != "":
		text += fmt.Sprintf(", published in DNSServer %s and ProxyServer %s", p.DNSServer, p.ProxyServer)
	case p.DNSServer != "":
		text += ", published in DNSServer " + p.DNSServer
	case p.ProxyServer != "":
		text += ", published in ProxyServer " + p.ProxyServer
	default:
		text += ", published nowhere"
	}
	return text
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
