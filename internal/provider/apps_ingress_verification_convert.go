package provider

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
	"github.com/densityops/terraform-provider-oooi/internal/probe"
)

// Defaults of a verification.
const (
	defaultAttemptTimeout = 5 * time.Second
	defaultAttemptPause   = time.Second

	transportUDP = "udp"
	transportTCP = "tcp"
)

// verification is the only place where Terraform values become a verification. Every default is filled in.
func (m verificationModel) verification(ctx context.Context) (verification, diag.Diagnostics) {
	var diags diag.Diagnostics
	v := verification{
		namespace: textOr(m.Namespace, appsingress.DefaultNamespace).ValueString(),
		publish:   m.published(ctx, &diags),
		given: probe.Request{
			Domain:   "apps." + strings.TrimSuffix(m.Domain.ValueString(), "."),
			Label:    m.Label.ValueString(),
			IP:       parsed(m.ExternalIP, path.Root("external_ip"), netip.ParseAddr, &diags),
			Hostname: strings.TrimSuffix(m.ExternalHostname.ValueString(), "."),
			Web:      m.web(ctx, &diags),
			Attempt:  m.attempt(&diags),
		},
	}
	ports := open[portsModel](ctx, m.Ports, &diags).Value
	v.given.HTTP = portNumber(ports.HTTP, appsingress.DefaultHTTPPort)
	v.given.HTTPS = portNumber(ports.HTTPS, appsingress.DefaultHTTPSPort)
	if !m.CheckPaths.IsNull() {
		diags.Append(m.CheckPaths.ElementsAs(ctx, &v.given.Only, false)...)
	}
	m.givenAddresses(ctx, &v, &diags)
	return v, diags
}

// published is where the ingress is published: what the configuration says, or what the resource publishes in by default.
func (m verificationModel) published(ctx context.Context, diags *diag.Diagnostics) appsingress.Publish {
	publish := open[publishModel](ctx, m.Publish, diags)
	infra := open[infraRefModel](ctx, m.InfraRef, diags)
	if publish.Null && !infra.Null {
		return appsingress.DefaultPublish(infra.Value.Name.ValueString())
	}
	return appsingress.Publish{DNSServer: publish.Value.DNSServer.ValueString(), ProxyServer: publish.Value.ProxyServer.ValueString()}
}

// givenAddresses are those that win over what is read. Who gives one says that this machine can test it.
func (m verificationModel) givenAddresses(ctx context.Context, v *verification, diags *diag.Diagnostics) {
	vlan := open[verificationVLANModel](ctx, m.VLAN, diags).Value
	pod := open[verificationPodModel](ctx, m.Pod, diags).Value
	public := open[verificationPublicModel](ctx, m.Public, diags).Value

	v.network = parsed(vlan.Network, path.Root("vlan").AtName("network"), netip.ParsePrefix, diags).Masked()
	v.given.VLAN.Server = parsed(vlan.DNSServer, path.Root("vlan").AtName("dns_server"), parseDNSServer, diags)
	v.given.Pod.Server = parsed(pod.DNSServer, path.Root("pod").AtName("dns_server"), parseDNSServer, diags)
	v.given.Proxy.Address = parsed(pod.Proxy, path.Root("pod").AtName("proxy"), netip.ParseAddr, diags)
	v.given.Public.Server = parsed(public.DNSServer, path.Root("public").AtName("dns_server"), parseDNSServer, diags)
	v.given.Public.Expected = parsed(public.Expected, path.Root("public").AtName("expected"), netip.ParseAddr, diags)
	if v.given.Public.Server.IsValid() && !v.given.Public.Expected.IsValid() {
		v.given.Public.Expected = v.given.IP
	}
	overTCP := isText(m.Transport, transportTCP)
	v.given.VLAN.TCP, v.given.Pod.TCP, v.given.Public.TCP = overTCP, overTCP, overTCP
}

func (m verificationModel) web(ctx context.Context, diags *diag.Diagnostics) probe.Web {
	request := open[verificationRequestModel](ctx, m.Request, diags).Value
	return probe.Web{
		Path:   textOr(request.Path, "/").ValueString(),
		Status: int(request.Status.ValueInt32()),
		Body:   request.Body.ValueString(),
		Verify: m.VerifyCertificate.ValueBool(),
		Roots:  parsed(m.CACertificate, path.Root("ca_certificate"), parseCertificates, diags),
	}
}

func (m verificationModel) attempt(diags *diag.Diagnostics) probe.Attempt {
	a := probe.Attempt{
		Timeout: parsed(m.AttemptTimeout, path.Root("attempt_timeout"), time.ParseDuration, diags),
		Count:   int(m.Attempts.ValueInt32()),
		Pause:   parsed(m.AttemptPause, path.Root("attempt_pause"), time.ParseDuration, diags),
	}
	if m.AttemptTimeout.IsNull() {
		a.Timeout = defaultAttemptTimeout
	}
	if m.Attempts.IsNull() {
		a.Count = 1
	}
	if m.AttemptPause.IsNull() {
		a.Pause = defaultAttemptPause
	}
	return a
}

// parsed reads a text; null is the zero value. Validation has refused already what cannot be read.
func parsed[T any](value types.String, at path.Path, parse func(string) (T, error), diags *diag.Diagnostics) (v T) {
	if value.IsNull() {
		return v
	}
	v, err := parse(value.ValueString())
	if err != nil {
		diags.Append(valueRefused(at, err.Error(), "Write the value another way"))
	}
	return v
}

func portNumber(value types.Int32, fallback int32) uint16 {
	return uint16(portOr(value, fallback).ValueInt32()) //nolint:gosec // validation bounds it
}

// describe is the only place where paths become Terraform's.
func (m *verificationModel) describe(ctx context.Context, paths []probe.Path) diag.Diagnostics {
	var diags diag.Diagnostics
	failed, all := []string{}, make([]verificationPathModel, 0, len(paths))
	for _, p := range paths {
		all = append(all, verificationPathModel{
			Name: types.StringValue(p.Name), Result: types.StringValue(string(p.Result)), Asked: orNull(p.Asked),
			Expected: orNull(p.Expected), Observed: orNull(p.Observed), Message: orNull(p.Message),
		})
		if p.Result == probe.Failed {
			failed = append(failed, failedLine(p))
		}
	}
	m.Healthy = types.BoolValue(probe.Healthy(paths))
	m.Paths = packList(ctx, m.Paths, all, &diags)
	m.Failed = packList(ctx, m.Failed, failed, &diags)
	return diags
}

// failedLine is the line of a path that has failed: who was asked, what was seen and what to make of it.
func failedLine(p probe.Path) string {
	line := []string{p.Name}
	if p.Asked != "" {
		line = append(line, p.Asked)
	}
	if p.Observed != "" && !strings.Contains(p.Message, p.Observed) {
		line = append(line, p.Observed)
	}
	return strings.Join(append(line, p.Message), ": ")
}
