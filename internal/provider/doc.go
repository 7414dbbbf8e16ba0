// Package provider is Terraform's face: the provider's configuration, the schemas, the plan rules, and the verbs of each
// resource. It decides nothing about clusters and must not build or read a Kubernetes object; what a resource does is in
// the packages below, which know no Terraform type.
package provider
