package process

import (
	"context"
	"fmt"
	"net"
)

// FreePorts finds loopback ports that nobody listens on, for programs that cannot be told to choose one and say which. All are
// held until all are chosen, so that they differ.
func FreePorts(ctx context.Context, count int) ([]int, error) {
	var (
		ports     []int
		listeners []net.Listener
		config    net.ListenConfig
	)
	defer func() {
		for _, listener := range listeners {
			_ = listener.Close() // nothing was ever accepted on it
		}
	}()
	for range count {
		listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		listeners = append(listeners, listener)
		address, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("looking for a free port: got the address %s", listener.Addr())
		}
		ports = append(ports, address.Port)
	}
	return ports, nil
}
