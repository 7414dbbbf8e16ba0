package netlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

const (
	followRetry = 50 * time.Millisecond // the API server may be away, or not serve the kind yet
	reloadPoll  = 5 * time.Millisecond
	// reloadTimeout is for a program that does not say what it thinks of its configuration; a busy one takes a while.
	reloadTimeout = 10 * time.Second
)

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
		timer := time.NewTimer(followRetry)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
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

// managed is a program with a folder of its own that is kept as one object says.
type managed struct {
	folder  string
	process *process.Process // nil until it is started

	cancel    context.CancelFunc // nil until the object is followed
	following sync.WaitGroup
}

// follow keeps the program as the follower's object says from now on; the context does not end that.
func (m *managed) follow(ctx context.Context, f *follower) {
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.following.Go(func() { f.Run(ctx) })
}

// Close ends the program.
func (m *managed) Close() {
	if m.cancel != nil {
		m.cancel()
		m.following.Wait()
	}
	if m.process != nil {
		m.process.Kill()
	}
	_ = os.RemoveAll(m.folder) // nobody needs it any more
}

// replaceFile writes a file of which nobody ever sees a half. The new file comes from the folder above, so that who watches
// the folder sees one move and nothing else.
func replaceFile(path string, content []byte) error {
	next := filepath.Join(filepath.Dir(filepath.Dir(path)), filepath.Base(path)+".next")
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// newFolder makes a folder for the files of a program, with folders in it. Its name is short: sockets cannot have long ones.
func newFolder(program string, inside ...string) (string, error) {
	folder, err := os.MkdirTemp("", program+"-")
	if err != nil {
		return "", fmt.Errorf("making a folder for %s: %w", program, err)
	}
	for _, name := range inside {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			return "", errors.Join(fmt.Errorf("making a folder for %s: %w", program, err), os.RemoveAll(folder))
		}
	}
	return folder, nil
}
