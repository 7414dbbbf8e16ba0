package addresspool

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"go4.org/netipx"
)

// accepted ends every error of Parse.
const accepted = `accepted are IPv4 ranges such as "192.0.2.200-192.0.2.220" and CIDRs such as "192.0.2.192/27"`

// Parse reads "start-end" or a CIDR. Like MetalLB it accepts spaces around both ends of a range, a range of one address
// ("a-a"), and a CIDR with host bits set, which means its whole network. Addresses that can never be those of a load
// balancer are refused.
func Parse(s string) (Range, error) {
	r, err := parse(s)
	if err == nil {
		err = usable(s, r)
	}
	if err != nil {
		return Range{}, fmt.Errorf("%w; %s", err, accepted)
	}
	return r, nil
}

// parse reads every IPv4 range that MetalLB reads.
func parse(s string) (Range, error) {
	start, end, dash := strings.Cut(s, "-")
	switch {
	case strings.TrimSpace(s) == "":
		return Range{}, errors.New("the range is empty")
	case strings.ContainsAny(s, ",;"):
		return Range{}, fmt.Errorf("%q lists several ranges, and exactly one is wanted", s)
	case dash:
		return parseEnds(s, strings.TrimSpace(start), strings.TrimSpace(end))
	case strings.TrimSpace(s) != s:
		return Range{}, fmt.Errorf("%q has spaces around it", s)
	}
	return parseCIDR(s)
}

func parseEnds(s, start, end string) (Range, error) {
	from, err := parseAddr(start)
	if err != nil {
		return Range{}, fmt.Errorf("the start of %q %w", s, err)
	}
	to, err := parseAddr(end)
	if err != nil {
		return Range{}, fmt.Errorf("the end of %q %w", s, err)
	}
	if to.Less(from) {
		return Range{}, fmt.Errorf("%q is reversed: %s comes after %s", s, from, to)
	}
	return Range{netipx.IPRangeFrom(from, to)}, nil
}

// parseAddr reads one end. Its errors continue a sentence that has named the end.
func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case s == "":
		return netip.Addr{}, errors.New("is missing")
	case err != nil:
		return netip.Addr{}, fmt.Errorf("is %q, which is not an address", s)
	case !a.Is4():
		return netip.Addr{}, fmt.Errorf("is the IPv6 address %q", s)
	}
	return a, nil
}

func parseCIDR(s string) (Range, error) {
	p, err := netip.ParsePrefix(s)
	if err == nil && p.Addr().Is4() {
		return Range{netipx.RangeOfPrefix(p)}, nil
	}
	a, addrErr := netip.ParseAddr(s)
	addr, bits, slash := strings.Cut(s, "/")
	switch {
	case err == nil:
		return Range{}, fmt.Errorf("%q is an IPv6 network", s)
	case addrErr == nil && a.Is4():
		return Range{}, fmt.Errorf("%q is a single address: write %q", s, s+"/32")
	case addrErr == nil:
		return Range{}, fmt.Errorf("%q is an IPv6 address", s)
	case !slash:
		return Range{}, fmt.Errorf("%q is neither a range nor a CIDR", s)
	}
	if a, err := netip.ParseAddr(addr); err != nil || !a.Is4() {
		return Range{}, fmt.Errorf("%q is not a CIDR: %q is not an IPv4 address", s, addr)
	}
	return Range{}, fmt.Errorf("%q is not a CIDR: %q is not a prefix length from 0 to 32", s, bits)
}

// never lists what no load balancer can announce.
var never = []struct {
	addresses Range
	what      string
}{
	{span("0.0.0.0/8"), `addresses of "this network"`},
	{span("127.0.0.0/8"), "loopback addresses"},
	{span("169.254.0.0/16"), "link-local addresses"},
	{span("224.0.0.0/4"), "multicast addresses"},
	{span("255.255.255.255/32"), "the broadcast address"},
}

func span(cidr string) Range { return Range{netipx.RangeOfPrefix(netip.MustParsePrefix(cidr))} }

func usable(s string, r Range) error {
	for _, n := range never {
		if r.Overlaps(n.addresses) {
			return fmt.Errorf("%q holds %s (%s), which can never be those of a load balancer", s, n.what, n.addresses)
		}
	}
	return nil
}
