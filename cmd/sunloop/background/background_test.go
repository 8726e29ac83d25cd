//go:build !windows

package background_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/creack/pty"

	_ "app.sunloop/cmd/sunloop/background"
)

const asChild = "SUNLOOP_BACKGROUND_CHILD"

// TestMain is also the child's main: it has Bubble Tea linked in and says that it got past every init.
func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		_ = tea.Quit // linked in, so its init has run
		_, _ = os.Stdout.WriteString("ready\n")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// In a terminal that never answers, a program that links Bubble Tea sends no
// byte by itself.
func TestUnresponsiveTerminalIsNotQueried(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asChild+"=1", "TERM=xterm-256color", "COLORTERM=")
	line, err := pty.Start(cmd)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	defer func() { _ = line.Close() }()
	var got bytes.Buffer
	// The read ends with an error when the child has closed its side; what came before is what counts.
	_, _ = io.Copy(&got, line)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("child: %v, said %q", err, got.String())
	}
	if got.String() != "ready\r\n" {
		t.Errorf("the terminal was sent %q", got.String())
	}
}
