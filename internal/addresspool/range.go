package addresspool

import (
	"net/netip"

	"go4.org/netipx"
)

// Range is a set of consecutive IPv4 addresses. It is a comparable value: two ranges are the same set exactly when they
// are equal by ==. The zero value holds no address.
type Range struct{ r netipx.IPRange }

// First is the lowest address; invalid for the zero value.
func (r Range) First() netip.Addr { return r.r.From() }

// Last is the highest address; invalid for the zero value.
func (r Range) Last() netip.Addr { return r.r.To() }

// IsZero says that no range was ever parsed into this value.
func (r Range) IsZero() bool { return r == Range{} }

// Contains says whether the address is one of the range. An IPv4 address in its IPv6 form counts as the IPv4 address.
func (r Range) Contains(a netip.Addr) bool { return r.r.Contains(a.Unmap()) }

// Equal says whether both hold the same addresses.
func (r Range) Equal(o Range) bool { return r == o }

// Overlaps says whether at least one address is in both.
func (r Range) Overlaps(o Range) bool { return r.r.Overlaps(o.r) }

// Size is the number of addresses.
func (r Range) Size() uint64 {
	if r.IsZero() {
		return 0
	}
	return uint64(number(r.Last())) - uint64(number(r.First())) + 1
}

// String is the canonical text, "start-end", which Parse reads back; empty for the zero value.
func (r Range) String() string {
	if r.IsZero() {
		return ""
	}
	return r.First().String() + "-" + r.Last().String()
}

// number is an IPv4 address as the number it stands for.
func number(a netip.Addr) uint32 {
	b := a.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}
