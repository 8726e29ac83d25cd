//go:build !windows

package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// A dropped line, and a request to end, close the console cleanly: the terminal is
// restored, and the data folder is free for the next one.
func TestConsoleShutdown(t *testing.T) {
	bin := binary(t)
	for name, signal := range map[string]syscall.Signal{"hangup": syscall.SIGHUP, "end": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			command := func(args ...string) *exec.Cmd {
				cmd := exec.Command(bin, append(args, "--data", dir)...)
				cmd.Env = append(os.Environ(), "TERM=xterm-256color", "HOME="+dir)
				return cmd
			}
			cmd := command()
			terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
			if err != nil {
				t.Fatal(err)
			}
			defer terminal.Close()
			seen, answered := "", false
			buffer := make([]byte, 4096)
			for {
				n, err := terminal.Read(buffer)
				seen += string(buffer[:n])
				if !answered && strings.Contains(seen, "administrator") {
					answered = true
					if err := cmd.Process.Signal(signal); err != nil {
						t.Fatal(err)
					}
				}
				if err != nil {
					break
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ended as %v", err)
			}
			if !strings.Contains(seen, "\x1b[?1049l") || !strings.Contains(seen, "\x1b[?25h") {
				t.Errorf("the terminal was not restored: %q", seen[max(len(seen)-200, 0):])
			}
			if out, err := command("status").CombinedOutput(); err != nil {
				t.Errorf("the data folder is not free: %v\n%s", err, out)
			}
		})
	}
}
