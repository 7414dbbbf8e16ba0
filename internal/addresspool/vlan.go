package addresspool

import (
	"net/netip"

	"go4.org/netipx"
)

// VLAN is a network whose addresses are partly spoken for.
type VLAN struct {
	CIDR     netip.Prefix // invalid: not known
	Reserved []Reservation
}

// Reservation is a part of a VLAN that is spoken for.
type Reservation struct {
	What  string // as messages name it: "the gateway", "the DHCP pool"
	Range Range
}

// Reserve adds a single address. What is not an IPv4 address reserves nothing.
func (v *VLAN) Reserve(what, address string) {
	a, err := netip.ParseAddr(address)
	if err != nil || !a.Is4() {
		return
	}
	v.Reserved = append(v.Reserved, Reservation{what, Range{netipx.IPRangeFrom(a, a)}})
}

// ReserveRange adds the addresses from first to last. What is no IPv4 range reserves nothing.
func (v *VLAN) ReserveRange(what, first, last string) {
	from, firstErr := netip.ParseAddr(first)
	to, lastErr := netip.ParseAddr(last)
	r := netipx.IPRangeFrom(from, to)
	if firstErr != nil || lastErr != nil || !r.IsValid() || !from.Is4() {
		return
	}
	v.Reserved = append(v.Reserved, Reservation{what, Range{r}})
}

// Conflicts are the reservations that a range has addresses of, in the order in which they were made.
func (v VLAN) Conflicts(r Range) []Reservation {
	var conflicts []Reservation
	for _, reserved := range v.Reserved {
		if reserved.Range.Overlaps(r) {
			conflicts = append(conflicts, reserved)
		}
	}
	return conflicts
}

// Outside says that a range has addresses that are not the VLAN's.
func (v VLAN) Outside(r Range) bool {
	if !v.CIDR.IsValid() {
		return false
	}
	return !v.CIDR.Contains(r.First()) || !v.CIDR.Contains(r.Last())
}
