package addresspool_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
)

func mustParse(tb testing.TB, s string) addresspool.Range {
	tb.Helper()
	r, err := addresspool.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestZeroRange(t *testing.T) {
	t.Parallel()

	var zero addresspool.Range
	if !zero.IsZero() || zero.Size() != 0 || zero.String() != "" || zero.First().IsValid() || zero.Last().IsValid() {
		t.Errorf("the zero range is %q with %d addresses, want none", zero, zero.Size())
	}
	if zero.Contains(netip.Addr{}) || zero.Contains(netip.MustParseAddr("10.0.0.1")) {
		t.Error("the zero range contains an address")
	}
	some := mustParse(t, "10.0.0.0/24")
	if zero.Overlaps(zero) || zero.Overlaps(some) || some.Overlaps(zero) || zero.Equal(some) {
		t.Error("the zero range overlaps, or equals another")
	}
	if some.IsZero() {
		t.Errorf("%s is zero", some)
	}
}

func TestContains(t *testing.T) {
	t.Parallel()

	r := mustParse(t, "192.0.2.200-192.0.2.220")
	for address, want := range map[string]bool{
		"192.0.2.199":        false,
		"192.0.2.200":        true,
		"192.0.2.210":        true,
		"192.0.2.220":        true,
		"192.0.2.221":        false,
		"::ffff:192.0.2.210": true,
		"2001:db8::c0":       false,
	} {
		if got := r.Contains(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s contains %s: %t, want %t", r, address, got, want)
		}
	}
	if r.Contains(netip.Addr{}) {
		t.Errorf("%s contains the zero address", r)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()

	for s, want := range map[string]uint64{
		"10.0.0.1/32":               1,
		"10.0.0.1-10.0.0.1":         1,
		"192.0.2.200-192.0.2.220":   21,
		"10.0.0.0/8":                1 << 24,
		"170.0.0.0-223.255.255.255": 54 << 24,
	} {
		if got := mustParse(t, s).Size(); got != want {
			t.Errorf("%s has %d addresses, want %d", s, got, want)
		}
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()

	want := mustParse(t, "192.0.2.200-192.0.2.207")
	for _, s := range []string{"192.0.2.200 - 192.0.2.207", "192.0.2.200/29", "192.0.2.203/29"} {
		if got := mustParse(t, s); !got.Equal(want) || got != want {
			t.Errorf("%q is %s, want it to equal %s", s, got, want)
		}
	}
	if other := mustParse(t, "192.0.2.200-192.0.2.208"); other.Equal(want) {
		t.Errorf("%s equals %s", other, want)
	}
}

// TestProperties compares small random ranges with the plain sets of their addresses.
func TestProperties(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(1, 2)) // the same numbers in every run
	address := func(n uint32) netip.Addr {
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, 0x0a0000f0+n)))
	}
	const width = 32
	draw := func() (addresspool.Range, map[uint32]bool) {
		first := random.Uint32N(width)
		last := first + random.Uint32N(width-first)
		set := map[uint32]bool{}
		for n := first; n <= last; n++ {
			set[n] = true
		}
		return mustParse(t, address(first).String()+"-"+address(last).String()), set
	}
	for range 2000 {
		a, inA := draw()
		b, inB := draw()
		common, same := false, true
		for n := range uint32(width) {
			common = common || inA[n] && inB[n]
			same = same && inA[n] == inB[n]
			if a.Contains(address(n)) != inA[n] {
				t.Fatalf("%s contains %s: %t", a, address(n), !inA[n])
			}
		}
		if a.Overlaps(b) != common || b.Overlaps(a) != common {
			t.Fatalf("%s overlaps %s: want %t", a, b, common)
		}
		if _, overlaps := addresspool.Overlap(a, []string{b.String()}); overlaps != common {
			t.Fatalf("Overlap(%s, %s) = %t, want %t", a, b, overlaps, common)
		}
		if a.Equal(b) != same || (a == b) != same || addresspool.EqualSet(a, []string{b.String()}) != same {
			t.Fatalf("%s equals %s: want %t", a, b, same)
		}
		if a.Size() != uint64(len(inA)) {
			t.Fatalf("%s has %d addresses, want %d", a, a.Size(), len(inA))
		}
	}
}
