//go:build unix

package regularfile

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir, err := os.MkdirTemp("", "rf") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	at := func(name string) string { return filepath.Join(dir, name) }
	socket, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	err = errors.Join(os.WriteFile(at("file"), []byte("content"), 0o600), syscall.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("folder"), 0o700),
		os.Symlink(at("file"), at("link")), os.Symlink(at("pipe"), at("link to pipe")), os.Symlink("/dev/null", at("device")))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"pipe": "a named pipe", "link to pipe": "a named pipe", "folder": "a directory", "socket": "a socket", "device": "a device"} {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_CREATE | os.O_APPEND} {
			f, err := OpenFile(at(name), flag, 0o600)
			var refused *Error
			if !errors.As(err, &refused) || f != nil || err.Error() != "open "+at(name)+": it is "+want+", not a regular file" {
				t.Errorf("%s with %#x: %v", name, flag, err)
			}
		}
		if _, err := Read(at(name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read %s: %v", name, err)
		}
	}
	for _, name := range []string{"file", "link"} {
		if b, err := Read(at(name)); err != nil || string(b) != "content" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := Open(at("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	f, err := OpenFile(at("new"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("x"); err != nil || f.Close() != nil {
		t.Errorf("write a new file: %v", err)
	}
}
