//go:build unix

package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// filledFolder unpacks the data folder that the tests of upgrades keep.
func filledFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sl") // a short path, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	f, err := os.Open("../../backend/testdata/schema-2.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, "data")
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name)) //nolint:gosec // of this repository
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, b, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// anObject returns the path of an object of the folder.
func anObject(t *testing.T, dir, kind string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(filepath.Join(dir, "objects", kind), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("objects %v, %v", all, err)
	}
	slices.Sort(all)
	return all[0]
}

// ends runs a command and returns its output and its exit status. It fails if
// the command does not end.
func ends(t *testing.T, args ...string) (text string, status int) {
	t.Helper()
	var out, errs strings.Builder
	done := make(chan int, 1)
	go func() { done <- run(t.Context(), args, streams{os.Stdin, &out, &errs}) }()
	select {
	case status = <-done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%q does not end", args)
	}
	return out.String() + errs.String(), status
}

// TestDoctorFindsDamageOfTheDataFolder: doctor applies the checks of serve and of
// admin check.
func TestDoctorFindsDamageOfTheDataFolder(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for name, c := range map[string]struct {
		damage func(dir string) error
		want   string
	}{
		"whole":             {func(string) error { return nil }, "no object is missing"},
		"no database":       {func(dir string) error { return os.Remove(filepath.Join(dir, "sunloop.db")) }, "WRONG: open data in "},
		"an empty database": {func(dir string) error { return os.Truncate(filepath.Join(dir, "sunloop.db"), 0) }, "the file is empty"},
		"no key":            {func(dir string) error { return os.Remove(filepath.Join(dir, "sunloop.key")) }, "sunloop.key is missing"},
		"another key": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "sunloop.key"), make([]byte, 32), 0o600)
		}, "does not open the signing key"},
		"no objects":   {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "objects")) }, "which is not there"},
		"a cut object": {func(dir string) error { return os.Truncate(anObject(t, dir, "historical"), 1) }, "1 bytes, not"},
		"nothing":      {func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)) }, "the first start of the service makes one"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filledFolder(t)
			if err := c.damage(dir); err != nil {
				t.Fatal(err)
			}
			text, status := ends(t, "doctor", "--data", dir)
			want := 1
			if name == "whole" || name == "nothing" {
				want = 0
			}
			if status != want || !strings.Contains(text, c.want) {
				t.Errorf("status %d, without %q:\n%s", status, c.want, text)
			}
			if strings.Contains(text, "no problems") != (want == 0) {
				t.Errorf("the result:\n%s", text)
			}
		})
	}
}

// TestCommandsRefuseSpecialFiles puts named pipes, sockets, folders and devices
// into the place of the files of a data folder: every command ends with an error
// that names the file and what it is.
func TestCommandsRefuseSpecialFiles(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	kinds := map[string]struct {
		make func(path string) error
		want string
	}{
		"pipe":   {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "a named pipe"},
		"folder": {func(path string) error { return os.Mkdir(path, 0o700) }, "a directory"},
		"device": {func(path string) error { return os.Symlink("/dev/zero", path) }, "a device"},
		"socket": {func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			return l.Close()
		}, "a socket"},
	}
	commands := map[string][]string{
		"check": {"admin", "check"}, "doctor": {"doctor"}, "serve": {"serve", "--listen", "127.0.0.1:0"}, "backup": {"admin", "backup", "-"},
		"status": {"status"}, "import": {"import", "--site", "s", "../../go.mod"}, "compact": {"admin", "compact"},
		"migrate": {"admin", "migrate", "--to", "postgres://127.0.0.1:1/sunloop"},
	}
	for kind, k := range kinds {
		for _, file := range []string{"sunloop.db", "sunloop.key"} {
			dir := filledFolder(t)
			path := filepath.Join(dir, file)
			if err := errors.Join(os.Remove(path), k.make(path)); err != nil {
				t.Fatal(err)
			}
			for name, args := range commands {
				if name == "compact" && file == "sunloop.key" {
					continue // which does not need the key
				}
				text, status := ends(t, append(slices.Clone(args), "--data", dir)...)
				if status == 0 || !strings.Contains(text, file) || !strings.Contains(text, k.want) {
					t.Errorf("%s with a %s as %s: status %d\n%s", name, kind, file, status, text)
				}
			}
		}
		// An object.
		dir := filledFolder(t)
		path := anObject(t, dir, "models")
		if err := errors.Join(os.Remove(path), k.make(path)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"check", "doctor", "backup"} {
			if kind == "folder" {
				continue // it is an object that is missing
			}
			text, status := ends(t, append(slices.Clone(commands[name]), "--data", dir)...)
			if status == 0 || !strings.Contains(text, filepath.Base(path)) || !strings.Contains(text, k.want) && !(kind == "device" && name == "backup") {
				t.Errorf("%s with a %s as an object: status %d\n%s", name, kind, status, text)
			}
		}
	}
	// A file that the user names may be a pipe, as a shell makes for <(command).
	pipe := filepath.Join(t.TempDir(), "pipe.csv")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"admin", "restore", pipe}, {"import", "--site", "s", pipe}} {
		go func() {
			if err := os.WriteFile(pipe, []byte("neither a backup nor telemetry"), 0); err != nil {
				t.Error(err)
			}
		}()
		text, status := ends(t, append(args, "--data", filepath.Join(t.TempDir(), "data"))...)
		if status == 0 || strings.Contains(text, "a named pipe") {
			t.Errorf("%q: status %d\n%s", args, status, text)
		}
	}
}
