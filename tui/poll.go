package tui

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
)

// requestTimeout is the deadline of one request.
const requestTimeout = 15 * time.Second

// run is a command that may wait: it has a deadline, ends with the console,
// and a panic in it becomes a message.
func (m *Model) run(work func(ctx context.Context) tea.Msg) tea.Cmd {
	return m.runFor(requestTimeout, work)
}

func (m *Model) runFor(limit time.Duration, work func(ctx context.Context) tea.Msg) tea.Cmd {
	m.asked++
	return func() (msg tea.Msg) {
		defer func() {
			if p := recover(); p != nil {
				msg = panicMsg{p, debug.Stack()}
			}
		}()
		ctx, cancel := context.WithTimeout(m.ctx, limit)
		defer cancel()
		return work(ctx)
	}
}

// needs are what the screen wants now.
func (m *Model) needs() []state.Need {
	var needs []state.Need
	further := m.screen()
	if further != nil {
		needs = further.Queries(m.context())
	}
	if m.store.Site == nil { // the first site may appear at any moment
		return append(needs, state.Need{Query: state.QuerySites, Period: 2 * time.Second, Focused: true})
	}
	needs = append(needs, state.Need{Query: state.QuerySites, Period: time.Minute})
	needs = append(needs,
		state.Need{Query: state.QuerySummary, Period: 5 * time.Second, Focused: true}, // vital signs are always seen
		state.Need{Query: state.QueryAssets, Period: 5 * time.Minute, Focused: true},
	)
	if !m.store.Site.PastDate.IsZero() {
		needs = append(needs, state.Need{Query: state.QueryPast, Period: 10 * time.Minute, Focused: true})
	}
	for i, p := range m.panes {
		for _, n := range p.Queries(m.context()) {
			n.Focused = layout.Pane(i) == m.focus && len(m.dialogs) == 0 && further == nil
			// Behind a further screen the alarms are watched on.
			n.Hidden = m.layout.Mode == layout.TooSmall || further != nil && n.Query != state.QueryFindings && n.Query != state.QueryAlerts
			needs = append(needs, n)
		}
	}
	// Work under way is watched closely.
	if m.openFiles() > 0 {
		needs = append(needs, state.Need{Query: state.QueryUploads, Period: 2 * time.Second, Focused: true})
	}
	return strongest(needs)
}

// screen is the screen that is seen, maybe behind a dialog; nil while the panes
// are.
func (m *Model) screen() view.View {
	if n := len(m.screens); n > 0 {
		return m.screens[n-1]
	}
	return nil
}

// top is the screen that is seen, else the focused pane.
func (m *Model) top() view.View {
	if s := m.screen(); s != nil {
		return s
	}
	return m.panes[m.focus]
}

// list is the list that has the keys, nil without one.
func (m *Model) list() view.List {
	if m.screen() == nil && m.store.Site == nil {
		return nil
	}
	return m.top().Lists().Active
}

// strongest keeps, of several wishes for one query, the most frequent.
func strongest(needs []state.Need) []state.Need {
	var out []state.Need
	for _, n := range needs {
		i := slices.IndexFunc(out, func(o state.Need) bool { return o.Query == n.Query })
		switch {
		case i < 0:
			out = append(out, n)
		case n.Hidden && !out[i].Hidden:
		case out[i].Hidden && !n.Hidden, n.Focused && !out[i].Focused, n.Focused == out[i].Focused && n.Period < out[i].Period:
			out[i] = n
		}
	}
	return out
}

// poll sends what is due.
func (m *Model) poll() tea.Cmd {
	if m.signIn != nil || m.o.Client.Credential() == "" {
		return nil
	}
	now := m.o.Now()
	needs := m.needs()
	for _, n := range needs {
		m.store.Want(n.Query, n.Of)
	}
	var cmds []tea.Cmd
	for _, q := range m.store.Planner.Due(now, needs) {
		r, ok := m.store.Request(q, now)
		if !ok {
			m.store.Planner.Succeeded(q)
			continue
		}
		cmds = append(cmds, m.run(func(ctx context.Context) (msg tea.Msg) {
			defer func() {
				if p := recover(); p != nil { // the query must come up again
					m.o.Log.Error("a request of the console panicked", "query", r.Query, "panic", p, "stack", string(debug.Stack()))
					msg = answerMsg{state.Answer{Request: r, Err: fmt.Errorf("the console failed inside: %v", p)}}
				}
			}()
			return answerMsg{r.Run(ctx, m.o.Client)}
		}))
	}
	return tea.Batch(cmds...)
}

