package provider

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

// dnsPort is where DNS servers listen when nothing else is said.
const dnsPort = 53

// parseDNSServer reads "192.0.2.53" and "192.0.2.53:5353".
func parseDNSServer(text string) (netip.AddrPort, error) {
	server, err := netip.ParseAddrPort(text)
	if !strings.Contains(text, ":") {
		var address netip.Addr
		address, err = netip.ParseAddr(text)
		server = netip.AddrPortFrom(address, dnsPort)
	}
	if err != nil || !server.Addr().Is4() || server.Port() == 0 {
		return netip.AddrPort{}, errors.New("is not an IPv4 address, with or without a port")
	}
	return server, nil
}

func dnsServerAddress() textRule {
	return textRule{"an IPv4 address, with or without a port", func(value string) (string, string) {
		if _, err := parseDNSServer(value); err != nil {
			return err.Error(), `Write a DNS server such as "192.0.2.53" or "192.0.2.53:5353"`
		}
		return "", ""
	}}
}

func network() textRule {
	return textRule{"an IPv4 network", func(value string) (string, string) {
		if n, err := netip.ParsePrefix(value); err != nil || !n.Addr().Is4() {
			return "is not an IPv4 network", `Write a CIDR such as "192.0.2.0/24"`
		}
		return "", ""
	}}
}

func pause() textRule {
	return textRule{"a duration", func(value string) (string, string) {
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return "is not a duration", `Write a duration such as "3s", or "0s" for none`
		}
		return "", ""
	}}
}

func hostName() textRule {
	return textRule{"a host name", func(value string) (string, string) {
		if problems := validation.IsDNS1123Subdomain(strings.TrimSuffix(value, ".")); len(problems) > 0 {
			return "is not a host name: " + problems[0], `Write a host name such as "lb.example.com"`
		}
		return "", ""
	}}
}

func dnsLabels() textRule {
	return textRule{"DNS labels joined by dots", func(value string) (string, string) {
		for label := range strings.SplitSeq(value, ".") {
			if problems := validation.IsDNS1123Label(label); len(problems) > 0 {
				return fmt.Sprintf("cannot stand before a domain, because of the label %q: %s", label, problems[0]),
					`Write a label such as "console", or several joined by dots`
			}
		}
		return "", ""
	}}
}

func urlPath() textRule {
	return textRule{"the path of a URL", func(value string) (string, string) {
		if !strings.HasPrefix(value, "/") || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return "is not the path of a URL", `Write a path such as "/healthz", without the host`
		}
		return "", ""
	}}
}

// parseCertificates reads PEM certificates, at least one.
func parseCertificates(text string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(text)) {
		return nil, errors.New("there is no certificate in it")
	}
	return pool, nil
}

// certificates does not repeat the value, which is long, and may be a key by mistake.
func certificates() validator.String { return certificatesRule{} }

type certificatesRule struct{}

// Description implements validator.String.
func (certificatesRule) Description(context.Context) string { return "PEM certificates" }

// MarkdownDescription implements validator.String.
func (r certificatesRule) MarkdownDescription(ctx context.Context) string { return r.Description(ctx) }

// ValidateString implements validator.String.
func (certificatesRule) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, err := parseCertificates(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.Append(valueRefused(req.Path, err.Error(), "Write PEM certificates, such as the content of a file ca.crt"))
	}
}

// pathsInOrder are the names of all paths, as they are reported.
func pathsInOrder() []string {
	return []string{
		probe.VLANDNS, probe.EndpointHTTP, probe.EndpointHTTPS, probe.PodDNS, probe.ProxyHTTP, probe.ProxyHTTPS, probe.PublicDNS,
	}
}

// pathNames is the rule for check_paths.
func pathNames() validator.Set { return pathNamesRule{} }

type pathNamesRule struct{}

// Description implements validator.Set.
func (pathNamesRule) Description(context.Context) string {
	return "one or more of " + strings.Join(pathsInOrder(), ", ")
}

// MarkdownDescription implements validator.Set.
func (r pathNamesRule) MarkdownDescription(ctx context.Context) string { return r.Description(ctx) }

// ValidateSet implements validator.Set.
func (r pathNamesRule) ValidateSet(ctx context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	elements := req.ConfigValue.Elements()
	if len(elements) == 0 {
		resp.Diagnostics.Append(valueRefused(req.Path, "it names no path", "Write "+r.Description(ctx)+", or leave it out"))
	}
	for _, element := range elements {
		name, ok := element.(types.String)
		if !ok || name.IsUnknown() || slices.Contains(pathsInOrder(), name.ValueString()) {
			continue
		}
		resp.Diagnostics.Append(valueRefused(req.Path, fmt.Sprintf("%q is not the name of a path", name.ValueString()),
			"Write "+r.Description(ctx)))
	}
}
