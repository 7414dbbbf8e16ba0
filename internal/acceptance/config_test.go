package acceptance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// body is the body of a resource: nested attributes, and under the empty name those of the top level. Values are expressions.
type body map[string]map[string]string

// change is a change of a configuration.
type change func(body)

// text is an expression of a string.
func text(s string) string { return strconv.Quote(s) }

// set sets an attribute, such as "metallb.install" or "mode", to an expression.
func set(path, expression string) change {
	return func(b body) {
		block, name, nested := strings.Cut(path, ".")
		if !nested {
			block, name = "", path
		}
		if b[block] == nil {
			b[block] = map[string]string{}
		}
		b[block][name] = expression
	}
}

// unset takes an attribute, or a whole nested one, out.
func unset(path string) change {
	return func(b body) {
		if block, name, nested := strings.Cut(path, "."); nested {
			delete(b[block], name)
			return
		}
		delete(b, path)
		delete(b[""], path)
	}
}

// object is an expression of a map of strings.
func object(pairs ...string) string {
	var out strings.Builder
	out.WriteString("{")
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&out, " %q = %q,", pairs[i], pairs[i+1])
	}
	out.WriteString(" }")
	return out.String()
}

func (b body) String() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(b[""])) {
		fmt.Fprintf(&out, "  %s = %s\n", name, b[""][name])
	}
	for _, block := range slices.Sorted(maps.Keys(b)) {
		if block == "" {
			continue
		}
		fmt.Fprintf(&out, "  %s = {\n", block)
		for _, name := range slices.Sorted(maps.Keys(b[block])) {
			fmt.Fprintf(&out, "    %s = %s\n", name, b[block][name])
		}
		out.WriteString("  }\n")
	}
	return out.String()
}
