package bolt

import (
	"os"
	"syscall"
)

// syncData is the system call that a commit waits for.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
