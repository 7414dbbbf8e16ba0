package netlab

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
)

// Relay makes a port of the loopback inside lead to the same port of this machine's loopback, until the namespace is
// closed. So a program inside reaches an API server with the kubeconfig that is used outside.
func (n *Namespace) Relay(ctx context.Context, port int) error {
	address := net.JoinHostPort(loopback, strconv.Itoa(port))
	listener, err := n.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("relaying %s: %w", address, err)
	}
	context.AfterFunc(n.ctx, func() { _ = listener.Close() }) //nolint:contextcheck // the relay outlives the call; this ends the loop below
	n.tasks.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n.tasks.Go(func() { n.relay(conn, address) })
		}
	})
	return nil
}

// relay copies both ways until both have ended, or the namespace.
func (n *Namespace) relay(inside net.Conn, address string) {
	defer inside.Close() //nolint:errcheck // all was copied, or there is nobody to tell
	outside, err := (&net.Dialer{}).DialContext(n.ctx, "tcp", address)
	if err != nil {
		return // the connection inside is closed: like one that is refused, as far as a relay can
	}
	defer outside.Close() //nolint:errcheck // all was copied, or there is nobody to tell
	stop := context.AfterFunc(n.ctx, func() {
		_ = inside.Close()
		_ = outside.Close()
	})
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { copyAndClose(outside, inside) })
	both.Go(func() { copyAndClose(inside, outside) })
	both.Wait()
}

// copyAndClose passes on the end of what it copies, too.
func copyAndClose(to, from net.Conn) {
	_, _ = io.Copy(to, from) // an error is an end like any other
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
