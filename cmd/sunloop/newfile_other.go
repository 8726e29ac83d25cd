//go:build !linux

package main

import (
	"errors"
	"os"
)

// openUnnamed makes a file that has no name yet, which this system cannot.
func openUnnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func linkUnnamed(*os.File, string) error { return errors.ErrUnsupported }
