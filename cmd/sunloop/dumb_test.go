package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"app.sunloop/tui"
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

// A recording goes to a new file that only its user reads, and is refused for lines of text.
func TestRecordFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shift.cast")
	c := ConsoleFlags{Record: path}
	var o tui.Options
	if err := c.openRecord(&o); err != nil || o.Record == nil || c.checkRecord() != nil {
		t.Fatalf("%v, %v", err, c.checkRecord())
	}
	if err := o.Record.Close(); err != nil {
		t.Error(err)
	}
	if i, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && i.Mode()&fs.ModePerm != 0o600 {
		t.Errorf("the file is %v, %v", i, err)
	}
	if err := c.openRecord(&o); err == nil || !strings.Contains(err.Error(), path+" exists; name a new file") {
		t.Errorf("a file that exists: %v", err)
	}
	c.Record = filepath.Join(path, "x")
	if err := c.openRecord(&o); err == nil || !strings.HasPrefix(err.Error(), "--record: ") {
		t.Errorf("no folder: %v", err)
	}
	if c.Plain = true; c.checkRecord() == nil {
		t.Error("--plain is recorded")
	}
	if c.Record = ""; c.checkRecord() != nil {
		t.Error("--plain is refused without a recording")
	}
	o = tui.Options{}
	if err := c.openRecord(&o); err != nil || o.Record != nil {
		t.Errorf("without --record: %v, %v", o.Record, err)
	}
}
