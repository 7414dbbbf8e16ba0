package netlab

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	defaultDNSPort  = 53
	defaultCacheTTL = 30 * time.Second
)

// dnsServerSpec is what CoreDNS is told of the spec of a DNSServer.
type dnsServerSpec struct {
	NetworkConfig struct {
		InternalProxyIP      string `json:"internalProxyIP"`
		SecondaryNetworkCIDR string `json:"secondaryNetworkCIDR"`
		DNSPort              int    `json:"dnsPort"`
	} `json:"networkConfig"`
	StaticEntries []staticEntry `json:"staticEntries"`
	UpstreamDNS   []string      `json:"upstreamDNS"`
	CacheTTL      string        `json:"cacheTTL"`
}

type staticEntry struct {
	Hostname string `json:"hostname"`
	IP       string `json:"ip"`
}

// plainHostname keeps what is no name of a host from becoming a directive of a Corefile.
var plainHostname = regexp.MustCompile(`^(\*\.)?[-_a-z0-9]+(\.[-_a-z0-9]+)*$`)

// decodeSpec reads the spec of an object into a struct; without an object it stays empty.
func decodeSpec(live *unstructured.Unstructured, into any) error {
	if live == nil {
		return nil
	}
	spec, _, err := unstructured.NestedMap(live.Object, "spec")
	if err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(spec, into)
}

// readDNSServer reads a DNSServer, and refuses what would make CoreDNS do something else than what it says. No object is a
// DNSServer that knows no names.
func readDNSServer(live *unstructured.Unstructured) (dnsServerSpec, error) {
	var spec dnsServerSpec
	if err := decodeSpec(live, &spec); err != nil {
		return spec, fmt.Errorf("reading the DNSServer: %w", err)
	}
	var faults []error
	for i := range spec.StaticEntries {
		entry := &spec.StaticEntries[i]
		entry.Hostname = strings.ToLower(strings.TrimSuffix(entry.Hostname, "."))
		if !plainHostname.MatchString(entry.Hostname) {
			faults = append(faults, fmt.Errorf("staticEntries[%d]: %q is no host name", i, entry.Hostname))
		}
		if _, err := netip.ParseAddr(entry.IP); err != nil {
			faults = append(faults, fmt.Errorf("staticEntries[%d]: %w", i, err))
		}
	}
	if internal := spec.NetworkConfig.InternalProxyIP; internal != "" {
		_, err := netip.ParseAddr(internal)
		faults = append(faults, err)
	}
	if cidr := spec.NetworkConfig.SecondaryNetworkCIDR; cidr != "" {
		_, err := netip.ParsePrefix(cidr)
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return spec, fmt.Errorf("reading the DNSServer: %w", err)
	}
	return spec, nil
}

// corefile is the configuration that follows from a DNSServer, for a CoreDNS that listens at some addresses. Clients in
// secondaryNetworkCIDR have the VLAN view, and everyone else the pod view; so without that network everyone has the pod
// view. Nothing is cached, so that a change shows at once. A name that there is neither an entry nor an upstream server for
// is SERVFAIL.
func corefile(spec dnsServerSpec, listen []netip.Addr) string {
	var out strings.Builder
	if cidr := spec.NetworkConfig.SecondaryNetworkCIDR; cidr != "" {
		view := fmt.Sprintf("    view vlan {\n        expr incidr(client_ip(), '%s')\n    }\n", cidr)
		writeServerBlock(&out, spec, listen, view, spec.StaticEntries)
	}
	writeServerBlock(&out, spec, listen, "", podEntries(spec))
	return out.String()
}

// podEntries are the static entries as pods see them: every name leads to the proxy.
func podEntries(spec dnsServerSpec) []staticEntry {
	if spec.NetworkConfig.InternalProxyIP == "" {
		return nil
	}
	entries := slices.Clone(spec.StaticEntries)
	for i := range entries {
		entries[i].IP = spec.NetworkConfig.InternalProxyIP
	}
	return entries
}

func writeServerBlock(out *strings.Builder, spec dnsServerSpec, listen []netip.Addr, view string, entries []staticEntry) {
	fmt.Fprintf(out, ".:%d {\n    bind", cmp.Or(spec.NetworkConfig.DNSPort, defaultDNSPort))
	for _, address := range listen {
		fmt.Fprintf(out, " %s", address)
	}
	fmt.Fprintf(out, "\n%s    errors\n", view)
	writeEntries(out, entries, ttl(spec))
	if len(spec.UpstreamDNS) > 0 {
		fmt.Fprintf(out, "    forward . %s\n", strings.Join(spec.UpstreamDNS, " "))
	}
	out.WriteString("}\n")
}

// writeEntries answers the A queries of each name, and says of every other type that the name has no such record: passed
// on, such a query would be answered with NXDOMAIN, which clients believe of all types.
func writeEntries(out *strings.Builder, entries []staticEntry, ttl int) {
	names, addresses := byName(entries)
	for _, name := range names {
		fmt.Fprintf(out, "    template IN A {\n        match %s\n", pattern(name))
		for _, address := range addresses[name] {
			fmt.Fprintf(out, "        answer \"{{ .Name }} %d IN A %s\"\n", ttl, address)
		}
		out.WriteString("        fallthrough\n    }\n")
	}
	if len(names) == 0 {
		return
	}
	out.WriteString("    template IN ANY {\n")
	for _, name := range names {
		fmt.Fprintf(out, "        match %s\n", pattern(name))
	}
	out.WriteString("        fallthrough\n    }\n")
}

// byName gathers the addresses of each name. The first name that matches answers, so the most special come first: exact
// names, then wildcards with many labels.
func byName(entries []staticEntry) ([]string, map[string][]string) {
	var names []string
	addresses := map[string][]string{}
	for _, entry := range entries {
		if addresses[entry.Hostname] == nil {
			names = append(names, entry.Hostname)
		}
		if !slices.Contains(addresses[entry.Hostname], entry.IP) {
			addresses[entry.Hostname] = append(addresses[entry.Hostname], entry.IP)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		if wildA, wildB := strings.HasPrefix(a, "*."), strings.HasPrefix(b, "*."); !wildA || !wildB {
			return cmp.Compare(boolToInt(wildA), boolToInt(wildB))
		}
		return cmp.Compare(strings.Count(b, "."), strings.Count(a, "."))
	})
	return names, addresses
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pattern is the regular expression of an entry's names; CoreDNS compares it with the lower-case name and its last dot. A
// wildcard stands for one label or more.
func pattern(hostname string) string {
	if parent, wildcard := strings.CutPrefix(hostname, "*."); wildcard {
		return `^.+\.` + regexp.QuoteMeta(parent) + `\.$`
	}
	return "^" + regexp.QuoteMeta(hostname) + `\.$`
}

// ttl is how long clients may keep an answer, in seconds.
func ttl(spec dnsServerSpec) int {
	duration, err := time.ParseDuration(spec.CacheTTL)
	if err != nil || duration < 0 {
		duration = defaultCacheTTL
	}
	return int(duration.Seconds())
}
