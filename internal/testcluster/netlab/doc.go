// Package netlab is a network for the test clusters: a VLAN and a pod network with switches, hosts and links that are
// the kernel's own, so that an address is answered for, taken over and unreachable as on real wires. On it run workers
// with MetalLB's own speaker, and CoreDNS and Envoy as a DNSServer and a ProxyServer say.
//
// All of it lives in network namespaces without a name. They are held by this process alone, and go with it, whatever
// becomes of it. The network of the machine itself gets no address, link or route of the lab, and no packet.
package netlab
