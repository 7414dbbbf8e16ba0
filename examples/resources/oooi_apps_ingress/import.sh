# namespace/name of the ingress; its HostedCluster is looked for under the same name in the namespace clusters.
terraform import oooi_apps_ingress.example clusters/example-hcp

# What the provider cannot find out is said behind it, each part after a comma.
terraform import oooi_apps_ingress.example \
  'clusters/example-hcp,hosted_cluster=clusters/example-hcp,infra=tenant-vlan100,service=openshift-ingress/oooi-ingress'

# A hosted cluster that is reached through a kubeconfig file.
terraform import oooi_apps_ingress.example 'clusters/example-hcp,config_path=~/.kube/example-hcp,config_context=admin'
