//go:build !windows

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/internal/longtest"
)

// window is a window of tmux, a terminal that answers as real ones do.
type window struct {
	t      *testing.T
	socket string
}

// openWindow runs a command line in a window of that size.
func openWindow(t *testing.T, w, h int, env []string, command string) *window {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	x := &window{t, filepath.Join(t.TempDir(), "tmux")}
	args := []string{"-f", "/dev/null", "start-server", ";", "set", "-g", "remain-on-exit", "on", ";", "set", "-g", "default-terminal", "tmux-256color", ";",
		"new-session", "-d", "-s", "s", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h)}
	for _, e := range env {
		args = append(args, "-e", e)
	}
	x.tmux(append(args, command)...)
	t.Cleanup(func() { x.tmux("kill-server") })
	return x
}

func (x *window) tmux(args ...string) string {
	x.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", x.socket}, args...)...)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (x *window) keys(keys ...string) { x.tmux(append([]string{"send-keys", "-t", "s"}, keys...)...) }

// shows waits until the window holds all the words.
func (x *window) shows(words ...string) string {
	x.t.Helper()
	return x.becomes(fmt.Sprintf("%q", words), func(screen string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(screen, w) })
	})
}

func (x *window) becomes(what string, is func(screen string) bool) string {
	x.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		screen := x.tmux("capture-pane", "-t", "s", "-p", "-e")
		plain := regexp.MustCompile("\x1b\\[[0-9;:]*m").ReplaceAllString(screen, "")
		if is(plain) {
			return screen
		}
		if time.Now().After(end) {
			x.t.Fatalf("%s never came:\n%s", what, plain)
		}
	}
}

// The demo in a real terminal: it draws, answers keys, the mouse and a new
// size, and gives the terminal back as it was.
func TestRealTerminal(t *testing.T) {
	longtest.Mark(t)
	bin := binary(t)
	dir := t.TempDir()
	x := openWindow(t, 120, 36, []string{"HOME=" + dir, "COLORTERM=truecolor", "NO_COLOR="}, "echo before; "+bin+" demo --data "+filepath.Join(dir, "data")+"; echo after $?; exec cat")
	x.shows("Fleet", "Sibaya")
	x.keys("Escape")
	screen := x.shows("1 Observe", "2 Orient", "INV-")
	if !strings.Contains(screen, "\x1b[38;2;") && !strings.Contains(screen, "\x1b[38;5;") {
		t.Error("there is no colour")
	}
	if x.tmux("display", "-p", "-t", "s", "#{alternate_on}") != "1\n" {
		t.Error("the console is not on the alternate screen")
	}
	x.keys("2")
	x.shows("┌ 2 Orient")
	x.keys("g", "u")
	x.shows("Uploads", "What was inferred")
	x.keys("Escape")
	x.shows("┌ 2 Orient")
	x.tmux("resize-window", "-t", "s", "-x", "80", "-y", "24")
	x.shows("1 Observe   2 Orient   3 Decide   4 Act")
	x.tmux("resize-window", "-t", "s", "-x", "200", "-y", "60")
	x.shows("┌ 1 Observe", "┌ 2 Orient", "┌ 3 Decide", "┌ 4 Act")
	x.keys("q")
	x.shows("before", "after 0")
	if is := x.tmux("display", "-p", "-t", "s", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"); is != "0 1 0\n" {
		t.Errorf("the terminal was not restored: %q", is)
	}
}

// Without colours and in ASCII nothing but text reaches the terminal.
func TestRealTerminalPlain(t *testing.T) {
	bin := binary(t)
	dir := t.TempDir()
	x := openWindow(t, 80, 24, []string{"HOME=" + dir, "NO_COLOR=1"}, bin+" demo --ascii --data "+filepath.Join(dir, "data"))
	x.shows("Fleet", "Sibaya")
	x.keys("Escape")
	screen := x.shows("1 Observe", "INV-")
	if regexp.MustCompile(`\x1b\[[0-9;:]*(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;:m]`).MatchString(screen) {
		t.Errorf("there is a colour: %q", screen)
	}
	for _, r := range screen {
		if r > 0x7e {
			t.Fatalf("%q is not ASCII", r)
		}
	}
	x.keys("C-c", "C-c")
	x.becomes("the end", func(string) bool { return x.tmux("display", "-p", "-t", "s", "#{pane_dead}") == "1\n" })
}
