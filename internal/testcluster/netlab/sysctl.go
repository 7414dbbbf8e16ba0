package netlab

import (
	"fmt"
	"os"
)

// sysctl sets a switch of the kernel inside of the namespace; the files show the network of the thread that opens them.
func (n *Namespace) sysctl(name, value string) error {
	err := n.Do(func() error { return os.WriteFile("/proc/sys/"+name, []byte(value), 0o600) })
	if err != nil {
		return fmt.Errorf("setting %s in the network namespace %s: %w", name, n.Name, err)
	}
	return nil
}
