package kube

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// connection is one way to reach an API server, with the credentials as they were when it was made.
type connection struct {
	rest    rest.Interface
	dynamic dynamic.Interface
}

// connector makes the connection at first use and makes it anew when it has gone stale. Callers that need one at the same
// time share one attempt.
type connector struct {
	load func(ctx context.Context) (*rest.Config, error)

	mu      sync.Mutex
	current *connection
	attempt *attempt
}

// attempt is a connection being made. conn and err are set before done is closed.
type attempt struct {
	done chan struct{}
	conn *connection
	err  error
}

// get is the connection. It is made anew when the current one is the stale one: the one the caller just failed with.
func (c *connector) get(ctx context.Context, stale *connection) (*connection, error) {
	for {
		c.mu.Lock()
		if current := c.current; current != nil && current != stale {
			c.mu.Unlock()
			return current, nil
		}
		if running := c.attempt; running != nil {
			c.mu.Unlock()
			conn, err, again := running.join(ctx)
			if again {
				continue
			}
			return conn, err
		}
		mine := &attempt{done: make(chan struct{})}
		c.attempt = mine
		c.mu.Unlock()
		c.run(ctx, mine)
		return mine.conn, mine.err
	}
}

// join waits for the attempt of somebody else. It asks to try again when that one failed only because its caller gave up.
func (a *attempt) join(ctx context.Context) (conn *connection, err error, again bool) { //nolint:revive // again qualifies err
	select {
	case <-a.done:
	case <-ctx.Done():
		return nil, ctx.Err(), false
	}
	return a.conn, a.err, isContextEnd(a.err)
}

func (c *connector) run(ctx context.Context, a *attempt) {
	a.conn, a.err = c.connect(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.err == nil {
		c.current = a.conn
	}
	c.attempt = nil
	close(a.done)
}

func (c *connector) connect(ctx context.Context) (*connection, error) {
	loaded, err := c.load(ctx)
	if err != nil {
		return nil, asConnectionError(err)
	}
	config := dynamic.ConfigFor(loaded)
	config.QPS = -1    // the server's own fairness limits us; a limit here only delays a wait that has come true
	config.Timeout = 0 // it would also end watches; every request has a context
	config.WarningHandler = rest.NoWarnings{}
	config.APIPath = "/"
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper { return marking{transport} })
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, asConnectionError(fmt.Errorf("set up the connection: %w", err))
	}
	bare, err := rest.UnversionedRESTClientForConfigAndClient(config, client)
	if err != nil {
		return nil, asConnectionError(fmt.Errorf("set up the connection: %w", err))
	}
	once := withoutRetry{bare}
	return &connection{rest: once, dynamic: dynamic.New(once)}, nil
}
