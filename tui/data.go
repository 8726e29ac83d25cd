package tui

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/analysis"
	"app.sunloop/tui/view/plant"
)

// fleetBehind is the interval at which the data of all sites are requested while the
// fleet is not on screen.
const fleetBehind = 2 * time.Minute

// requestTimeout is the deadline of one request.
const requestTimeout = 15 * time.Second

// run returns a command that may block: it has a deadline, ends with the console, and
// a panic in it becomes a message.
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

// data is the responses of the service, and the requests in progress.
type data struct {
	state.Store
	memo      view.Memo
	wanted    api.SiteRef       // site of a file that was sent, to be opened once it is there
	watched   []string          // uploads of this console whose end is reported
	runsGoing map[string]bool   // runs of the site on screen whose end is reported
	paths     map[string]string // of files that were sent, by name
	preparing state.Pace        // of the work of the program before it sends data
}

func newData() data { return data{paths: map[string]string{}} }

// alwaysAsked are queries that are also sent while a screen covers the panes: alarms and
// hand-overs are announced on every screen.
var alwaysAsked = map[state.Query]bool{state.QueryFindings: true, state.QueryAlerts: true, state.QueryActivities: true}

// needs returns the queries that the screen requires now.
func (m *Model) needs() []state.Need {
	var needs []state.Need
	further := m.nav.screen()
	if further != nil {
		needs = further.Queries(m.context())
	}
	for _, d := range m.dialogs.stack {
		needs = append(needs, d.Queries(m.context())...)
	}
	needs = append(needs, m.importNeeds()...)
	if len(m.data.runsGoing) > 0 && m.data.Site != nil {
		needs = append(needs, state.Need{Query: state.QueryManual, Period: 2 * time.Second, Focused: true})
	}
	if m.data.Site == nil { // the first site may appear at any moment
		return append(needs, state.Need{Query: state.QuerySites, Period: 2 * time.Second, Focused: true})
	}
	needs = append(needs, state.Need{Query: state.QuerySites, Period: time.Minute})
	if len(m.data.Sites.Data) > 1 { // for the choice of the site
		needs = append(needs, state.Need{Query: state.QueryFleet, Period: fleetBehind})
	}
	needs = append(needs,
		state.Need{Query: state.QuerySummary, Period: 5 * time.Second, Focused: true}, // vital signs are always on screen
		state.Need{Query: state.QueryAssets, Period: 5 * time.Minute, Focused: true},
	)
	if !m.data.Site.PastDate.IsZero() {
		needs = append(needs, state.Need{Query: state.QueryPast, Period: 10 * time.Minute, Focused: true})
	}
	for i, p := range m.nav.panes {
		for _, n := range p.Queries(m.context()) {
			n.Focused = layout.Pane(i) == m.nav.focus && len(m.dialogs.stack) == 0 && further == nil
			n.Hidden = m.frame.layout.Mode == layout.TooSmall || further != nil && !alwaysAsked[n.Query]
			needs = append(needs, n)
		}
	}
	// Running work is polled often, and so are uploads for a site without present
	// data.
	if s := &m.data.Site.Summary; !s.At.IsZero() && !s.Data.HasPower() {
		needs = append(needs, state.Need{Query: state.QueryUploads, Period: 5 * time.Second, Focused: true})
	}
	if m.data.openFiles() > 0 {
		needs = append(needs, state.Need{Query: state.QueryUploads, Period: 2 * time.Second, Focused: true})
	}
	return strongest(needs)
}

// strongest keeps the shortest period of several needs of one query.
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

// poll sends the requests that are due.
func (m *Model) poll() tea.Cmd {
	if m.session.signIn != nil || m.session.certificate != nil || m.o.Client.Credential() == "" {
		return nil
	}
	now := m.o.Now()
	needs := m.needs()
	for _, n := range needs {
		m.data.Want(n.Query, n.Of)
	}
	var cmds []tea.Cmd
	for _, q := range m.data.Planner.Due(now, needs) {
		r, ok := m.data.Request(q, now)
		if !ok {
			m.data.Planner.Succeeded(q)
			continue
		}
		cmds = append(cmds, m.run(func(ctx context.Context) (msg tea.Msg) {
			defer func() {
				if p := recover(); p != nil { // the query must be sent again
					m.o.Log.Error("console request panicked", "query", r.Query, "panic", p, "stack", string(debug.Stack()))
					msg = answerMsg{state.Answer{Request: r, Err: fmt.Errorf("internal console error: %v", p)}}
				}
			}()
			return answerMsg{r.Run(ctx, m.o.Client)}
		}))
	}
	return tea.Batch(cmds...)
}

// answer processes a response of the service.
func (m *Model) answer(a state.Answer, now time.Time) tea.Cmd {
	wasDown, open, unforeseen := m.data.Link.Down, m.data.openFiles(), m.data.withoutForecast()
	changed, signedOut := m.data.Apply(a, now)
	if !changed {
		return nil
	}
	m.frame.dirty = true
	if m.refusedCertificate(a.Err) {
		m.o.Log.Warn("the certificate of the service is not trusted", "source", m.o.Source, "error", a.Err)
		return nil
	}
	switch {
	case signedOut != nil:
		m.o.Client.SetCredential("")
		m.data.Renew()
		m.askSignIn(state.Sentence(signedOut))
		m.dialogs.guard.begin(now)
		return nil
	case m.data.Link.Down && !wasDown:
		m.o.Log.Warn("service not responding", "source", m.o.Source, "error", a.Err)
	case wasDown && !m.data.Link.Down:
		m.o.Log.Info("service reachable", "source", m.o.Source)
		m.notify("The service is reachable again.", themes.Accent)
	case a.Err != nil:
		m.o.Log.Warn("request failed", "query", a.Request.Query, "error", a.Err)
	}
	if a.Request.Query == state.QuerySites && a.Err == nil {
		return m.chooseFirstSite()
	}
	switch {
	case a.Err != nil:
	case a.Request.Query == state.QueryAssets:
		m.checkSelection()
	case a.Request.Query == state.QueryAlerts:
		m.announce(now)
	case a.Request.Query == state.QueryActivities:
		m.announceHandOver()
	case a.Request.Query == state.QueryImport:
		m.notifyImport()
		return m.poll()
	case a.Request.Query == state.QueryManual:
		return m.notifyRuns()
	case a.Request.Query == state.QueryForecast && unforeseen && !m.data.withoutForecast():
		m.data.Planner.InvalidateAll() // the history was imported, and the first model is trained
		return m.poll()
	case a.Request.Query == state.QueryUploads:
		if m.data.openFiles() < open { // the data of the imported file can be requested
			m.data.Planner.InvalidateAll()
			return m.poll()
		}
	}
	return nil
}

