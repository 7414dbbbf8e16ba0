// Package process runs the programs of the test clusters: each ends with the process that started it, and writes into a
// file what it has to say.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	startTimeout = 3 * time.Minute // a busy machine with few cores, several programs starting at once
	stopTimeout  = 3 * time.Second
	startPoll    = 20 * time.Millisecond
	logTail      = 4 << 10
)

// Options say what to start.
type Options struct {
	Program string
	Args    []string
	Env     []string // on top of the own environment
	LogFile string   // appended to; empty discards

	// Inside calls what it is given on the calling thread, somewhere else: inside of a network namespace. Optional.
	Inside func(start func() error) error
}

// Process is a program in a process of its own.
type Process struct {
	name    string
	logFile string
	cmd     *exec.Cmd
	exited  chan struct{}
	err     error // why it exited; to be read after exited is closed
}

// Start starts a program. No context ends it, only Stop, Kill and the end of this process: many programs serve more than
// whoever started them.
func Start(options Options) (*Process, error) {
	p := &Process{
		name:    filepath.Base(options.Program),
		logFile: options.LogFile,
		cmd:     exec.Command(options.Program, options.Args...), //nolint:noctx // see above
		exited:  make(chan struct{}),
	}
	if options.LogFile != "" {
		output, err := os.OpenFile(options.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("opening the log file of %s: %w", p.name, err)
		}
		defer output.Close() //nolint:errcheck // the program has a descriptor of its own
		p.cmd.Stdout, p.cmd.Stderr = output, output
	}
	if options.Env != nil {
		p.cmd.Env = append(os.Environ(), options.Env...)
	}
	p.cmd.SysProcAttr = diesWithParent()
	inside := options.Inside
	if inside == nil {
		inside = func(start func() error) error { return start() }
	}
	started := make(chan error, 1)
	go func() {
		// The death signal follows the thread that forked, not the process: this thread must stay for as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.exited)
		err := inside(p.cmd.Start)
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	return p, nil
}

// Ready waits until the probe succeeds, and fails at once when the process exits before.
func (p *Process) Ready(ctx context.Context, probe func(context.Context) error) error {
	last := errors.New("not asked yet")
	err := wait.PollUntilContextTimeout(ctx, startPoll, startTimeout, true, func(ctx context.Context) (bool, error) {
		if err := p.Err(); err != nil {
			return false, err
		}
		last = probe(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w (last answer: %w)\n%s", p.name, err, last, p.Tail())
	}
	return nil
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err says why the process is of no more use; it is nil while the process lives.
func (p *Process) Err() error {
	select {
	case <-p.exited:
	default:
		return nil
	}
	if p.err == nil {
		return errors.New("it exited")
	}
	return fmt.Errorf("it exited: %w", p.err)
}

// PID is the ID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop ends the process, also a paused one: politely first, then not. It returns when the process has ended, and may be
// called more than once.
func (p *Process) Stop() {
	if p.Signal(syscall.SIGTERM) == nil && p.Resume() == nil {
		timer := time.NewTimer(stopTimeout)
		defer timer.Stop()
		select {
		case <-p.exited:
			return
		case <-timer.C:
		}
	}
	p.Kill()
}

// Kill ends the process at once and returns when it has ended.
func (p *Process) Kill() {
	if p.Signal(os.Kill) == nil {
		<-p.exited
	}
}

// Pause stops the process in its tracks: it stays connected and does nothing.
func (p *Process) Pause() error { return p.Signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }

// Signal sends a signal. To a process that has ended it sends none, and that is no error.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %s to %s: %w", signal, p.name, err)
	}
	return nil
}

// Tail is the end of what the process printed, for error messages.
func (p *Process) Tail() string {
	file, err := os.Open(p.logFile)
	if err != nil {
		return err.Error()
	}
	defer file.Close() //nolint:errcheck // read only
	if info, err := file.Stat(); err == nil && info.Size() > logTail {
		_, _ = file.Seek(-logTail, io.SeekEnd) // else it is all of it
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(content))
}
