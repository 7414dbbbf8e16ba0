// Package testcluster gives tests, and the demo, a management and a hosted cluster: real kube-apiservers on one real
// etcd, with the custom resources that the provider works on. Controllers are not part of it; whoever wants them starts
// them against a Cluster.
//
// Starting an API server costs seconds of CPU, so pairs of clusters are kept: what a test leaves behind is deleted, and
// a pair that is again equal to a new one serves the next test.
//
// Everything listens on 127.0.0.1 only, and ends with the process that started it.
package testcluster
