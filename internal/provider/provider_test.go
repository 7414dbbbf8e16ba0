package provider

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// configured runs Configure with this provider block and gives what reached the connection.
func configuredWith(t *testing.T, block string) kube.Config {
	t.Helper()
	var got kube.Config
	w := newWorld()
	connect := func(config kube.Config) (engine, error) {
		got = config
		return w, nil
	}
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"oooi": providerserver.NewProtocol6WithError(newProvider("1.2.3", connect)()),
		},
		Steps: []resource.TestStep{{
			Config: "provider \"oooi\" {\n" + block + "\n}\n" + ingress(), PlanOnly: true, ExpectNonEmptyPlan: true,
		}},
	})
	return got
}

func TestProviderArguments(t *testing.T) {
	t.Parallel()
	got := configuredWith(t, `
		config_path              = "a"
		config_paths             = ["b", "c"]
		config_context           = "d"
		config_context_cluster   = "e"
		config_context_auth_info = "f"
		host                     = "g"
		token                    = "h"
		client_certificate       = "i"
		client_key               = "j"
		cluster_ca_certificate   = "k"
		insecure                 = true
		tls_server_name          = "l"
		proxy_url                = "m"
		exec {
		  api_version = "client.authentication.k8s.io/v1"
		  command     = "n"
		  args        = ["o"]
		  env         = { P = "q" }
		}
	`)
	want := kube.Config{
		ConfigPath: new("a"), ConfigPaths: []string{"b", "c"}, ConfigContext: new("d"), ConfigContextCluster: new("e"),
		ConfigContextAuthInfo: new("f"), Host: new("g"), Token: new("h"), ClientCertificate: new("i"), ClientKey: new("j"),
		ClusterCACertificate: new("k"), Insecure: new(true), TLSServerName: new("l"), ProxyURL: new("m"),
		Exec: &kube.Exec{
			APIVersion: "client.authentication.k8s.io/v1", Command: "n", Args: []string{"o"}, Env: map[string]string{"P": "q"},
		},
		UserAgent: "terraform-provider-oooi/1.2.3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// Nothing set, or set to nothing, falls through to the environment.
func TestProviderArgumentsEmpty(t *testing.T) {
	t.Parallel()
	for _, block := range []string{"", `token = ""` + "\n" + `host = ""`} {
		got := configuredWith(t, block)
		if diff := cmp.Diff(kube.Config{UserAgent: "terraform-provider-oooi/1.2.3"}, got); diff != "" {
			t.Errorf("%s: configuration (-want +got):\n%s", block, diff)
		}
	}
}

func TestProviderBlockTwoExec(t *testing.T) {
	t.Parallel()
	exec := "exec {\n api_version = \"v1\"\n command = \"c\"\n}\n"
	terraformTest(t, resource.TestCase{
		ProtoV6ProviderFactories: newWorld().factories(),
		Steps: []resource.TestStep{{
			Config: "provider \"oooi\" {\n" + exec + exec + "}\n" + ingress(), PlanOnly: true, ExpectError: regexp.MustCompile(`at most 1`),
		}},
	})
}

// The client that can defer is told to; the others plan without a connection.
func TestUnknownArgumentsAreDeferred(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, allowed := range []bool{true, false} {
		connected := false
		connect := func(kube.Config) (engine, error) {
			connected = true
			return newWorld(), nil
		}
		server := providerserver.NewProtocol6(newProvider("test", connect)())()
		providerType := providerSchema().Type().TerraformType(ctx)
		unknown := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
		resp, err := server.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{
			Config:             dynamic(t, providerType, map[string]tftypes.Value{"host": unknown}),
			ClientCapabilities: &tfprotov6.ConfigureProviderClientCapabilities{DeferralAllowed: allowed},
		})
		if err != nil || len(resp.Diagnostics) > 0 || connected {
			t.Fatalf("connected is %t; %v; %+v", connected, err, resp)
		}
		resourceType := appsIngressSchema().Type().TerraformType(ctx)
		config := dynamic(t, resourceType, map[string]tftypes.Value{"name": tftypes.NewValue(tftypes.String, "demo")})
		null, err := tfprotov6.NewDynamicValue(resourceType, tftypes.NewValue(resourceType, nil))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
			TypeName: "oooi_apps_ingress", Config: config, ProposedNewState: config, PriorState: &null,
			ClientCapabilities: &tfprotov6.PlanResourceChangeClientCapabilities{DeferralAllowed: allowed},
		})
		if err != nil || len(plan.Diagnostics) > 0 {
			t.Fatalf("%v; %+v", err, plan)
		}
		if got := plan.Deferred != nil; got != allowed {
			t.Errorf("deferral allowed is %t, deferred is %t", allowed, got)
		}
		planned, err := plan.PlannedState.Unmarshal(resourceType)
		if err != nil {
			t.Fatal(err)
		}
		var values map[string]tftypes.Value
		if err := planned.As(&values); err != nil {
			t.Fatal(err)
		}
		if id := tftypes.NewValue(tftypes.String, "clusters/demo"); !values["id"].Equal(id) {
			t.Errorf("the plan has the id %s", values["id"])
		}
	}
}

// dynamic is an object of this type: the given values, null for the rest.
func dynamic(t *testing.T, objectType tftypes.Type, set map[string]tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	object, ok := objectType.(tftypes.Object)
	if !ok {
		t.Fatalf("%s is no object", objectType)
	}
	values := map[string]tftypes.Value{}
	for name, attributeType := range object.AttributeTypes {
		values[name] = tftypes.NewValue(attributeType, nil)
		if value, ok := set[name]; ok {
			values[name] = value
		}
	}
	value, err := tfprotov6.NewDynamicValue(objectType, tftypes.NewValue(objectType, values))
	if err != nil {
		t.Fatal(err)
	}
	return &value
}
