package provider

import (
	"fmt"
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// What is not known yet, such as a variable while a module is validated, is not refused for what it may turn out to be.
func TestVerificationRefusesNothingUnknown(t *testing.T) {
	t.Parallel()
	server := providerserver.NewProtocol6(&oooiProvider{})()
	for name, attribute := range verificationSchema().Attributes {
		if attribute.IsComputed() {
			continue
		}
		for _, with := range []map[string]tftypes.Value{
			{},
			{"external_ip": textValue("192.0.2.1")},
			{"verify_certificate": tftypes.NewValue(tftypes.Bool, false)},
			{"verify_certificate": tftypes.NewValue(tftypes.Bool, true)},
		} {
			t.Run(fmt.Sprintf("%s with %v", name, with), func(t *testing.T) {
				t.Parallel()
				arguments := map[string]tftypes.Value{"domain": textValue("demo.example.com")}
				maps.Copy(arguments, with)
				arguments[name] = tftypes.NewValue(attribute.GetType().TerraformType(t.Context()), tftypes.UnknownValue)
				resp, err := server.ValidateDataResourceConfig(t.Context(), &tfprotov6.ValidateDataResourceConfigRequest{
					TypeName: "oooi_apps_ingress_verification",
					Config:   dynamic(t, verificationSchema().Type().TerraformType(t.Context()), arguments),
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range resp.Diagnostics {
					t.Errorf("%s: %s", d.Summary, d.Detail)
				}
			})
		}
	}
}
