package tui

import (
	"context"
	"errors"
	"fmt"
	"io"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/tui/layout"
	"app.sunloop/tui/terminal"
)

// Snapshot runs the console without a terminal at the given size, types keys
// and writes its screen as SVG. Before the first key and after the last it
// pauses, for what the console asks the service.
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
	return m.grid.SVG(w, m.palette)
}

// keyMessage is a key by its name.
func keyMessage(name string) tea.KeyMsg {
	for t := tea.KeyType(-60); t < 130; t++ {
		if k := (tea.KeyMsg{Type: t}); t != tea.KeyRunes && k.String() == name {
			return k
		}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}
