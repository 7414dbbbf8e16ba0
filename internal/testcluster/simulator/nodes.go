package simulator

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
)

// Taints that the node lifecycle controller keeps in step with a node's state. The API server puts the first on every
// new node by itself.
const (
	taintNotReady      = "node.kubernetes.io/not-ready"
	taintUnschedulable = "node.kubernetes.io/unschedulable"
	noSchedule         = "NoSchedule"
)

// Taint keeps ordinary pods away from a node.
type Taint struct {
	Key, Value, Effect string
}

// Node is one worker as it is to be.
type Node struct {
	Name     string
	NotReady bool // stays NotReady until SetReady
	Cordoned bool
	Taints   []Taint
	NoStatus bool // no kubelet has reported yet: no status at all
}

// Nodes plays the kubelets and the node lifecycle controller of the hosted cluster.
type Nodes struct {
	client   dynamic.Interface
	timeline *Timeline
	delay    time.Duration
	runner   *runner
	clocks   stopwatches

	mu      sync.Mutex
	pending map[string]bool // nodes that become Ready by themselves
}

func newNodes(client dynamic.Interface, timeline *Timeline, delay time.Duration, logf func(string, ...any)) *Nodes {
	n := &Nodes{client: client, timeline: timeline, delay: delay, pending: map[string]bool{}}
	n.runner = newRunner("nodes", client, logf, n.reconcile)
	return n
}

// Add creates nodes. They become Ready after the delay, unless they are to stay NotReady.
func (n *Nodes) Add(ctx context.Context, nodes ...Node) error {
	for _, node := range nodes {
		if err := n.add(ctx, node); err != nil {
			return err
		}
	}
	n.runner.Wake()
	return nil
}

func (n *Nodes) add(ctx context.Context, node Node) error {
	u := newObject("v1", "Node", "", node.Name)
	u.SetLabels(map[string]string{
		"kubernetes.io/hostname":         node.Name,
		"kubernetes.io/os":               "linux",
		"node-role.kubernetes.io/worker": "",
	})
	u.Object["spec"] = object{"unschedulable": node.Cordoned}
	if _, err := create(ctx, n.client.Resource(nodesResource), u); err != nil {
		return err
	}
	if len(node.Taints) > 0 {
		if err := n.Taint(ctx, node.Name, node.Taints...); err != nil {
			return err
		}
	}
	if node.Cordoned {
		if err := n.Cordon(ctx, node.Name, true); err != nil {
			return err
		}
	}
	if node.NoStatus {
		return nil
	}
	if err := n.setReady(ctx, node.Name, false); err != nil {
		return err
	}
	if !node.NotReady {
		n.mu.Lock()
		n.pending[node.Name] = true
		n.mu.Unlock()
	}
	return nil
}

