// Package longtest marks the tests that take long. `make test` leaves them out,
// `make test-long` and CI run them.
package longtest

import (
	"os"
	"testing"
)

// Variable is the environment variable with which tests marked by Mark run.
const Variable = "SUNLOOP_TEST_LONG"

// Enabled reports whether tests that take long run.
func Enabled() bool { return os.Getenv(Variable) != "" }

// Mark skips the calling test unless Variable is set.
func Mark(t testing.TB) {
	t.Helper()
	if !Enabled() {
		t.Skip("it takes long: set " + Variable + ", or run make test-long")
	}
}
