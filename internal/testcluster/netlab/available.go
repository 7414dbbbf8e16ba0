package netlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"github.com/densityops/terraform-provider-oooi/internal/testcluster"
)

// Available says why a lab cannot be made on this machine, or nil. It tries a namespace, once.
func Available() error { return available() }

var available = sync.OnceValue(func() error {
	if runtime.GOOS != "linux" {
		return errNotLinux
	}
	if os.Geteuid() != 0 {
		return errors.New("making network namespaces needs root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return fmt.Errorf("the program ip (iproute2) is missing: %w", err)
	}
	for _, name := range []string{controllerProgram, speakerProgram} {
		if _, err := testcluster.Binary(name); err != nil {
			return err
		}
	}
	return tryNamespace(context.Background()) //nolint:forbidigo // it is answered once, for all who will ask
})

// tryNamespace does what machines refuse that let nobody change their networks, containers above all.
func tryNamespace(ctx context.Context) error {
	n, err := NewNamespace(ctx, "trial")
	if err != nil {
		return err
	}
	defer n.Close()
	if err := n.ip(ctx, "link add trial type bridge", "link add one type veth peer name two"); err != nil {
		return err
	}
	return n.sysctl("net/ipv4/conf/all/arp_ignore", "1")
}
