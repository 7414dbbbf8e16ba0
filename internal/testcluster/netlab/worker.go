package netlab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// Worker is a node of the hosted cluster, with MetalLB's speaker, a router, and the part of kube-proxy between them. Its
// name is that of its Node, which somebody else has to make.
type Worker struct {
	*Namespace

	Address netip.Addr // on the VLAN

	router  *router
	serving map[netip.AddrPort]*http.Server
	vips    map[netip.Addr]bool

	mutex  sync.Mutex
	failed bool
}

func newWorker(address netip.Addr) *Worker {
	return &Worker{Address: address, serving: map[netip.AddrPort]*http.Server{}, vips: map[netip.Addr]bool{}}
}

// Failed tells whether FailWorker was called.
func (w *Worker) Failed() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.failed
}

func (w *Worker) setFailed(failed bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.failed = failed
}

// accept plays kube-proxy: it has the worker take in what is sent to the load balancers' addresses, and the router serve
// their ports (address → scheme). The addresses are put on the loopback, which answers no ARP request; the real kube-proxy
// rewrites packets to the router's own address and port instead, which to a client looks the same.
func (w *Worker) accept(ctx context.Context, wanted map[netip.AddrPort]string) error {
	vips := map[netip.Addr]bool{}
	for address := range wanted {
		vips[address.Addr()] = true
	}
	for address, server := range w.serving {
		if _, still := wanted[address]; !still {
			_ = server.Close() // its connections are of no more use
			delete(w.serving, address)
		}
	}
	if err := w.address(ctx, vips); err != nil {
		return err
	}
	var failed []error
	for address, scheme := range wanted {
		if w.serving[address] != nil {
			continue
		}
		server, err := w.router.serve(ctx, w.Namespace, address, scheme)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		w.serving[address] = server
	}
	return errors.Join(failed...)
}

// address makes the loopback have these addresses of load balancers.
func (w *Worker) address(ctx context.Context, vips map[netip.Addr]bool) error {
	var commands []string
	for vip := range vips {
		if !w.vips[vip] {
			commands = append(commands, fmt.Sprintf("addr add %s/32 dev lo", vip))
		}
	}
	for vip := range w.vips {
		if !vips[vip] {
			commands = append(commands, fmt.Sprintf("addr del %s/32 dev lo", vip))
		}
	}
	if len(commands) == 0 {
		return nil
	}
	if err := w.ip(ctx, commands...); err != nil {
		return err
	}
	w.vips = vips
	return nil
}

// closeRouter ends all serving.
func (w *Worker) closeRouter() {
	for _, server := range slices.Collect(maps.Values(w.serving)) {
		_ = server.Close() // its connections are of no more use
	}
}
