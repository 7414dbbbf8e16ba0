terraform {
  required_providers {
    oooi = {
      source = "densityops/oooi"
    }
  }
}

# The management cluster: it runs HyperShift and oooi. The hosted clusters' own kubeconfigs are read from there.
provider "oooi" {
  config_path    = "~/.kube/config"
  config_context = "management"
}
