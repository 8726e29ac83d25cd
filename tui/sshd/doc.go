//go:build !windows

// Package sshd serves the console over SSH: a user who signs in at the service
// gets a console on the channel, and nothing else. There is no shell, no
// command, no forwarding and no file transfer.
//
// It uses the service through backend/client only; the public keys of users,
// which a client cannot check, are provided by [Keys]. The console is a
// function passed in.
package sshd
