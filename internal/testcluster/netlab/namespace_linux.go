package netlab

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// threadNamespace is the network namespace of the calling thread. The files of /proc/self/ns are those of the process's
// first thread.
const threadNamespace = "/proc/thread-self/ns/net"

// newNamespace makes a network namespace that lives as long as the file is open, or a socket or process is inside.
func newNamespace() (file *os.File, err error) {
	failed := andBack(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		file, err = os.Open(threadNamespace)
		return err
	})
	return file, errors.Join(err, failed)
}

// inside calls f in a network namespace.
func inside(namespace *os.File, f func()) error {
	return andBack(func() error {
		if err := enter(namespace); err != nil {
			return err
		}
		f()
		return nil
	})
}

// andBack calls f, which may change its thread's network namespace, and goes back to the one before, however f ends. A
// thread that cannot go back is not used again: it stays locked to its goroutine and ends with it.
func andBack(f func() error) (failed error) {
	runtime.LockOSThread()
	before, err := os.Open(threadNamespace)
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer before.Close() //nolint:errcheck // nothing was written
	defer func() {
		if err := enter(before); err != nil {
			failed = errors.Join(failed, fmt.Errorf("going back: %w", err))
			return
		}
		runtime.UnlockOSThread()
	}()
	return f()
}

func enter(namespace *os.File) error {
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("setns: %w", err)
	}
	return nil
}
