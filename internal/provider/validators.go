package provider

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/densityops/terraform-provider-oooi/internal/addresspool"
	"github.com/densityops/terraform-provider-oooi/internal/appsingress"
)

// textRule is a rule for one known string. check says what is wrong with it, continuing a sentence that starts with the
// value, and what to write instead; an empty problem accepts it.
type textRule struct {
	wants string
	check func(value string) (problem, remedy string)
}

var _ validator.String = textRule{}

// Description implements validator.String.
func (r textRule) Description(context.Context) string { return r.wants }

// MarkdownDescription implements validator.String.
func (r textRule) MarkdownDescription(context.Context) string { return r.wants }

// ValidateString implements validator.String.
func (r textRule) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	value := req.ConfigValue.ValueString()
	if problem, remedy := r.check(value); problem != "" {
		resp.Diagnostics.Append(valueRefused(req.Path, fmt.Sprintf("%q %s", value, problem), remedy))
	}
}

// kubernetes makes a rule of one of the API server's own.
func kubernetes(what, example string, check func(string) []string) textRule {
	return textRule{what, func(value string) (string, string) {
		if problems := check(value); len(problems) > 0 {
			return "is not " + what + ": " + problems[0], "Write " + what + " such as " + example
		}
		return "", ""
	}}
}

func objectName() textRule {
	return kubernetes("the name of a Kubernetes object", `"apps-pool"`, validation.IsDNS1123Subdomain)
}

func namespaceName() textRule {
	return kubernetes("the name of a namespace", `"clusters"`, validation.IsDNS1123Label)
}

func serviceName() textRule {
	return kubernetes("the name of a Service", `"oooi-ingress"`, validation.IsDNS1035Label)
}

func qualifiedName() textRule {
	return kubernetes("a qualified name", `"example.com/internal"`, validation.IsQualifiedName)
}

func clusterName() textRule {
	return kubernetes("a DNS label", `"demo"`, validation.IsDNS1123Label)
}

func notEmpty() textRule {
	return textRule{"a text that is not empty", func(value string) (string, string) {
		if strings.TrimSpace(value) == "" {
			return "is empty", "Set a value or leave the attribute out"
		}
		return "", ""
	}}
}

func oneOf(values ...string) textRule {
	wanted := `"` + strings.Join(values, `" or "`) + `"`
	return textRule{wanted, func(value string) (string, string) {
		if !slices.Contains(values, value) {
			return "is not among the possible values", "Write " + wanted
		}
		return "", ""
	}}
}

// baseDomain wants at least two labels, as the custom resources do, and takes the dot of an absolute name.
func baseDomain() textRule {
	const remedy = `Write a domain of at least two labels such as "clusters.example.com"`
	return textRule{"a DNS domain of at least two labels", func(value string) (string, string) {
		labels := strings.Split(strings.TrimSuffix(value, "."), ".")
		for _, label := range labels {
			if problems := validation.IsDNS1123Label(label); len(problems) > 0 {
				return fmt.Sprintf("is not a DNS domain, because of the label %q: %s", label, problems[0]), remedy
			}
		}
		if len(labels) < 2 {
			return "is a single label", remedy
		}
		return "", ""
	}}
}

func addressRange() textRule {
	return textRule{"an IPv4 range or CIDR", func(value string) (string, string) {
		if _, err := addresspool.Parse(value); err != nil {
			return "cannot be used as an address range: " + err.Error(), "Write unused addresses of the workers' own network"
		}
		return "", ""
	}}
}

func ipv4() textRule {
	return ipv4For(`Write an address of metallb.ip_address_pool_range such as "192.0.2.200"`)
}

func ipv4For(remedy string) textRule {
	return textRule{"an IPv4 address", func(value string) (string, string) {
		if a, err := netip.ParseAddr(value); err != nil || !a.Is4() {
			return "is not an IPv4 address", remedy
		}
		return "", ""
	}}
}

func duration() textRule {
	const remedy = `Write a duration such as "90s" or "45m"`
	return textRule{"a duration of more than zero", func(value string) (string, string) {
		switch d, err := time.ParseDuration(value); {
		case err != nil:
			return "is not a duration", remedy
		case d <= 0:
			return "leaves no time", remedy
		}
		return "", ""
	}}
}

