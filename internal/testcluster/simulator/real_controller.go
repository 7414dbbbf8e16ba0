package simulator

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster/process"
)

// RealController runs MetalLB's own controller program.
type RealController struct {
	Binary     string
	Kubeconfig string
	Namespace  string
	LogFile    string // appended to; empty discards
}

// Start starts the program. It is a StartOperand.
func (c RealController) Start(ctx context.Context, loadBalancerClass string) (Operand, error) {
	ports, err := process.FreePorts(ctx, 1)
	if err != nil {
		return nil, err
	}
	args := []string{
		"--kubeconfig", c.Kubeconfig, "--namespace", c.Namespace,
		"--webhook-mode", "disabled", "--port", strconv.Itoa(ports[0]),
	}
	if loadBalancerClass != "" {
		args = append(args, "--lb-class", loadBalancerClass)
	}
	program, err := process.Start(process.Options{Program: c.Binary, Args: args, LogFile: c.LogFile})
	if err != nil {
		return nil, err
	}
	p := &controllerProcess{Process: program, port: ports[0]}
	p.release = context.AfterFunc(ctx, p.Process.Stop)
	return p, nil
}

// controllerProcess is one run of the program.
type controllerProcess struct {
	*process.Process

	port    int
	release func() bool // lets go of the context
}

// Ready tells whether the program answers for its metrics. Its caches fill in the same moment, so that it allocates soon
// after.
func (p *controllerProcess) Ready(ctx context.Context) (bool, error) {
	if err := p.Err(); err != nil {
		return false, err
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

// Stop ends the program, also while it is paused.
func (p *controllerProcess) Stop() error {
	p.release()
	p.Process.Stop()
	return nil
}
