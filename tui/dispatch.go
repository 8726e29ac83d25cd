package tui

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/workflow"
)

// key processes a key: the view on top gets it, else it is an action of the keymap.
func (m *Model) key(k tea.KeyMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		return m.perform(view.Run{Action: keymap.QuitNow})
	}
	if m.dialogs.guard.drops(m.o.Now()) {
		return nil
	}
	if m.notes.notice.intro {
		m.notes.notice = notice{}
	}
	switch {
	case m.session.certificate != nil:
		return m.perform(m.session.certificate.Key(k, m.context()))
	case m.session.signIn != nil:
		return m.perform(m.session.signIn.Key(k, m.context()))
	case m.dialogs.top() != nil:
		return m.perform(m.dialogs.top().Key(k, m.context()))
	case m.nav.filter != nil:
		m.filterKey(k)
		return nil
	case k.Paste:
		return m.perform(m.dropped(string(k.Runes)))
	}
	pressed := k.String()
	if pressed == " " {
		pressed = "space" // as the keymap writes it
	}
	if m.nav.pending != "" {
		pressed, m.nav.pending = m.nav.pending+" "+pressed, ""
	}
	a, ok, pending := m.o.Keys.Match(pressed, m.nav.scopes()...)
	switch {
	case ok:
		return m.perform(view.Run{Action: a})
	case pending:
		m.nav.pending = pressed
	case k.Type != tea.KeyRunes || len(k.Runes) == 1:
		m.notify(pressed+" has no effect here; ? shows the keys.", themes.Dim)
		m.notes.notice.key = pressed
	}
	return nil
}

// maxRequests bounds the requests of one event.
const maxRequests = 50

// perform carries out requests in order, with those that follow from them. If they
// change what is shown, it requests the data for it. No other code carries out
// requests, and no code that it calls calls it.
func (m *Model) perform(queue ...view.Request) tea.Cmd {
	var cmds []tea.Cmd
	needs := false // something else is shown
	for n := 0; len(queue) > 0; n++ {
		r := queue[0]
		queue = queue[1:]
		if n == maxRequests {
			m.o.Log.Error("request limit of an event exceeded", "next", fmt.Sprintf("%T", r))
			break
		}
		var next view.Request
		var cmd tea.Cmd
		switch r := r.(type) {
		case nil:
		case view.Batch:
			queue = slices.Concat(r, queue)
		case view.Run:
			next, cmd = m.runAction(r.Action)
		case view.Select:
			m.nav.selectThing(r)
			needs = true
		case view.ChooseUnit:
			next = m.unitDialog(r)
		case view.ShowDay:
			m.data.ShowDay(r.Day)
			needs = true
		case view.OpenSite:
			m.openSiteNamed(r.Site)
			needs = true
		case view.OpenDialog:
			m.dialogs.push(r.Dialog)
			needs = true
		case view.OpenScreen:
			m.openScreen(r)
			needs = true
		case view.Close:
			needs = m.closeTop() || needs
		case view.Notify:
			m.notify(r.Text, r.Role)
		case view.Copy:
			m.copyText(r.Text, "Copied.", "") // it may be a secret: never write it to a file
		case view.Save:
			m.saveText(r)
		case view.Remember:
			m.places.remember(r.ID)
		case view.Call:
			cmd = m.call(r)
		case view.Upload:
			cmd = m.upload(r)
		case view.SignIn:
			cmd = m.sendSignIn(r)
		case view.VerifyCode:
			cmd = m.verifyCode(r)
		case view.AnswerCertificate:
			cmd = m.answerCertificate(r)
		case view.FinishSignIn:
			m.signedIn()
			needs = true
		case view.Set:
			cmd = m.set(r)
			needs = true
		case view.Preview:
			m.preview(r)
			needs = true
		case view.BindKeys:
			cmd = m.bind(r)
		case view.SaveLayout:
			cmd = m.saveLayout(r)
		}
		if next != nil {
			queue = slices.Insert(queue, 0, next)
		}
		cmds = append(cmds, cmd)
	}
	if needs {
		cmds = append(cmds, m.poll())
	}
	return tea.Batch(cmds...)
}

// runAction performs an action of the console or of the view that has the keys,
// unless it is not available.
func (m *Model) runAction(a keymap.Action) (view.Request, tea.Cmd) {
	if e, ok := m.o.Keys.Entry(a); ok {
		m.selectShown(e)
		reason := m.disabled(e)
		if reason == selectUnit {
			return view.ChooseUnit{What: e.Binding.Help().Desc, Then: view.Run{Action: a}}, nil
		}
		if reason != "" {
			m.notify("Unavailable: "+reason+".", themes.Dim)
			return nil, nil
		}
	}
	if do := actions[a]; do != nil {
		return do(m)
	}
	if m.nav.screen() == nil && m.data.Site == nil { // the panes have nothing to act on
		return nil, nil
	}
	return m.answered(m.nav.top().Do(a, m.focusedContext()))
}

