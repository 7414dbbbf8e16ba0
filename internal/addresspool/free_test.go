package addresspool_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
)

func TestFree(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cidr    string
		reserve func(*addresspool.VLAN)
		want    []string
	}{
		"nothing reserved":  {cidr: "198.51.100.0/29", want: []string{"198.51.100.1-198.51.100.6"}},
		"two addresses":     {cidr: "198.51.100.0/31", want: []string{"198.51.100.0-198.51.100.1"}},
		"one address":       {cidr: "198.51.100.7/32", want: []string{"198.51.100.7-198.51.100.7"}},
		"the whole IPv4":    {cidr: "0.0.0.0/0", want: []string{"0.0.0.1-255.255.255.254"}},
		"no network":        {},
		"an IPv6 network":   {cidr: "2001:db8::/64"},
		"across octets":     {cidr: "10.0.0.0/23", want: []string{"10.0.0.1-10.0.1.254"}},
		"the host bits set": {cidr: "198.51.100.5/29", want: []string{"198.51.100.1-198.51.100.6"}},
		"gaps": {
			cidr: "198.51.100.0/24",
			reserve: func(v *addresspool.VLAN) {
				v.Reserve("the gateway", "198.51.100.1")
				v.ReserveRange("the DHCP pool", "198.51.100.50", "198.51.100.99")
				v.Reserve("inside", "198.51.100.60")
				v.Reserve("beside", "198.51.100.100")
				v.Reserve("elsewhere", "203.0.113.1")
				v.ReserveRange("over the end", "198.51.100.200", "198.51.101.9")
				v.Reserved = append(v.Reserved, addresspool.Reservation{What: "nothing"})
			},
			want: []string{"198.51.100.2-198.51.100.49", "198.51.100.101-198.51.100.199"},
		},
		"everything reserved": {
			cidr:    "198.51.100.0/24",
			reserve: func(v *addresspool.VLAN) { v.ReserveRange("all", "198.51.100.0", "198.51.100.255") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var vlan addresspool.VLAN
			if test.cidr != "" {
				vlan.CIDR = netip.MustParsePrefix(test.cidr)
			}
			if test.reserve != nil {
				test.reserve(&vlan)
			}
			var got []string
			for _, free := range vlan.Free() {
				got = append(got, free.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("free is %v, want %v", got, test.want)
			}
		})
	}
}

// Whatever is reserved: an address of the network is either free or reserved, or it is the network's own or the broadcast
// address; nothing else is free; and the gaps are as few as they can be, in order.
func TestFreeIsWhatIsNotReserved(t *testing.T) {
	t.Parallel()
	const seed, rounds = 1, 500
	random := rand.New(rand.NewPCG(seed, seed))
	for range rounds {
		vlan := randomVLAN(random)
		free := vlan.Free()
		for i, gap := range free {
			if gap.IsZero() || i > 0 && !free[i-1].Last().Next().Less(gap.First()) {
				t.Fatalf("%v: the gaps %v are not apart and in order", vlan, free)
			}
			if !vlan.CIDR.Contains(gap.First()) || !vlan.CIDR.Contains(gap.Last()) {
				t.Fatalf("%v: the gap %s is not all in the network", vlan, gap)
			}
			if conflicts := vlan.Conflicts(gap); len(conflicts) > 0 {
				t.Fatalf("%v: the gap %s holds reserved addresses: %v", vlan, gap, conflicts)
			}
		}
		checkEveryAddress(t, vlan, free)
	}
}

func checkEveryAddress(t *testing.T, vlan addresspool.VLAN, free []addresspool.Range) {
	t.Helper()
	for a := vlan.CIDR.Masked().Addr(); vlan.CIDR.Contains(a); a = a.Next() {
		isFree, isReserved := false, false
		for _, gap := range free {
			isFree = isFree || gap.Contains(a)
		}
		for _, reserved := range vlan.Reserved {
			isReserved = isReserved || reserved.Range.Contains(a)
		}
		first, last := a == vlan.CIDR.Masked().Addr(), !vlan.CIDR.Contains(a.Next())
		forHosts := vlan.CIDR.Bits() >= 31 || !first && !last
		if want := forHosts && !isReserved; isFree != want {
			t.Fatalf("%v: %s is free: %t, want %t; gaps: %v", vlan, a, isFree, want, free)
		}
		if vlan.Hosts().Contains(a) != forHosts {
			t.Fatalf("%v: %s is for a host: %t", vlan, a, !forHosts)
		}
	}
}

// randomVLAN is a small network with reservations in it, over its ends and beside it, that may overlap each other.
func randomVLAN(random *rand.Rand) addresspool.VLAN {
	const shortest, longest, most = 24, 32, 8
	digits := func() (b [4]byte) {
		binary.BigEndian.PutUint32(b[:], random.Uint32())
		return b
	}
	base := digits()
	base[0], base[1] = 198, 51
	vlan := addresspool.VLAN{CIDR: netip.PrefixFrom(netip.AddrFrom4(base), shortest+random.IntN(longest-shortest+1))}
	near := func() netip.Addr {
		address := base
		address[3] = digits()[3]
		return netip.AddrFrom4(address)
	}
	for range random.IntN(most) {
		first, last := near(), near()
		if last.Less(first) {
			first, last = last, first
		}
		if random.IntN(2) == 0 {
			last = first
		}
		vlan.ReserveRange("something", first.String(), last.String())
	}
	return vlan
}
