//go:build !windows

// Package sshd serves the console over SSH: who signs in at the service gets a
// console on the channel, and nothing else. There is no shell, no command, no
// forwarding and no file transfer.
//
// It knows the service by backend/client alone; the public keys of its users,
// which a client cannot check, come in by [Keys]. What a console is comes in as
// a function.
package sshd
