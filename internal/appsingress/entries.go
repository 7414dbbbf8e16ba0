package appsingress

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// entryList is how one ingress sees a list that many share: which of its entries are its own, and what they should be.
type entryList struct {
	attribute string // the attribute that chose the object, for messages
	field     string // the list's field in spec
	target    string // the field of an entry that holds the endpoint
	required  bool   // the list must not become empty
	owns      func(entry map[string]any) bool
	describe  func(entry map[string]any) string // what an entry is called in messages
	want      func(e Endpoint) []map[string]any
}

// dnsEntries is the wildcard A record: there is one for an address, and none for a host name.
func dnsEntries(spec Spec) entryList {
	wildcard := spec.Domain.Wildcard()
	return entryList{
		attribute: "publish.dns_server",
		field:     "staticEntries",
		target:    "ip",
		owns:      func(entry map[string]any) bool { return sameName(entry["hostname"], wildcard) },
		describe:  func(entry map[string]any) string { return fmt.Sprint(entry["hostname"]) },
		want: func(e Endpoint) []map[string]any {
			if !e.IP.IsValid() {
				return nil
			}
			return []map[string]any{{"hostname": wildcard, "ip": e.IP.String()}}
		},
	}
}

// proxyBackends are the two backends of the ingress. A backend of the same wildcard on another port is not ours.
func proxyBackends(spec Spec) entryList {
	wildcard := spec.Domain.Wildcard()
	http, https := backendNames(spec.Name)
	owns := func(entry map[string]any) bool {
		switch {
		case entry["name"] == http, entry["name"] == https:
			return true
		case !sameName(entry["hostname"], wildcard):
			return false
		}
		return entry["port"] == int64(spec.Ports.HTTP) || entry["port"] == int64(spec.Ports.HTTPS)
	}
	backend := func(name string, port int32, e Endpoint) map[string]any {
		return map[string]any{
			"name":            name,
			"hostname":        wildcard,
			"port":            int64(port),
			"targetService":   e.String(),
			"targetPort":      int64(port),
			"targetNamespace": "default",
			"protocol":        "TCP",
			"timeoutSeconds":  int64(30),
		}
	}
	return entryList{
		attribute: "publish.proxy_server",
		field:     "backends",
		target:    "targetService",
		required:  true,
		owns:      owns,
		describe:  func(entry map[string]any) string { return fmt.Sprint(entry["name"]) },
		want: func(e Endpoint) []map[string]any {
			return []map[string]any{backend(http, spec.Ports.HTTP, e), backend(https, spec.Ports.HTTPS, e)}
		},
	}
}

// maxBackendPrefix is where oooi cuts the ingress's name in the names of its backends.
const maxBackendPrefix = 39

// backendNames are the names of the two backends of an ingress, as oooi itself would call them.
func backendNames(ingress string) (http, https string) {
	prefix := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(ingress))
	if len(prefix) > maxBackendPrefix {
		prefix = prefix[:maxBackendPrefix]
	}
	prefix = strings.TrimRight(prefix, "-")
	return prefix + "-apps-http", prefix + "-apps-https"
}

// sameName compares DNS names: case and a trailing dot mean nothing.
func sameName(got any, want string) bool {
	name, _ := got.(string)
	return strings.EqualFold(strings.TrimSuffix(name, "."), want)
}

func (l entryList) items(obj *unstructured.Unstructured) []any {
	items, _, _ := unstructured.NestedSlice(obj.Object, "spec", l.field)
	return items
}

// own are the entries of this ingress.
func (l entryList) own(obj *unstructured.Unstructured) []map[string]any {
	var own []map[string]any
	for _, item := range l.items(obj) {
		if entry, _ := item.(map[string]any); entry != nil && l.owns(entry) {
			own = append(own, entry)
		}
	}
	return own
}

// taken names the entries of this ingress.
func (l entryList) taken(obj *unstructured.Unstructured) []string {
	var names []string
	for _, entry := range l.own(obj) {
		names = append(names, l.describe(entry))
	}
	return names
}

// replace puts the wanted entries where ours begin, or at the end, and takes every other one of ours out. Fields of an entry that
// we do not set are kept.
func (l entryList) replace(obj *unstructured.Unstructured, want []map[string]any) {
	items := l.items(obj)
	result := make([]any, 0, len(items)+len(want))
	placed := false
	for _, item := range items {
		entry, _ := item.(map[string]any)
		if entry == nil || !l.owns(entry) {
			result = append(result, item)
			continue
		}
		if !placed {
			result = append(result, l.merged(obj, want)...)
			placed = true
		}
	}
	if !placed {
		result = append(result, l.merged(obj, want)...)
	}
	spec, _ := obj.Object["spec"].(map[string]any)
	if len(result) == 0 && len(items) == 0 || spec == nil {
		return
	}
	spec[l.field] = result
}

// merged lays the wanted entries over the live ones of the same name.
func (l entryList) merged(obj *unstructured.Unstructured, want []map[string]any) []any {
	var merged []any
	for _, w := range want {
		entry := map[string]any{}
		if current := l.find(obj, l.describe(w)); current != nil {
			maps.Copy(entry, current)
		}
		maps.Copy(entry, w)
		merged = append(merged, entry)
	}
	return merged
}

func (l entryList) find(obj *unstructured.Unstructured, name string) map[string]any {
	for _, entry := range l.own(obj) {
		if l.describe(entry) == name {
			return entry
		}
	}
	return nil
}

// differences compares our entries with the wanted ones, field by field.
func (l entryList) differences(object string, obj *unstructured.Unstructured, want []map[string]any) []Difference {
	d := differ{object: object, live: obj}
	field := "spec." + l.field
	wanted := map[string]bool{}
	for _, w := range want {
		name := l.describe(w)
		wanted[name] = true
		got := l.find(obj, name)
		if got == nil {
			d.add(field+"["+name+"]", w, nil, AffectsPublication)
			continue
		}
		for _, key := range sortedKeys(w) {
			if !reflect.DeepEqual(got[key], w[key]) {
				d.add(field+"["+name+"]."+key, w[key], got[key], AffectsPublication)
			}
		}
	}
	seen := map[string]bool{}
	for _, entry := range l.own(obj) {
		name := l.describe(entry)
		if !wanted[name] || seen[name] {
			d.add(field+"["+name+"]", nil, entry, AffectsPublication)
		}
		seen[name] = true
	}
	return d.found
}

// sameContent compares what an update would change.
func sameContent(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(a.Object["spec"], b.Object["spec"]) && reflect.DeepEqual(a.GetAnnotations(), b.GetAnnotations())
}
