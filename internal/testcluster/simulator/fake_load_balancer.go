package simulator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// Ingress is one entry of a Service's load balancer status; the zero value is an entry that says nothing.
type Ingress struct {
	IP, Hostname string
}

// Answer decides what a Service gets; nil entries clear its status.
type Answer func(service *unstructured.Unstructured) []Ingress

// Always gives every Service the same entries, in this order.
func Always(entries ...Ingress) Answer {
	return func(*unstructured.Unstructured) []Ingress { return entries }
}

// FakeLoadBalancer gives LoadBalancer Services what MetalLB never gives: a host name, an empty entry, two families.
type FakeLoadBalancer struct {
	class  string // of the Services it serves; Start sets it
	client dynamic.Interface
	delay  time.Duration
	all    bool
	runner *runner
	clocks stopwatches

	mu       sync.Mutex
	answer   Answer
	answered map[string]string // what was last asked, by UID: a Service that changes is answered anew, after the delay
}

// FakeLoadBalancerOptions say whom it serves and with what.
type FakeLoadBalancerOptions struct {
	Class       string
	Delay       time.Duration
	AllServices bool // also those that name no pool
	Answer      Answer
}

// NewFakeLoadBalancer makes one for a cluster. Run runs it.
func NewFakeLoadBalancer(client dynamic.Interface, options FakeLoadBalancerOptions, logf func(string, ...any)) *FakeLoadBalancer {
	if logf == nil {
		logf = func(string, ...any) {}
	}
	f := &FakeLoadBalancer{
		client: client, delay: options.Delay, all: options.AllServices, class: options.Class, answer: options.Answer,
		answered: map[string]string{},
	}
	f.runner = newRunner("load balancer", client, logf, f.reconcile, servicesResource)
	return f
}

// Run serves until the context ends.
func (f *FakeLoadBalancer) Run(ctx context.Context) { f.runner.Run(ctx) }

// SetAnswer changes what Services get, those already served included.
func (f *FakeLoadBalancer) SetAnswer(answer Answer) {
	f.mu.Lock()
	f.answer = answer
	f.answered = map[string]string{}
	f.mu.Unlock()
	f.runner.Wake()
}

// Start runs the load balancer as metallb-operator's operand. It is a StartOperand.
func (f *FakeLoadBalancer) Start(ctx context.Context, loadBalancerClass string) (Operand, error) {
	f.class = loadBalancerClass
	ctx, cancel := context.WithCancel(ctx)
	o := &fakeOperand{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(o.ended)
		f.Run(ctx)
	}()
	return o, nil
}

type fakeOperand struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

func (o *fakeOperand) Ready(context.Context) (bool, error) { return true, nil }

func (o *fakeOperand) Stop() error {
	o.cancel()
	<-o.ended
	return nil
}

func (f *FakeLoadBalancer) reconcile(ctx context.Context) (time.Duration, error) {
	services, err := list(ctx, f.client.Resource(servicesResource), "")
	if err != nil {
		return 0, fmt.Errorf("services: %w", err)
	}
	var next time.Duration
	for i := range services {
		if !f.serves(&services[i]) {
			continue
		}
		after, err := f.service(ctx, &services[i])
		if err != nil {
			return 0, fmt.Errorf("service %s: %w", services[i].GetName(), err)
		}
		next = sooner(next, after)
	}
	return next, nil
}

func (f *FakeLoadBalancer) serves(service *unstructured.Unstructured) bool {
	return text(service, "spec", "type") == "LoadBalancer" &&
		text(service, "spec", "loadBalancerClass") == f.class &&
		(f.all || poolOf(service) != "")
}

// service answers a Service that is new or asks for something else than before.
func (f *FakeLoadBalancer) service(ctx context.Context, service *unstructured.Unstructured) (time.Duration, error) {
	uid := string(service.GetUID())
	asked := fmt.Sprint(poolOf(service), service.GetAnnotations()["metallb.io/loadBalancerIPs"], service.GetGeneration())
	f.mu.Lock()
	known, answer := f.answered[uid] == asked, f.answer
	f.mu.Unlock()
	if answer == nil {
		return 0, nil
	}
	clock := uid + "/" + asked
	if left := f.clocks.Left(clock, f.delay); left > 0 && !known {
		return left, nil
	}
	if err := setIngress(ctx, f.client, service, answer(service)); err != nil {
		return 0, err
	}
	f.mu.Lock()
	f.answered[uid] = asked
	f.mu.Unlock()
	return 0, nil
}

// poolOf is the pool that a Service names, under either of MetalLB's prefixes.
func poolOf(service *unstructured.Unstructured) string {
	annotations := service.GetAnnotations()
	if pool := annotations["metallb.io/address-pool"]; pool != "" {
		return pool
	}
	return annotations["metallb.universe.tf/address-pool"]
}

// setIngress writes a Service's load balancer status.
func setIngress(ctx context.Context, client dynamic.Interface, service *unstructured.Unstructured, entries []Ingress) error {
	before := service.DeepCopy()
	loadBalancer := object{}
	if entries != nil {
		ingress := make([]any, 0, len(entries))
		for _, entry := range entries {
			ingress = append(ingress, entry.asObject())
		}
		loadBalancer["ingress"] = ingress
	}
	setStatus(service, loadBalancer, "loadBalancer")
	_, err := updateStatus(ctx, client.Resource(servicesResource), before, service)
	return err
}

func (i Ingress) asObject() object {
	entry := object{}
	if i.IP != "" {
		entry["ip"], entry["ipMode"] = i.IP, "VIP"
	}
	if i.Hostname != "" {
		entry["hostname"] = i.Hostname
	}
	return entry
}
