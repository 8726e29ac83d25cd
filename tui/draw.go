package tui

import (
	"fmt"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/screen"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// View hands the drawn grid to the output and answers its token. Bubble Tea
// calls it after every message, so nothing is drawn unless something changed.
func (m *Model) View() string {
	if !m.dirty || m.size.Columns == 0 {
		return m.drawn
	}
	m.dirty = false
	m.draw()
	m.drawn = m.out.Frame(m.grid)
	return m.drawn
}

// draw draws the whole screen.
func (m *Model) draw() {
	m.grid.Reset(m.size.Columns, m.size.Rows)
	all := m.grid.All()
	v := m.view()
	all.Clear(m.palette.Style(themes.Background))
	m.layout = layout.Compute(m.size, m.focus, m.zoom, layout.Defaults())
	if m.layout.Mode == layout.TooSmall {
		m.grid.Region(m.layout.Message).Put(0, 0, m.layout.Words(), m.palette.Style(themes.Text))
		return
	}
	m.drawStatus(m.grid.Region(m.layout.Status), v)
	m.drawVitals(m.grid.Region(m.layout.Vitals), v)
	if !m.layout.Tabs.Empty() {
		m.drawTabs(m.grid.Region(m.layout.Tabs), v)
	}
	for i, p := range m.panes {
		m.drawPane(layout.Pane(i), p, v)
	}
	m.drawBreadcrumb(m.grid.Region(m.layout.Breadcrumb), v)
	for _, d := range m.dialogs {
		screen.Draw(d, all, v)
	}
	if m.signIn != nil {
		screen.Draw(m.signIn, all, v)
	}
}

// drawPane draws a pane's frame and inside, or its strip.
func (m *Model) drawPane(i layout.Pane, p pane.Pane, v pane.View) {
	v.Focused = i == m.focus && len(m.dialogs) == 0 && m.signIn == nil
	border := themes.Border
	if v.Focused {
		border = themes.BorderFocus
	}
	for _, part := range []struct {
		at   terminal.Rect
		draw func(terminal.Region, pane.View)
	}{{m.layout.Panes[i], p.Draw}, {m.layout.Strips[i], p.Strip}} {
		if part.at.Empty() {
			continue
		}
		r := m.grid.Region(part.at)
		r.Clear(m.palette.Style(themes.Panel))
		inside := r.Box(terminal.LinesFor(m.o.ASCII), m.palette.Style(border))
		w, _ := r.Size()
		x := r.Put(2, 0, fmt.Sprintf(" %d ", i+1), m.palette.Style(themes.Key))
		x = r.Put(x, 0, i.String()+" ", m.palette.Style(themes.Title))
		if v.Focused && m.filter != nil {
			m.filter.Draw(r.Region(terminal.Rect{X: x + 1, W: w - x - 3, H: 1}), 0, 2, v, true)
		} else if f, ok := p.(interface{ Filter() string }); ok && f.Filter() != "" {
			r.PutIn(x+1, 0, w-x-3, "/"+f.Filter()+" ", m.palette.Style(themes.Accent), m.o.ASCII)
		}
		if v.Site == nil {
			m.drawNoSite(inside, v)
			continue
		}
		part.draw(inside, v)
	}
}

// drawNoSite says why there is no site on screen and what to do.
func (m *Model) drawNoSite(r terminal.Region, v pane.View) {
	sites := m.store.Sites
	switch sites.Face(v.Now, time.Hour, len(sites.Data) == 0) {
	case state.Failed:
		v.Paragraph(r, 1, 0, fmt.Sprintf("%s Next try in %s.", sentence(sites.Err), state.Age(sites.NextTry.Sub(v.Now))), themes.Warning)
	case state.Empty:
		v.Paragraph(r, 1, 0, "There is no site yet. Press U to import a file of its production.", themes.Text)
	default:
		v.Paragraph(r, 1, 0, "Asking for the sites …", themes.Dim)
	}
}

// spans draws texts in their roles from the left, then others from the right.
type span struct {
	text string
	role themes.Role
}

func (m *Model) spans(r terminal.Region, left, right []span) {
	w, _ := r.Size()
	end := w - 1
	for i := len(right) - 1; i >= 0; i-- {
		if need := terminal.Width(right[i].text); end-need > 20 {
			end -= need
			r.Put(end, 0, right[i].text, m.palette.Style(right[i].role))
		}
	}
	x := 1
	for _, s := range left {
		if x >= end-1 {
			return
		}
		x = r.PutIn(x, 0, end-1-x, s.text, m.palette.Style(s.role), m.o.ASCII)
	}
}

// drawStatus draws where, when, how the link is, alarms and who.
func (m *Model) drawStatus(r terminal.Region, v pane.View) {
	r.Clear(m.palette.Style(themes.Bar))
	site := span{"no site", themes.Muted}
	if v.Site != nil {
		site = span{v.Site.SiteID, themes.Title}
	}
	left := []span{site}
	if !m.o.ASCII {
		left = append(left, span{" ▾", themes.Dim})
	}
	left = append(left, span{"  " + v.SiteNow.Format("Mon 02 Jan 15:04"), themes.Text}, span{" UTC" + offset(v.SiteNow), themes.Dim}, span{"  " + m.o.Source, themes.Dim})
	link := &m.store.Link
	switch {
	case link.Down:
		left = append(left, span{fmt.Sprintf("  no answer for %s", state.Age(v.Now.Sub(link.Since))), themes.Warning})
	case v.Now.Before(link.Limited):
		left = append(left, span{fmt.Sprintf("  asked to wait %s", state.Age(link.Limited.Sub(v.Now))), themes.Warning})
	case link.Latency >= time.Millisecond:
		left = append(left, span{fmt.Sprintf("  %s", coarse(link.Latency)), themes.Dim})
	}
	if v.Site != nil && !v.Site.Summary.Data.LastUpdated.IsZero() {
		age := v.SiteNow.Sub(v.Site.Summary.Data.LastUpdated.Time)
		role := themes.Dim
		if age > 30*time.Minute {
			role = themes.Warning
		}
		left = append(left, span{"  data " + ago(age), role})
	}
	right := m.alarmSpans(v)
	if m.user != nil {
		right = append(right, span{"  " + m.user.Username, themes.Text}, span{" " + m.user.RoleName, themes.Dim})
	}
	m.spans(r, left, right)
}

// alarmSpans counts the active findings by priority, each with shape, letter
// and colour; a priority without any is quiet.
func (m *Model) alarmSpans(v pane.View) []span {
	if v.Site == nil || v.Site.Findings.At.IsZero() {
		return nil
	}
	count := map[string]int{}
	for _, f := range v.Site.Findings.Data {
		if f.Active {
			count[f.SeverityLabel]++
		}
	}
	var out []span
	for _, s := range []struct {
		label, shape, ascii string
		role                themes.Role
	}{
		{api.SeverityCritical, "▲", "!C", themes.Critical}, {api.SeverityWarning, "●", "*W", themes.Warning}, {api.SeverityNormal, "○", "oN", themes.Notice},
	} {
		shape, role := s.shape, s.role
		if m.o.ASCII {
			shape = s.ascii
		}
		if count[s.label] == 0 {
			role = themes.Dim
		}
		out = append(out, span{fmt.Sprintf("  %s%d", shape, count[s.label]), role})
	}
	return out
}

// drawVitals draws power, energy, performance ratio and availability, each
// against its expectation.
func (m *Model) drawVitals(r terminal.Region, v pane.View) {
	r.Clear(m.palette.Style(themes.Bar))
	if v.Site == nil {
		return
	}
	s := v.Site.Summary
	if s.At.IsZero() {
		m.spans(r, []span{{"asking for the vital signs …", themes.Dim}}, nil)
		return
	}
	value := themes.Text
	if s.Face(v.Now, 2*time.Minute, false) == state.Stale {
		value = themes.Muted
	}
	d := s.Data
	left := []span{{pane.Power(d.TotalPowerKW), value}}
	if d.ExpectedPowerKW != nil {
		share := ""
		if *d.ExpectedPowerKW > 0.02*v.Site.CapacityKW {
			share = ", " + pane.Percent(d.TotalPowerKW / *d.ExpectedPowerKW)
		}
		left = append(left, span{fmt.Sprintf(" of %s expected%s", pane.Power(*d.ExpectedPowerKW), share), themes.Dim})
	}
	left = append(left, span{"  " + pane.Energy(d.TotalKWhToday), value})
	if d.ExpectedKWhToday != nil {
		left = append(left, span{fmt.Sprintf(" today (P50 %s)", pane.Energy(*d.ExpectedKWhToday)), themes.Dim})
	} else {
		left = append(left, span{" today", themes.Dim})
	}
	if d.FleetPRPct != nil {
		left = append(left, span{"  PR ", themes.Dim}, span{fmt.Sprintf("%.2f", *d.FleetPRPct/100), value})
	}
	if d.FleetAvailabilityPct != nil {
		left = append(left, span{"  availability ", themes.Dim}, span{fmt.Sprintf("%.1f %%", *d.FleetAvailabilityPct), value})
	}
	left = append(left, span{"  units ", themes.Dim}, span{fmt.Sprintf("%d/%d", d.ActiveInverters, d.TotalInverters), value})
	if d.SpecificYieldKWhKWp != nil {
		left = append(left, span{"  yield ", themes.Dim}, span{fmt.Sprintf("%.2f kWh/kWp", max(*d.SpecificYieldKWhKWp, 0)), value})
	}
	m.spans(r, left, nil)
}

// drawTabs draws the tab bar of small screens.
func (m *Model) drawTabs(r terminal.Region, v pane.View) {
	r.Clear(m.palette.Style(themes.Bar))
	x := 1
	for p := layout.Observe; p < layout.Panes; p++ {
		name := fmt.Sprintf(" %d %s ", p+1, p)
		if p == m.focus {
			r.Put(x, 0, name, m.palette.Style(themes.Title).With(themes.Reverse))
		} else {
			r.Put(x, 0, name, m.palette.Style(themes.Dim))
		}
		x += len(name) + 1
	}
}

// tabAt is the pane whose tab stands at a column.
func (m *Model) tabAt(at int) layout.Pane {
	x := 1
	for p := layout.Observe; p < layout.Panes; p++ {
		x += len(fmt.Sprintf(" %d %s ", p+1, p)) + 1
		if at < x {
			return p
		}
	}
	return m.focus
}

// drawBreadcrumb draws the way to the thing in hand, or a notice, and the keys
// that matter here.
func (m *Model) drawBreadcrumb(r terminal.Region, v pane.View) {
	r.Clear(m.palette.Style(themes.Bar))
	var left, right []span
	switch {
	case m.pending != "":
		left = []span{{m.pending + " …", themes.Key}}
	case m.notice.text != "":
		left = []span{{m.notice.text, m.notice.role}}
	default:
		left = append(m.crumbs(v), m.progress(v)...)
	}
	for _, e := range m.o.Keys.Entries() {
		if e.Footer != "" && (e.Scope == keymap.Global || e.Scope == keymap.List) {
			key := strings.Fields(e.Binding.Help().Key)[0]
			right = append(right, span{"  " + key, themes.Key}, span{" " + e.Footer, themes.Dim})
		}
	}
	w, _ := r.Size()
	room := w - 3
	for _, s := range left {
		room -= terminal.Width(s.text)
	}
	for len(right) > 0 { // the words give way to the breadcrumb, from the front
		need := 0
		for _, s := range right {
			need += terminal.Width(s.text)
		}
		if need <= room {
			break
		}
		right = right[2:]
	}
	m.spans(r, left, right)
}

// crumbs are site › unit › finding.
func (m *Model) crumbs(v pane.View) []span {
	arrow := " › "
	if m.o.ASCII {
		arrow = " > "
	}
	if v.Site == nil {
		return nil
	}
	out := []span{{v.Site.SiteID, themes.Dim}}
	if m.hand.AssetID != "" {
		out = append(out, span{arrow, themes.Muted}, span{m.hand.AssetID, themes.Accent})
	}
	for _, f := range v.Site.Findings.Data {
		if f.SummaryID == m.hand.FindingID {
			out = append(out, span{arrow, themes.Muted}, span{fmt.Sprintf("%s %.2f", pane.Family(f.FaultFamily), f.Confidence), themes.Accent})
		}
	}
	return out
}

// progress is how far the files on their way are, empty when there is none.
func (m *Model) progress(v pane.View) []span {
	if v.Site == nil {
		return nil
	}
	open, done := 0, 0.0
	stage := ""
	for _, u := range v.Site.Uploads.Data {
		if u.Kind == api.UploadTrain && !u.Ended() {
			open++
			done += u.Progress
			if stage == "" || u.ProcessingStatus == api.UploadProcessing {
				stage = pane.UploadState(u)
			}
		}
	}
	if open == 0 {
		return nil
	}
	const cells = 12
	full, empty := "█", "░"
	if m.o.ASCII {
		full, empty = "#", "."
	}
	n := int(done / float64(open) * cells)
	return []span{
		{"  " + strings.Repeat(full, n), themes.Accent}, {strings.Repeat(empty, cells-n), themes.Muted},
		{fmt.Sprintf(" %s, %d %s on the way", stage, open, plural(open, "file", "files")), themes.Dim},
	}
}

// offset is a zone's distance from UTC as people write it.
func offset(t time.Time) string {
	_, s := t.Zone()
	sign := "+"
	if s < 0 {
		sign, s = "−", -s
	}
	if s%3600 == 0 {
		return fmt.Sprintf("%s%d", sign, s/3600)
	}
	return fmt.Sprintf("%s%d:%02d", sign, s/3600, s%3600/60)
}

// coarse writes a latency so that it changes seldom.
func coarse(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return "<10 ms"
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Round(10*time.Millisecond).Milliseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Round(100*time.Millisecond).Milliseconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

func ago(d time.Duration) string {
	if d < 5*time.Second {
		return "now"
	}
	return state.Age(d) + " old"
}
