// Package addresspool parses and compares the IPv4 ranges that MetalLB takes addresses from. It is pure: no Kubernetes,
// no Terraform, no network.
//
// A pool's addresses are text in MetalLB's API, and one set of addresses has many spellings: "192.0.2.200-192.0.2.207",
// "192.0.2.200 - 192.0.2.207", "192.0.2.200/29", "192.0.2.203/29". Text must therefore never be compared. [Parse] turns
// what a user wrote into a [Range], a comparable value, and everything else works on sets of addresses.
//
// [Parse] is for the user's own range: it accepts what MetalLB accepts, as far as it can ever hold the address of an
// ingress, and its errors say what was seen and what is accepted. [Overlap] and [EqualSet] are for the raw
// spec.addresses of pools that are already in a cluster, by whomever they were written: what cannot be read there
// cannot be judged, and is not an error.
package addresspool
