package provider

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestTextRules(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule     textRule
		accepted []string
		refused  []string
	}{
		"range": { // field cases 8 and 9
			addressRange(),
			[]string{"192.0.2.200-192.0.2.220", "192.0.2.200 - 192.0.2.220", "192.0.2.7-192.0.2.7", "192.0.2.193/27", "192.0.2.7/32"},
			[]string{
				"192.0.2.220-192.0.2.200", "2001:db8::1-2001:db8::2", "2001:db8::/64", "", " ", "192.0.2.7", "10.0.0.1-10.0.0",
				"10.0.0.0/33", "0.0.0.0/0", "apps", "192.0.2.1-192.0.2.2,192.0.2.4-192.0.2.5", "192.0.2.1-192.0.2.2 192.0.2.4-192.0.2.5",
			},
		},
		"base domain": {
			baseDomain(),
			[]string{"example.com", "example.com.", "a-b.c1.example.com"},
			[]string{
				"", ".", "com", "com.", "example..com", "example.com..", ".example.com", "Example.com", "-a.com", "a_b.com",
				"*.example.com", strings.Repeat("a", 64) + ".com",
			},
		},
		"cluster name": {
			clusterName(), []string{"demo", "d", "1-a"}, []string{"", "demo.x", "Demo", "-demo", "demo-", "demo.", strings.Repeat("a", 64)},
		},
		"object name":    {objectName(), []string{"apps-pool", "a.b"}, []string{"", "Apps", "a_b", "a/b", strings.Repeat("a", 254)}},
		"namespace":      {namespaceName(), []string{"clusters"}, []string{"", "a.b", "A", strings.Repeat("a", 64)}},
		"service name":   {serviceName(), []string{"oooi-ingress"}, []string{"", "1a", "a.b", "A"}},
		"qualified name": {qualifiedName(), []string{"internal", "example.com/internal"}, []string{"", "a/b/c", "/a", "-"}},
		"one of":         {oneOf("Cluster", "Local"), []string{"Cluster", "Local"}, []string{"", "cluster"}},
		"not empty":      {notEmpty(), []string{"x"}, []string{"", "  "}},
		"IPv4":           {ipv4(), []string{"192.0.2.1"}, []string{"", "192.0.2", "2001:db8::1", "::ffff:192.0.2.1", "192.0.2.1/32"}},
		"DNS server": {
			dnsServerAddress(),
			[]string{"192.0.2.53", "192.0.2.53:5353"},
			[]string{"", "192.0.2.53:", "192.0.2.53:0", "192.0.2.53:65536", ":53", "2001:db8::53", "[2001:db8::53]:53", "dns.example.com"},
		},
		"network":   {network(), []string{"192.0.2.0/24", "192.0.2.7/24"}, []string{"", "192.0.2.0", "192.0.2.0/33", "2001:db8::/64"}},
		"host name": {hostName(), []string{"lb.example.com", "lb.example.com.", "lb"}, []string{"", ".", "a b", "lb..example.com", "LB"}},
		"labels":    {dnsLabels(), []string{"a", "a.b"}, []string{"", ".", "a.", "A", "*", "a_b", strings.Repeat("a", 64)}},
		"URL path":  {urlPath(), []string{"/", "/a?b=c"}, []string{"", "a", "http://a/", "/a b", "/ä", "/a\n"}},
		"duration":  {duration(), []string{"90s", "1h30m"}, []string{"", "90", "0s", "-1m", "soon"}},
		"pause":     {pause(), []string{"0s", "100ms"}, []string{"", "1", "-1s", "soon"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, value := range test.accepted {
				if _, text := validateText(t, test.rule, types.StringValue(value)); text != "" {
					t.Errorf("%q was refused: %s", value, text)
				}
			}
			for _, value := range test.refused {
				summary, text := validateText(t, test.rule, types.StringValue(value))
				if !strings.Contains(text, "metallb.x: ") || summary == "" {
					t.Errorf("%q was accepted, or the path is not named: %s", value, text)
				}
			}
			for _, value := range []types.String{types.StringNull(), types.StringUnknown()} {
				if _, text := validateText(t, test.rule, value); text != "" {
					t.Errorf("%s was refused: %s", value, text)
				}
			}
		})
	}
}

func validateText(t *testing.T, rule textRule, value types.String) (summary, detail string) {
	t.Helper()
	var resp validator.StringResponse
	rule.ValidateString(t.Context(), validator.StringRequest{Path: path.Root("metallb").AtName("x"), ConfigValue: value}, &resp)
	if !resp.Diagnostics.HasError() {
		return "", ""
	}
	return resp.Diagnostics[0].Summary(), resp.Diagnostics[0].Detail()
}

