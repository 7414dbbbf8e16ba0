package simulator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

const (
	metallbName      = "metallb"
	metallbFinalizer = "metallb.openshift.io/operand"
)

// Operand is a running MetalLB, real or not.
type Operand interface {
	// Ready tells whether it works by now. An error means that it never will.
	Ready(ctx context.Context) (bool, error)
	// Stop ends it and returns when it has ended.
	Stop() error
}

// StartOperand starts MetalLB for a load balancer class; the empty class is that of Services without one. The context
// ends it too.
type StartOperand func(ctx context.Context, loadBalancerClass string) (Operand, error)

// MetalLBOperatorOptions say where the operator works and what it starts.
type MetalLBOperatorOptions struct {
	Namespace string // default openshift-operators
	Package   string // prefix of the CSV's name, default metallb-operator
	// WithoutCSV is for MetalLB that was installed without OLM: the operator always runs.
	WithoutCSV bool
	Start      StartOperand
}

// MetalLBOperatorFaults switch the operator's ways to fail on.
type MetalLBOperatorFaults struct {
	NeverStarts  bool          // the object stays Progressing; a MetalLB that runs ends
	NoStatus     bool          // starts MetalLB without ever writing a status
	Degraded     string        // message of a Degraded condition; MetalLB is not started
	RefuseSpec   bool          // reports Available for a changed spec that it does not carry out
	NeverRemoves bool          // the finalizer stays
	RemovesAfter time.Duration // on top of the usual delay
}

// MetalLBOperator plays metallb-operator of the hosted cluster.
type MetalLBOperator struct {
	client   dynamic.Interface
	timeline *Timeline
	delays   Delays
	options  MetalLBOperatorOptions
	runner   *runner
	clocks   stopwatches

	mu      sync.Mutex
	faults  MetalLBOperatorFaults
	operand Operand
	class   string
	ready   bool
}

func newMetalLBOperator(client dynamic.Interface, timeline *Timeline, delays Delays, options MetalLBOperatorOptions,
	logf func(string, ...any),
) *MetalLBOperator {
	if options.Namespace == "" {
		options.Namespace = "openshift-operators"
	}
	if options.Package == "" {
		options.Package = "metallb-operator"
	}
	m := &MetalLBOperator{client: client, timeline: timeline, delays: delays, options: options}
	m.runner = newRunner("metallb-operator", client, logf, m.reconcile, metallbsResource, csvsResource)
	return m
}

// SetFaults replaces all switches at once.
func (m *MetalLBOperator) SetFaults(faults MetalLBOperatorFaults) {
	m.mu.Lock()
	m.faults = faults
	m.mu.Unlock()
	m.runner.Wake()
}

// Operand is MetalLB while it runs, else nil.
func (m *MetalLBOperator) Operand() Operand {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.operand
}

func (m *MetalLBOperator) switches() MetalLBOperatorFaults {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.faults
}

// reconcile looks at all MetalLB objects, as long as the operator itself is installed. Without it nothing happens any
// more, not even removal; the operand goes on.
func (m *MetalLBOperator) reconcile(ctx context.Context) (time.Duration, error) {
	installed, err := m.installed(ctx)
	if err != nil || !installed {
		return 0, err
	}
	found, err := list(ctx, m.client.Resource(metallbsResource), m.options.Namespace)
	if err != nil {
		return 0, fmt.Errorf("metallbs: %w", err)
	}
	var next time.Duration
	for i := range found {
		after, err := m.metallb(ctx, &found[i])
		if err != nil {
			return 0, fmt.Errorf("metallb %s: %w", found[i].GetName(), err)
		}
		next = sooner(next, after)
	}
	return next, nil
}

func (m *MetalLBOperator) installed(ctx context.Context) (bool, error) {
	if m.options.WithoutCSV {
		return true, nil
	}
	csvs, err := list(ctx, m.client.Resource(csvsResource), m.options.Namespace)
	if err != nil {
		return false, fmt.Errorf("clusterserviceversions: %w", err)
	}
	return slices.ContainsFunc(csvs, func(csv unstructured.Unstructured) bool {
		_, copied := csv.GetLabels()[copiedFrom]
		return !copied && strings.HasPrefix(csv.GetName(), m.options.Package+".") && text(&csv, "status", "phase") == csvSucceeded
	}), nil
}

