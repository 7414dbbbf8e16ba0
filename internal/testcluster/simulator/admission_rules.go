package simulator

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// overlap compares a pool with the others of its namespace.
func overlap(pool *unstructured.Unstructured, others []unstructured.Unstructured) error {
	mine, err := poolRanges(pool)
	if err != nil {
		return err
	}
	for i := range others {
		theirs, err := poolRanges(&others[i])
		if err != nil {
			continue // it was there before, so it is not this pool's fault
		}
		for text, r := range mine {
			for otherText, other := range theirs {
				if r.Overlaps(other) {
					return fmt.Errorf("CIDR %q in pool %q overlaps with already defined CIDR %q of pool %q",
						text, pool.GetName(), otherText, others[i].GetName())
				}
			}
		}
	}
	return nil
}

// poolRanges are the addresses of a pool by the text that states them.
func poolRanges(pool *unstructured.Unstructured) (map[string]netipx.IPRange, error) {
	addresses, _, err := unstructured.NestedStringSlice(pool.Object, "spec", "addresses")
	if err != nil {
		return nil, fmt.Errorf("parsing address pool %s: %w", pool.GetName(), err)
	}
	ranges := make(map[string]netipx.IPRange, len(addresses))
	for _, address := range addresses {
		compact := strings.ReplaceAll(address, " ", "")
		if prefix, err := netip.ParsePrefix(compact); err == nil {
			ranges[address] = netipx.RangeOfPrefix(prefix.Masked())
			continue
		}
		r, err := netipx.ParseIPRange(compact)
		if err != nil {
			return nil, fmt.Errorf("parsing address pool %s: invalid CIDR %q", pool.GetName(), address)
		}
		ranges[address] = r
	}
	return ranges, nil
}

// jsonPatch is one operation of what a mutating webhook answers.
type jsonPatch struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// mutate is what the current mutation changes of an object.
func (a *Admission) mutate(u *unstructured.Unstructured) []jsonPatch {
	a.mu.Lock()
	mutation := a.mutation
	a.mu.Unlock()
	var patches []jsonPatch
	add := func(parent []string, present map[string]any, wanted map[string]any) {
		path := "/" + strings.Join(parent, "/")
		if present == nil && len(wanted) > 0 {
			patches = append(patches, jsonPatch{"add", path, object{}})
		}
		for key, value := range wanted {
			if _, ok := present[key]; !ok {
				patches = append(patches, jsonPatch{"add", path + "/" + escapePointer(key), value})
			}
		}
	}
	for field, wanted := range map[string]map[string]any{
		"annotations": asAny(mutation.Annotations), "labels": asAny(mutation.Labels),
	} {
		present, _, _ := unstructured.NestedMap(u.Object, "metadata", field)
		add([]string{"metadata", field}, present, wanted)
	}
	spec, _, _ := unstructured.NestedMap(u.Object, "spec")
	add([]string{"spec"}, spec, mutation.Defaults)
	if ports, isService := spec["ports"].([]any); isService && mutation.Port != nil && !hasPort(ports, mutation.Port["name"]) {
		patches = append(patches, jsonPatch{"add", "/spec/ports/-", mutation.Port})
	}
	return patches
}

func hasPort(ports []any, name any) bool {
	return slices.ContainsFunc(ports, func(p any) bool {
		port, _ := p.(object)
		return port["name"] == name
	})
}

func asAny(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for key, value := range m {
		out[key] = value
	}
	return out
}

func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
