terraform {
  required_providers {
    oooi = {
      source = "densityops/oooi"
    }
  }
}

resource "oooi_apps_ingress" "example" {
  infra_ref          = { name = "tenant-vlan100" }
  hosted_cluster_ref = { name = "example-hcp" }

  dns = {
    cluster_name = "example-hcp"
    base_domain  = "clusters.example.com"
  }

  metallb = {
    address_pool_name     = "apps-pool"
    ip_address_pool_range = "192.0.2.200-192.0.2.220"
  }
}

# Everything that is configured. The addresses of DNS and proxy are read from the management cluster.
data "oooi_apps_ingress_verification" "example" {
  domain            = oooi_apps_ingress.example.domain
  external_ip       = oooi_apps_ingress.example.external_ip
  external_hostname = oooi_apps_ingress.example.external_hostname
  ports             = oooi_apps_ingress.example.ports
  namespace         = oooi_apps_ingress.example.namespace
  infra_ref         = oooi_apps_ingress.example.infra_ref
  publish           = oooi_apps_ingress.example.publish

  # DNS servers load a new record after some seconds.
  attempts        = 3
  attempt_timeout = "2s"
  attempt_pause   = "3s"

  # A plan with something to do for the ingress leaves the verification to the apply, after it.
  depends_on = [oooi_apps_ingress.example]
}

# A check warns. It never ends a run.
check "example_can_be_reached" {
  assert {
    condition = data.oooi_apps_ingress_verification.example.healthy
    error_message = coalesce(
      join("\n", data.oooi_apps_ingress_verification.example.failed),
      "No path can be tested from here.",
    )
  }
}

# A condition ends the run: what depends on this output, or on a resource with such a condition, comes only when the ingress can
# be reached. A precondition of a resource is written the same way.
output "url" {
  value = "https://console.apps.${oooi_apps_ingress.example.domain}"

  precondition {
    condition     = length(data.oooi_apps_ingress_verification.example.failed) == 0
    error_message = join("\n", data.oooi_apps_ingress_verification.example.failed)
  }
}

# Terraform runs on the VLAN here, and must get through: a path that is named may not stay without an answer. The postcondition
# ends the run, a plan as well as an apply.
data "oooi_apps_ingress_verification" "vlan" {
  domain      = oooi_apps_ingress.example.domain
  external_ip = oooi_apps_ingress.example.external_ip
  infra_ref   = oooi_apps_ingress.example.infra_ref
  check_paths = ["vlan_dns", "endpoint_https"]

  label              = "console"
  verify_certificate = true
  request            = { path = "/health", status = 200 }

  depends_on = [oooi_apps_ingress.example]

  lifecycle {
    postcondition {
      condition     = self.healthy
      error_message = coalesce(join("\n", self.failed), "The ingress is not published on the VLAN.")
    }
  }
}

# Without the management cluster, and within a check. Terraform reads such a data source at the end of every apply, and so has that
# to do in every plan: -detailed-exitcode is never 0.
check "example_is_public" {
  data "oooi_apps_ingress_verification" "public" {
    domain      = oooi_apps_ingress.example.domain
    external_ip = oooi_apps_ingress.example.external_ip
    check_paths = ["public_dns"]

    public = {
      dns_server = "198.51.100.53"
      expected   = "203.0.113.200" # outside of a NAT; without it, external_ip
    }
  }

  assert {
    condition     = data.oooi_apps_ingress_verification.public.healthy
    error_message = join("\n", data.oooi_apps_ingress_verification.public.failed)
  }
}
