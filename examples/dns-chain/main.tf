# Several hosted clusters on one VLAN, and the public DNS record of each: it follows the address in the same apply,
# whether the address is new, has moved, or was changed behind Terraform's back.

terraform {
  required_providers {
    oooi = {
      source = "densityops/oooi"
    }
  }
}

variable "kubeconfig" {
  description = "Path of the kubeconfig of the management cluster."
  type        = string
}

variable "base_domain" {
  description = "Domain under which the hosted clusters live."
  type        = string
  default     = "clusters.example.com"
}

variable "clusters" {
  description = "Hosted clusters by name, and the addresses that each may use: unused ones of the VLAN, apart from each other."
  type        = map(object({ range = string }))
  default = {
    blue  = { range = "192.0.2.200-192.0.2.203" }
    green = { range = "192.0.2.204/30" }
  }
}

provider "oooi" {
  config_path = var.kubeconfig
}

resource "oooi_apps_ingress" "cluster" {
  for_each = var.clusters

  hosted_cluster_ref = { name = each.key }

  publish = {
    dns_server   = "shared-dns"
    proxy_server = "shared-proxy"
  }

  dns = {
    cluster_name = each.key
    base_domain  = var.base_domain
  }

  metallb = {
    address_pool_name     = "apps-${each.key}"
    ip_address_pool_range = each.value.range
  }
}

# A stand-in that needs no other provider. With one, the record is for example:
#
#   resource "dns_a_record_set" "apps" {
#     for_each  = oooi_apps_ingress.cluster
#     zone      = "${var.base_domain}."
#     name      = trimsuffix(each.value.wildcard_domain, ".${var.base_domain}")
#     addresses = [each.value.external_ip]
#   }
resource "terraform_data" "record" {
  for_each = oooi_apps_ingress.cluster

  input = {
    name  = each.value.wildcard_domain
    type  = each.value.external_ip != null ? "A" : "CNAME"
    value = each.value.external_ip != null ? each.value.external_ip : each.value.external_hostname
  }
}

output "records" {
  value = { for name, record in terraform_data.record : name => record.output }
}
