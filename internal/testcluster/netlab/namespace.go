package netlab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

const loopback = "127.0.0.1"

// Namespace is a network of its own: links, addresses, routes and ports. A new one has a loopback and nothing else.
type Namespace struct {
	Name string // for messages

	file   *os.File        // keeps the namespace alive
	ctx    context.Context //nolint:containedctx // the life of the namespace: what serves inside of it ends with it
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mutex     sync.Mutex
	processes []*process.Process
}

// NewNamespace makes a namespace. The context only bounds the making.
func NewNamespace(ctx context.Context, name string) (*Namespace, error) {
	file, err := newNamespace()
	if err != nil {
		return nil, fmt.Errorf("making the network namespace %s: %w", name, err)
	}
	n := &Namespace{Name: name, file: file}
	n.ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := n.ip(ctx, "link set lo up"); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// Path is a name of the namespace in the file system, for programs such as ip and nsenter, until it is closed.
func (n *Namespace) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

// Close ends all programs and relays inside. The namespace itself goes with its last socket.
func (n *Namespace) Close() {
	n.cancel()
	n.mutex.Lock()
	processes := n.processes
	n.processes = nil
	n.mutex.Unlock()
	for _, p := range processes {
		p.Kill()
	}
	n.tasks.Wait()
	_ = n.file.Close() // nothing was written
}

// Do calls f on a thread inside of the namespace. What f makes there, sockets above all, stays of the namespace and may be
// used from anywhere; goroutines that f starts run outside.
func (n *Namespace) Do(f func() error) error {
	var err error
	if failed := inside(n.file, func() { err = f() }); failed != nil {
		return fmt.Errorf("entering the network namespace %s: %w", n.Name, failed)
	}
	return err
}

// Listen is net.Listen inside. The address must be an IP address and a port.
func (n *Namespace) Listen(ctx context.Context, network, address string) (listener net.Listener, err error) {
	err = n.withIP(address, func() error {
		listener, err = (&net.ListenConfig{}).Listen(ctx, network, address)
		return err
	})
	return listener, err
}

// ListenPacket is net.ListenPacket inside. The address must be an IP address and a port.
func (n *Namespace) ListenPacket(ctx context.Context, network, address string) (conn net.PacketConn, err error) {
	err = n.withIP(address, func() error {
		conn, err = (&net.ListenConfig{}).ListenPacket(ctx, network, address)
		return err
	})
	return conn, err
}

// Dial is net.Dial inside. The address must be an IP address and a port. It ends with the namespace too: an HTTP client goes
// on dialing when nobody waits for it any more.
func (n *Namespace) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)() //nolint:contextcheck // both contexts end it
	err = n.withIP(address, func() error {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// withIP is Do for one IP address and port. To look up a name, package net asks from other threads, which are outside.
func (n *Namespace) withIP(address string, f func() error) error {
	if _, err := netip.ParseAddrPort(address); err != nil {
		return fmt.Errorf("in the network namespace %s: %w", n.Name, err)
	}
	return n.Do(f)
}

// Start starts a program inside. It ends with the namespace, if not before.
func (n *Namespace) Start(options process.Options) (*process.Process, error) {
	options.Inside = n.Do
	p, err := process.Start(options)
	if err != nil {
		return nil, fmt.Errorf("in the network namespace %s: %w", n.Name, err)
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.processes = append(n.processes, p)
	return p, nil
}

// Resolver looks names up at a DNS server (address and port) from inside.
func (n *Namespace) Resolver(server string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return n.Dial(ctx, network, server)
	}}
}

// errNotLinux is what a lab says where there are no network namespaces.
var errNotLinux = errors.New("network namespaces are a thing of Linux")
