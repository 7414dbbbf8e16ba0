package netlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

const (
	reloadPoll = 5 * time.Millisecond
	// reloadTimeout is for a program that does not say what it thinks of its configuration; a busy one takes a while.
	reloadTimeout = 10 * time.Second
)

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
