//go:build !linux

package netlab

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// WhoHas asks on a link who has an IPv4 address.
func (n *Namespace) WhoHas(context.Context, string, netip.Addr, time.Duration) ([]net.HardwareAddr, error) {
	return nil, errNotLinux
}
