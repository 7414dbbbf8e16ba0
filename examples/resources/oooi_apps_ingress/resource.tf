# The hosted cluster and its Infra are found by name. The Infra exists, so the oooi operator publishes.
resource "oooi_apps_ingress" "example" {
  hosted_cluster_ref = { name = "example-hcp" }
  infra_ref          = { name = "tenant-vlan100" }

  dns = {
    cluster_name = "example-hcp"
    base_domain  = "clusters.example.com"
  }

  metallb = {
    address_pool_name     = "apps-pool"
    ip_address_pool_range = "192.0.2.200-192.0.2.220" # unused addresses of the VLAN
  }

  service = {
    annotations = {
      "external-dns.alpha.kubernetes.io/hostname" = "*.apps.example-hcp.clusters.example.com."
    }
  }
}

# A DNSServer and a ProxyServer that stand alone: the provider itself does all of the work.
resource "oooi_apps_ingress" "direct" {
  mode               = "direct"
  hosted_cluster_ref = { name = "other-hcp" }

  publish = {
    dns_server   = "shared-dns"
    proxy_server = "shared-proxy"
  }

  dns = {
    cluster_name = "other-hcp"
    base_domain  = "clusters.example.com"
  }

  metallb = {
    address_pool_name     = "apps-pool"
    ip_address_pool_range = "192.0.2.224/28"
  }

  timeouts = {
    create = "45m"
  }
}

output "external_ip" {
  value = oooi_apps_ingress.example.external_ip
}
