package tui

import (
	"context"
	"fmt"
	"maps"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/screen"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// key answers one key press: what stands on top has it.
func (m *Model) key(k tea.KeyMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		return m.act(keymap.QuitNow)
	}
	if m.grace.drops(m.o.Now()) {
		return nil
	}
	if m.notice.guide {
		m.notice = notice{}
	}
	switch {
	case m.signIn != nil:
		r := m.signIn.Key(k, m.o.Keys)
		if r.Close {
			m.signIn = nil
		}
		return m.request(r.Do)
	case len(m.dialogs) > 0:
		top := len(m.dialogs) - 1
		r := m.dialogs[top].Key(k, m.o.Keys)
		if r.Close {
			m.dialogs[top] = nil // what it held, a key maybe, goes with it
			m.dialogs = m.dialogs[:top]
			m.pending = ""
		}
		return m.request(r.Do)
	case m.filter != nil:
		return m.filterKey(k)
	}
	if k.Paste {
		return m.drop(string(k.Runes))
	}
	pressed := k.String()
	if pressed == " " {
		pressed = "space" // as the keymap writes it
	}
	if m.pending != "" {
		pressed, m.pending = m.pending+" "+pressed, ""
	}
	a, ok, pending := m.o.Keys.Match(pressed, m.scopes()...)
	switch {
	case ok:
		return m.act(a)
	case pending:
		m.pending = pressed
	}
	return nil
}

// scopes are those that count where the keys go now.
func (m *Model) scopes() []keymap.Scope {
	if s := m.screen(); s != nil {
		return []keymap.Scope{s.Scope(), keymap.List, keymap.Global}
	}
	return []keymap.Scope{paneScopes[m.focus], keymap.List, keymap.Panes, keymap.Global}
}

var paneScopes = [layout.Panes]keymap.Scope{keymap.InObserve, keymap.InOrient, keymap.InDecide, keymap.InAct}

// awayFiles is why no file is read or written for somebody elsewhere.
const awayFiles = "over SSH, the files here are the server's"

// why is the reason that an action is not possible now, empty when it is.
func (m *Model) why(e keymap.Entry) string {
	switch {
	case e.Needs&keymap.NeedsSelection != 0 && m.hand.AssetID == "":
		return "take a unit in hand first"
	case e.Needs&keymap.NeedsService != 0 && m.store.Link.Down:
		return "the service does not answer"
	case e.Needs&keymap.NeedsWrite != 0 && m.view().WriteWhy != "":
		return m.view().WriteWhy
	case e.Needs&keymap.NeedsFiles != 0 && m.o.Away:
		return awayFiles
	case e.Needs&keymap.NeedsShell != 0 && m.o.Away:
		return "over SSH, the shell here is the server's"
	case e.Needs&keymap.NeedsUsers != 0 && !may(m.user, api.PermissionUsers):
		return "your role does not manage users and API keys"
	case e.Needs&keymap.NeedsAudit != 0 && !may(m.user, api.PermissionAudit):
		return "your role does not read the audit trail"
	}
	if s := m.screen(); s != nil {
		if e.Scope == s.Scope() {
			return s.Why(e.Action, m.focusedView())
		}
	} else if p, ok := m.panes[m.focus].(interface {
		Why(keymap.Action, pane.View) string
	}); ok && e.Scope == paneScopes[m.focus] && m.store.Site != nil {
		return p.Why(e.Action, m.focusedView())
	}
	return m.whyNoMove(e.Action)
}

// act does an action.
func (m *Model) act(a keymap.Action) tea.Cmd {
	if e, ok := m.o.Keys.Entry(a); ok {
		if why := m.why(e); why != "" {
			m.say("Not now: "+why+".", themes.Dim)
			return nil
		}
	}
	if move, ok := pane.OrderMove(a); ok {
		return m.moveOrder(move)
	}
	if do := m.acts()[a]; do != nil {
		return do()
	}
	if s := m.screen(); s != nil {
		return m.answerScreen(s.Do(a, m.focusedView()))
	}
	if m.store.Site == nil { // the panes have nothing to act on
		return nil
	}
	return m.intend(m.panes[m.focus].Do(a, m.focusedView()))
}

