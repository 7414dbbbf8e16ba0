package simulator

import "syscall"

// endsWithParent makes the kernel end a program whose parent was killed, so that no MetalLB outlives its test.
func endsWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
