package process

import "syscall"

// diesWithParent makes the kernel end a child whose parent was killed, so that nothing outlives its tests.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
