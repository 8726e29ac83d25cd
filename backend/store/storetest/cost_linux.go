package storetest

import (
	"syscall"
	"time"
)

// ProcessCPU is the processor time that this process has used, its own and the
// system's for it. On a machine that others use too only this can be compared.
func ProcessCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
