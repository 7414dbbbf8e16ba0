package simulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// stopGrace is how long the program may take to end by itself.
const stopGrace = 3 * time.Second

// RealController runs MetalLB's own controller program.
type RealController struct {
	Binary     string
	Kubeconfig string
	Namespace  string
	LogFile    string // appended to; empty discards
}

// Start starts the program. It is a StartOperand.
func (c RealController) Start(ctx context.Context, loadBalancerClass string) (Operand, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	args := []string{
		"--kubeconfig", c.Kubeconfig, "--namespace", c.Namespace,
		"--webhook-mode", "disabled", "--port", strconv.Itoa(port),
	}
	if loadBalancerClass != "" {
		args = append(args, "--lb-class", loadBalancerClass)
	}
	p := &controllerProcess{port: port, started: make(chan error, 1), ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, c.Binary, args...)
	p.cmd.Cancel = func() error { return p.signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = stopGrace
	p.cmd.SysProcAttr = endsWithParent()
	if err := p.start(c.LogFile); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Binary, err)
	}
	return p, nil
}

// controllerProcess is one run of the program.
type controllerProcess struct {
	cmd     *exec.Cmd
	port    int
	started chan error
	ended   chan struct{}
	err     error // valid once ended is closed
}

// start runs the program from a thread of its own that lives as long as the program: the kernel delivers the parent
// death signal when the *thread* that forked ends, and Go ends threads as it likes.
func (p *controllerProcess) start(logFile string) error {
	if logFile != "" {
		log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("opening log: %w", err)
		}
		defer log.Close() //nolint:errcheck // the program has a descriptor of its own
		p.cmd.Stdout, p.cmd.Stderr = log, log
	}
	go func() {
		defer close(p.ended)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		p.started <- err
		if err == nil {
			p.err = p.cmd.Wait()
		}
	}()
	return <-p.started
}

// Ready tells whether the program answers for its metrics. Its caches fill in the same moment, so that it allocates soon
// after.
func (p *controllerProcess) Ready(ctx context.Context) (bool, error) {
	select {
	case <-p.ended:
		return false, fmt.Errorf("process ended: %w", p.err)
	default:
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/metrics", p.port), http.NoBody)
	if err != nil {
		return false, fmt.Errorf("asking for metrics: %w", err)
	}
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return false, nil //nolint:nilerr // not listening yet is the answer, not a failure
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK, nil
}

// Stop ends the program by its process ID, also while it is paused.
func (p *controllerProcess) Stop() error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := p.signal(syscall.SIGCONT); err != nil {
		return err
	}
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-p.ended:
		return nil
	case <-timer.C:
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.ended
	return nil
}

// Pause stops the program in its tracks: it stays connected and does nothing, like a MetalLB that is slow to react.
func (p *controllerProcess) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume lets a paused program go on.
func (p *controllerProcess) Resume() error { return p.signal(syscall.SIGCONT) }

func (p *controllerProcess) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %s: %w", s, err)
	}
	return nil
}

// freePort asks the kernel for a port that nobody listens on.
func freePort(ctx context.Context) (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	defer listener.Close() //nolint:errcheck // nothing was ever accepted on it
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("looking for a free port: unexpected address %s", listener.Addr())
	}
	return address.Port, nil
}
