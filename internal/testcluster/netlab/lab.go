package netlab

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Options say what a lab is like.
type Options struct {
	Workers int // default 2

	// Hosted is the hosted cluster, for a user that may do everything: the lab stands for several controllers. Without it
	// there are networks only.
	Hosted     *rest.Config
	Kubeconfig string // with which MetalLB reaches the hosted cluster, on this machine's loopback
	Domain     string // of the hosted cluster: the router answers below *.apps.<Domain>
	LogDir     string // where programs write; empty discards

	// Logf gets what goes wrong in the background; nil discards it. It may be called until Close has returned.
	Logf func(format string, args ...any)
}

// Lab is a running network with its hosts.
type Lab struct {
	Client    *Namespace // on the VLAN
	PodClient *Namespace // on the pod network
	DNS       *Namespace // on both, as are the next two
	Proxy     *Namespace
	Upstream  *Namespace
	Workers   []*Worker // on the VLAN

	// CA is the authority behind the router's certificate, Certificate that certificate. Both are nil without a cluster.
	CA          *x509.CertPool
	Certificate *x509.Certificate

	options    Options
	wires      *Namespace // the switch
	namespaces []*Namespace
	hosted     dynamic.Interface
	wake       chan struct{} // something has changed that no watch tells of
	cancel     context.CancelFunc
	tasks      sync.WaitGroup

	mutex   sync.Mutex
	metallb *metalLB // while it runs
}

// Start makes a lab. The context only bounds the start.
func Start(ctx context.Context, options Options) (*Lab, error) {
	if options.Workers == 0 {
		options.Workers = defaultWorkers
	}
	if options.Workers > maxWorkers {
		return nil, fmt.Errorf("a lab of %d workers: it has room for %d", options.Workers, maxWorkers)
	}
	if options.Logf == nil {
		options.Logf = func(string, ...any) {}
	}
	l := &Lab{options: options, wake: make(chan struct{}, 1)}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	err := l.wire(ctx, options.Workers)
	if err == nil && options.Hosted != nil {
		err = l.join(ctx, life)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("starting a network lab: %w", err)
	}
	return l, nil
}

// join makes the workers those of the hosted cluster.
func (l *Lab) join(ctx, life context.Context) error {
	if l.options.Domain == "" || l.options.Kubeconfig == "" {
		return errors.New("a lab with a hosted cluster needs its domain and a kubeconfig")
	}
	port, err := portOf(l.options.Kubeconfig)
	if err != nil {
		return err
	}
	config := rest.CopyConfig(l.options.Hosted)
	config.QPS = -1
	if l.hosted, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	certificate, err := newRouterCertificate("*.apps." + l.options.Domain)
	if err != nil {
		return err
	}
	l.CA, l.Certificate = certificate.ca, certificate.leaf.Leaf
	for _, worker := range l.Workers {
		worker.router = newRouter(worker.Name, "apps."+l.options.Domain, certificate.leaf)
		if err := worker.Relay(ctx, port); err != nil {
			return err
		}
	}
	l.tasks.Go(func() { l.playServiceControllers(life) })
	return nil
}

// Close ends everything in the lab.
func (l *Lab) Close() {
	l.cancel()
	l.tasks.Wait()
	for _, worker := range l.Workers {
		worker.closeRouter()
	}
	var all sync.WaitGroup
	for _, n := range l.namespaces {
		all.Go(n.Close)
	}
	all.Wait()
}

func (l *Lab) newNamespace(ctx context.Context, name string) (*Namespace, error) {
	n, err := NewNamespace(ctx, name)
	if err != nil {
		return nil, err
	}
	l.namespaces = append(l.namespaces, n)
	return n, nil
}

// worker finds a worker by its name.
func (l *Lab) worker(name string) (*Worker, error) {
	for _, worker := range l.Workers {
		if worker.Name == name {
			return worker, nil
		}
	}
	return nil, fmt.Errorf("the lab has no worker %s", name)
}

// wakeUp has the service controllers look again.
func (l *Lab) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default: // they are due anyway, and will see everything
	}
}
