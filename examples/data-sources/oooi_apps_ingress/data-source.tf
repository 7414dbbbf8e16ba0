terraform {
  required_providers {
    oooi = {
      source = "densityops/oooi"
    }
  }
}

# The ingress of an InfraClusterAttachment; the read goes on when it is there and Ready.
data "oooi_apps_ingress" "attached" {
  attachment_ref   = { name = "example-hcp" }
  wait_until_ready = true

  timeouts = {
    read = "20m"
  }
}

# An ingress in direct mode that another configuration makes, as it is now.
data "oooi_apps_ingress" "direct" {
  hosted_cluster_ref = { name = "other-hcp" }
  service            = { name = "oooi-ingress", namespace = "openshift-ingress" }
}

output "public_records" {
  value = {
    (data.oooi_apps_ingress.attached.wildcard_domain) = data.oooi_apps_ingress.attached.external_ip
    (data.oooi_apps_ingress.direct.wildcard_domain)   = data.oooi_apps_ingress.direct.external_ip
  }
}
