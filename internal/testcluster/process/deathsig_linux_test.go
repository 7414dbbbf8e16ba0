package process_test

import (
	"syscall"
	"testing"
)

// Ctrl-C goes to the process group of whoever sits at the terminal. Programs outlive it for as long as their parent does.
func TestGroupOfItsOwn(t *testing.T) {
	t.Parallel()
	p := start(t, "echo up; exec sleep 1000")
	if group, err := syscall.Getpgid(p.PID()); err != nil || group != p.PID() {
		t.Errorf("process %d is in group %d (%v), want its own", p.PID(), group, err)
	}
}
