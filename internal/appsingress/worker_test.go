package appsingress

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func node(ready string, spec map[string]any) unstructured.Unstructured {
	obj := unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	if ready != "" {
		obj.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "MemoryPressure", "status": "False"},
			map[string]any{"type": "Ready", "status": ready},
		}}
	}
	return obj
}

func taint(effect string) map[string]any {
	return map[string]any{"taints": []any{map[string]any{"key": "k", "effect": effect}}}
}

func TestSchedulableWorker(t *testing.T) {
	t.Parallel()
	const none = "waiting for a Ready schedulable worker (0 of %d)"
	for name, test := range map[string]struct {
		nodes []unstructured.Unstructured
		done  bool
	}{
		"none":             {},
		"without status":   {nodes: []unstructured.Unstructured{node("", nil)}},
		"not Ready":        {nodes: []unstructured.Unstructured{node("False", nil), node("Unknown", nil)}},
		"cordoned":         {nodes: []unstructured.Unstructured{node("True", map[string]any{"unschedulable": true})}},
		"NoSchedule":       {nodes: []unstructured.Unstructured{node("True", taint("NoSchedule"))}},
		"NoExecute":        {nodes: []unstructured.Unstructured{node("True", taint("NoExecute"))}},
		"PreferNoSchedule": {nodes: []unstructured.Unstructured{node("True", taint("PreferNoSchedule"))}, done: true},
		"one of two":       {nodes: []unstructured.Unstructured{node("False", nil), node("True", nil)}, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict, err := schedulableWorker(test.nodes)
			text := ""
			if !test.done {
				text = fmt.Sprintf(none, len(test.nodes))
			}
			if err != nil || verdict.Done != test.done || verdict.Message != text {
				t.Errorf("got %+v, %v", verdict, err)
			}
		})
	}
}