func (m *MetalLBOperator) metallb(ctx context.Context, u *unstructured.Unstructured) (time.Duration, error) {
	faults := m.switches()
	switch {
	case u.GetName() != metallbName:
		return 0, m.report(ctx, u, "", "IncorrectMetallbResourceName",
			fmt.Sprintf("incorrect MetalLB resource name %q: it must be %q", u.GetName(), metallbName))
	case u.GetDeletionTimestamp() != nil:
		return m.takeAway(ctx, u)
	case !slices.Contains(u.GetFinalizers(), metallbFinalizer):
		u.SetFinalizers(append(u.GetFinalizers(), metallbFinalizer))
		updated, err := m.client.Resource(metallbsResource).Namespace(u.GetNamespace()).Update(ctx, u, metav1.UpdateOptions{})
		if err != nil {
			return 0, fmt.Errorf("adding finalizer: %w", err)
		}
		u = updated
	}
	if faults.Degraded != "" {
		return 0, m.report(ctx, u, "", "OperandFailed", faults.Degraded)
	}
	return m.run(ctx, u, faults)
}

// run starts MetalLB when it is due, and again when its class has changed.
func (m *MetalLBOperator) run(ctx context.Context, u *unstructured.Unstructured, faults MetalLBOperatorFaults) (time.Duration, error) {
	class := text(u, "spec", "loadBalancerClass")
	if m.Operand() != nil && (faults.NeverStarts || class != m.class && !faults.RefuseSpec) {
		if err := m.stop(); err != nil {
			return 0, err
		}
	}
	if m.Operand() == nil {
		if err := m.report(ctx, u, "Progressing", "Deploying", "the operand is being deployed"); err != nil || faults.NeverStarts {
			return 0, err
		}
		if left := m.clocks.Left(string(u.GetUID())+"/start", m.delays.MetalLBStart); left > 0 {
			return left, nil
		}
		if err := m.start(ctx, class); err != nil {
			return 0, err
		}
	}
	ready, err := m.Operand().Ready(ctx)
	if err != nil {
		return 0, m.restart(err)
	}
	if !ready {
		return unservedRetry, nil
	}
	if !m.ready {
		m.ready = true
		m.timeline.add(MetalLBRunning, m.options.Namespace, class)
	}
	return 0, m.report(ctx, u, "Available", "AsExpected", "")
}

func (m *MetalLBOperator) start(ctx context.Context, class string) error {
	operand, err := m.options.Start(ctx, class)
	if err != nil {
		return fmt.Errorf("starting MetalLB: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.operand, m.class, m.ready = operand, class, false
	return nil
}

// restart clears away an operand that ended by itself; the next run starts a new one.
func (m *MetalLBOperator) restart(cause error) error {
	if err := m.stop(); err != nil {
		return err
	}
	return fmt.Errorf("MetalLB ended: %w", cause)
}

func (m *MetalLBOperator) stop() error {
	operand := m.Operand()
	if operand == nil {
		return nil
	}
	err := operand.Stop()
	m.mu.Lock()
	m.operand, m.ready = nil, false
	m.mu.Unlock()
	m.timeline.add(MetalLBStopped, m.options.Namespace, "")
	if err != nil {
		return fmt.Errorf("stopping MetalLB: %w", err)
	}
	return nil
}

// takeAway stops MetalLB and lets the object go after a moment.
func (m *MetalLBOperator) takeAway(ctx context.Context, u *unstructured.Unstructured) (time.Duration, error) {
	faults := m.switches()
	if faults.NeverRemoves || !slices.Contains(u.GetFinalizers(), metallbFinalizer) {
		return 0, nil
	}
	if left := m.clocks.Left(string(u.GetUID())+"/remove", m.delays.MetalLBRemove+faults.RemovesAfter); left > 0 {
		return left, nil
	}
	if err := m.stop(); err != nil {
		return 0, err
	}
	u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == metallbFinalizer }))
	_, err := m.client.Resource(metallbsResource).Namespace(u.GetNamespace()).Update(ctx, u, metav1.UpdateOptions{})
	if err != nil {
		return 0, fmt.Errorf("removing finalizer: %w", ignoreNotFound(err))
	}
	return 0, nil
}

// report writes the operator's conditions, of which exactly one is true; with an empty state it is Degraded.
func (m *MetalLBOperator) report(ctx context.Context, u *unstructured.Unstructured, state, reason, message string) error {
	if m.switches().NoStatus {
		return nil
	}
	if state == "" {
		state = "Degraded"
	}
	before := u.DeepCopy()
	for _, kind := range []string{"Available", "Degraded", "Progressing"} {
		if kind == state {
			setCondition(u, kind, "True", reason, message)
			continue
		}
		setCondition(u, kind, "False", kind, "")
	}
	setCondition(u, "Upgradeable", "True", "Upgradeable", "")
	updated, err := updateStatus(ctx, m.client.Resource(metallbsResource), before, u)
	if err != nil {
		return err
	}
	u.Object = updated.Object
	return nil
}
