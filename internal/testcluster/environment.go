package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

// Environment is one etcd and any number of clusters on it.
type Environment struct {
	dir     string
	ca      *authority
	users   tokens
	etcd    *process.Process
	etcdURL string

	made atomic.Int64

	mutex sync.Mutex
	pairs map[*Pair]bool
}

// Pair is a management cluster and the hosted cluster that it runs.
type Pair struct {
	Management, Hosted *Cluster

	env *Environment
}

// NewEnvironment starts the etcd. The context only bounds the start.
func NewEnvironment(ctx context.Context) (*Environment, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "testcluster-")
	if err != nil {
		return nil, fmt.Errorf("creating a folder for the test clusters: %w", err)
	}
	env := &Environment{dir: dir, ca: ca, users: newTokens(), pairs: map[*Pair]bool{}}
	if env.etcd, env.etcdURL, err = startEtcd(ctx, dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return env, nil
}

// NewPair starts a pair of clusters. The context only bounds the start.
func (e *Environment) NewPair(ctx context.Context) (*Pair, error) {
	management, hosted, err := allFixtures()
	if err != nil {
		return nil, err
	}
	pair := &Pair{env: e}
	id := e.made.Add(1)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		pair.Management, err = newCluster(ctx, e, "management", fmt.Sprintf("management-%d", id), management)
		return err
	})
	group.Go(func() (err error) {
		pair.Hosted, err = newCluster(ctx, e, "hosted", fmt.Sprintf("hosted-%d", id), hosted)
		return err
	})
	if err := group.Wait(); err != nil {
		pair.Close()
		return nil, err
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.pairs[pair] = true
	return pair, nil
}

// Close ends both clusters.
func (p *Pair) Close() {
	p.env.mutex.Lock()
	delete(p.env.pairs, p)
	p.env.mutex.Unlock()
	var both sync.WaitGroup
	for _, cluster := range []*Cluster{p.Management, p.Hosted} {
		if cluster != nil {
			both.Go(cluster.Close)
		}
	}
	both.Wait()
}

// Reset brings both clusters back to their pristine state, or fails; then they are of no more use.
func (p *Pair) Reset(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.Management.Reset(ctx) })
	group.Go(func() error { return p.Hosted.Reset(ctx) })
	return group.Wait()
}

// Close ends all clusters and the etcd, and removes all files. It may be called more than once.
func (e *Environment) Close() error {
	e.mutex.Lock()
	pairs := e.pairs
	e.pairs = map[*Pair]bool{}
	e.mutex.Unlock()
	var all sync.WaitGroup
	for pair := range pairs {
		all.Go(pair.Close)
	}
	all.Wait()
	e.etcd.Kill()
	if err := os.RemoveAll(e.dir); err != nil {
		return fmt.Errorf("removing the files of the test clusters: %w", err)
	}
	return nil
}
