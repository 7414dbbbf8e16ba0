package netlab

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// retryPause is between two attempts to read or watch: the API server may be away, or not serve the kind yet.
const retryPause = 50 * time.Millisecond

// follower keeps a program as one object says.
type follower struct {
	client   dynamic.Interface
	resource schema.GroupVersionResource
	object   types.NamespacedName
	apply    func(context.Context, *unstructured.Unstructured) error // nil: there is no such object
	logf     func(format string, args ...any)
}

// Run returns when the context ends.
func (f *follower) Run(ctx context.Context) {
	last := ""
	for ctx.Err() == nil {
		if err := f.once(ctx); err != nil && ctx.Err() == nil && err.Error() != last {
			last = err.Error() // said once, not twenty times a second
			f.logf("following %s %s: %v", f.resource.Resource, f.object, err)
		}
		pause(ctx, retryPause)
	}
}

// once follows the object until the watch ends, as every watch does some time.
func (f *follower) once(ctx context.Context) error {
	api := f.client.Resource(f.resource).Namespace(f.object.Namespace)
	options := metav1.ListOptions{FieldSelector: metav1.ObjectNameField + "=" + f.object.Name}
	list, err := api.List(ctx, options)
	if err != nil {
		return err
	}
	var live *unstructured.Unstructured
	if len(list.Items) > 0 {
		live = &list.Items[0]
	}
	f.show(ctx, live)
	options.ResourceVersion = list.GetResourceVersion()
	watcher, err := api.Watch(ctx, options)
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		live, isObject := event.Object.(*unstructured.Unstructured)
		switch {
		case event.Type == watch.Error || !isObject:
			return nil
		case event.Type == watch.Deleted:
			live = nil
		}
		f.show(ctx, live)
	}
	return nil
}

// show has the program follow the object. What it does not accept it will not accept at a second try either: the next
// change of the object is the next chance.
func (f *follower) show(ctx context.Context, live *unstructured.Unstructured) {
	if err := f.apply(ctx, live); err != nil && ctx.Err() == nil {
		f.logf("%s %s: %v", f.resource.Resource, f.object, err)
	}
}

// pause returns after the duration or when the context ends, whichever is first.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
