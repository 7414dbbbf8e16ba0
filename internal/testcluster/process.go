package testcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	startTimeout = 3 * time.Minute // a busy machine with few cores, several servers starting at once
	stopTimeout  = 5 * time.Second
	startPoll    = 20 * time.Millisecond
	logTail      = 4 << 10
)

// process is a server in a process of its own, with its output in a file.
type process struct {
	name    string
	logFile string
	cmd     *exec.Cmd
	exited  chan struct{}
	err     error // why it exited; to be read after exited is closed
}

// startProcess starts a program that lives until Stop, not until a context ends: it serves many tests.
func startProcess(path, logFile string, args ...string) (*process, error) {
	output, err := os.Create(logFile)
	if err != nil {
		return nil, fmt.Errorf("creating the log file of %s: %w", filepath.Base(path), err)
	}
	p := &process{
		name:    filepath.Base(path),
		logFile: logFile,
		cmd:     exec.Command(path, args...), //nolint:noctx // it outlives the test that happens to start it
		exited:  make(chan struct{}),
	}
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.cmd.SysProcAttr = diesWithParent()

	started := make(chan error, 1)
	go func() {
		// The death signal follows the thread that forked, not the process: this thread must stay for as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.exited)
		defer output.Close() //nolint:errcheck // written by the child only
		err := p.cmd.Start()
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
func (p *process) Ready(ctx context.Context, probe func(context.Context) error) error {
	last := errors.New("not asked yet")
	err := wait.PollUntilContextTimeout(ctx, startPoll, startTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.exited:
			return false, fmt.Errorf("it exited: %w", p.err)
		default:
		}
		last = probe(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w (last answer: %w)\n%s", p.name, err, last, p.tail())
	}
	return nil
}

// Stop ends the process: politely first, then not. It is safe to call more than once.
func (p *process) Stop() {
	if p.signal(os.Interrupt) {
		select {
		case <-p.exited:
			return
		case <-time.After(stopTimeout):
		}
	}
	p.Kill()
}

// Kill ends the process at once: nobody needs what it would still save.
func (p *process) Kill() {
	if p.signal(os.Kill) {
		<-p.exited
	}
}

func (p *process) signal(signal os.Signal) bool {
	select {
	case <-p.exited:
		return false
	default:
		return p.cmd.Process.Signal(signal) == nil
	}
}

// tail is the end of what the process printed, for error messages.
func (p *process) tail() string {
	content, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	if len(content) > logTail {
		content = content[len(content)-logTail:]
	}
	return string(bytes.TrimSpace(content))
}

// freePorts reserves loopback ports for servers that cannot be told to choose one and say which. All are held until all
// are chosen, so that they differ.
func freePorts(ctx context.Context, count int) ([]int, error) {
	var (
		ports     []int
		listeners []net.Listener
		config    net.ListenConfig
	)
	defer func() {
		for _, listener := range listeners {
			_ = listener.Close() // nothing was ever accepted on it
		}
	}()
	for range count {
		listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		listeners = append(listeners, listener)
		address, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("looking for a free port: got the address %s", listener.Addr())
		}
		ports = append(ports, address.Port)
	}
	return ports, nil
}

// UnreachableURL is an API address that refuses every connection: a loopback port that nobody listens on.
func UnreachableURL(ctx context.Context) (string, error) {
	ports, err := freePorts(ctx, 1)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("https://127.0.0.1:%d", ports[0]), nil
}
