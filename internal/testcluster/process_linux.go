package testcluster

import "syscall"

// diesWithParent makes the kernel end a child whose parent was killed, so that no server outlives its tests.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
