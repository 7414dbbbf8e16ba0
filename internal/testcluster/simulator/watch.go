package simulator

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// errWatchEnded makes a resourceWatch list again; every watch ends some time.
var errWatchEnded = errors.New("watch ended")

// resourceWatch tells of all objects of a resource, whether it is served already or not.
type resourceWatch struct {
	name     string // of who watches, in messages
	client   dynamic.Interface
	resource schema.GroupVersionResource
	logf     func(format string, args ...any)

	listed  func(all []unstructured.Unstructured)         // before each watch
	changed func(u *unstructured.Unstructured, gone bool) // during it
}

// run returns when the context ends.
func (w resourceWatch) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.once(ctx)
		switch {
		case errors.Is(err, errWatchEnded):
		case apierrors.IsNotFound(err):
			pause(ctx, unservedRetry)
		case ctx.Err() == nil:
			w.logf("%s: %v", w.name, err)
			pause(ctx, errorRetry)
		}
	}
}

func (w resourceWatch) once(ctx context.Context) error {
	api := w.client.Resource(w.resource)
	list, err := api.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing %s: %w", w.resource.Resource, err)
	}
	w.listed(list.Items)
	watcher, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return fmt.Errorf("watching %s: %w", w.resource.Resource, err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if event.Type == watch.Error || !ok {
			return errWatchEnded
		}
		w.changed(u, event.Type == watch.Deleted)
	}
	return errWatchEnded
}
