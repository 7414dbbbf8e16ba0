// Package addresspool parses and compares the IPv4 ranges that MetalLB takes addresses from. It is pure.
package addresspool
