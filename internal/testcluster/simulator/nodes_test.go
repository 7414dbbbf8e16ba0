package simulator_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

func taints(u *unstructured.Unstructured) []string {
	if u == nil {
		return nil
	}
	all, _, _ := unstructured.NestedSlice(u.Object, "spec", "taints")
	var keys []string
	for _, t := range all {
		if taint, ok := t.(map[string]any); ok {
			key, _ := taint["key"].(string)
			keys = append(keys, key)
		}
	}
	return keys
}

func TestNodes(t *testing.T) {
	s := start(t, func(pair *testcluster.Pair, config *simulator.Config) {
		config.Hosted = pair.Hosted.REST(testcluster.UserSimulator)
		config.Workers = []simulator.Node{
			{Name: "good"},
			{Name: "broken", NotReady: true},
			{Name: "cordoned", Cordoned: true},
			{Name: "tainted", Taints: []simulator.Taint{{Key: "example.com/infra", Effect: "NoSchedule"}}},
			{Name: "silent", NoStatus: true},
		}
	})
	good := s.eventually(nodes, "", "good", "a Ready node", condition("Ready", "True", "KubeletReady"))
	if keys := taints(good); len(keys) != 0 {
		t.Errorf("a Ready node keeps taints %v", keys)
	}
	s.eventually(nodes, "", "tainted", "a Ready tainted node", condition("Ready", "True", ""))
	s.steadily(nodes, "", "broken", "NotReady stays", condition("Ready", "False", "KubeletNotReady"))
	s.eventually(nodes, "", "silent", "no conditions", func(u *unstructured.Unstructured) bool {
		_, found, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		return !found
	})
	s.eventually(nodes, "", "cordoned", "cordoned with its taint", func(u *unstructured.Unstructured) bool {
		unschedulable, _, _ := unstructured.NestedBool(u.Object, "spec", "unschedulable")
		keys := taints(u)
		return unschedulable && len(keys) == 1 && keys[0] == "node.kubernetes.io/unschedulable"
	})
	if _, ok := s.Timeline().First(simulator.WorkerReady); !ok {
		t.Error("the timeline does not tell of the Ready worker")
	}

	ctx := t.Context()
	for what, err := range map[string]error{
		"SetReady": s.Nodes.SetReady(ctx, "good", false),
		"Uncordon": s.Nodes.Cordon(ctx, "cordoned", false),
		"Drain":    s.Nodes.Drain(ctx, "tainted"),
		"Untaint":  s.Nodes.Taint(ctx, "tainted"),
		"Remove":   s.Nodes.Remove(ctx, "broken"),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.eventually(nodes, "", "good", "NotReady", condition("Ready", "False", ""))
	s.eventually(nodes, "", "cordoned", "no taint", func(u *unstructured.Unstructured) bool { return len(taints(u)) == 0 })
	s.eventually(nodes, "", "tainted", "drained", func(u *unstructured.Unstructured) bool {
		unschedulable, _, _ := unstructured.NestedBool(u.Object, "spec", "unschedulable")
		return unschedulable
	})
	s.eventually(nodes, "", "broken", "gone", gone)
}
