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

// cell returns the size of a cell by the size of the terminal in pixels, which not every
// terminal states.
func (f fileSource) cell() PixelSize {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return PixelSize{}
	}
	return PixelSize{int(size.Xpixel / size.Col), int(size.Ypixel / size.Row)}
}
