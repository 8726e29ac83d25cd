//go:build !linux

package faultfs

// Enter returns ErrUnsupported: only Linux lets a process be watched.
func Enter() (bool, error) { return false, ErrUnsupported }
