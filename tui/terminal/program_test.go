//go:build !windows

package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"app.sunloop/themes"
)

// demo is a small console: it shows its size, the last key and the terminal's
// responses.
type demo struct {
	in   *Input
	out  *Output
	grid Grid
	w, h int
	last string
	said string
}

func (m *demo) Init() tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		a, err := Query(ctx, m.in, m.out, false)
		if err != nil {
			return err
		}
		return a
	}
}

func (m *demo) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case Answers:
		m.said = fmt.Sprintf("dark %v", msg.Dark())
	case tea.MouseMsg:
		m.last = tea.MouseEvent(msg).String()
	case tea.KeyMsg:
		for _, k := range SplitRunes(msg) {
			if k.String() == "q" {
				return m, tea.Quit
			}
			m.last = k.String()
		}
	}
	return m, nil
}

func (m *demo) View() string {
	m.grid.Reset(m.w, m.h)
	r := m.grid.All()
	r.Clear(Style{FG: themes.RGB(200, 200, 200), BG: themes.RGB(28, 28, 28)})
	inside := r.Box(LinesFor(false), Style{FG: themes.Indexed(240)})
	inside.Put(1, 0, fmt.Sprintf("size %dx%d", m.w, m.h), Style{FG: themes.RGB(255, 135, 135), Attr: themes.Bold})
	inside.Put(1, 1, "key "+m.last, Inherit)
	inside.Put(1, 2, m.said, Inherit)
	inside.Put(1, 3, "日本 🙂 Zoë", Inherit)
	return m.out.Frame(&m.grid)
}

// glass is the terminal that the console writes to.
type glass struct {
	mu     sync.Mutex
	screen *vt.Emulator
	raw    strings.Builder
	news   chan struct{}
}

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.raw.Write(p)
	n, err := g.screen.Write(p)
	select {
	case g.news <- struct{}{}:
	default:
	}
	return n, err
}

// await waits until the condition holds for the screen.
func (g *glass) await(t *testing.T, what string, holds func(screen, raw string) bool) {
	t.Helper()
	for {
		g.mu.Lock()
		screen, raw := g.screen.String(), g.raw.String()
		g.mu.Unlock()
		if holds(screen, raw) {
			return
		}
		select {
		case <-g.news:
		case <-t.Context().Done():
			t.Fatalf("never came: %s; the screen:\n%s", what, screen)
		case <-time.After(5 * time.Minute):
			t.Fatalf("never came: %s; the screen:\n%s", what, screen)
		}
	}
}

func shows(words ...string) func(string, string) bool {
	return func(screen, _ string) bool {
		for _, w := range words {
			if !strings.Contains(screen, w) {
				return false
			}
		}
		return true
	}
}

// A whole program on a real line: raw mode, size, cut keys, mouse, resize, lost screen, the terminal's answers, and a clean
// terminal at the end.
func TestProgramInPseudoTerminal(t *testing.T) {
	line, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	size := func(w, h uint16) {
		if err := pty.Setsize(line, &pty.Winsize{Cols: w, Rows: h}); err != nil {
			t.Fatal(err)
		}
	}
	size(40, 8)
	g := &glass{screen: vt.NewEmulator(40, 8), news: make(chan struct{}, 1)}
	var ends sync.WaitGroup
	ends.Go(func() { _, _ = io.Copy(g, line) })
	ends.Go(func() { _, _ = io.Copy(line, g.screen) }) // the emulator's answers

	in := NewInput(tty, InputOptions{Now: time.Now})
	out := NewOutput(tty, OutputOptions{})
	m := &demo{in: in, out: out}
	p := tea.NewProgram(m, tea.WithInput(in.Reader()), tea.WithOutput(out), tea.WithAltScreen(), tea.WithMouseCellMotion(), tea.WithFPS(60), tea.WithContext(t.Context()))
	ended := make(chan error, 1)
	go func() { _, err := p.Run(); ended <- err }()

	send := func(s string) {
		if _, err := io.WriteString(line, s); err != nil {
			t.Fatal(err)
		}
	}
	g.await(t, "first frame with the terminal's answer", shows("size 40x8", "日本 🙂 Zoë", "┌─", "dark true"))
	send("\x1b[")
	send("A")
	g.await(t, "cut arrow", shows("key up"))
	send("\x1b")
	g.await(t, "lone escape", shows("key esc"))
	send("jk")
	g.await(t, "coalesced keys", shows("key k"))
	send("\x1b[<64;3;2M")
	g.await(t, "wheel", shows("key wheel up"))
	send("\x1b]11;rgb:ffff/ffff/ffff\x1b\\x")
	g.await(t, "key after a late answer", shows("key x"))

	g.mu.Lock()
	g.screen.Resize(30, 7)
	g.mu.Unlock()
	size(30, 7)
	winch(t)
	g.await(t, "frame after the resize", shows("size 30x7", "└────────────────────────────┘"))

	// Another program writes over the screen; a size message of the same size repaints it all.
	if _, err := g.Write([]byte("\x1b[1;1Hrubbish\x1b[2;3Hrubbish")); err != nil {
		t.Fatal(err)
	}
	winch(t)
	g.await(t, "repaint", func(screen, _ string) bool { return !strings.Contains(screen, "rubbish") })
	g.mu.Lock()
	compare(t, g.screen, &m.grid, nil)
	g.mu.Unlock()

	send("q")
	if err := <-ended; err != nil {
		t.Errorf("program: %v", err)
	}
	g.await(t, "the shell's screen", func(_, raw string) bool {
		return strings.HasSuffix(raw, "\x1b[m"+leaveAlt+"\x1b[?25h") && strings.Contains(raw, "\x1b[?1002l")
	})
	_ = tty.Close()
	_ = line.Close()
	_ = g.screen.Close()
	ends.Wait()
}

// winch signals the program that the size may have changed.
func winch(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
}
