//go:build !linux && !darwin && !freebsd

package socket

func socketUser(int) (int, error) { return 0, errNoPeer }
