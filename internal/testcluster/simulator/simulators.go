package simulator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// stopTimeout bounds how long Stop tries to take the webhooks away from an API server that may be gone already.
const stopTimeout = 10 * time.Second

// Delays are how long each part takes. The zero value means FastDelays.
type Delays struct {
	NodeReady           time.Duration
	Kubeconfig          time.Duration // HostedCluster made → its kubeconfig
	HostedClusterDelete time.Duration
	Resolve             time.Duration // Subscription seen → resolved
	Unpack              time.Duration // worker and Subscription there → InstallPlan
	CRDs                time.Duration // InstallPlan approved → CRDs
	CSVPhase            time.Duration // each phase of the CSV
	MetalLBStart        time.Duration
	MetalLBRemove       time.Duration
}

// FastDelays are those of tests.
func FastDelays() Delays {
	const short = 20 * time.Millisecond
	return Delays{
		NodeReady: short, Kubeconfig: short, HostedClusterDelete: short, Resolve: short, Unpack: short, CRDs: short,
		CSVPhase: short, MetalLBStart: short, MetalLBRemove: short,
	}
}

// Config says which clusters there are and what runs in them.
type Config struct {
	Management *rest.Config // nil: no HyperShift
	Hosted     *rest.Config // nil: no hosted cluster
	Delays     Delays

	Workers        []Node                  // nodes of the hosted cluster at start
	OLM            *OLMOptions             // nil: a hosted cluster without OLM
	MetalLB        *MetalLBOperatorOptions // nil: no metallb-operator
	HostedClusters []HostedCluster
	Oooi           *OooiOptions // nil: no oooi operator in the management cluster

	// Logf gets what goes wrong inside the simulators; nil discards it. It may be called until Stop has returned.
	Logf func(format string, args ...any)
}

// Simulators are the running set. Those that the configuration leaves out are nil.
type Simulators struct {
	Nodes      *Nodes
	OLM        *OLM
	MetalLB    *MetalLBOperator
	Admission  *Admission
	HyperShift *HyperShift
	Oooi       *Oooi

	timeline *Timeline
	hosted   dynamic.Interface
	logf     func(format string, args ...any)
	ctx      context.Context //nolint:containedctx // the life of the set: what runs in the background ends with it
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// Start starts the set. The context ends it too, but only Stop waits for its end.
func Start(ctx context.Context, config Config) (*Simulators, error) {
	if config.Delays == (Delays{}) {
		config.Delays = FastDelays()
	}
	if config.Logf == nil {
		config.Logf = func(string, ...any) {}
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Simulators{timeline: &Timeline{}, ctx: ctx, cancel: cancel, logf: config.Logf}
	if err := s.start(ctx, config); err != nil {
		return nil, errors.Join(err, s.Stop()) //nolint:contextcheck // it has to work after the context has ended
	}
	return s, nil
}

func (s *Simulators) start(ctx context.Context, config Config) error {
	if config.Management != nil {
		if err := s.startManagement(ctx, config); err != nil {
			return fmt.Errorf("starting the management cluster's simulators: %w", err)
		}
	}
	if config.Hosted != nil {
		if err := s.startHosted(ctx, config); err != nil {
			return fmt.Errorf("starting the hosted cluster's simulators: %w", err)
		}
	}
	return nil
}

func (s *Simulators) startManagement(ctx context.Context, config Config) error {
	client, err := newClient(config.Management)
	if err != nil {
		return err
	}
	s.HyperShift = newHyperShift(client, config.Delays, config.Logf)
	s.run(s.HyperShift.runner)
	for _, cluster := range config.HostedClusters {
		if err := s.HyperShift.Create(ctx, cluster); err != nil {
			return err
		}
	}
	if config.Oooi != nil {
		s.Oooi = newOooi(client, s.timeline, *config.Oooi, config.Logf)
		s.running.Go(func() { s.Oooi.run(s.ctx) })
	}
	return nil
}

func (s *Simulators) startHosted(ctx context.Context, config Config) error {
	client, err := newClient(config.Hosted)
	if err != nil {
		return err
	}
	s.hosted = client
	s.Admission = newAdmission(client, config.Logf)
	if err := s.Admission.server.prepare(ctx); err != nil {
		return err
	}
	s.run(newServiceObserver(client, s.timeline, config.Logf).runner)
	if config.OLM != nil {
		s.OLM = newOLM(client, s.timeline, config.Delays, *config.OLM, config.Logf)
		if err := s.OLM.seed(ctx); err != nil {
			return err
		}
		s.run(s.OLM.runner)
	}
	if config.MetalLB != nil {
		s.MetalLB = newMetalLBOperator(client, s.timeline, config.Delays, *config.MetalLB, config.Logf)
		s.run(s.MetalLB.runner)
	}
	s.Nodes = newNodes(client, s.timeline, config.Delays.NodeReady, config.Logf)
	s.run(s.Nodes.runner)
	return s.Nodes.Add(ctx, config.Workers...)
}

func (s *Simulators) run(r *runner) {
	s.running.Go(func() { r.Run(s.ctx) })
}

// Stop ends all simulators and MetalLB and returns when they have ended. API objects stay, webhooks excepted: an API
// server that outlives them would refuse every write.
func (s *Simulators) Stop() error {
	s.cancel()
	s.running.Wait()
	var failed []error
	if s.Admission != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), stopTimeout)
		defer cancel()
		failed = append(failed, s.Admission.Off(ctx))
	}
	if s.MetalLB != nil {
		failed = append(failed, s.MetalLB.stop())
	}
	return errors.Join(failed...)
}