// reconcile makes Ready what has waited long enough.
func (n *Nodes) reconcile(ctx context.Context) (time.Duration, error) {
	n.mu.Lock()
	names := make([]string, 0, len(n.pending))
	for name := range n.pending {
		names = append(names, name)
	}
	n.mu.Unlock()

	var next time.Duration
	for _, name := range names {
		if left := n.clocks.Left(name, n.delay); left > 0 {
			next = sooner(next, left)
			continue
		}
		if err := n.SetReady(ctx, name, true); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// SetReady flips a node. It returns when the API server has it.
func (n *Nodes) SetReady(ctx context.Context, name string, ready bool) error {
	n.mu.Lock()
	delete(n.pending, name)
	n.mu.Unlock()
	n.clocks.Forget(name)
	if err := n.setReady(ctx, name, ready); err != nil {
		return err
	}
	if ready {
		n.timeline.add(WorkerReady, name, "")
	}
	return nil
}

// setReady removes the taint before it writes the condition: a node that is seen Ready is then usable as well.
func (n *Nodes) setReady(ctx context.Context, name string, ready bool) error {
	if err := n.retaint(ctx, name, taintNotReady, !ready); err != nil {
		return err
	}
	status, reason, message := "False", "KubeletNotReady", "container runtime network not ready"
	if ready {
		status, reason, message = "True", "KubeletReady", "kubelet is posting ready status"
	}
	return n.edit(ctx, name, "status", func(node *unstructured.Unstructured) {
		setCondition(node, "MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available")
		setCondition(node, "Ready", status, reason, message)
	})
}

// Cordon marks a node unschedulable, or takes that back.
func (n *Nodes) Cordon(ctx context.Context, name string, cordoned bool) error {
	err := n.edit(ctx, name, "", func(node *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(node.Object, cordoned, "spec", "unschedulable")
	})
	if err != nil {
		return err
	}
	return n.retaint(ctx, name, taintUnschedulable, cordoned)
}

// Drain is what `kubectl drain` leaves of a worker without pods: a cordoned node.
func (n *Nodes) Drain(ctx context.Context, name string) error {
	return n.Cordon(ctx, name, true)
}

// Taint replaces a node's taints, those of the node lifecycle controller excepted.
func (n *Nodes) Taint(ctx context.Context, name string, taints ...Taint) error {
	return n.edit(ctx, name, "", func(node *unstructured.Unstructured) {
		kept := taintsOf(node, func(key string) bool { return key == taintNotReady || key == taintUnschedulable })
		for _, t := range taints {
			kept = append(kept, object{"key": t.Key, "value": t.Value, "effect": t.Effect})
		}
		_ = unstructured.SetNestedSlice(node.Object, kept, "spec", "taints")
	})
}

// Remove deletes a node.
func (n *Nodes) Remove(ctx context.Context, name string) error {
	n.mu.Lock()
	delete(n.pending, name)
	n.mu.Unlock()
	return remove(ctx, n.client.Resource(nodesResource), "", name)
}

// retaint adds or removes one NoSchedule taint.
func (n *Nodes) retaint(ctx context.Context, name, key string, present bool) error {
	return n.edit(ctx, name, "", func(node *unstructured.Unstructured) {
		kept := taintsOf(node, func(other string) bool { return other != key })
		if present {
			kept = append(kept, object{"key": key, "effect": noSchedule})
		}
		_ = unstructured.SetNestedSlice(node.Object, kept, "spec", "taints")
	})
}

// edit changes a node, or its status with that subresource, whoever else writes meanwhile.
func (n *Nodes) edit(ctx context.Context, name, subresource string, change func(*unstructured.Unstructured)) error {
	api := n.client.Resource(nodesResource)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := api.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		before := node.DeepCopy()
		change(node)
		if sameJSON(before.Object, node.Object) {
			return nil
		}
		if subresource == "" {
			_, err = api.Update(ctx, node, metav1.UpdateOptions{})
			return err
		}
		_, err = api.UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("changing node %s: %w", name, err)
	}
	return nil
}

func taintsOf(node *unstructured.Unstructured, keep func(key string) bool) []any {
	all, _, _ := unstructured.NestedSlice(node.Object, "spec", "taints")
	kept := make([]any, 0, len(all))
	for _, t := range all {
		if taint, ok := t.(object); ok && keep(fmt.Sprint(taint["key"])) {
			kept = append(kept, taint)
		}
	}
	return kept
}

// schedulable tells whether an ordinary pod, such as OLM's unpack Job, can be placed on the node.
func schedulable(node *unstructured.Unstructured) bool {
	if cordoned, _, _ := unstructured.NestedBool(node.Object, "spec", "unschedulable"); cordoned {
		return false
	}
	for _, t := range taintsOf(node, func(string) bool { return true }) {
		if taint, ok := t.(object); ok && taint["effect"] != "PreferNoSchedule" {
			return false
		}
	}
	conditions, _, _ := unstructured.NestedSlice(node.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(object); ok && condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}
	return false
}
