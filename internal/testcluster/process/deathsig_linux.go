package process

import "syscall"

// diesWithParent makes the kernel end a child whose parent was killed, so that nothing outlives its tests. The child is in a
// process group of its own: Ctrl-C is for the parent, which may still need it.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