// Timeline is what became true when.
func (s *Simulators) Timeline() *Timeline { return s.timeline }

// Pausable is a MetalLB that can be stopped in its tracks.
type Pausable interface {
	Pause() error
	Resume() error
}

// PauseMetalLB makes the running MetalLB do nothing until ResumeMetalLB, or for the given time when that is not 0.
func (s *Simulators) PauseMetalLB(d time.Duration) error {
	operand, err := s.pausable()
	if err != nil {
		return err
	}
	if err := operand.Pause(); err != nil || d == 0 {
		return err
	}
	s.running.Go(func() {
		pause(s.ctx, d)
		_ = operand.Resume() // it may have ended meanwhile
	})
	return nil
}

// ResumeMetalLB lets a paused MetalLB go on.
func (s *Simulators) ResumeMetalLB() error {
	operand, err := s.pausable()
	if err != nil {
		return err
	}
	return operand.Resume()
}

func (s *Simulators) pausable() (Pausable, error) {
	if s.MetalLB == nil {
		return nil, errors.New("no metallb-operator is simulated")
	}
	operand, ok := s.MetalLB.Operand().(Pausable)
	if !ok {
		return nil, errors.New("MetalLB does not run, or cannot be paused")
	}
	return operand, nil
}

// BlinkServiceStatus clears a Service's address once. MetalLB, held back for the given time, then gives it the same
// address again.
func (s *Simulators) BlinkServiceStatus(ctx context.Context, namespace, name string, hold time.Duration) error {
	if hold > 0 {
		if err := s.PauseMetalLB(hold); err != nil {
			return err
		}
	}
	return clearServiceStatus(ctx, s.hosted, namespace, name)
}

// WebhookReadyAfter has MetalLB's webhooks registered now and served only after the given time, as while its pods start.
func (s *Simulators) WebhookReadyAfter(ctx context.Context, d time.Duration) error {
	if s.Admission == nil {
		return errors.New("no hosted cluster is simulated")
	}
	if err := s.Admission.WebhookNotReady(ctx); err != nil {
		return err
	}
	s.running.Go(func() {
		pause(s.ctx, d)
		if err := s.Admission.WebhookReady(s.ctx, 0); err != nil && s.ctx.Err() == nil {
			s.logf("serving the webhooks: %v", err)
		}
	})
	return nil
}

// newClient makes a client without the rate limit that a user's client has: a simulator must not be the slow part.
func newClient(config *rest.Config) (dynamic.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, 0
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return client, nil
}
