package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/plant"
	"app.sunloop/tui/view/widget"
	"app.sunloop/tui/view/workflow"
)

// frame is the drawn screen.
type frame struct {
	grid    *terminal.Grid
	layout  layout.Layout
	size    layout.Size
	siteEnd int // where the site's name ends in the status line
	dirty   bool
	touched bool   // by the user: drawn immediately
	drawn   string // what View returned last
}

// View passes the drawn grid to the output and returns its token. Bubble Tea calls
// View after every message, so the screen is drawn only after a change.
func (m *Model) View() string {
	if !m.frame.dirty || m.frame.size.Columns == 0 {
		return m.frame.drawn
	}
	m.frame.dirty = false
	m.draw()
	m.record()
	m.frame.drawn = m.out.Frame(m.frame.grid)
	if m.frame.touched {
		m.frame.touched = false
		_ = m.out.FlushNow() // Bubble Tea's tick tries again
	}
	return m.frame.drawn
}

// draw draws the whole screen.
func (m *Model) draw() {
	m.frame.grid.Reset(m.frame.size.Columns, m.frame.size.Rows)
	all := m.frame.grid.All()
	v := m.context()
	all.Clear(m.prefs.palette.Style(themes.Background))
	m.frame.layout = layout.Compute(m.frame.size, m.nav.focus, m.nav.zoom, m.prefs.layout)
	if m.frame.layout.Mode == layout.TooSmall {
		m.frame.grid.Region(m.frame.layout.Message).Put(0, 0, view.Drawable(m.frame.layout.SizeMessage(), m.o.ASCII), m.prefs.palette.Style(themes.Text))
		return
	}
	m.drawStatus(m.frame.grid.Region(m.frame.layout.Status), v)
	m.drawVitals(m.frame.grid.Region(m.frame.layout.Vitals), v)
	if !m.frame.layout.Tabs.Empty() {
		m.drawTabs(m.frame.grid.Region(m.frame.layout.Tabs), v)
	}
	if s := m.nav.screen(); s != nil {
		m.drawScreen(s, v)
	} else {
		for i, p := range m.nav.panes {
			m.drawPane(layout.Pane(i), p, v)
			m.drawStrip(layout.Pane(i), p, v)
		}
	}
	m.drawBreadcrumb(m.frame.grid.Region(m.frame.layout.Breadcrumb), v)
	for _, d := range m.openDialogs() {
		view.DrawDialog(d, all, v)
	}
}

// drawPane draws a pane's frame and inside.
func (m *Model) drawPane(i layout.Pane, p view.Pane, v view.Context) {
	at := m.frame.layout.Panes[i]
	if at.Empty() {
		return
	}
	v.Focused = i == m.nav.focus && m.bare()
	r := m.frame.grid.Region(at)
	r.Clear(m.prefs.palette.Style(themes.Panel))
	if m.frame.layout.Mode != layout.Single {
		m.edge(r, v.Focused)
		w, _ := r.Size()
		x := m.title(r, 1, i)
		m.drawFilter(r.Region(terminal.Rect{X: x + 1, W: w - x - 3, H: 1}), p.Lists().Active, v)
	}
	inside := m.frame.grid.Region(m.frame.layout.Inside(at))
	if v.Site == nil {
		m.drawNoSite(inside, i, v)
		return
	}
	p.Draw(v.DrawKnowledge(inside, p.Queries(v)), v)
}

// title draws a pane's number and name and returns the x after it.
func (m *Model) title(r terminal.Region, x int, i layout.Pane) int {
	x = r.Put(x, 0, fmt.Sprintf(" %d ", i+1), m.prefs.palette.Style(themes.Key))
	return r.Put(x, 0, i.String()+" ", m.prefs.palette.Style(themes.Title))
}

// drawFilter draws the filter line while it is typed, and what it is after.
func (m *Model) drawFilter(r terminal.Region, list view.List, v view.Context) {
	w, _ := r.Size()
	if w < 8 {
		return
	}
	if v.Focused && m.nav.filter != nil {
		m.nav.filter.Draw(r.Region(terminal.Rect{W: min(w, 40), H: 1}), 0, 2, v, true)
	} else if list != nil && list.Filter() != "" {
		r.PutIn(0, 0, w, " /"+list.Filter()+" ", m.prefs.palette.Style(themes.Accent), m.o.ASCII)
	}
}

