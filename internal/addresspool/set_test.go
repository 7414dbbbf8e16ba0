package addresspool_test

import (
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
)

func TestOverlap(t *testing.T) {
	t.Parallel()

	r := mustParse(t, "192.0.2.200-192.0.2.220")
	tests := []struct {
		name      string
		addresses []string
		want      string
	}{
		{"no entry", nil, ""},
		{"apart", []string{"192.0.2.100-192.0.2.199", "192.0.2.221/32"}, ""},
		{"touching the first", []string{"192.0.2.150-192.0.2.200"}, "192.0.2.150-192.0.2.200"},
		{"touching the last", []string{"192.0.2.220/32"}, "192.0.2.220/32"},
		{"inside", []string{"192.0.2.208/30"}, "192.0.2.208/30"},
		{"around", []string{"192.0.2.0/24"}, "192.0.2.0/24"},
		{"second entry, in its own words", []string{"10.0.0.0/8", " 192.0.2.210 - 192.0.2.230"}, " 192.0.2.210 - 192.0.2.230"},
		{"unreadable and IPv6 entries", []string{"", "x", "192.0.2.210", "2001:db8::/64", "192.0.2.230-192.0.2.210"}, ""},
		{"unreadable beside readable", []string{"x-y", "192.0.2.0/24"}, "192.0.2.0/24"},
		{"everything", []string{"0.0.0.0/0"}, "0.0.0.0/0"},
		{"IPv4 in IPv6", []string{"::ffff:192.0.2.210-::ffff:192.0.2.230"}, "::ffff:192.0.2.210-::ffff:192.0.2.230"},
		{"IPv4 to IPv6", []string{"192.0.2.210-2001:db8::1", "::ffff:192.0.2.210-2001:db8::1"}, ""},
		{"reversed IPv4 in IPv6", []string{"::ffff:192.0.2.230-::ffff:192.0.2.210"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, overlaps := addresspool.Overlap(r, tt.addresses)
			if got != tt.want || overlaps != (tt.want != "") {
				t.Errorf("Overlap(%s, %q) = %q, %t, want %q", r, tt.addresses, got, overlaps, tt.want)
			}
		})
	}
}

func TestEqualSet(t *testing.T) {
	t.Parallel()

	r := mustParse(t, "192.0.2.200-192.0.2.207")
	tests := []struct {
		name      string
		addresses []string
		want      bool
	}{
		{"same text", []string{"192.0.2.200-192.0.2.207"}, true},
		{"as a CIDR", []string{"192.0.2.200/29"}, true},
		{"two halves", []string{"192.0.2.204/30", "192.0.2.200/30"}, true},
		{"pieces that overlap", []string{"192.0.2.200-192.0.2.205", "192.0.2.202 - 192.0.2.207"}, true},
		{"written twice", []string{"192.0.2.200/29", "192.0.2.200-192.0.2.207"}, true},
		{"IPv4 in IPv6", []string{"::ffff:192.0.2.200-::ffff:192.0.2.207"}, true},
		{"no entry", nil, false},
		{"a hole", []string{"192.0.2.200-192.0.2.203", "192.0.2.205-192.0.2.207"}, false},
		{"too short", []string{"192.0.2.200-192.0.2.206"}, false},
		{"too long", []string{"192.0.2.200-192.0.2.208"}, false},
		{"another range beside", []string{"192.0.2.200/29", "192.0.2.220/32"}, false},
		{"unreadable beside", []string{"192.0.2.200/29", "x"}, false},
		{"IPv6 beside", []string{"192.0.2.200/29", "2001:db8::/64"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := addresspool.EqualSet(r, tt.addresses); got != tt.want {
				t.Errorf("EqualSet(%s, %q) = %t, want %t", r, tt.addresses, got, tt.want)
			}
		})
	}
	if zero := (addresspool.Range{}); !addresspool.EqualSet(zero, nil) || addresspool.EqualSet(zero, []string{"10.0.0.0/24"}) {
		t.Error("the zero range is not equal to no entry alone")
	}
}
