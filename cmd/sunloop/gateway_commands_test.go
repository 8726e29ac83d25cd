package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGatewayCommandLines: a wrong command line of the gateway's commands ends with
// exit status 2 and one sentence, before anything is searched or written; a wrong
// sources file ends serve before it listens or makes a data folder.
func TestGatewayCommandLines(t *testing.T) {
	t.Parallel()
	if got := addedText(0, 3, "f"); !strings.HasPrefix(got, "0 devices added to f (already in the file: 3); ") {
		t.Error(got)
	}
	if got := addedText(3, 3, "f"); strings.Contains(got, "already") {
		t.Error(got)
	}
	folder := t.TempDir()
	bad, roof := filepath.Join(folder, "bad.toml"), filepath.Join(folder, "roof.toml")
	for path, text := range map[string]string{
		bad:  "[site]\nid = \"a\"\n[[source]]\naddress = \"tcp://192.0.2.1:502\"\n[[source.device]]\nasset = \"x\"\nkind = \"inverter\"\nunit = \"two\"\n",
		roof: "[site]\nid = \"roof\"\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	discover := func(args ...string) []string { return append([]string{"gateway", "discover"}, args...) }
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{discover("127.0.0.1", "--units", "x"), 2, "--units: units \"x\""},
		{discover("127.0.0.1", "--port", "0"), 2, "--port 0: must be a number from 1 to 65535"},
		{discover("127.0.0.1", "--port", "70000"), 2, "--port 70000"},
		{discover("127.0.0.1", "--timeout", "0s"), 2, "--timeout 0s"},
		{discover(""), 2, "the address is empty"},
		{discover("a b"), 2, "target \"a b\""},
		{discover("ftp://x"), 2, "must begin with tcp://"},
		{discover("10.0.0.0/8"), 2, "at most 256 addresses"},
		{discover("127.0.0.1", "--add", "--sources", filepath.Join(folder, "new.toml")), 2, "--site: required"},
		{discover("127.0.0.1", "--add", "--sources", roof, "--site", "other"), 2, "has the devices of site \"roof\""},
		{discover("127.0.0.1", "--add", "--sources", roof, "--location", "no such place zzz"), 2, "--location: unknown place"},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--sources", bad}, 1, "line 8: unit must be a whole number"},
		{[]string{"gateway", "run", "--sources", bad}, 1, "line 8: unit must be a whole number"},
	} {
		var out, errs bytes.Buffer
		data := filepath.Join(folder, "data")
		status := run(context.Background(), append(tt.args, "--data", data), streams{os.Stdin, &out, &errs})
		if got := errs.String(); status != tt.status || !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: exit status %d: %q, want %d: %q", tt.args, status, got, tt.status, tt.want)
		}
		if _, err := os.Stat(data); err == nil {
			t.Fatalf("%q made the data folder", tt.args)
		}
	}
}
