package tui

import (
	"runtime/debug"

	tea "github.com/charmbracelet/bubbletea"
)

// guarded is a model whose panics end the program in good order: the terminal
// is given back, the log has the stack, and what was open is closed. It is
// called from one goroutine.
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
		return g.drawn
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
	g.o.Log.Error("the console panicked", "at", where, "panic", p, "stack", string(debug.Stack()))
	go g.quit() // it waits for the loop that called us
}
