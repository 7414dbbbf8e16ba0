# The ingress of one hosted cluster, and something that depends on its address. `make demo` applies this.

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

variable "range" {
  description = "Unused addresses of the VLAN, as a range or a CIDR."
  type        = string
  default     = "198.51.100.200-198.51.100.220"
}

variable "infra" {
  description = "The Infra that owns DNS and Envoy, for attachment mode; without one, DNS and Envoy stand alone."
  type        = string
  default     = null
}

provider "oooi" {
  config_path = var.kubeconfig
}

resource "oooi_apps_ingress" "demo" {
  hosted_cluster_ref = { name = "demo" }

  infra_ref = var.infra == null ? null : { name = var.infra }

  publish = var.infra != null ? null : {
    dns_server   = "shared-dns"
    proxy_server = "shared-proxy"
  }

  dns = {
    cluster_name = "demo"
    base_domain  = "clusters.example.com"
  }

  metallb = {
    address_pool_name     = "apps-pool"
    ip_address_pool_range = var.range
  }

  service = {
    labels = { "external-dns.example.com/publish" = "yes" }
  }

  timeouts = {
    create = "5m"
  }
}

# Stands for the public DNS record, the load balancer, or whatever else needs the address.
resource "terraform_data" "record" {
  input = "${oooi_apps_ingress.demo.wildcard_domain} A ${oooi_apps_ingress.demo.external_ip}"
}

output "external_ip" {
  value = oooi_apps_ingress.demo.external_ip
}

output "record" {
  value = terraform_data.record.output
}

output "installed_csv" {
  value = oooi_apps_ingress.demo.installed_csv
}

output "dns_records" {
  value = oooi_apps_ingress.demo.dns_records
}

output "proxy_backends" {
  value = oooi_apps_ingress.demo.proxy_backends
}
