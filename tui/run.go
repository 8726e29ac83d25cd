package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/tui/layout"
	"app.sunloop/tui/terminal"
)

// Default limits of frames per second, at a local terminal and over SSH. The effect of
// a key is always drawn at once.
const (
	fastFPS = 20
	slowFPS = 10
)

// Run shows the console until the user quits or ctx ends, and restores the terminal.
func Run(ctx context.Context, o Options) error {
	ended := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	remote := terminal.Remote(o.getenv)
	if o.FPS <= 0 {
		// Each tick of the ticker has a cost even if nothing is drawn.
		o.FPS = fastFPS
		if remote {
			o.FPS = slowFPS
		}
	}
	out := terminal.NewOutput(o.Out, terminal.OutputOptions{Tmux: o.getenv("TMUX") != "", Now: o.Now})
	in := terminal.NewInput(o.In, terminal.InputOptions{Remote: remote, Now: o.Now})
	defer func() { _ = in.Close() }() // the terminal is restored either way
	m := New(ctx, o, out, in)
	options := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithAltScreen(), tea.WithInput(in.Reader()), tea.WithOutput(out),
		tea.WithFPS(o.FPS), tea.WithoutSignalHandler(),
	}
	if o.Mouse {
		options = append(options, tea.WithMouseCellMotion())
	}
	g := &guarded{Model: m}
	p := tea.NewProgram(g, options...)
	g.quit = p.Quit
	var wait sync.WaitGroup
	wait.Go(func() { sendSizes(ctx, p, o.Sizes) })
	_, err := p.Run()
	cancel()
	wait.Wait()
	if m.recorder != nil {
		m.recorder.end()
		if err := o.Record.Close(); err != nil {
			o.Log.Warn("close recording", "error", err)
		}
	}
	if err := m.flush(); err != nil {
		o.Log.Warn("settings not saved", "error", err)
	}
	switch {
	case g.failed != nil:
		return fmt.Errorf("console failed: %v; see the log", g.failed)
	case errors.Is(err, tea.ErrProgramKilled) && ended.Err() != nil:
		return nil // a signal, or the end of the embedded service
	case err != nil:
		return fmt.Errorf("run the console: %w", err)
	}
	return nil
}

// sendSizes sends the console the sizes of a terminal that is not a local file.
func sendSizes(ctx context.Context, p *tea.Program, sizes <-chan layout.Size) {
	for {
		select {
		case s := <-sizes: // nil: never
			p.Send(tea.WindowSizeMsg{Width: s.Columns, Height: s.Rows})
		case <-ctx.Done():
			return
		}
	}
}

// guarded is a model whose panics end the program cleanly: the terminal is
// restored, the log has the stack, and open resources are closed. It is called
// from one goroutine.
type guarded struct {
	*Model
	quit   func()
	failed any
}

// Update takes one message.
func (g *guarded) Update(msg tea.Msg) (m tea.Model, cmd tea.Cmd) {
	m = g
	defer g.caught("message")
	if g.failed == nil {
		_, cmd = g.Model.Update(msg)
	}
	return m, cmd
}

// View draws.
func (g *guarded) View() (frame string) {
	defer g.caught("frame")
	if g.failed != nil {
		return g.frame.drawn
	}
	return g.Model.View()
}

// caught ends the program after a panic.
func (g *guarded) caught(where string) {
	p := recover()
	if p == nil {
		return
	}
	g.failed = p
	g.o.Log.Error("console panicked", "at", where, "panic", p, "stack", string(debug.Stack()))
	go g.quit() // it waits for the loop that called us
}

// Snapshot runs the console without a terminal at the given size, types keys
// and writes its screen as SVG. Before the first key and after the last it
// pauses for the requests of the console.
func Snapshot(ctx context.Context, o Options, size layout.Size, keys []string, pause func(), w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := New(ctx, o, terminal.NewOutput(io.Discard, terminal.OutputOptions{}), nil)
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(m.out), tea.WithAltScreen(), tea.WithoutSignalHandler())
	go func() {
		p.Send(tea.WindowSizeMsg{Width: size.Columns, Height: size.Rows})
		pause()
		for _, k := range keys {
			p.Send(keyMessage(k))
		}
		pause()
		p.Quit()
	}()
	if _, err := p.Run(); err != nil && !errors.Is(err, tea.ErrProgramKilled) {
		return fmt.Errorf("run the console: %w", err)
	}
	m.draw()
	return m.frame.grid.SVG(w, m.prefs.palette)
}

// keyMessage returns a key by its name.
func keyMessage(name string) tea.KeyMsg {
	for t := tea.KeyType(-60); t < 130; t++ {
		if k := (tea.KeyMsg{Type: t}); t != tea.KeyRunes && k.String() == name {
			return k
		}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}
