package testcluster

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	// PairsVariable says how many pairs of clusters a test binary may have at once.
	PairsVariable = "TESTCLUSTER_PAIRS"

	defaultPairs = 3 // about half a gigabyte and, while starting, two cores for three seconds each
	resetTimeout = 2 * time.Minute
	pairTimeout  = 15 * time.Minute // longer than any test has its pair, shorter than go test waits
)

// pool hands out pairs to tests and takes them back.
type pool struct {
	slots chan struct{}

	mutex sync.Mutex
	env   *Environment
	idle  []*Pair
}

// shared is the pool of this test binary: clusters are too dear for one set per test, and go test offers no other place
// to keep them between tests.
var shared = sync.OnceValue(func() *pool {
	size := defaultPairs
	if given, err := strconv.Atoi(os.Getenv(PairsVariable)); err == nil && given > 0 {
		size = given
	}
	return &pool{slots: make(chan struct{}, size)}
})

// Main runs the tests of a package that uses Start, and ends all clusters afterwards. For TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(testcluster.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	if err := shared().Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Option changes what Start gives.
type Option func(*options)

type options struct{ fresh bool }

// Fresh wants a pair that served no test before and will serve none after: for a test that breaks its clusters.
func Fresh() Option { return func(o *options) { o.fresh = true } }

// Start gives a test a pair of pristine clusters of its own, until the test and its cleanups (those registered after
// Start) are done. It waits while as many tests as there may be pairs have one; so a test that has one must not have
// parallel subtests: it would keep the pair while they wait for the tests that wait for a pair. With -short the test is
// skipped.
func Start(tb testing.TB, opts ...Option) *Pair {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs a real API server, which -short does without")
	}
	var chosen options
	for _, opt := range opts {
		opt(&chosen)
	}
	p := shared()
	select {
	case p.slots <- struct{}{}:
	case <-time.After(pairTimeout):
		tb.Fatalf("all %d pairs of test clusters were in use for %s: does a test that has one wait for parallel subtests?",
			cap(p.slots), pairTimeout)
	}
	tb.Cleanup(func() { <-p.slots })

	pair, err := p.take(tb.Context(), chosen)
	if err != nil {
		tb.Fatalf("starting the test clusters: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), resetTimeout)
		defer cancel()
		if err := p.giveBack(ctx, pair, chosen); err != nil {
			tb.Logf("the test clusters are not used again: %v", err)
		}
	})
	return pair
}

func (p *pool) take(ctx context.Context, chosen options) (*Pair, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		pair := p.idle[last]
		p.idle = p.idle[:last]
		if !chosen.fresh {
			return pair, nil
		}
		pair.Close() // makes room for the fresh one
	}
	if p.env == nil {
		env, err := NewEnvironment(ctx)
		if err != nil {
			return nil, err
		}
		p.env = env
	}
	env := p.env
	p.mutex.Unlock() // several pairs may start side by side
	defer p.mutex.Lock()
	return env.NewPair(ctx)
}

func (p *pool) giveBack(ctx context.Context, pair *Pair, chosen options) error {
	if chosen.fresh {
		pair.Close()
		return nil
	}
	if err := pair.Reset(ctx); err != nil {
		pair.Close()
		return err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.idle = append(p.idle, pair)
	return nil
}

// Close ends everything.
func (p *pool) Close() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.env == nil {
		return nil
	}
	err := p.env.Close()
	p.env, p.idle = nil, nil
	return err
}
