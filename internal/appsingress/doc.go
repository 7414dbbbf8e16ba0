// Package appsingress makes *.apps.<cluster>.<domain> of a hosted cluster reachable, shows where what is live differs from
// what is wanted, and takes it all away again. It is the domain of the provider and knows no Terraform type.
//
// The work is a row of steps, one file each, in the order of the feature's own description:
//
//	worker         a node is Ready and schedulable, since OLM's unpack Job has to run somewhere
//	operator       the MetalLB operator, through an OLM Subscription
//	metallb        the metallb.io API is served, and MetalLB/metallb exists
//	address pool   the IPAddressPool and its L2Advertisement
//	service        the LoadBalancer Service in front of the default IngressController
//	endpoint       an address, or a host name, that fits
//	publication    the Envoy backends and the wildcard DNS record
//
// Each step needs the ones before it. Removal goes the other way: names are withdrawn before what they point at goes, the
// Service goes before the pool its address is from, and MetalLB's objects go while its operator still lives to run their
// finalizers.
package appsingress
