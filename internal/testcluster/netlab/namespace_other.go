//go:build !linux

package netlab

import "os"

func newNamespace() (*os.File, error) { return nil, errNotLinux }

func inside(*os.File, func()) error { return errNotLinux }