// numberRule is a rule for one known number.
type numberRule struct {
	least, most int32
	wants       string
}

var _ validator.Int32 = numberRule{}

func port() numberRule { return numberFrom(1, 65535, "a port") }

func numberFrom(least, most int32, wants string) numberRule { return numberRule{least, most, wants} }

// Description implements validator.Int32.
func (r numberRule) Description(context.Context) string {
	return fmt.Sprintf("%s from %d to %d", r.wants, r.least, r.most)
}

// MarkdownDescription implements validator.Int32.
func (r numberRule) MarkdownDescription(ctx context.Context) string { return r.Description(ctx) }

// ValidateInt32 implements validator.Int32.
func (r numberRule) ValidateInt32(ctx context.Context, req validator.Int32Request, resp *validator.Int32Response) {
	value := req.ConfigValue
	if value.IsNull() || value.IsUnknown() || value.ValueInt32() >= r.least && value.ValueInt32() <= r.most {
		return
	}
	resp.Diagnostics.Append(valueRefused(req.Path, fmt.Sprintf("%d is not %s", value.ValueInt32(), r.wants), "Write "+r.Description(ctx)))
}

// metadataRule is a rule for the entries of a map of labels or annotations.
type metadataRule struct {
	wants string
	check func(key string, value types.String) (problem, remedy string)
}

var _ validator.Map = metadataRule{}

// Description implements validator.Map.
func (r metadataRule) Description(context.Context) string { return r.wants }

// MarkdownDescription implements validator.Map.
func (r metadataRule) MarkdownDescription(context.Context) string { return r.wants }

// ValidateMap implements validator.Map.
func (r metadataRule) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	elements := req.ConfigValue.Elements()
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		value, ok := elements[key].(types.String)
		if !ok {
			continue
		}
		if d := r.refuse(req.Path.AtMapKey(key), key, value); d != nil {
			resp.Diagnostics.Append(d)
		}
	}
}

func (r metadataRule) refuse(p path.Path, key string, value types.String) diag.Diagnostic {
	if problems := validation.IsQualifiedName(strings.ToLower(key)); len(problems) > 0 {
		return valueRefused(p, fmt.Sprintf("%q is not the key of %s: %s", key, r.wants, problems[0]),
			`Write a key such as "team" or "example.com/team"`)
	}
	if value.IsNull() {
		return valueRefused(p, fmt.Sprintf("the value of %q is null", key), `Leave the key out, or write ""`)
	}
	if problem, remedy := r.check(key, value); problem != "" {
		return valueRefused(p, problem, remedy)
	}
	return nil
}

// annotations refuses the keys that the provider itself sets, under the prefixes of all MetalLB versions.
func annotations() metadataRule {
	return metadataRule{"an annotation", func(key string, _ types.String) (string, string) {
		prefix, name, _ := strings.Cut(key, "/")
		metallb := prefix == "metallb.universe.tf" || prefix == "metallb.io"
		switch {
		case metallb && name == "address-pool":
			return fmt.Sprintf("%q is set from metallb.address_pool_name", key), "Leave it out"
		case metallb && name == "loadBalancerIPs":
			return fmt.Sprintf("%q is set from service.load_balancer_ip", key), "Leave it out and set service.load_balancer_ip"
		case strings.HasPrefix(key, appsingress.MarkPrefix):
			return fmt.Sprintf("%q says whose the Service is, and is the provider's own", key), "Leave it out"
		}
		return "", ""
	}}
}

func labels() metadataRule {
	return metadataRule{"a label", func(key string, value types.String) (string, string) {
		if key == appsingress.LabelManagedBy {
			return fmt.Sprintf("%q says who made the Service, and is the provider's own", key), "Leave it out"
		}
		if value.IsUnknown() {
			return "", ""
		}
		if problems := validation.IsValidLabelValue(value.ValueString()); len(problems) > 0 {
			return fmt.Sprintf("%q is not the value of a label: %s", value.ValueString(), problems[0]),
				"Write at most 63 letters, digits, dashes, underscores and dots"
		}
		return "", ""
	}}
}