// acts are the console's own actions; what is not here is the pane's.
func (m *Model) acts() map[keymap.Action]func() tea.Cmd {
	quiet := func(f func()) func() tea.Cmd { return func() tea.Cmd { f(); return nil } }
	focus := func(p layout.Pane) func() tea.Cmd { return quiet(func() { m.focus, m.trail, m.screens = p, nil, nil }) }
	further := func(s func() screen.Screen) func() tea.Cmd {
		return func() tea.Cmd { return m.openScreen(screen.OpenScreen{Screen: s()}) }
	}
	open := func(d func() screen.Dialog) func() tea.Cmd {
		return func() tea.Cmd { m.dialogs = append(m.dialogs, d()); return m.poll() }
	}
	acts := map[keymap.Action]func() tea.Cmd{
		keymap.FocusObserve: focus(layout.Observe), keymap.FocusOrient: focus(layout.Orient),
		keymap.FocusDecide: focus(layout.Decide), keymap.FocusAct: focus(layout.Act),

		keymap.Alarms:   further(func() screen.Screen { return screen.NewAlarms() }),
		keymap.OpenUnit: further(func() screen.Screen { return screen.NewUnit(m.hand.AssetID) }),

		keymap.FocusNext: focus(m.focus.Next()), keymap.FocusPrev: focus(m.focus.Previous()),
		keymap.Zoom:       quiet(func() { m.zoom = !m.zoom }),
		keymap.Palette:    open(func() screen.Dialog { return m.paletteDialog() }),
		keymap.Help:       open(func() screen.Dialog { return m.helpDialog() }),
		keymap.Themes:     open(func() screen.Dialog { return m.themeDialog() }),
		keymap.Sites:      open(func() screen.Dialog { return m.siteDialog() }),
		keymap.Upload:     open(func() screen.Dialog { return screen.NewUpload(m.siteRecord()) }),
		keymap.Uploads:    further(func() screen.Screen { return screen.NewUploads(func(name string) string { return m.paths[name] }) }),
		keymap.Forecast:   further(func() screen.Screen { return screen.NewForecast() }),
		keymap.TakeIssue:  func() tea.Cmd { return m.moveIssue(screen.NewTakeIssue) },
		keymap.CloseIssue: func() tea.Cmd { return m.moveIssue(screen.NewCloseIssue) },
		keymap.KPIs:       further(func() screen.Screen { return screen.NewKPIs() }),
		keymap.Gaps:       further(func() screen.Screen { return screen.NewGaps() }),
		keymap.Models:     further(func() screen.Screen { return screen.NewModels() }),
		keymap.APIKeys:    further(func() screen.Screen { return screen.NewAPIKeys(m.o.Now) }),
		keymap.Fleet:      further(func() screen.Screen { return screen.NewFleet() }),
		keymap.Assets:     further(func() screen.Screen { return screen.NewAssets() }),
		keymap.Users:      further(func() screen.Screen { return screen.NewUsers() }),
		keymap.Audit:      further(func() screen.Screen { return screen.NewAudit() }),
		keymap.Log:        further(func() screen.Screen { return screen.NewLog(m.o.LogLines) }),
		keymap.Refresh: func() tea.Cmd {
			m.store.Planner.Forget(m.seen()...)
			return m.poll()
		},
		keymap.RunDetection:  m.detect,
		keymap.MakeOrder:     m.makeOrder,
		keymap.MakePlan:      m.makePlan,
		keymap.RecurPlan:     open(func() screen.Dialog { return screen.NewRecurringForm(m.view(), m.chosenDay()) }),
		keymap.ConfirmPlan:   func() tea.Cmd { return m.movePlan(keymap.ConfirmPlan) },
		keymap.CompletePlan:  func() tea.Cmd { return m.movePlan(keymap.CompletePlan) },
		keymap.CancelPlan:    func() tea.Cmd { return m.movePlan(keymap.CancelPlan) },
		keymap.OrderWhole:    further(func() screen.Screen { return screen.NewOrderScreen() }),
		keymap.ResolveIssue:  open(func() screen.Dialog { return screen.NewResolve(m.orderOnScreen()) }),
		keymap.PlanChoices:   further(func() screen.Screen { return screen.NewPlanChoices(m.chosenDay()) }),
		keymap.Stock:         further(func() screen.Screen { return screen.NewStock() }),
		keymap.Subscriptions: further(func() screen.Screen { return screen.NewSubscriptions() }),
		keymap.Schedules:     further(func() screen.Screen { return screen.NewSchedules() }),
		keymap.NextInHand:    quiet(m.nextFinding),
		keymap.NextStep:      m.nextStep,
		keymap.Copy:          m.copyHand,
		keymap.Filter:        quiet(m.startFilter),
		keymap.Mouse:         m.toggleMouse,
		keymap.SignOut:       m.signOut,
		keymap.Quit:          m.quit,
		keymap.QuitNow:       m.quitTwice,
		keymap.Suspend:       func() tea.Cmd { return tea.Suspend },
		keymap.Back:          m.back,
	}
	maps.Copy(acts, m.generalActs())
	return acts
}

