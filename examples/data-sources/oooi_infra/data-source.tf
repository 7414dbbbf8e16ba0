terraform {
  required_providers {
    oooi = {
      source = "densityops/oooi"
    }
  }
}

data "oooi_infra" "vlan" {
  name = "tenant-vlan100"
}

locals {
  # The first gap of at least 16 addresses, and of it at most the 16 up to the next multiple of 16.
  gap   = [for free in data.oooi_infra.vlan.free_ranges : free.range if free.size >= 16][0]
  first = split("-", local.gap)[0]
  range = "${local.first}-${cidrhost("${local.first}/28", 15)}"
}

resource "oooi_apps_ingress" "example" {
  infra_ref          = { name = data.oooi_infra.vlan.name }
  hosted_cluster_ref = { name = "example-hcp" }

  dns = {
    cluster_name = "example-hcp"
    base_domain  = "clusters.example.com"
  }

  metallb = {
    address_pool_name     = "apps-pool"
    ip_address_pool_range = local.range
  }

  # The range is chosen once. Without this the ingress would move as soon as its own addresses, or those of a new neighbour,
  # are no longer free.
  lifecycle {
    ignore_changes = [metallb.ip_address_pool_range]
  }
}

# Who is on the VLAN, and where.
output "neighbours" {
  value = { for a in data.oooi_infra.vlan.attachments : a.domain => a.external_ip if a.enabled }
}
