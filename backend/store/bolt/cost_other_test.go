//go:build !unix

package bolt

import "time"

// processCPU is not known here: the benchmarks report zero.
func processCPU() time.Duration { return 0 }
