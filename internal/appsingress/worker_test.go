package appsingress

import (
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
	for name, test := range map[string]struct {
		nodes []unstructured.Unstructured
		done  bool
		text  string
	}{
		"none":             {text: "waiting for a Ready schedulable worker (0 of 0)"},
		"without status":   {nodes: []unstructured.Unstructured{node("", nil)}, text: "waiting for a Ready schedulable worker (0 of 1)"},
		"not Ready":        {nodes: []unstructured.Unstructured{node("False", nil), node("Unknown", nil)}, text: "waiting for a Ready schedulable worker (0 of 2)"},
		"cordoned":         {nodes: []unstructured.Unstructured{node("True", map[string]any{"unschedulable": true})}, text: "waiting for a Ready schedulable worker (0 of 1)"},
		"NoSchedule":       {nodes: []unstructured.Unstructured{node("True", taint("NoSchedule"))}, text: "waiting for a Ready schedulable worker (0 of 1)"},
		"NoExecute":        {nodes: []unstructured.Unstructured{node("True", taint("NoExecute"))}, text: "waiting for a Ready schedulable worker (0 of 1)"},
		"PreferNoSchedule": {nodes: []unstructured.Unstructured{node("True", taint("PreferNoSchedule"))}, done: true},
		"one of two":       {nodes: []unstructured.Unstructured{node("False", nil), node("True", nil)}, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict, err := schedulableWorker(test.nodes)
			if err != nil || verdict.Done != test.done || verdict.Message != test.text {
				t.Errorf("got %+v, %v", verdict, err)
			}
		})
	}
}