// selectShown selects the finding that Orient shows in detail, for an action that needs a
// selected unit or finding while nothing is selected.
func (m *Model) selectShown(e keymap.Entry) {
	if m.nav.screen() != nil || m.data.Site == nil || m.nav.focus != layout.Orient || m.nav.selection != (view.Selection{}) {
		return
	}
	if e.Needs&keymap.NeedsSelection == 0 && e.Action != keymap.TakeIssue && e.Action != keymap.CloseIssue {
		return
	}
	if f := m.nav.orient.Shown(m.focusedContext()); f != nil {
		m.nav.selection = view.Selection{AssetID: f.AssetID, FindingID: f.SummaryID}
	}
}

// answered processes the request that a view returned for an event. On a screen,
// another row may need other queries even without a request.
func (m *Model) answered(r view.Request) (view.Request, tea.Cmd) {
	if r == nil && m.nav.screen() != nil {
		return nil, m.poll()
	}
	return r, nil
}

// remoteFilesReason is the reason why remote users cannot read or write files.
const remoteFilesReason = "over SSH, the files here are the server's"

// remoteImportReason is the reason why remote users cannot import a file, and the
// alternative.
const remoteImportReason = "over SSH, use sunloop import --remote: the files here are the server's"

// selectUnit is the reason why an action on a unit is not available without one.
const selectUnit = "select a unit first"

// disabled returns the reason why an action is not available now, empty if it is.
func (m *Model) disabled(e keymap.Entry) string {
	if reason := m.barred(e); reason != "" {
		return reason
	}
	switch {
	case e.Needs&keymap.NeedsSelection != 0 && m.nav.selection.AssetID == "":
		return selectUnit
	case e.Scope == m.nav.top().Scope() && (m.nav.screen() != nil || m.data.Site != nil):
		return m.nav.top().Disabled(e.Action, m.focusedContext())
	}
	return workflow.DisabledReason(m.orderOnScreen(), e.Action)
}

// barred returns the reason why an action is not available whatever is selected, empty if
// there is none.
func (m *Model) barred(e keymap.Entry) string {
	readOnly := m.context().ReadOnly
	switch {
	case e.Needs&keymap.NeedsService != 0 && m.data.Link.Down:
		return "the service is not responding"
	case e.Needs&keymap.NeedsWrite != 0 && readOnly != "":
		return readOnly
	case (e.Action == keymap.Upload || e.Action == keymap.ImportFile) && m.o.Remote:
		return remoteImportReason
	case e.Needs&keymap.NeedsFiles != 0 && m.o.Remote:
		return remoteFilesReason
	case e.Needs&keymap.NeedsShell != 0 && m.o.Remote:
		return "over SSH, the shell here is the server's"
	case e.Needs&keymap.NeedsUsers != 0 && !m.session.may(api.PermissionUsers):
		return "your role does not manage users and API keys"
	case e.Needs&keymap.NeedsAudit != 0 && !m.session.may(api.PermissionAudit):
		return "your role does not read the audit trail"
	}
	return ""
}

// resultMsg is the service's response to a call. It may contain a new secret, which
// only the dialog that shows it keeps.
type resultMsg struct {
	from   view.Caller // nil for none
	owner  string      // user of the session that sent the call
	result view.Result
	err    error
}

// call requests a change from the service.
func (m *Model) call(c view.Call) tea.Cmd {
	owner := m.session.owner
	return m.run(func(ctx context.Context) (msg tea.Msg) {
		answer := resultMsg{from: c.From, owner: owner}
		defer func() {
			if p := recover(); p != nil { // the waiting dialog must get an answer
				m.o.Log.Error("request panicked", "panic", p, "stack", string(debug.Stack()))
				answer.err = fmt.Errorf("internal console error: %v", p)
			}
			msg = answer
		}()
		answer.result, answer.err = c.Do(ctx, m.o.Client)
		return answer
	})
}

// finish processes the response to a call: the waiting dialog gets it first.
func (m *Model) finish(msg resultMsg) {
	m.frame.dirty = true
	open := m.dialogs.deliver(msg.from, msg.err)
	if msg.err != nil {
		m.o.Log.Warn("request rejected", "error", msg.err)
		if !open {
			m.notify(state.Refusal(msg.err), themes.Warning)
		}
		m.data.Planner.Invalidate(m.visibleQueries()...) // the refusal may be due to a newer state
		return
	}
	r := msg.result
	if r.Apply != nil && m.data.Site != nil {
		r.Apply(m.data.Site)
	}
	m.data.Planner.Invalidate(r.Refresh...)
	if msg.owner != m.session.owner || m.session.user == nil && msg.owner != "" {
		if r.Open != nil {
			m.o.Log.Warn("request finished after sign-out; result discarded", "what", r.Open.Title(), "id", r.Row)
		}
		return
	}
	if s := m.nav.screen(); s != nil && r.Row != "" {
		s.SelectRow(r.Row)
	}
	if r.Selection != nil {
		m.nav.selection = *r.Selection
	}
	if p, ok := layout.Named(r.Focus); ok {
		m.nav.focus, m.nav.screens = p, nil
	}
	if r.Notice != nil {
		n := r.Notice(m.context())
		m.notify(n.Text, n.Role)
	}
	if r.Open != nil {
		m.dialogs.push(r.Open)
		m.dialogs.guard.begin(m.o.Now()) // the response was slow, and the user continued
	}
}

// visibleQueries returns the queries behind what is on screen.
func (m *Model) visibleQueries() []state.Query {
	var queries []state.Query
	for _, n := range m.needs() {
		queries = append(queries, n.Query)
	}
	return queries
}
