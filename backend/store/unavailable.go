package store

import "errors"

// Reason is why a home is not available, in words that may reach strangers;
// empty for an error that does not wrap [ErrUnavailable].
func Reason(err error) string {
	if !errors.Is(err, ErrUnavailable) {
		return ""
	}
	var told interface{ Reason() string }
	if errors.As(err, &told) {
		return told.Reason()
	}
	return ErrUnavailable.Error()
}
