package netlab

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

const clientTimeout = 10 * time.Second

// Lookup finds the IP address of a host.
type Lookup func(ctx context.Context, host string) (netip.Addr, error)

// To finds one address for every host.
func To(address netip.Addr) Lookup {
	return func(context.Context, string) (netip.Addr, error) { return address, nil }
}

// Resolve asks a DNS server (address and port) from inside of the namespace.
func (n *Namespace) Resolve(server string) Lookup {
	resolver := n.Resolver(server)
	return func(ctx context.Context, host string) (netip.Addr, error) {
		addresses, err := resolver.LookupNetIP(ctx, "ip4", host)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("asking %s: %w", server, err)
		}
		return addresses[0].Unmap(), nil
	}
}

// HTTP is a client inside of the namespace. Each request has a connection of its own, so that it goes where its host is
// found at that moment, and nothing is left behind.
func (n *Namespace) HTTP(lookup Lookup, config *tls.Config) *http.Client {
	return &http.Client{Timeout: clientTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   config,
		DialContext: func(ctx context.Context, network, hostPort string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(hostPort)
			if err != nil {
				return nil, fmt.Errorf("dialing: %w", err)
			}
			address, err := lookup(ctx, host)
			if err != nil {
				return nil, err
			}
			return n.Dial(ctx, network, net.JoinHostPort(address.String(), port))
		},
	}}
}
