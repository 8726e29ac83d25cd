//go:build !linux

package faultfs

// Enter answers ErrUnsupported: only Linux lets a process be watched.
func Enter() (bool, error) { return false, ErrUnsupported }
