package addresspool

import "go4.org/netipx"

// Hosts are the addresses of the VLAN that a host can have. The network's own address and the broadcast address are not among
// them, where the network is large enough to have such. Zero while the network is not known.
func (v VLAN) Hosts() Range {
	if !v.CIDR.IsValid() || !v.CIDR.Addr().Is4() {
		return Range{}
	}
	all := netipx.RangeOfPrefix(v.CIDR)
	const smallest = 31 // from here on every address is a host's
	if v.CIDR.Bits() >= smallest {
		return Range{all}
	}
	return Range{netipx.IPRangeFrom(all.From().Next(), all.To().Prev())}
}

// Free are the gaps: the addresses for hosts that nothing is reserved of, as the fewest ranges, in order.
func (v VLAN) Free() []Range {
	hosts := v.Hosts()
	if hosts.IsZero() {
		return nil
	}
	var b netipx.IPSetBuilder
	b.AddRange(hosts.r)
	for _, reserved := range v.Reserved {
		if !reserved.Range.IsZero() {
			b.RemoveRange(reserved.Range.r)
		}
	}
	set, err := b.IPSet()
	if err != nil {
		return nil // only for ranges that are none, and there is none of them here
	}
	free := make([]Range, 0, len(set.Ranges()))
	for _, r := range set.Ranges() {
		free = append(free, Range{r})
	}
	return free
}
