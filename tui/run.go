package tui

import (
	"context"
	"errors"
	"fmt"
	"os"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/tui/terminal"
)

// Run shows the console until the person leaves or ctx ends, and gives the
// terminal back as it was.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	remote := terminal.Remote(os.Getenv)
	if o.FPS <= 0 {
		// Each frame of the ticker costs even when nothing is drawn.
		o.FPS = 20
		if remote {
			o.FPS = 10
		}
	}
	out := terminal.NewOutput(o.Out, terminal.OutputOptions{Tmux: os.Getenv("TMUX") != ""})
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
	_, err := tea.NewProgram(m, options...).Run()
	switch {
	case errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil:
		return nil // a signal, or the end of the embedded service
	case err != nil:
		return fmt.Errorf("run the console: %w", err)
	}
	return nil
}
