package tui

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/screen"
	"app.sunloop/tui/state"
)

// sentMsg is the service's answer to a change. It may hold a secret that was
// made: nothing but the dialog that shows it keeps that.
type sentMsg struct {
	from  screen.Waiting // nil for none
	owner string         // whose session asked
	done  screen.Done
	err   error
}

// send asks the service for a change.
func (m *Model) send(s screen.Send) tea.Cmd {
	owner := m.owner
	return m.run(func(ctx context.Context) (msg tea.Msg) {
		answer := sentMsg{from: s.From, owner: owner}
		defer func() {
			if p := recover(); p != nil { // what waits must hear of it
				m.o.Log.Error("a change panicked", "panic", p, "stack", string(debug.Stack()))
				answer.err = fmt.Errorf("the console failed inside: %v", p)
			}
			msg = answer
		}()
		answer.done, answer.err = s.Do(ctx, m.o.Client)
		return answer
	})
}

// sent takes the answer to a change: what waits for it hears it first.
func (m *Model) sent(msg sentMsg) {
	there := m.tell(msg.from, msg.err)
	if msg.err != nil {
		m.o.Log.Warn("a change was refused", "error", msg.err)
		if !there {
			m.say(state.Refusal(msg.err), themes.Warning)
		}
		m.store.Planner.Forget(m.seen()...) // what was refused may stand otherwise by now
		return
	}
	done := msg.done
	if done.Know != nil && m.store.Site != nil {
		done.Know(m.store.Site)
	}
	m.store.Planner.Forget(done.Forget...)
	if msg.owner != m.owner || m.user == nil && msg.owner != "" {
		if done.Open != nil {
			m.o.Log.Warn("a change ended after its session: what came of it was seen by nobody", "what", done.Open.Title(), "id", done.Select)
		}
		return
	}
	if s, ok := m.screen().(interface{ Select(id string) }); ok && done.Select != "" {
		s.Select(done.Select)
	}
	if done.Hand != nil {
		m.hand = *done.Hand
	}
	if p, ok := layout.Named(done.Focus); ok {
		m.focus, m.screens = p, nil
	}
	if done.Say != nil {
		m.say(done.Say(m.view()), themes.Accent)
	}
	if done.Open != nil {
		m.dialogs = append(m.dialogs, done.Open)
		m.grace.begin(m.o.Now()) // the service took its time, and the person went on
	}
}

// tell gives what waits its answer and closes it when it is done; there says
// that it was still on screen.
func (m *Model) tell(from screen.Waiting, err error) (there bool) {
	m.dirty = true
	if from == nil {
		return false
	}
	at := slices.IndexFunc(m.dialogs, func(d screen.Dialog) bool { return d == screen.Dialog(from) })
	if from.Answer(err) && at >= 0 {
		m.dialogs[at] = nil
		m.dialogs = slices.Delete(m.dialogs, at, at+1)
	}
	return at >= 0
}

// seen are the queries behind what is on screen.
func (m *Model) seen() []state.Query {
	var queries []state.Query
	for _, n := range m.needs() {
		queries = append(queries, n.Query)
	}
	return queries
}
