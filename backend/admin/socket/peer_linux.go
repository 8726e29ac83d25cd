package socket

import "golang.org/x/sys/unix"

// socketUser returns the user of the peer of a Unix socket.
func socketUser(fd int) (user int, err error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(c.Uid), nil
}
