//go:build !windows

package health

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// DiskSpace returns the bytes that are free for this user on the disk that holds a
// folder, and its size.
func DiskSpace(dir string) (free, size uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, fmt.Errorf("ask for the free space of %s: %w", dir, err)
	}
	block := uint64(st.Bsize)                                //nolint:gosec // the size of a block is positive
	return uint64(st.Bavail) * block, st.Blocks * block, nil //nolint:unconvert // it is signed on some systems
}
