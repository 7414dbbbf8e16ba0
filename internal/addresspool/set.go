package addresspool

import (
	"net/netip"
	"strings"

	"go4.org/netipx"
)

// Overlap looks for an entry of another pool's spec.addresses that shares an address with r, and returns the first one
// as it is written there. Entries that cannot be read, and IPv6 ones, are skipped.
func Overlap(r Range, addresses []string) (which string, overlaps bool) {
	for _, s := range addresses {
		if o, ok := parseRaw(s); ok && r.Overlaps(o) {
			return s, true
		}
	}
	return "", false
}

// EqualSet says whether the entries of a pool's spec.addresses are, together, exactly the addresses of r: also when they
// are written another way, or as several ranges. An entry that cannot be read, or an IPv6 one, is never part of r.
func EqualSet(r Range, addresses []string) bool {
	var b netipx.IPSetBuilder
	for _, s := range addresses {
		o, ok := parseRaw(s)
		if !ok {
			return false
		}
		b.AddRange(o.r)
	}
	set, err := b.IPSet()
	if err != nil {
		return false
	}
	switch got := set.Ranges(); len(got) {
	case 0:
		return r.IsZero()
	case 1:
		return got[0] == r.r
	}
	return false
}

// parseRaw reads an entry as MetalLB does, which also takes IPv4 addresses in their IPv6 form.
func parseRaw(s string) (Range, bool) {
	r, err := parse(s)
	if err == nil {
		return r, true
	}
	start, end, dash := strings.Cut(s, "-")
	if !dash {
		return Range{}, false
	}
	from, err1 := netip.ParseAddr(strings.TrimSpace(start))
	to, err2 := netip.ParseAddr(strings.TrimSpace(end))
	if err1 != nil || err2 != nil || !from.Is4In6() && !to.Is4In6() || from.Zone() != "" || to.Zone() != "" {
		return Range{}, false
	}
	from, to = from.Unmap(), to.Unmap()
	if !from.Is4() || !to.Is4() || to.Less(from) {
		return Range{}, false
	}
	return Range{netipx.IPRangeFrom(from, to)}, true
}
