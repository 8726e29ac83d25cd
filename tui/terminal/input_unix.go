//go:build !windows

package terminal

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// fileSource is a terminal's file.
type fileSource struct{ *os.File }

// Ready waits with select(2), which works for terminals on every Unix; poll(2)
// does not on macOS.
func (f fileSource) Ready(d time.Duration) bool {
	fd := int(f.Fd())
	if fd < 0 || fd >= unix.FD_SETSIZE {
		return false
	}
	for {
		var set unix.FdSet
		set.Set(fd)
		wait := unix.NsecToTimeval(d.Nanoseconds())
		n, err := unix.Select(fd+1, &set, nil, nil, &wait)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n > 0
	}
}