func TestPortRule(t *testing.T) {
	t.Parallel()
	for value, want := range map[types.Int32]bool{
		types.Int32Value(1): true, types.Int32Value(65535): true, types.Int32Null(): true, types.Int32Unknown(): true,
		types.Int32Value(0): false, types.Int32Value(-1): false, types.Int32Value(65536): false,
	} {
		var resp validator.Int32Response
		port().ValidateInt32(t.Context(), validator.Int32Request{Path: path.Root("ports"), ConfigValue: value}, &resp)
		if got := !resp.Diagnostics.HasError(); got != want {
			t.Errorf("%s: accepted is %t, want %t", value, got, want)
		}
	}
}

func TestNumberRule(t *testing.T) {
	t.Parallel()
	for value, want := range map[int32]string{
		1: "", 100: "", 0: "0 is not a number of attempts", 101: "Write a number of attempts from 1 to 100",
	} {
		var resp validator.Int32Response
		rule := numberFrom(1, 100, "a number of attempts")
		rule.ValidateInt32(t.Context(), validator.Int32Request{Path: path.Root("attempts"), ConfigValue: types.Int32Value(value)}, &resp)
		got := ""
		if len(resp.Diagnostics) > 0 {
			got = resp.Diagnostics[0].Detail()
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d: got %q, want %q", value, got, want)
		}
	}
}

func TestCertificatesRule(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	good := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for value, want := range map[types.String]bool{
		types.StringNull(): true, types.StringUnknown(): true, types.StringValue(good): true, types.StringValue("# ca\n" + good): true,
		types.StringValue(""): false, types.StringValue("secret"): false,
	} {
		var resp validator.StringResponse
		certificates().ValidateString(t.Context(), validator.StringRequest{Path: path.Root("ca_certificate"), ConfigValue: value}, &resp)
		if got := !resp.Diagnostics.HasError(); got != want {
			t.Errorf("%s: accepted is %t, want %t", value, got, want)
		}
		for _, d := range resp.Diagnostics {
			if strings.Contains(d.Detail(), "secret") {
				t.Errorf("the value is repeated: %s", d.Detail())
			}
		}
	}
}

func TestMetadataRules(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule metadataRule
		key  string
		// value is null when it is nil
		value *string
		want  string // part of the refusal
	}{
		"annotation":          {annotations(), "external-dns.alpha.kubernetes.io/hostname", new("*.apps.example.com."), ""},
		"upper case":          {annotations(), "Example.com/Team", new("x"), ""},
		"pool, old":           {annotations(), "metallb.universe.tf/address-pool", new("x"), "metallb.address_pool_name"},
		"pool, new":           {annotations(), "metallb.io/address-pool", new("x"), "metallb.address_pool_name"},
		"pin, old":            {annotations(), "metallb.universe.tf/loadBalancerIPs", new("x"), "service.load_balancer_ip"},
		"pin, new":            {annotations(), "metallb.io/loadBalancerIPs", new("x"), "service.load_balancer_ip"},
		"shared address":      {annotations(), "metallb.io/allow-shared-ip", new("x"), ""},
		"mark":                {annotations(), "oooi.densityops.com/apps-ingress", new("x"), "the provider's own"},
		"annotation key":      {annotations(), "a b", new("x"), "is not the key of an annotation"},
		"annotation null":     {annotations(), "a", nil, "is null"},
		"label":               {labels(), "example.com/team", new("a"), ""},
		"label empty":         {labels(), "team", new(""), ""},
		"label key":           {labels(), "a/b/c", new(""), "is not the key of a label"},
		"label value":         {labels(), "a", new("x y"), "is not the value of a label"},
		"label value length":  {labels(), "a", new(strings.Repeat("x", 64)), "is not the value of a label"},
		"managed by":          {labels(), "app.kubernetes.io/managed-by", new("x"), "the provider's own"},
		"label of other tool": {labels(), "app.kubernetes.io/name", new("x"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := test.rule.refuse(path.Root("service"), test.key, types.StringPointerValue(test.value))
			switch {
			case test.want == "" && d != nil:
				t.Errorf("refused: %s", d.Detail())
			case test.want != "" && (d == nil || !strings.Contains(d.Detail(), test.want)):
				t.Errorf("got %v, want a refusal with %q", d, test.want)
			}
		})
	}
	d := labels().refuse(path.Root("service"), "a", types.StringUnknown())
	if diff := cmp.Diff(nil, d); diff != "" {
		t.Errorf("an unknown value was refused: %s", diff)
	}
}
