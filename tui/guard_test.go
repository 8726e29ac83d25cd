//go:build !windows

package tui

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
)

// panicking names the log file of the process that TestPanicGivesTheTerminalBack
// starts: this test binary, which is the console then.
const panicking = "SUNLOOP_TEST_PANICKING"

// panics returns a console whose log screen panics.
func panics(logFile string) error {
	f, err := os.Create(logFile)
	if err != nil {
		return err
	}
	defer f.Close()
	theme, _ := themes.Find(themes.Builtin(), themes.ControlRoom)
	service := plant.NewService(time.Now, plant.New())
	c := client.New(client.Options{Transport: client.InProcess(http.HandlerFunc(service.ServeHTTP)), Credential: "token"})
	defer c.Close()
	return Run(context.Background(), Options{
		Client: c, Source: "test", Now: time.Now, Keys: keymap.Default(), Log: slog.New(slog.NewTextHandler(f, nil)), Theme: theme, Themes: themes.Builtin(),
		LogLines: func() []string { panic("there is no log") }, In: os.Stdin, Out: os.Stdout, Mouse: true,
	})
}

// A panic ends the console: the terminal is restored, the reason is printed in
// a line, and the log has the stack.
func TestPanicGivesTheTerminalBack(t *testing.T) {
	if file := os.Getenv(panicking); file != "" {
		if err := panics(file); err != nil {
			fmt.Println("ended:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	logFile := filepath.Join(t.TempDir(), "console.log")
	cmd := exec.Command(os.Args[0], "-test.run=^TestPanicGivesTheTerminalBack$")
	cmd.Env = append(os.Environ(), panicking+"="+logFile, "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 36, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	seen, typed := "", false
	buffer := make([]byte, 4096)
	for {
		n, err := terminal.Read(buffer)
		seen += string(buffer[:n])
		if !typed && strings.Contains(seen, "Observe") {
			typed = true
			if _, err := io.WriteString(terminal, "gl"); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil { // a closed pseudo-terminal ends as an error
			break
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended as %v", err)
	}
	_, after, left := strings.Cut(seen, "\x1b[?1049l")
	if !left || !strings.Contains(after, "ended: console failed: there is no log") {
		t.Errorf("the alternate screen was left: %v; then %q", left, after)
	}
	for _, mode := range []string{"\x1b[?1002l", "\x1b[?2004l", "\x1b[?25h"} { // mouse, pastes, cursor
		if !strings.Contains(seen, mode) {
			t.Errorf("%q is missing", mode)
		}
	}
	b, err := os.ReadFile(logFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"console panicked", "there is no log", "guard_test.go"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the log lacks %q: %.300s", want, b)
		}
	}
}
