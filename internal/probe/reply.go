package probe

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// reply is what an answer says of a name.
type reply struct {
	rcode     int
	chain     []string     // the names that it is an alias of, one after the other
	addresses []netip.Addr // sorted, each once
}

// read follows the aliases within an answer. It takes the smallest of several, for their order means nothing.
func read(message *dns.Msg, name string) reply {
	aliases := map[string]string{}
	addresses := map[string]map[netip.Addr]struct{}{}
	for _, record := range message.Answer {
		if record.Header().Class != dns.ClassINET {
			continue
		}
		owner := dns.CanonicalName(record.Header().Name)
		switch record := record.(type) {
		case *dns.CNAME:
			target := dns.CanonicalName(record.Target)
			if known, taken := aliases[owner]; !taken || target < known {
				aliases[owner] = target
			}
		case *dns.A:
			address, ok := netip.AddrFromSlice(record.A.To4())
			if !ok {
				continue
			}
			if addresses[owner] == nil {
				addresses[owner] = map[netip.Addr]struct{}{}
			}
			addresses[owner][address] = struct{}{}
		}
	}

	found := reply{rcode: message.Rcode}
	owner := dns.CanonicalName(name)
	for range len(aliases) { // so many at most, also when they go round in a circle
		target, aliased := aliases[owner]
		if !aliased {
			break
		}
		found.chain = append(found.chain, target)
		owner = target
	}
	found.addresses = slices.SortedFunc(maps.Keys(addresses[owner]), netip.Addr.Compare)
	return found
}

// String says it for people: "lb.example.com → 192.0.2.10".
func (r reply) String() string {
	var end string
	switch {
	case r.rcode != dns.RcodeSuccess:
		end = rcodeText(r.rcode)
	case len(r.addresses) == 0:
		end = seenNoRecord
	default:
		end = joined(r.addresses)
	}
	if len(r.chain) == 0 {
		return end
	}
	return shownNames(r.chain) + arrow + end
}

const arrow = " → "

func shownNames(chain []string) string {
	const most = 5
	names := make([]string, 0, most)
	for i, name := range chain {
		if i == most {
			names = append(names, "…")
			break
		}
		names = append(names, strings.TrimSuffix(name, "."))
	}
	return strings.Join(names, arrow)
}

func joined(addresses []netip.Addr) string {
	texts := make([]string, 0, len(addresses))
	for _, address := range addresses {
		texts = append(texts, address.String())
	}
	const most = 8
	return someOf(texts, most)
}

// someOf joins the first texts and counts the others.
func someOf(texts []string, most int) string {
	if more := len(texts) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), more)
	}
	return strings.Join(texts, ", ")
}
