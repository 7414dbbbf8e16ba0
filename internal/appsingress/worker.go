package appsingress

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/densityops/terraform-provider-oooi/internal/kube"
)

// worker waits for a node that can run OLM's unpack Job: started earlier, the Job would time out and the install with it.
// Once the operator is installed it neither waits nor drifts.
type worker struct{ nothing }

func (worker) name() string    { return StepWorker }
func (worker) waiting() Reason { return ReasonWaitingForNodes }
func (worker) broken() Reason  { return ReasonHostedClusterAccessFailed }

func (worker) ensure(ctx context.Context, r *run) error {
	if operatorInstalled(r) {
		return nil
	}
	return r.hosted.AwaitList(ctx, nodeKind(), "", "a Ready schedulable worker", schedulableWorker)
}

func schedulableWorker(nodes []unstructured.Unstructured) (kube.Verdict, error) {
	for i := range nodes {
		if isReady(&nodes[i]) && isSchedulable(&nodes[i]) {
			return kube.Done(), nil
		}
	}
	return kube.Pending(string(ReasonWaitingForNodes), "waiting for a Ready schedulable worker (0 of %d)", len(nodes)), nil
}

func isReady(node *unstructured.Unstructured) bool {
	_, ready := conditionStatus(node, "Ready")
	return ready == "True"
}

// isSchedulable says that an ordinary pod, with no tolerations of its own, can be placed on the node.
func isSchedulable(node *unstructured.Unstructured) bool {
	if cordoned, _, _ := unstructured.NestedBool(node.Object, "spec", "unschedulable"); cordoned {
		return false
	}
	taints, _, _ := unstructured.NestedSlice(node.Object, "spec", "taints")
	for _, t := range taints {
		taint, _ := t.(map[string]any)
		if effect := taint["effect"]; effect == "NoSchedule" || effect == "NoExecute" {
			return false
		}
	}
	return true
}

// conditionStatus finds a condition by type. The status is empty when the object has no such condition, or no status at all.
func conditionStatus(obj *unstructured.Unstructured, conditionType string) (condition map[string]any, status string) {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] == conditionType {
			status, _ := condition["status"].(string)
			return condition, status
		}
	}
	return nil, ""
}
