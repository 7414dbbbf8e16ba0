package netlab

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

const ipTimeout = 30 * time.Second // it takes milliseconds

// ip has the ip program carry out commands inside of the namespace, all in one run.
func (n *Namespace) ip(ctx context.Context, commands ...string) error {
	ctx, cancel := context.WithTimeout(ctx, ipTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := n.Do(cmd.Start); err != nil {
		return fmt.Errorf("starting ip: %w", err)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("ip in the network namespace %s: %w: %s", n.Name, err, strings.TrimSpace(output.String()))
	}
	return nil
}
