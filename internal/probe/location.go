package probe

import (
	"context"
	"net"
	"net/netip"
	"slices"
)

// standing says what this machine can tell of a path.
type standing struct {
	routed        bool // there is a way there
	member        bool // it is answered as those are whom the path is for
	silenceCounts bool // silence is a failure
}

// stand finds out how this machine stands to the network of a path that leads to the address.
func (c *check) stand(ctx context.Context, place Location, address string) standing {
	ctx, cancel := c.Attempt.limit(ctx)
	defer cancel()
	local, err := c.local(ctx, address)
	if err != nil && isUnreachable(err) {
		return standing{routed: place.Certain, member: place.Certain, silenceCounts: place.Certain}
	}
	// After any other error the address is not known, and is in no network.
	inside := within(place.Inside, local)
	return standing{
		routed:        true,
		member:        place.Certain || (inside || len(place.Inside) == 0) && !within(place.Outside, local),
		silenceCounts: place.Certain || inside || len(place.Inside)+len(place.Outside) == 0,
	}
}

func within(networks []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(address) })
}

// localAddress is the address from which this machine would talk to another. Connecting a UDP socket asks the routing table
// and sends nothing.
func localAddress(ctx context.Context, address string) (netip.Addr, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "udp", address)
	if err != nil {
		return netip.Addr{}, err
	}
	defer func() { _ = conn.Close() }()
	local, isUDP := conn.LocalAddr().(*net.UDPAddr)
	if !isUDP {
		return netip.Addr{}, nil
	}
	return local.AddrPort().Addr().Unmap().WithZone(""), nil
}
