// Package simulator stands in, in tests and in the demo, for the controllers that a management and a hosted OpenShift
// cluster would run: kubelets, OLM, metallb-operator, MetalLB's webhooks, HyperShift, oooi.
//
// Each simulator is a small controller in this process that works on a real API server: it watches, waits for an
// adjustable delay and writes what its model would write, and it has switches for the ways in which its model fails.
// MetalLB itself is not simulated: RealController runs the real program. Only what MetalLB never does (a host name, an
// empty entry, two address families) comes from FakeLoadBalancer.
//
// The package must not import the provider or Terraform: a simulator that shares code with what it tests agrees with its
// mistakes.
package simulator
