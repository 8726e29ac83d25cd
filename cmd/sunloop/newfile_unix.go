//go:build unix && !solaris && !illumos && !aix

package main

import (
	"os"
	"syscall"
)

// holdFile locks f until it is closed or the process ends. It fails if
// another process holds it.
func holdFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
