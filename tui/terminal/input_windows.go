//go:build windows

package terminal

import (
	"os"
	"time"
)

// fileSource is a console's file. Bubble Tea reads the Windows console by its
// own events, which are never split, so only redirected input is read here.
type fileSource struct{ *os.File }

// Ready never waits.
func (f fileSource) Ready(time.Duration) bool { return false }

// cell is unknown: the Windows console does not state its size in pixels.
func (f fileSource) cell() PixelSize { return PixelSize{} }
