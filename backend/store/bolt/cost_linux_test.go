package bolt

import (
	"os"
	"syscall"
	"time"
)

// processCPU is the processor time that this process has used, its own and the
// system's for it.
func processCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// syncData is the system call that a commit waits for.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
