package acceptance

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

const (
	serviceNamespace = "openshift-ingress"
	serviceName      = "oooi-ingress"
)

func (w *world) service() *unstructured.Unstructured {
	w.t.Helper()
	return w.hosted.must(services, serviceNamespace, serviceName)
}

// Labels, annotations, ports and the traffic policy change in place: the address stays, and so does everything of others.
func TestUpdateOfTheService(t *testing.T) {
	w := newWorld(t)
	var kept stable
	w.updates(nil,
		update{
			name: "labels and annotations added", action: inPlace, downstream: nothing,
			before: func() {
				kept = w.stable()
				w.addForeign()
			},
			config: []change{
				set("service.labels", object("app", "apps", "tier", "edge")),
				set("service.annotations", object("example.com/a", "1", "example.com/b", "1", "example.com/shared", "1")),
			},
			check: func() error {
				return errors.Join(kept.check(w),
					hasPairs(w.service().GetLabels(), "app", "apps", "tier", "edge", "team", "net"),
					hasPairs(w.service().GetAnnotations(), "example.com/a", "1", "example.com/b", "1", "example.com/theirs", "x"))
			},
		},
		update{
			name: "labels and annotations changed and removed", action: inPlace, downstream: nothing,
			before: func() {
				w.hosted.send(services, serviceNamespace, serviceName, types.ApplyPatchType, map[string]any{
					"apiVersion": "v1", "kind": "Service",
					"metadata": map[string]any{"name": serviceName, "annotations": map[string]any{"example.com/shared": "1"}},
				})
			},
			config: []change{
				set("service.labels", object("app", "other")),
				set("service.annotations", object("example.com/a", "2")),
			},
			check: func() error {
				return errors.Join(kept.check(w),
					hasPairs(w.service().GetLabels(), "app", "other", "tier", "", "team", "net"),
					hasPairs(w.service().GetAnnotations(), "example.com/a", "2", "example.com/b", "",
						"example.com/shared", "1", "example.com/theirs", "x"))
			},
		},
		update{
			name: "ports", action: inPlace, unknown: unknownPublication(), downstream: nothing,
			config: []change{set("ports", "{ http = 8080, https = 8443 }")},
			check: func() error {
				return errors.Join(kept.check(w), w.servicePorts(8080, 8443), w.checkPublished(firstIP, firstIP, 8080, 8443))
			},
		},
		update{
			name: "ports exchanged", action: inPlace, unknown: unknownPublication(), downstream: nothing,
			config: []change{set("ports", "{ http = 8443, https = 8080 }")},
			check: func() error {
				return errors.Join(kept.check(w), w.servicePorts(8443, 8080), w.checkPublished(firstIP, firstIP, 8443, 8080))
			},
		},
		update{
			name: "traffic policy, and labels and annotations taken out", action: inPlace, downstream: nothing,
			config: []change{
				set("service.external_traffic_policy", text("Local")), unset("service.labels"), unset("service.annotations"),
			},
			check: func() error {
				policy, _, _ := unstructured.NestedString(w.service().Object, "spec", "externalTrafficPolicy")
				if policy != "Local" {
					return fmt.Errorf("externalTrafficPolicy is %s", policy)
				}
				return errors.Join(kept.check(w),
					hasPairs(w.service().GetLabels(), "app", "", "team", "net"),
					hasPairs(w.service().GetAnnotations(), "example.com/a", "", "example.com/theirs", "x"))
			},
		},
		w.onlyTheProvidersOwn(),
		w.nothingToDo(),
	)
}

// addForeign puts a label, an annotation and a port on the Service that are somebody else's.
func (w *world) addForeign() {
	w.hosted.patch(services, serviceNamespace, serviceName, map[string]any{"metadata": map[string]any{
		"labels": map[string]any{"team": "net"}, "annotations": map[string]any{"example.com/theirs": "x"},
	}})
	w.hosted.patchJSON(services, serviceNamespace, serviceName, []any{map[string]any{
		"op": "add", "path": "/spec/ports/-",
		"value": map[string]any{"name": "metrics", "port": 9000, "targetPort": 1936, "protocol": "TCP"},
	}})
}

