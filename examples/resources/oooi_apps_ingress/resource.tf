terraform {
  required_providers {
    oooi = {
      source = "densityops/oooi"
    }
  }
}

resource "oooi_apps_ingress" "example" {
  hosted_cluster_ref = { name = "example-hcp" }

  # Where to publish: both, one, or neither.
  publish = {
    dns_server   = "shared-dns"
    proxy_server = "shared-proxy"
  }

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
    labels = {
      "external-dns.example.com/publish" = "yes"
    }
  }
}

# A disconnected cluster, with a mirrored catalog, a pinned address and more time.
resource "oooi_apps_ingress" "disconnected" {
  hosted_cluster_ref = { name = "island-hcp" }

  publish = {
    dns_server   = "shared-dns"
    proxy_server = "shared-proxy"
  }

  dns = {
    cluster_name = "island-hcp"
    base_domain  = "clusters.example.com"
  }

  metallb = {
    address_pool_name     = "apps-pool"
    ip_address_pool_range = "192.0.2.224/28"
    subscription          = { source = "mirrored-operators" }
  }

  service = {
    load_balancer_ip = "192.0.2.230"
  }

  timeouts = {
    create = "45m"
  }
}

output "external_ip" {
  value = oooi_apps_ingress.example.external_ip
}
