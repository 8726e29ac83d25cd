//go:build windows

package health

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// DiskSpace returns the bytes that are free for this user on the disk that holds a
// folder, and its size.
func DiskSpace(dir string) (free, size uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("ask for the free space of %s: %w", dir, err)
	}
	if err := windows.GetDiskFreeSpaceEx(path, &free, &size, nil); err != nil {
		return 0, 0, fmt.Errorf("ask for the free space of %s: %w", dir, err)
	}
	return free, size, nil
}
