// Package acceptance holds the tests of the provider as Terraform sees it: real Terraform, real API servers, and the real MetalLB
// controller, with simulators in place of OLM, metallb-operator, HyperShift and oooi. It has no code of its own.
package acceptance
