package netlab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
	"github.com/densityops/terraform-provider-oooi/internal/testcluster/simulator"
)

const stopTimeout = 5 * time.Second

// metalLB is one run of MetalLB: the controller, and a speaker on each worker that has not failed.
type metalLB struct {
	lab        *Lab
	ctx        context.Context //nolint:containedctx // the life of the simulator that started it
	class      string
	controller simulator.Operand
	release    func() bool // lets go of the context

	mutex    sync.Mutex
	speakers map[*Worker]*process.Process
}

// StartMetalLB starts MetalLB's controller, and its speakers on the workers. It is a simulator.StartOperand, so that the
// simulated metallb-operator starts and stops all of them together.
func (l *Lab) StartMetalLB(ctx context.Context, loadBalancerClass string) (simulator.Operand, error) {
	if l.hosted == nil {
		return nil, errors.New("the network lab has no hosted cluster")
	}
	binary, err := testcluster.Binary(controllerProgram)
	if err != nil {
		return nil, err
	}
	for _, worker := range l.Workers { // before any speaker looks for the others
		if err := l.createPod(ctx, worker); err != nil {
			return nil, err
		}
	}
	m := &metalLB{lab: l, ctx: ctx, class: loadBalancerClass, speakers: map[*Worker]*process.Process{}}
	m.controller, err = simulator.RealController{
		Binary: binary, Kubeconfig: l.options.Kubeconfig, Namespace: metallbNamespace, LogFile: l.logFile(controllerProgram),
	}.Start(ctx, loadBalancerClass)
	if err != nil {
		return nil, fmt.Errorf("starting MetalLB's controller: %w", err)
	}
	m.release = context.AfterFunc(ctx, m.stopSpeakers)
	for _, worker := range l.Workers {
		if worker.Failed() {
			continue
		}
		if err := m.startSpeaker(worker); err != nil {
			return nil, errors.Join(err, m.Stop()) //nolint:contextcheck // it has to work after the context has ended
		}
	}
	l.setMetalLB(m)
	return m, nil
}

func (m *metalLB) startSpeaker(worker *Worker) error {
	speaker, err := m.lab.startSpeaker(worker, m.class)
	if err != nil {
		return err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.speakers[worker] = speaker
	return nil
}

// killSpeaker ends a worker's speaker without a chance to say goodbye to the others.
func (m *metalLB) killSpeaker(worker *Worker) {
	m.mutex.Lock()
	speaker := m.speakers[worker]
	delete(m.speakers, worker)
	m.mutex.Unlock()
	if speaker != nil {
		speaker.Kill()
	}
}

// running is a copy, so that nobody waits for the programs with the lock in hand.
func (m *metalLB) running() map[*Worker]*process.Process {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return maps.Clone(m.speakers)
}

// Ready tells whether the controller and all speakers work by now.
func (m *metalLB) Ready(ctx context.Context) (bool, error) {
	if ready, err := m.controller.Ready(ctx); err != nil || !ready {
		return false, err
	}
	for worker, speaker := range m.running() {
		if err := speaker.Err(); err != nil {
			return false, fmt.Errorf("the speaker on %s: %w", worker.Name, err)
		}
		if !speakerReady(ctx, worker) {
			return false, nil
		}
	}
	return true, nil
}

// Stop ends all of it.
func (m *metalLB) Stop() error {
	m.release()
	m.lab.setMetalLB(nil)
	m.stopSpeakers()
	failed := []error{m.controller.Stop()}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.ctx), stopTimeout)
	defer cancel()
	for _, worker := range m.lab.Workers {
		failed = append(failed, m.lab.deletePod(ctx, worker))
	}
	return errors.Join(failed...)
}

func (m *metalLB) stopSpeakers() {
	var all sync.WaitGroup
	for _, speaker := range m.running() {
		all.Go(speaker.Stop)
	}
	all.Wait()
}

// Pause stops the controller and all speakers in their tracks.
func (m *metalLB) Pause() error {
	return m.each(simulator.Pausable.Pause)
}

// Resume lets them go on.
func (m *metalLB) Resume() error {
	return m.each(simulator.Pausable.Resume)
}

func (m *metalLB) each(do func(simulator.Pausable) error) error {
	var failed []error
	if controller, ok := m.controller.(simulator.Pausable); ok {
		failed = append(failed, do(controller))
	}
	for _, speaker := range m.running() {
		failed = append(failed, do(speaker))
	}
	return errors.Join(failed...)
}

func (l *Lab) setMetalLB(m *metalLB) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.metallb = m
}

func (l *Lab) runningMetalLB() *metalLB {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.metallb
}
