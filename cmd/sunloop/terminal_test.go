//go:build !windows

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"app.sunloop/internal/longtest"
)

// binary is the sunloop program for the tests that need a process: the one that
// SUNLOOP_TEST_PROGRAM names, or one that is built for all tests.
func binary(t testing.TB) string {
	t.Helper()
	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildProgram = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("SUNLOOP_TEST_PROGRAM"); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "sunloop-program-")
	if err != nil {
		return "", err
	}
	leftovers = append(leftovers, dir)
	path := filepath.Join(dir, "sunloop")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
})

// TestUnresponsiveTerminal runs commands in a terminal that never answers: none of
// them may ask it anything, or they would wait for the answer.
func TestUnresponsiveTerminal(t *testing.T) {
	bin, dir := binary(t), t.TempDir()
	question := regexp.MustCompile("\x1b[\\[\\]P_]")
	for _, args := range [][]string{{"status"}, {"findings"}, {"kpi"}, {"version"}, {"keys"}, {"serve", "--listen", "127.0.0.1:0"}} {
		t.Run(args[0], func(t *testing.T) {
			cmd := exec.Command(bin, append(args, "--data", dir)...)
			cmd.Env = append(os.Environ(), "TERM=xterm-256color", "HOME="+dir)
			terminal, err := pty.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			defer terminal.Close()
			var out strings.Builder
			lines := bufio.NewScanner(terminal)
			for lines.Scan() { // a closed pseudo-terminal ends as an error
				out.Write(lines.Bytes())
				if strings.Contains(lines.Text(), "serving") { // until stopped
					if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %v", args, err)
			}
			if question.MatchString(out.String()) {
				t.Errorf("%v sent escape sequences: %q", args, out.String())
			}
		})
	}
}

// TestKilledImport kills the process in the middle of imports and starts it
// again: what was acknowledged is finished, and nothing is half there.
func TestKilledImport(t *testing.T) {
	longtest.Mark(t)
	bin, dir := binary(t), t.TempDir()
	var file strings.Builder
	file.WriteString("time,power_kw\n")
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	const rows = 20000
	for i := range rows {
		at := start.Add(time.Duration(i) * 5 * time.Minute)
		file.WriteString(at.Format(time.RFC3339))
		file.WriteString(",1.5\n")
	}
	path := filepath.Join(dir, "meter.csv")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(bin, append(args, "--data", filepath.Join(dir, "data"))...)
		cmd.Env = append(os.Environ(), "HOME="+dir)
		return cmd
	}
	for _, after := range []time.Duration{20 * time.Millisecond, 120 * time.Millisecond, 300 * time.Millisecond} {
		cmd := run("import", path, "--site", "roof", "--tz", "UTC", "--capacity-kw", "5")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after) // wherever it is by then
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		if out, err := run("status").CombinedOutput(); err != nil {
			t.Fatalf("status after a kill: %v\n%s", err, out)
		}
	}
	out, err := run("import", path, "--site", "roof", "--tz", "UTC", "--capacity-kw", "5").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "20000 rows stored") {
		t.Fatalf("import: %v\n%s", err, out)
	}
}