// bare reports whether no dialog or screen covers the panes.
func (m *Model) bare() bool {
	return len(m.dialogs.stack) == 0 && m.session.signIn == nil && m.session.certificate == nil
}

// edge draws the frame of the body.
func (m *Model) edge(r terminal.Region, focused bool) {
	border := themes.Border
	if focused {
		border = themes.BorderFocus
	}
	r.Box(terminal.LinesFor(m.o.ASCII), m.prefs.palette.Style(border))
}

// drawScreen draws a screen instead of the panes.
func (m *Model) drawScreen(s view.View, v view.Context) {
	v.Focused = m.bare()
	r := m.frame.grid.Region(m.frame.layout.Body)
	r.Clear(m.prefs.palette.Style(themes.Panel))
	if m.frame.layout.Mode != layout.Single {
		m.edge(r, v.Focused)
		w, _ := r.Size()
		x := r.Put(1, 0, " "+s.Title()+" ", m.prefs.palette.Style(themes.Title))
		m.drawFilter(r.Region(terminal.Rect{X: x + 1, W: w - x - 3, H: 1}), m.list(), v)
	}
	s.Draw(v.DrawKnowledge(m.frame.grid.Region(m.frame.layout.Further()), s.Queries(v)), v)
}

// drawStrip draws a pane's summary below a line with its name.
func (m *Model) drawStrip(i layout.Pane, p view.Pane, v view.Context) {
	at := m.frame.layout.Strips[i]
	if at.Empty() {
		return
	}
	v.Focused = false
	r := m.frame.grid.Region(at)
	w, h := r.Size()
	r.Clear(m.prefs.palette.Style(themes.Panel))
	r.HLine(0, 0, w, terminal.LinesFor(m.o.ASCII), m.prefs.palette.Style(themes.Border))
	m.title(r, 1, i)
	if v.Site != nil {
		p.Strip(r.Region(terminal.Rect{X: 1, Y: 1, W: w - 2, H: h - 1}), v)
	}
}

// drawNoSite shows why there is no site on screen and what to do; the other panes
// show what they will contain.
func (m *Model) drawNoSite(r terminal.Region, i layout.Pane, v view.Context) {
	sites := m.data.Sites
	if i != m.nav.focus {
		v.Paragraph(r, 0, 0, [layout.Panes]string{
			"Power against its forecast, units and alarms.", "Findings and their evidence.",
			"The days ahead, and when work costs least.", "Running and completed work.",
		}[i], themes.Muted)
		return
	}
	if m.session.signIn != nil && sites.At.IsZero() {
		return
	}
	switch sites.Status(v.Now, time.Hour, len(sites.Data) == 0) {
	case state.Failed:
		y := v.Paragraph(r, 0, 0, state.Sentence(sites.Err), themes.Warning)
		v.Paragraph(r, 0, y, "Next try "+state.Soon(sites.NextTry.Sub(v.Now))+"; r asks now.", themes.Dim)
	case state.Empty:
		if v.Preparing != nil {
			y := v.Paragraph(r, 0, 0, "The sites and their history are being imported.", themes.Text)
			w, h := r.Size()
			plant.DrawImporting(r.Region(terminal.Rect{Y: y + 1, W: w, H: h - y - 1}), v, 2)
			return
		}
		y := v.Paragraph(r, 0, 0, "No sites yet.", themes.Text)
		add := "Press U to import"
		if m.o.Remote {
			add = "Use sunloop import --remote on your machine to import"
		}
		v.Paragraph(r, 0, y+1, add+" a file of production, as a portal, logger or meter exported it. The site appears with it; with enough history, training and forecast follow automatically.", themes.Dim)
	default:
		v.Paragraph(r, 0, 0, "Asking for the sites …", themes.Dim)
	}
}