// onlyTheProvidersOwn changes what concerns the provider alone: no cluster is written to.
func (w *world) onlyTheProvidersOwn() update {
	var management, hosted requests
	return update{
		name: "timeouts, access and adoption", action: inPlace, downstream: nothing,
		before: func() { management, hosted = w.management.requests(), w.hosted.requests() },
		config: []change{
			set("timeouts", object("update", "5m")),
			set("adopt_existing", "true"),
			set("hosted_cluster_access", object("config_path", w.pair.Hosted.Kubeconfig(testcluster.UserProvider))),
		},
		check: func() error {
			if writes := append(management.writes(), hosted.writes()...); len(writes) > 0 {
				return fmt.Errorf("wrote:\n%s", lines(writes))
			}
			return nil
		},
	}
}

// nothingToDo is an apply that finds everything in place: somebody has repaired by hand, after the plan, what the plan was to.
// It goes through all steps and writes to no object.
func (w *world) nothingToDo() update {
	var entries any
	var management, hosted testcluster.Snapshot
	write := func(value any) {
		w.management.patch(dnsServers, "clusters", dnsName, map[string]any{"spec": map[string]any{"staticEntries": value}})
	}
	return update{
		name: "nothing to do", action: inPlace, unknown: unknownPublication(), downstream: nothing,
		before: func() {
			entries, _, _ = unstructured.NestedSlice(w.management.must(dnsServers, "clusters", dnsName).Object, "spec", "staticEntries")
			write([]any{})
		},
		planned: func() {
			write(entries)
			management, hosted = w.management.snapshot(), w.hosted.snapshot()
		},
		check: func() error {
			return errors.Join(sameVersions(management, w.management.snapshot()), sameVersions(hosted, w.hosted.snapshot()))
		},
	}
}

func sameVersions(before, after testcluster.Snapshot) error {
	if diff := cmp.Diff(before.Volatile, after.Volatile); diff != "" {
		return fmt.Errorf("objects were written (-before +after):\n%s", diff)
	}
	return nil
}

// stable is what every update of a Service has to keep.
type stable struct {
	clusterIP any
	nodePorts map[any]any // by port name
}

func (w *world) stable() stable {
	s := stable{nodePorts: map[any]any{}}
	s.clusterIP, _, _ = unstructured.NestedString(w.service().Object, "spec", "clusterIP")
	for _, port := range list(w.service(), "spec", "ports") {
		s.nodePorts[port["name"]] = port["nodePort"]
	}
	return s
}

func (s stable) check(w *world) error {
	now := w.stable()
	maps.DeleteFunc(now.nodePorts, func(name, _ any) bool { return s.nodePorts[name] == nil })
	if diff := cmp.Diff(s.nodePorts, now.nodePorts); diff != "" || s.clusterIP != now.clusterIP {
		return fmt.Errorf("cluster IP was %v and is %v; node ports (-was +is):\n%s", s.clusterIP, now.clusterIP, diff)
	}
	return nil
}

// servicePorts checks the Service's ports: ours lead to the router's named ones, and the foreign one is still there.
func (w *world) servicePorts(http, https int64) error {
	want := map[any][2]any{"http": {http, "http"}, "https": {https, "https"}, "metrics": {int64(9000), int64(1936)}}
	got := map[any][2]any{}
	for _, port := range list(w.service(), "spec", "ports") {
		got[port["name"]] = [2]any{port["port"], port["targetPort"]}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("ports (-want +got):\n%s", diff)
	}
	return nil
}

// hasPairs checks pairs of a key and its value; an empty one is a key that is not there.
func hasPairs(got map[string]string, pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if value, there := got[pairs[i]]; value != pairs[i+1] || there != (value != "") {
			return fmt.Errorf("%s is %q, want %q (all: %v)", pairs[i], value, pairs[i+1], got)
		}
	}
	return nil
}
