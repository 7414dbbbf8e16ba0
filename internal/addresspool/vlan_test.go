package addresspool_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
)

func TestVLAN(t *testing.T) {
	t.Parallel()
	vlan := addresspool.VLAN{CIDR: netip.MustParsePrefix("198.51.100.0/24")}
	vlan.Reserve("the gateway", "198.51.100.1")
	vlan.Reserve("nothing", "")
	vlan.Reserve("nothing", "2001:db8::1")
	vlan.ReserveRange("the DHCP pool", "198.51.100.50", "198.51.100.99")
	vlan.ReserveRange("nothing", "198.51.100.99", "198.51.100.50")
	vlan.ReserveRange("nothing", "198.51.100.99", "")
	for text, want := range map[string][]string{
		"198.51.100.0/29":               {"the gateway"},
		"198.51.100.99-198.51.100.120":  {"the DHCP pool"},
		"198.51.100.100-198.51.100.120": nil,
		"198.51.100.0/24":               {"the gateway", "the DHCP pool"},
		"198.51.100.60/32":              {"the DHCP pool"},
	} {
		var got []string
		for _, conflict := range vlan.Conflicts(mustParse(t, text)) {
			got = append(got, conflict.What)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]bool{
		"198.51.100.200/32":           false,
		"198.51.100.250-198.51.101.3": true,
		"203.0.113.1/32":              true,
		"198.51.99.250-198.51.100.3":  true,
		"198.51.100.0-198.51.100.255": false,
	} {
		if got := vlan.Outside(mustParse(t, text)); got != want {
			t.Errorf("%s: outside is %v", text, got)
		}
		if (addresspool.VLAN{}).Outside(mustParse(t, text)) {
			t.Errorf("%s is outside of a VLAN that is not known", text)
		}
	}
}
