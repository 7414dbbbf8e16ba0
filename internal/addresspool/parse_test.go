package addresspool_test

import (
	"net"
	"strings"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
)

func TestParse(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, in, want string
	}{
		{"range", "192.0.2.200-192.0.2.220", "192.0.2.200-192.0.2.220"},
		{"spaces around the dash", "192.0.2.200 - 192.0.2.220", "192.0.2.200-192.0.2.220"},
		{"a space on one side", "192.0.2.200- 192.0.2.220", "192.0.2.200-192.0.2.220"},
		{"spaces around a range", "  192.0.2.200-192.0.2.220\t", "192.0.2.200-192.0.2.220"},
		{"range of one address", "192.0.2.200-192.0.2.200", "192.0.2.200-192.0.2.200"},
		{"CIDR", "192.0.2.192/27", "192.0.2.192-192.0.2.223"},
		{"CIDR with host bits", "192.0.2.203/29", "192.0.2.200-192.0.2.207"},
		{"CIDR of one address", "192.0.2.200/32", "192.0.2.200-192.0.2.200"},
		{"across octets", "10.0.0.250-10.0.1.5", "10.0.0.250-10.0.1.5"},
		{"private network", "10.0.0.0/8", "10.0.0.0-10.255.255.255"},
		{"shared address space", "100.64.0.0/10", "100.64.0.0-100.127.255.255"},
		{"formerly class E", "240.0.0.0/8", "240.0.0.0-240.255.255.255"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := addresspool.Parse(tt.in)
			if err != nil {
				t.Fatalf("Parse(%q): %v", tt.in, err)
			}
			if got.String() != tt.want {
				t.Errorf("Parse(%q) = %s, want %s", tt.in, got, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, in, want string
	}{
		{"empty", "", "the range is empty"},
		{"blank", " \t", "the range is empty"},
		{"reversed", "10.0.0.9-10.0.0.1", `"10.0.0.9-10.0.0.1" is reversed: 10.0.0.9 comes after 10.0.0.1`},
		{"IPv6 range", "2001:db8::1-2001:db8::9", `the start of "2001:db8::1-2001:db8::9" is the IPv6 address "2001:db8::1"`},
		{"IPv6 end", "10.0.0.1-2001:db8::9", `the end of "10.0.0.1-2001:db8::9" is the IPv6 address "2001:db8::9"`},
		{"IPv4 in IPv6", "::ffff:10.0.0.1-::ffff:10.0.0.2", `is the IPv6 address "::ffff:10.0.0.1"`},
		{"IPv6 CIDR", "2001:db8::/64", `"2001:db8::/64" is an IPv6 network`},
		{"IPv6 CIDR, too long", "2001:db8::/129", `"2001:db8::" is not an IPv4 address`},
		{"IPv6 address", "2001:db8::1", `"2001:db8::1" is an IPv6 address`},
		{"single address", "10.0.0.1", `"10.0.0.1" is a single address: write "10.0.0.1/32"`},
		{"short end", "10.0.0.1-10.0.0", `the end of "10.0.0.1-10.0.0" is "10.0.0", which is not an address`},
		{"last octet only", "10.0.0.1-9", `the end of "10.0.0.1-9" is "9", which is not an address`},
		{"octet too big", "10.0.0.1-10.0.0.256", `"10.0.0.256", which is not an address`},
		{"leading zero", "10.0.0.01-10.0.0.9", `"10.0.0.01", which is not an address`},
		{"start missing", "-10.0.0.9", `the start of "-10.0.0.9" is missing`},
		{"end missing", "10.0.0.1-", `the end of "10.0.0.1-" is missing`},
		{"dash only", "-", `the start of "-" is missing`},
		{"three ends", "10.0.0.1-10.0.0.2-10.0.0.3", `"10.0.0.2-10.0.0.3", which is not an address`},
		{"range of CIDRs", "10.0.0.0/24-10.0.1.0/24", `"10.0.0.0/24", which is not an address`},
		{"prefix too long", "10.0.0.0/33", `"33" is not a prefix length from 0 to 32`},
		{"prefix negative", "10.0.0.0/-1", "which is not an address"},
		{"prefix missing", "10.0.0.0/", `"" is not a prefix length from 0 to 32`},
		{"prefix with leading zero", "10.0.0.0/024", `"024" is not a prefix length from 0 to 32`},
		{"netmask", "10.0.0.0/255.255.255.0", `"255.255.255.0" is not a prefix length from 0 to 32`},
		{"CIDR of a short address", "10.0.0/24", `"10.0.0" is not an IPv4 address`},
		{"spaces around a CIDR", " 10.0.0.0/24", `" 10.0.0.0/24" has spaces around it`},
		{"letters", "apps", `"apps" is neither a range nor a CIDR`},
		{"letters with a dash", "apps-pool", `the start of "apps-pool" is "apps", which is not an address`},
		{"two ranges", "10.0.0.1-10.0.0.2,10.0.0.5-10.0.0.6", "lists several ranges, and exactly one is wanted"},
		{"two CIDRs", "10.0.0.0/24, 10.0.2.0/24", "lists several ranges, and exactly one is wanted"},
		{"everything", "0.0.0.0/0", `"0.0.0.0/0" holds addresses of "this network" (0.0.0.0-0.255.255.255)`},
		{"unspecified address", "0.0.0.0-0.0.0.0", `holds addresses of "this network"`},
		{"into loopback", "126.0.0.1-127.0.0.1", `"126.0.0.1-127.0.0.1" holds loopback addresses (127.0.0.0-127.255.255.255)`},
		{"link-local", "169.254.10.0/24", "holds link-local addresses"},
		{"multicast", "224.0.0.1-224.0.0.9", "holds multicast addresses"},
		{"broadcast", "255.255.255.0/24", "holds the broadcast address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := addresspool.Parse(tt.in)
			if err == nil {
				t.Fatalf("Parse(%q) = %s, want an error", tt.in, got)
			}
			if !got.IsZero() {
				t.Errorf("Parse(%q) = %s beside an error", tt.in, got)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse(%q): %v, want it to say %s", tt.in, err, tt.want)
			}
			if !strings.Contains(err.Error(), "; accepted are IPv4 ranges such as") {
				t.Errorf("Parse(%q): %v, want it to say what is accepted", tt.in, err)
			}
		})
	}
}

// FuzzParse holds what is true of every text: what Parse accepts, MetalLB accepts as the same addresses, and the
// canonical text means the same range.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"192.0.2.200-192.0.2.220", "192.0.2.200 - 192.0.2.220", " 1.1.1.1-1.1.1.1 ", "192.0.2.203/29", "10.0.0.1/32",
		"", "-", "/", "a-a", "10.0.0.1", "10.0.0.9-10.0.0.1", "10.0.0.1-10.0.0", "10.0.0.0/33", "0.0.0.0/0", "::/0",
		"2001:db8::1-2001:db8::2", "::ffff:1.2.3.4-::ffff:1.2.3.5", "fe80::1%eth0-fe80::2%eth0", "a-b,c-d", "255.255.255.255/32",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := addresspool.Parse(s)
		if err != nil {
			if !r.IsZero() {
				t.Errorf("Parse(%q) = %s beside an error", s, r)
			}
			return
		}
		if !r.First().Is4() || !r.Last().Is4() || r.Last().Less(r.First()) {
			t.Errorf("Parse(%q) = %s, which is no IPv4 range", s, r)
		}
		if again, err := addresspool.Parse(r.String()); err != nil || again != r {
			t.Errorf("Parse(%q) = %s, %v, want the range that its text %q came from", r.String(), again, err, s)
		}
		first, last, ok := metallb(s)
		if !ok || first != r.First().String() || last != r.Last().String() {
			t.Errorf("Parse(%q) = %s, and MetalLB reads %s-%s, %t", s, r, first, last, ok)
		}
	})
}

// metallb reads a range by the rules of MetalLB, with the parsers that it uses.
func metallb(s string) (first, last string, ok bool) {
	if start, end, dash := strings.Cut(s, "-"); dash {
		a, b := net.ParseIP(strings.TrimSpace(start)), net.ParseIP(strings.TrimSpace(end))
		return a.String(), b.String(), a != nil && b != nil
	}
	_, n, err := net.ParseCIDR(s)
	if err != nil {
		return "", "", false
	}
	end := make(net.IP, len(n.IP))
	for i := range end {
		end[i] = n.IP[i] | ^n.Mask[i]
	}
	return n.IP.String(), end.String(), true
}
