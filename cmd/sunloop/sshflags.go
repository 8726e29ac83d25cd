package main

import (
	"errors"
	"fmt"
	"time"
)

// SSHFlags bound the consoles that are served over SSH.
type SSHFlags struct {
	UserSessions int           `default:"4" env:"SUNLOOP_SSH_USER_SESSIONS" help:"Maximum number of consoles over SSH per user (${default})."`
	Sessions     int           `default:"64" env:"SUNLOOP_SSH_SESSIONS" help:"Maximum number of consoles over SSH (${default})."`
	Idle         time.Duration `default:"8h" placeholder:"DURATION" env:"SUNLOOP_SSH_IDLE" help:"Time without input after which a console over SSH is closed (${default}; 0: never)."`
	SignInTime   time.Duration `default:"2m" placeholder:"DURATION" env:"SUNLOOP_SSH_SIGN_IN_TIME" help:"Time limit of a sign-in over SSH (${default})."`
}

// check validates the flags; prefix precedes their names.
func (f SSHFlags) check(prefix string) error {
	switch {
	case f.UserSessions < 1:
		return fmt.Errorf("%suser-sessions is a number above 0, not %d", prefix, f.UserSessions)
	case f.Sessions < 1:
		return fmt.Errorf("%ssessions is a number above 0, not %d", prefix, f.Sessions)
	case f.Idle < 0:
		return fmt.Errorf("%sidle is 0 or more, not %s", prefix, f.Idle)
	case f.SignInTime < time.Second:
		return fmt.Errorf("%ssign-in-time is a second or more, not %s", prefix, f.SignInTime)
	}
	return nil
}

// errOnePerson refuses a credential for a server of consoles.
var errOnePerson = errors.New("--token (SUNLOOP_TOKEN) is one person's; over SSH everybody signs in")