// back undoes one step: the filter, the further screen, the way that enter
// went, the day, the zoom, and last the thing in hand.
func (m *Model) back() tea.Cmd {
	list := m.list()
	switch n := len(m.trail); {
	case list != nil && list.Filter() != "":
		list.SetFilter("")
	case m.screen() != nil:
		return m.leave()
	case m.paneBack():
	case n > 0:
		m.focus, m.trail = m.trail[n-1], m.trail[:n-1]
	case m.store.Site != nil && !m.store.Site.PastDate.IsZero():
		m.store.ShowDay(time.Time{})
	case m.zoom:
		m.zoom = false
	default:
		m.hand = pane.Hand{}
	}
	return nil
}

// paneBack lets the focused pane undo a step of its own.
func (m *Model) paneBack() bool {
	p, ok := m.panes[m.focus].(interface{ Back() bool })
	return ok && p.Back()
}

// leave goes back from the further screen that is seen.
func (m *Model) leave() tea.Cmd {
	m.memorize(m.screen().Title(), m.screen())
	m.screens[len(m.screens)-1] = nil
	m.screens = m.screens[:len(m.screens)-1]
	return m.poll()
}

// filtered is a list that can be narrowed.
type filtered interface {
	Filter() string
	SetFilter(string)
}

// list is the list that has the keys, nil without one.
func (m *Model) list() filtered {
	var of any = m.panes[m.focus]
	if s := m.screen(); s != nil {
		of = s
	} else if m.store.Site == nil {
		return nil
	}
	return filterOf(of)
}

// filterOf is the list of a pane or a screen that can be narrowed.
func filterOf(of any) filtered {
	if f, ok := of.(filtered); ok {
		return f
	}
	if l, ok := of.(interface{ Lists() pane.Lists }); ok && l.Lists().Active != nil {
		return narrowed{l.Lists().Active}
	}
	return nil
}

// narrowed is a list as what can be narrowed.
type narrowed struct{ list *pane.List }

func (n narrowed) Filter() string     { return n.list.Filter }
func (n narrowed) SetFilter(s string) { n.list.Filter = s }

// answerScreen does what a further screen wants.
func (m *Model) answerScreen(r screen.Result) tea.Cmd {
	if r.Close {
		return tea.Batch(m.leave(), m.request(r.Do))
	}
	if r.Do == nil {
		return m.poll() // another row may need other details
	}
	return m.request(r.Do)
}

// quit leaves the further screen, or the console.
func (m *Model) quit() tea.Cmd {
	if m.screen() != nil {
		return m.leave()
	}
	return tea.Quit
}

// quitTwice leaves when pressed twice within two seconds.
func (m *Model) quitTwice() tea.Cmd {
	now := m.o.Now()
	if now.Sub(m.quits) < 2*time.Second {
		return tea.Quit
	}
	m.quits = now
	m.say("Press ctrl+c again to leave.", themes.Text)
	return nil
}

// intend does what a pane wants.
func (m *Model) intend(i pane.Intent) tea.Cmd {
	more := func() tea.Cmd { return nil }
	if i.Hand != nil {
		m.hand = *i.Hand
		more = m.poll // its details
	}
	for p := layout.Observe; p < layout.Panes; p++ {
		if i.Focus == p.String() && p != m.focus {
			m.trail = append(m.trail, m.focus)
			m.focus = p
		}
	}
	if i.Say != "" {
		m.say(i.Say, themes.Dim)
	}
	if i.Day != nil {
		m.store.ShowDay(*i.Day)
		return m.poll()
	}
	if i.Do != nil {
		return m.request(i.Do)
	}
	if i.Action != "" {
		return m.act(i.Action)
	}
	return more()
}

func (m *Model) focusedView() pane.View {
	v := m.view()
	v.Focused = true
	return v
}

func (m *Model) siteRecord() api.Site {
	if m.store.Site == nil {
		return api.Site{}
	}
	return m.store.Site.Site
}

