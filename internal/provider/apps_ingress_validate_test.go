package provider

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// The rules about several attributes, as Terraform shows them.
func TestValidateConfig(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(strings.Repeat("a", 60)+".", 4) + "com"
	var steps []resource.TestStep // Terraform wraps lines, so a space stands for any white space
	for _, test := range []struct{ config, want string }{
		{ingress(`hosted_cluster_ref = `), `name: it is not set`},
		{ingress(`hosted_cluster_ref = `, `name = "x"`), `hosted_cluster_ref: it is not set`},
		{ingress(`hosted_cluster_ref = `, `name = "x"`, `hosted_cluster_access = { host = "h" }`), `hosted_cluster_ref: it is not set`},
		{ingress(`hosted_cluster_access = { insecure = true, cluster_ca_certificate = "x" }`), `hosted_cluster_access.insecure: it is`},
		{ingress(`dns = { cluster_name = "demo", base_domain = "` + long + `" }`), `the wildcard domain has \d+`},
		{ingress(`ports = { http = 443 }`), `http and https are both 443`},
		{ingress(`ports = { http = 8080, https = 8080 }`), `http and https are both 8080`},
		{ingress(`ports = { http = 0 }`), `ports.http: 0 is not a port`},
		{ingress(`service = { load_balancer_ip = "192.0.2.1" }`), `192.0.2.1 is not in metallb.ip_address_pool_range`},
		{ingress(`service = { annotations = { "metallb.io/address-pool" = "x" } }`), `is set from metallb.address_pool_name`},
		{ingress(`mode = "both"`), `mode: "both" is not among`},
		{ingress(`mode = "attachment"`, `infra_ref = { name = "i" }`), `publish: it is set`},
		{ingress(`mode = "attachment"`, `publish = `), `infra_ref: it is not set`},
		{
			ingress(`mode = "attachment"`, `publish = `, `metallb = {
				address_pool_name = "a", ip_address_pool_range = "192.0.2.0/24", auto_assign = true, install = true
			}`), `(?s)metallb.auto_assign: it is set.*metallb.install: it is set`,
		},
		{
			ingress(`mode = "attachment"`, `publish = `, `service = { external_traffic_policy = "Local" }`),
			`service.external_traffic_policy: it is set`,
		},
		{ingress(`timeouts = { create = "0s" }`), `timeouts.create: "0s" leaves no time`},
		{ingress(`metallb = { address_pool_name = "a", ip_address_pool_range = "10.0.0.1" }`), `metallb.ip_address_pool_range: "10.0.0.1"`},
	} {
		want := regexp.MustCompile(strings.ReplaceAll(test.want, " ", `\s+`))
		steps = append(steps, resource.TestStep{Config: test.config, PlanOnly: true, ExpectError: want})
	}
	steps = append(steps, resource.TestStep{
		// The way without a HostedCluster.
		Config: ingress(`hosted_cluster_ref = `, `name = "x"`, `hosted_cluster_access = { config_path = "/nonexistent" }`, `publish = `),
	})
	w := newWorld()
	w.uidErr = context.DeadlineExceeded // this ingress needs no management cluster
	terraformTest(t, resource.TestCase{ProtoV6ProviderFactories: w.factories(), Steps: steps})
}
