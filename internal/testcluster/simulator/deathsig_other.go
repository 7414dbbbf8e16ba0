//go:build !linux

package simulator

import "syscall"

// endsWithParent has no counterpart here: the program ends with Stop only.
func endsWithParent() *syscall.SysProcAttr { return nil }
