package main

import (
	"bytes"
	"strings"
	"testing"
)

// A terminal that cannot move its cursor prints lines, and says why.
func TestDumbTerminalPrintsLines(t *testing.T) {
	for term, want := range map[string]bool{"dumb": true, "linux": false, "xterm-256color": false, "": false} {
		var errs bytes.Buffer
		c := ConsoleFlags{}
		c.plainIfDumb(streams{err: &errs}, func(string) string { return term })
		if c.Plain != want || want != strings.Contains(errs.String(), "TERM=dumb") {
			t.Errorf("TERM=%s: plain %v, %q", term, c.Plain, errs.String())
		}
	}
}
