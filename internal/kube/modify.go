package kube

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Modify reads the object, changes a copy and writes it with the resource version that was read. When somebody else wrote in
// between it begins again, until ctx ends. It returns the object as it is now. Nothing is written when nothing changed.
//
// change may be called several times, each time with a fresh object; its error is returned as it is. Writers in this process
// take turns: hundreds of ingresses that share one object do not make each other fail.
func (c *Cluster) Modify(
	ctx context.Context, ref Ref, change func(obj *unstructured.Unstructured) (changed bool, err error),
) (*unstructured.Unstructured, error) {
	done, err := c.turns.take(ctx, ref)
	if err != nil {
		return nil, c.wrap(verbUpdate, ref, err)
	}
	defer done()

	pause := backoff{first: 20 * time.Millisecond, most: 2 * time.Second}
	for {
		obj, err := c.modifyOnce(ctx, ref, change)
		if !IsConflict(err) {
			return obj, err
		}
		if idle(ctx, pause.next()) != nil {
			return nil, err
		}
	}
}

func (c *Cluster) modifyOnce(
	ctx context.Context, ref Ref, change func(obj *unstructured.Unstructured) (changed bool, err error),
) (*unstructured.Unstructured, error) {
	live, err := c.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	wanted := live.DeepCopy()
	changed, err := change(wanted)
	if err != nil {
		return nil, err
	}
	if !changed {
		return live, nil
	}
	wanted.SetResourceVersion(live.GetResourceVersion())
	return c.Update(ctx, ref, wanted)
}
