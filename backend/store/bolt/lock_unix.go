//go:build unix && !solaris && !aix && !android

package bolt

import (
	"errors"
	"os"
	"syscall"
	"time"

	bolterrors "go.etcd.io/bbolt/errors"
)

// lockFile takes the lock that bbolt takes, on the same open file, so that the
// file can be verified under it before bbolt reads it.
func lockFile(f *os.File, exclusive bool, timeout time.Duration) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	const pause = 50 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return err
		case waited >= timeout:
			return bolterrors.ErrTimeout
		}
		time.Sleep(pause)
	}
}