// drawTabs draws the tab bar of small screens, and the filter next to it.
func (m *Model) drawTabs(r terminal.Region, v view.Context) {
	r.Clear(m.prefs.palette.Style(themes.Bar))
	x := 1
	if s := m.nav.screen(); s != nil {
		x = r.Put(x, 0, " "+s.Title()+" ", m.prefs.palette.Style(themes.Title).With(themes.Reverse))
	}
	for p := layout.Observe; p < layout.Panes && m.nav.screen() == nil; p++ {
		name := tabName(p)
		if p == m.nav.focus {
			r.Put(x, 0, name, m.prefs.palette.Style(themes.Title).With(themes.Reverse))
		} else {
			r.Put(x, 0, name, m.prefs.palette.Style(themes.Dim))
		}
		x += len(name) + 1
	}
	w, _ := r.Size()
	v.Focused = m.bare()
	m.drawFilter(r.Region(terminal.Rect{X: x + 1, W: w - x - 2, H: 1}), m.list(), v)
}

func tabName(p layout.Pane) string { return fmt.Sprintf(" %d %s ", p+1, p) }

// tabAt returns the pane whose tab is at a column.
func (m *Model) tabAt(at int) layout.Pane {
	x := 1
	for p := layout.Observe; p < layout.Panes; p++ {
		x += len(tabName(p)) + 1
		if at < x {
			return p
		}
	}
	return m.nav.focus
}

// drawBreadcrumb draws the workflow of the selection, or a notice, and the
// important keys.
func (m *Model) drawBreadcrumb(r terminal.Region, v view.Context) {
	r.Clear(m.prefs.palette.Style(themes.Bar))
	var left []span
	switch {
	case m.nav.pending != "":
		left = []span{{m.nav.pending + " …", themes.Key}}
	case m.notes.notice.text != "" && !m.hasEffect(m.notes.notice.key):
		left = []span{{m.notes.notice.text, m.notes.notice.role}}
	default:
		left = append(m.crumbs(v), m.progress(v)...)
	}
	w, _ := r.Size()
	room := w - 4 - width(left)
	var right []span
	keys := m.footer()
	if !m.bare() {
		keys = nil // a dialog has the keys, and shows its own
	}
	for _, k := range keys {
		hint := []span{{"  " + k[0], themes.Key}, {" " + k[1], themes.Dim}}
		if room -= width(hint); room < 0 {
			break
		}
		right = append(right, hint...)
	}
	x := drawSpans(r, 1, left, m)
	drawSpans(r, max(w-1-width(right), x), right, m)
}

// hasEffect reports whether a key has an effect on what is shown now.
func (m *Model) hasEffect(key string) bool {
	if key == "" {
		return false
	}
	_, ok, pending := m.o.Keys.Match(key, m.nav.scopes()...)
	return ok || pending
}

// footer returns the keys that matter here, the most needed first.
func (m *Model) footer() [][2]string {
	if s := m.nav.screen(); s != nil {
		return m.screenFooter(s)
	}
	words := map[keymap.Action]string{}
	if m.data.Site != nil {
		words[keymap.Open] = [layout.Panes]string{"look at", "decide", "compare", "details"}[m.nav.focus]
		words[keymap.NextStep] = string(workflow.WorkflowFor(m.context()).Next)
	}
	var out [][2]string
	for _, a := range []keymap.Action{keymap.NextStep, keymap.Open, keymap.Help, keymap.Palette, keymap.Zoom, keymap.Sites, keymap.Upload, keymap.Quit} {
		e, ok := m.o.Keys.Entry(a)
		switch {
		case !ok, m.never(e), a == keymap.NextStep && (words[a] == "" || m.nav.selection.AssetID != "" && m.context().ReadOnly != ""), m.data.Site == nil && (a == keymap.Open || a == keymap.NextStep), a == keymap.Sites && len(m.data.Sites.Data) < 2, a == keymap.Zoom && m.frame.layout.Mode == layout.Single:
			continue
		}
		name := e.Footer
		if w := words[a]; w != "" {
			name = w
		}
		out = append(out, [2]string{strings.Fields(e.Binding.Help().Key)[0], name})
		if a == keymap.Help {
			out = append(out, m.paneFooter()...)
		}
	}
	return out
}

// paneFooter returns the focused pane's own keys that are available now.
func (m *Model) paneFooter() [][2]string {
	var out [][2]string
	for _, e := range m.o.Keys.Entries() {
		if m.data.Site != nil && e.Scope == m.nav.panes[m.nav.focus].Scope() && e.Footer != "" && m.disabled(e) == "" {
			out = append(out, [2]string{strings.Fields(e.Binding.Help().Key)[0], e.Footer})
		}
	}
	return out
}

