package acceptance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const routerKey = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller"

// wildcardHash ends the mark of the entries for the wildcard.
var wildcardHash = func() string {
	sum := sha256.Sum256([]byte(wildcard))
	return hex.EncodeToString(sum[:5])
}()

// line begins the drift lines of an object.
func (p place) line() string { return fmt.Sprintf("%s %s/%s: ", p.kind.name, p.namespace, p.name) }

// edited sets a field of the entries that have a value in a key.
func edited(key string, value any, field string, to any) func([]map[string]any) []map[string]any {
	return func(entries []map[string]any) []map[string]any {
		for _, entry := range entries {
			if entry[key] == value {
				entry[field] = to
			}
		}
		return entries
	}
}

// appended adds entries.
func appended(more ...map[string]any) func([]map[string]any) []map[string]any {
	return func(entries []map[string]any) []map[string]any { return append(entries, more...) }
}

// without is the list without the entries that have a value in a key.
func without(entries []map[string]any, key string, values ...any) []map[string]any {
	kept := []map[string]any{}
	for _, entry := range entries {
		drop := false
		for _, value := range values {
			drop = drop || entry[key] == value
		}
		if !drop {
			kept = append(kept, entry)
		}
	}
	return kept
}

// port edits a port of the Service, as kubectl edit does.
func (w *world) port(name, field string, to any) {
	w.t.Helper()
	for i, port := range list(w.at(services).must(), "spec", "ports") {
		if port["name"] == name {
			w.at(services).json(tree("op", "replace", "path", fmt.Sprintf("/spec/ports/%d/%s", i, field), "value", to))
		}
	}
}

// remake creates an object from the manifest of one that is gone, without some fields of its spec.
func (l live) remake(k kind, manifest *unstructured.Unstructured, without ...string) {
	l.t.Helper()
	obj := manifest.DeepCopy()
	for _, field := range []string{"resourceVersion", "uid", "managedFields", "creationTimestamp", "finalizers", "deletionTimestamp"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(obj.Object, "status")
	for _, field := range without {
		unstructured.RemoveNestedField(obj.Object, "spec", field)
	}
	_, err := l.client(k, obj.GetNamespace()).Create(l.ctx(), obj, metav1.CreateOptions{FieldManager: "kubectl-create"})
	if err != nil {
		l.t.Fatal(err)
	}
}

// foreign adds what other people and controllers add: none of it is a difference.
func (w *world) foreign(config string) resource.TestStep {
	return resource.TestStep{
		PreConfig: func() {
			for _, p := range w.places() {
				p.annotate("example.com/note", "by hand")
				p.label("example.com/watched", "yes")
				p.patch(map[string]any{"metadata": map[string]any{
					"finalizers": append(p.must().GetFinalizers(), foreignFinalizer),
					"ownerReferences": []any{tree(
						"apiVersion", "v1", "kind", "ConfigMap", "name", "owner", "uid", "00000000-0000-4000-8000-000000000001")},
				}})
			}
			w.at(services).annotate("metallb.io/ip-allocated-from-pool", poolName)
			w.at(services).entries("ports", appended(tree("name", "metrics", "port", int64(9090), "protocol", "TCP")))
			w.at(services).spec("sessionAffinity", "ClientIP")
			w.at(advertisements).spec("interfaces", []any{"eth1"})
			w.at(dnsServers).entries("staticEntries", appended(tree("hostname", "x.other.example.com", "ip", "198.51.100.90")))
			w.at(proxyServers).entries("backends", appended(
				foreignBackend("x", "x.other.example.com", 443), foreignBackend("demo-apps-extra", wildcard, 8443)))
		},
		Config:   config,
		PlanOnly: true,
	}
}

func foreignBackend(name, hostname string, port int64) map[string]any {
	return tree("name", name, "hostname", hostname, "port", port, "targetService", "198.51.100.91", "targetPort", port,
		"targetNamespace", "default")
}

const foreignFinalizer = "example.com/held"

// withoutFinalizers lets go of what foreign holds.
func (w *world) withoutFinalizers() {
	for _, p := range w.places() {
		kept := []string{}
		for _, finalizer := range p.must().GetFinalizers() {
			if finalizer != foreignFinalizer {
				kept = append(kept, finalizer)
			}
		}
		p.patch(map[string]any{"metadata": map[string]any{"finalizers": kept}})
	}
}
