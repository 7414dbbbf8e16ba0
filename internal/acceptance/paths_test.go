package acceptance

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// path is an attribute's path, such as "metallb.ip_address_pool_range".
func path(dotted string) tfjsonpath.Path {
	first, rest, nested := strings.Cut(dotted, ".")
	p := tfjsonpath.New(first)
	for nested {
		first, rest, nested = strings.Cut(rest, ".")
		p = p.AtMapKey(first)
	}
	return p
}