// notifyRuns announces the end of runs, unless their screen shows it, and asks again for
// what they have changed.
func (m *Model) notifyRuns() tea.Cmd {
	going, ended := map[string]bool{}, false
	for _, r := range m.data.Site.Manual.Data {
		switch {
		case !r.Ended():
			going[r.RunID] = true
		case m.data.runsGoing[r.RunID]:
			ended = true
			role := themes.Accent
			if r.Status == api.RunFailed {
				role = themes.Warning
			}
			if s := m.nav.screen(); s == nil || s.Scope() != keymap.RunList {
				name := analysis.RunName(r.Kind)
				m.notify(strings.ToUpper(name[:1])+name[1:]+" has ended: "+r.Result, role)
				m.notes.notice.result = true
			}
		}
	}
	m.data.runsGoing = going
	if !ended {
		return nil
	}
	m.data.Planner.InvalidateAll()
	return m.poll()
}

// withoutForecast reports whether the service has responded that the site has no forecast.
func (d *data) withoutForecast() bool {
	return d.Site != nil && !d.Site.Forecast.At.IsZero() && len(d.Site.Forecast.Data.Forecasts) == 0
}

// openFiles returns the number of files of the site that are still processed.
func (d *data) openFiles() int {
	n := 0
	if d.Site != nil {
		for _, u := range d.Site.Uploads.Data {
			if !u.Ended() {
				n++
			}
		}
	}
	return n
}

// chooseFirstSite opens a site when none is open: the one asked for, else the one of the
// user's place, else the first. Who has several sites and names none begins with the fleet
// over it, unless they left the console at a site.
func (m *Model) chooseFirstSite() tea.Cmd {
	sites := m.data.Sites.Data
	if i := slices.IndexFunc(sites, func(s api.Site) bool { return s.Ref() == m.data.wanted }); i >= 0 {
		m.data.wanted = api.SiteRef{}
		if m.data.Site == nil || m.data.Site.Ref() != sites[i].Ref() {
			m.openSite(sites[i])
			return m.poll()
		}
	}
	if m.data.Site != nil {
		for _, s := range sites { // its record may have changed
			if s.Ref() == m.data.Site.Ref() && s.Timezone == m.data.Site.Timezone {
				m.data.Site.Site = s
			}
		}
		return nil
	}
	if len(sites) == 0 {
		return nil
	}
	asked := cmp.Or(m.o.Site, m.places.start.SiteRef())
	fleet := asked == (api.SiteRef{}) || m.o.Site == (api.SiteRef{}) && m.places.start.Fleet
	wanted := cmp.Or(asked, m.o.Behind)
	i := slices.IndexFunc(sites, func(s api.Site) bool {
		return s.SiteID == wanted.SiteID && (wanted.CustomerID == "" || s.CustomerID == wanted.CustomerID)
	})
	if i < 0 {
		if m.o.Site != (api.SiteRef{}) {
			m.notify(fmt.Sprintf("There is no accessible site %q; this is %s.", strings.TrimPrefix(m.o.Site.CustomerID+"/"+m.o.Site.SiteID, "/"), m.data.siteLabel(sites[0])), themes.Warning)
		}
		i = 0
	}
	m.openSite(sites[i])
	if len(sites) > 1 && fleet && m.prefs.value(settings.Preset) == presetAuto {
		m.openScreen(view.OpenScreen{Screen: plant.NewFleet()})
	}
	m.showIntro()
	return m.poll()
}

// openSiteNamed shows a site. If it is not in the list of sites, the list is
// requested again and the site is shown when the list contains it. A screen of all
// sites is closed.
func (m *Model) openSiteNamed(site api.SiteRef) {
	if s := m.nav.screen(); s != nil && s.Scope() == keymap.FleetList {
		m.leave()
	}
	for _, s := range m.data.Sites.Data {
		if s.Ref() == site {
			m.openSite(s)
			return
		}
	}
	m.data.wanted = site
	m.data.Planner.Invalidate(state.QuerySites)
}

// siteRecord returns the record of the site on screen, zero without one.
func (d *data) siteRecord() api.Site {
	if d.Site == nil {
		return api.Site{}
	}
	return d.Site.Site
}

// siteLabel names a site on screen: by its id, or with its customer if
// another accessible site has the same id.
func (d *data) siteLabel(s api.Site) string { return state.SiteLabel(d.Sites.Data, s.Ref()) }

// openSite puts a site on screen.
func (m *Model) openSite(s api.Site) {
	m.data.Open(s)
	m.nav.selection, m.nav.trail = view.Selection{}, nil
	m.restoreSelection(s)
	m.data.runsGoing = nil
	m.notes.announced = map[string]bool{}
	m.frame.dirty = true
}
