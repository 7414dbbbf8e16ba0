package kube

import "sync"

// Clusters keeps one Cluster per distinct connection, shared by all resources of a run. The zero value is ready to use.
type Clusters struct {
	mu    sync.Mutex
	byKey map[string]*Cluster
}

// Get is the cluster of this key. It is made at the first call: open must not block, and connects to nothing.
func (cs *Clusters) Get(key string, open func() *Cluster) *Cluster {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if known := cs.byKey[key]; known != nil {
		return known
	}
	if cs.byKey == nil {
		cs.byKey = map[string]*Cluster{}
	}
	cs.byKey[key] = open()
	return cs.byKey[key]
}
