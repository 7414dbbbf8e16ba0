package kube

import "sync"

// Clusters keeps one Cluster per distinct connection, shared by all resources of a run. The zero value is ready to use.
type Clusters struct {
	mu    sync.Mutex
	byKey map[string]*Cluster
}

// Get is the cluster of this key, made at the first call.
func (cs *Clusters) Get(key string, make func() *Cluster) *Cluster { panic("todo") }
