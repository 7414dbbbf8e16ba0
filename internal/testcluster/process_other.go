//go:build !linux

package testcluster

import "syscall"

// diesWithParent has no counterpart here: servers end with Close only.
func diesWithParent() *syscall.SysProcAttr { return nil }
