//go:build windows

package terminal

import (
	"os"
	"time"
)

// fileSource is a console's file. Bubble Tea reads the Windows console by events of its own, which are never cut, so only
// redirected input comes through here.
type fileSource struct{ *os.File }

// Ready never waits.
func (f fileSource) Ready(time.Duration) bool { return false }
