package tui

import (
	"context"
	"errors"
	"fmt"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/tui/layout"
	"app.sunloop/tui/terminal"
)

// Frames a second at most, where nothing else is said: at a terminal of this
// machine and over SSH. A key is answered at once either way.
const (
	fastFPS = 20
	slowFPS = 10
)

// Run shows the console until the person leaves or ctx ends, and gives the
// terminal back as it was.
func Run(ctx context.Context, o Options) error {
	ended := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	remote := terminal.Remote(o.getenv)
	if o.FPS <= 0 {
		// Each frame of the ticker costs even when nothing is drawn.
		o.FPS = fastFPS
		if remote {
			o.FPS = slowFPS
		}
	}
	out := terminal.NewOutput(o.Out, terminal.OutputOptions{Tmux: o.getenv("TMUX") != ""})
	in := terminal.NewInput(o.In, terminal.InputOptions{Remote: remote, Now: o.Now})
	defer func() { _ = in.Close() }() // the terminal is given back either way
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
	wait.Go(func() { tellSizes(ctx, p, o.Sizes) })
	_, err := p.Run()
	cancel()
	wait.Wait()
	if err := m.flush(); err != nil {
		o.Log.Warn("a choice could not be kept", "error", err)
	}
	switch {
	case g.failed != nil:
		return fmt.Errorf("the console failed inside and gave the terminal back: %v; the log has more", g.failed)
	case errors.Is(err, tea.ErrProgramKilled) && ended.Err() != nil:
		return nil // a signal, or the end of the embedded service
	case err != nil:
		return fmt.Errorf("run the console: %w", err)
	}
	return nil
}

// tellSizes tells the console the sizes of a terminal that is no file here.
func tellSizes(ctx context.Context, p *tea.Program, sizes <-chan layout.Size) {
	for {
		select {
		case s := <-sizes: // nil: never
			p.Send(tea.WindowSizeMsg{Width: s.Columns, Height: s.Rows})
		case <-ctx.Done():
			return
		}
	}
}
