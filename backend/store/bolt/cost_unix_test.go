//go:build unix

package bolt

import (
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
