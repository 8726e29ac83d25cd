//go:build windows

package backend

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// diskSpace is what is free for this user on the disk that holds a folder, and
// its size, in bytes.
func diskSpace(dir string) (free, size uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("ask for the free space of %s: %w", dir, err)
	}
	if err := windows.GetDiskFreeSpaceEx(path, &free, &size, nil); err != nil {
		return 0, 0, fmt.Errorf("ask for the free space of %s: %w", dir, err)
	}
	return free, size, nil
}