// answer takes an answer of the service in.
func (m *Model) answer(a state.Answer, now time.Time) tea.Cmd {
	wasDown, open := m.store.Link.Down, m.openFiles()
	changed, signedOut := m.store.Apply(a, now)
	if !changed {
		return nil
	}
	m.dirty = true
	switch {
	case signedOut != nil:
		m.o.Client.SetCredential("")
		m.store.Renew()
		m.askSignIn(state.Sentence(signedOut))
		m.grace.begin(now)
		return nil
	case m.store.Link.Down && !wasDown:
		m.o.Log.Warn("the service does not answer", "source", m.o.Source, "error", a.Err)
	case wasDown && !m.store.Link.Down:
		m.o.Log.Info("the service answers again", "source", m.o.Source)
		m.say("The service answers again.", themes.Accent)
	case a.Err != nil:
		m.o.Log.Warn("a request failed", "query", a.Request.Query, "error", a.Err)
	}
	if a.Request.Query == state.QuerySites && a.Err == nil {
		return m.chooseFirstSite()
	}
	switch {
	case a.Err != nil:
	case a.Request.Query == state.QueryAssets:
		m.checkHand()
	case a.Request.Query == state.QueryAlerts:
		m.announce(now)
	case a.Request.Query == state.QueryUploads:
		m.tellUploads()
		if m.openFiles() < open { // what the file brought is there to be asked for
			m.store.Planner.Forget(state.QueryFindings, state.QueryForecast, state.QueryActivities, state.QueryModels, state.QueryAssets, state.QueryDay)
			return m.poll()
		}
	}
	return nil
}

// openFiles is how many files of the site are still on their way.
func (m *Model) openFiles() int {
	n := 0
	if m.store.Site != nil {
		for _, u := range m.store.Site.Uploads.Data {
			if !u.Ended() {
				n++
			}
		}
	}
	return n
}

// chooseFirstSite opens a site when none is open: the one asked for, else the
// first.
func (m *Model) chooseFirstSite() tea.Cmd {
	sites := m.store.Sites.Data
	if i := slices.IndexFunc(sites, func(s api.Site) bool { return s.Ref() == m.wanted }); i >= 0 {
		m.wanted = api.SiteRef{}
		if m.store.Site == nil || m.store.Site.Ref() != sites[i].Ref() {
			m.openSite(sites[i])
			return m.poll()
		}
	}
	if m.store.Site != nil {
		for _, s := range sites { // its particulars may have changed
			if s.Ref() == m.store.Site.Ref() && s.Timezone == m.store.Site.Timezone {
				m.store.Site.Site = s
			}
		}
		return nil
	}
	if len(sites) == 0 {
		return nil
	}
	wanted := cmp.Or(m.o.Site, m.place.SiteRef())
	i := slices.IndexFunc(sites, func(s api.Site) bool {
		return s.SiteID == wanted.SiteID && (wanted.CustomerID == "" || s.CustomerID == wanted.CustomerID)
	})
	if i < 0 {
		if m.o.Site != (api.SiteRef{}) {
			m.say(fmt.Sprintf("There is no site %q in reach; this is %s.", strings.TrimPrefix(m.o.Site.CustomerID+"/"+m.o.Site.SiteID, "/"), m.siteLabel(sites[0])), themes.Warning)
		}
		i = 0
	}
	m.openSite(sites[i])
	m.guide()
	return m.poll()
}

// openSiteNamed shows a site, if it is in reach.
func (m *Model) openSiteNamed(site api.SiteRef) {
	for _, s := range m.store.Sites.Data {
		if s.Ref() == site {
			m.openSite(s)
			return
		}
	}
}

// siteRecord is the record of the site on screen, zero without one.
func (m *Model) siteRecord() api.Site {
	if m.store.Site == nil {
		return api.Site{}
	}
	return m.store.Site.Site
}

// siteLabel names a site on screen: by its id, or with its customer where
// another site in reach has the same id.
func (m *Model) siteLabel(s api.Site) string { return state.SiteLabel(m.store.Sites.Data, s.Ref()) }

// openSite puts a site on screen.
func (m *Model) openSite(s api.Site) {
	m.store.Open(s)
	m.hand, m.trail = view.Selection{}, nil
	m.takeUpHand(s)
	m.alarmed = map[string]bool{}
	m.dirty = true
}

// announce tells alarms that are new since the site was opened, and those that
// fired again. What is shelved or suppressed is none.
func (m *Model) announce(now time.Time) {
	first := len(m.alarmed) == 0
	var all []news
	for _, a := range m.store.Site.Alerts.Data.Alerts {
		fired := fmt.Sprint(a.AlertID, " ", a.Occurrences)
		if a.State != api.AlertUnacknowledged || m.alarmed[fired] {
			continue
		}
		m.alarmed[fired] = true
		if first {
			continue
		}
		text := a.Message
		if !strings.Contains(text, a.AssetID) {
			text = a.AssetID + ": " + text
		}
		all = append(all, news{a.AlertSeverity, text})
	}
	m.alarmed[""] = true // the first answer has been seen
	m.tellNew(all, now)
}
