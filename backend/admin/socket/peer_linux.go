package socket

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

func peerOf(c *net.UnixConn) (p peer) {
	raw, err := c.SyscallConn()
	if err != nil {
		return peer{err: err}
	}
	var who *unix.Ucred
	var asking error
	err = raw.Control(func(fd uintptr) { who, asking = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(err, asking); err != nil {
		return peer{err: err}
	}
	return peer{user: int(who.Uid), known: true}
}
