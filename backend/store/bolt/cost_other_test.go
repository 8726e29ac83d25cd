//go:build !linux

package bolt

import (
	"os"
	"time"
)

// processCPU is not known here: the benchmarks report zero.
func processCPU() time.Duration { return 0 }

func syncData(f *os.File) error { return f.Sync() }
