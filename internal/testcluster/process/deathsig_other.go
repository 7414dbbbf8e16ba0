//go:build !linux

package process

import "syscall"

// diesWithParent has no counterpart here: programs end with Stop and Kill only.
func diesWithParent() *syscall.SysProcAttr { return nil }