// siteLabel names a site on screen: by its id, or with its customer where
// another site in reach has the same id.
func (m *Model) siteLabel(s api.Site) string { return state.SiteLabel(m.store.Sites.Data, s.Ref()) }

// helpDialog shows the keys that count where the person is, and then the rest.
func (m *Model) helpDialog() screen.Dialog {
	if s := m.screen(); s != nil {
		return screen.NewHelp(s.Title(), s.Scope(), [][2]string{{"esc", "back to the panes"}}, m.o.Keys)
	}
	return screen.NewHelp(m.focus.String(), paneScopes[m.focus], m.panes[m.focus].Help(), m.o.Keys)
}

func findingDetail(f api.Finding) string {
	if !f.Active {
		return "over"
	}
	return f.SeverityLabel
}

func (m *Model) themeDialog() screen.Dialog {
	var choices []screen.Choice
	for _, t := range m.o.Themes {
		choices = append(choices, screen.Choice{Text: t.Name, Detail: t.Title, Do: screen.ShowTheme{Name: t.Name, Keep: true}, Seen: screen.ShowTheme{Name: t.Name}})
	}
	d := screen.NewChooser("Theme", "", choices, screen.ShowTheme{Name: m.theme.Name})
	d.Mark(m.theme.Name)
	return d
}

func (m *Model) siteDialog() screen.Dialog {
	var choices []screen.Choice
	for _, s := range m.store.Sites.Data {
		choices = append(choices, screen.Choice{Text: m.siteLabel(s), Detail: fmt.Sprintf("%s, %s, %d units", s.Name, pane.Power(s.CapacityKW), s.AssetCount), Do: screen.OpenSite{Site: s.Ref()}})
	}
	d := screen.NewChooser("Site", "", choices, nil)
	d.Mark(m.siteLabel(m.siteRecord()))
	return d
}

func (m *Model) useTheme(t themes.Theme) {
	m.theme, m.palette, m.dirty = t, terminal.NewPalette(&t, m.o.Profile), true
}

// detect runs the detector on the unit in hand.
func (m *Model) detect() tea.Cmd {
	asset, site := m.hand.AssetID, m.siteRecord()
	m.say("Looking at "+asset+" …", themes.Dim)
	return m.run(func(ctx context.Context) tea.Msg {
		r, err := m.o.Client.Detect(ctx, api.AssetRef{AssetID: asset, SiteID: site.SiteID, CustomerID: site.CustomerID}, 0)
		if err != nil {
			return detectMsg{asset: asset, err: err}
		}
		found := 0
		if r.AnomaliesDetected != nil {
			found = *r.AnomaliesDetected
		}
		return detectMsg{asset: asset, found: found}
	})
}

// nextFinding takes the active finding after the one in hand.
func (m *Model) nextFinding() {
	if m.store.Site == nil {
		return
	}
	var active []api.Finding
	at := -1
	for _, f := range m.store.Site.Findings.Data {
		if !f.Active {
			continue
		}
		if f.SummaryID == m.hand.FindingID {
			at = len(active)
		}
		active = append(active, f)
	}
	if len(active) == 0 {
		m.say("There is no active finding on this site.", themes.Dim)
		return
	}
	f := active[(at+1)%len(active)]
	m.hand = pane.Hand{AssetID: f.AssetID, FindingID: f.SummaryID}
	m.notice = notice{}
}

// chooseColumns opens the choice of columns of the list that has the keys.
func (m *Model) chooseColumns() {
	list := m.lists().Active
	if list == nil || len(list.Titles()) == 0 {
		m.say("There is no list with columns here.", themes.Dim)
		return
	}
	m.dialogs = append(m.dialogs, screen.NewColumns(list))
}

// startFilter opens the filter line of the list that has the keys.
func (m *Model) startFilter() {
	f := m.list()
	if f == nil {
		m.say("There is no list to filter here.", themes.Dim)
		return
	}
	field := screen.NewField("/", "part of a name or state", f.Filter())
	m.filter = &field
}

// filterKey edits the filter: the list narrows as one types.
func (m *Model) filterKey(k tea.KeyMsg) tea.Cmd {
	list := m.list()
	switch a, _, _ := m.o.Keys.Match(k.String(), keymap.Dialog); a {
	case keymap.Accept:
		m.filter = nil
		return nil
	case keymap.Dismiss:
		list.SetFilter("")
		m.filter = nil
		return nil
	}
	m.filter.Key(k)
	list.SetFilter(m.filter.Value())
	return nil
}