// screenFooter returns the screen's own keys that are available now, and those of
// lists.
func (m *Model) screenFooter(s view.View) [][2]string {
	var out [][2]string
	add := func(e keymap.Entry, words string) {
		out = append(out, [2]string{strings.Fields(e.Binding.Help().Key)[0], words})
	}
	if e, ok := m.o.Keys.Entry(keymap.Open); ok && s.Opens() != "" {
		add(e, s.Opens())
	}
	for _, e := range m.o.Keys.Entries() {
		if s.Scope() != "" && e.Scope == s.Scope() && e.Footer != "" && m.disabled(e) == "" {
			add(e, e.Footer)
		}
	}
	for _, k := range []struct {
		action keymap.Action
		words  string
	}{{keymap.Back, "back"}, {keymap.Filter, "filter"}, {keymap.Sort, "sort"}, {keymap.Help, "help"}, {keymap.Export, "export"}} {
		if e, ok := m.o.Keys.Entry(k.action); ok && !m.taken(k.action, s.Scope()) && (k.action != keymap.Filter && k.action != keymap.Sort || m.list() != nil) {
			add(e, k.words)
		}
	}
	return out
}

// taken reports whether an action of a scope has the first key of another one.
func (m *Model) taken(a keymap.Action, scope keymap.Scope) bool {
	return slices.ContainsFunc(m.o.Keys.Entries(), func(e keymap.Entry) bool { return e.Takes == a && e.Scope == scope })
}

// crumbs are site › unit › finding.
func (m *Model) crumbs(v view.Context) []span {
	arrow := " › "
	if m.o.ASCII {
		arrow = " > "
	}
	if v.Site == nil {
		return nil
	}
	narrow := m.frame.size.Columns < 100 && m.nav.selection.AssetID != "" // the status line has the site
	var out []span
	if !narrow {
		out = append(out, span{terminal.Truncate(state.SiteLabel(v.Sites, v.Site.Ref()), 24, m.o.ASCII), themes.Dim})
	}
	if m.nav.selection.AssetID != "" {
		if !narrow {
			out = append(out, span{arrow, themes.Muted})
		}
		out = append(out, span{terminal.TruncateMiddle(m.nav.selection.AssetID, 4, 20, m.o.ASCII), themes.Accent})
	}
	at, active := 0, 0
	for _, f := range v.Site.Findings.Data {
		if f.Active {
			active++
		}
		if f.SummaryID == m.nav.selection.FindingID {
			at = active
			name := widget.Family(f.FaultFamily)
			if !narrow {
				name += " " + display.Percent(f.Confidence)
			}
			out = append(out, span{arrow, themes.Muted}, span{name, themes.Accent})
		}
	}
	if m.nav.selection.AssetID != "" {
		steps := workflow.WorkflowFor(v).Done(v.Site.Zone)
		if narrow && len(steps) > 1 {
			steps = steps[len(steps)-1:] // keep space for the next step
		}
		for _, done := range steps {
			out = append(out, span{arrow, themes.Muted}, span{done, themes.Accent})
		}
	}
	if at > 0 && active > 1 {
		out = append(out, span{fmt.Sprintf("  %d of %d", at, active), themes.Dim})
	}
	return out
}

// progress returns the progress of uploads, empty if there are none.
func (m *Model) progress(v view.Context) []span {
	if v.Site == nil {
		return nil
	}
	done, stage := 0.0, ""
	files := plant.Importing(v)
	for _, u := range files {
		done += u.Progress
		if stage == "" || u.Progress > 0 {
			stage = plant.UploadState(u)
		}
	}
	if len(files) == 0 {
		return nil
	}
	const cells = 12
	full, empty := "█", "░"
	if m.o.ASCII {
		full, empty = "#", "."
	}
	done /= float64(len(files))
	n := min(max(int(done*cells), 0), cells)
	if m.frame.size.Columns < 130 && m.nav.selection.AssetID != "" { // the workflow of the selection needs the space
		return []span{{fmt.Sprintf("  %s %s", display.Percent(done), stage), themes.Dim}}
	}
	return []span{
		{"  " + strings.Repeat(full, n), themes.Accent}, {strings.Repeat(empty, cells-n), themes.Muted},
		{fmt.Sprintf(" %s %s, %s in progress", display.Percent(done), stage, display.CountOf(len(files), "file", "files")), themes.Dim},
	}
}
