//go:build !linux

package storetest

import "time"

// ProcessCPU is not known here: benchmarks report zero.
func ProcessCPU() time.Duration { return 0 }
