package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/operations"
	"app.sunloop/tui/view/widget"
)

// span is text in a role.
type span struct {
	text string
	role themes.Role
}

func width(spans []span) int {
	n := 0
	for _, s := range spans {
		n += terminal.Width(s.text)
	}
	return n
}

// part is a fact in a line: shown completely or left out. Narrow lines leave
// those of the highest rank out first.
type part struct {
	spans []span
	rank  int
}

// fitParts returns the parts that a width has room for, in their order: those of the
// lowest ranks, and of the first rank that does not fit completely those that do.
func fitParts(parts []part, room int) []span {
	fit, _ := fitBoth(parts, nil, room)
	return fit
}

// fitBoth is fitParts for two lists that share a width, the left one first in each rank.
func fitBoth(left, right []part, room int) (l, r []span) {
	shown := map[*part]bool{}
	for rank := 0; ; rank++ {
		more, full := false, false
		for _, parts := range [][]part{left, right} {
			for i := range parts {
				p := &parts[i]
				more = more || p.rank > rank
				if p.rank != rank {
					continue
				}
				if n := width(p.spans); rank == 0 || n <= room {
					shown[p] = true
					room -= n
				} else {
					full = true // parts of the ranks below it are not shown in its place
				}
			}
		}
		if !more || full || room <= 0 {
			break
		}
	}
	list := func(parts []part) (out []span) {
		for i := range parts {
			if shown[&parts[i]] {
				out = append(out, parts[i].spans...)
			}
		}
		return out
	}
	return list(left), list(right)
}

// drawSpans draws spans from x on and returns the x after them; what the line
// has no room for is cut.
func drawSpans(r terminal.Region, x int, spans []span, m *Model) int {
	w, _ := r.Size()
	for _, s := range spans {
		if x >= w-1 {
			break
		}
		style := m.prefs.palette.Style(s.role)
		text := strings.TrimLeft(s.text, " ")
		if gap := len(s.text) - len(text); gap > 0 { // an underlined text does not begin with a line
			x = r.PutIn(x, 0, w-1-x, s.text[:gap], m.prefs.palette.Style(themes.Dim), m.o.ASCII)
		}
		x = r.PutIn(x, 0, w-1-x, view.Drawable(text, m.o.ASCII), style, m.o.ASCII)
	}
	return x
}

// drawStatus draws site, time, state of the link, alarms and user.
func (m *Model) drawStatus(r terminal.Region, v view.Context) {
	r.Clear(m.prefs.palette.Style(themes.Bar))
	w, _ := r.Size()
	right := append(m.bellParts(v.Now), m.alarmParts(v)...)
	if m.session.user != nil {
		right = append(right, part{[]span{{"  " + terminal.Truncate(m.session.user.Username, 20, m.o.ASCII), themes.Text}}, 2}, part{[]span{{" " + m.session.user.RoleName, themes.Dim}}, 5})
	}
	name := "no site"
	if v.Site != nil {
		name = state.SiteLabel(v.Sites, v.Site.Ref())
	}
	site := []span{{terminal.Truncate(name, max(w/4, 8), m.o.ASCII), themes.Title}}
	if !m.o.ASCII {
		site = append(site, span{" ▾", themes.Dim})
	}
	m.frame.siteEnd = 1 + width(site)
	left := []part{
		{site, 0}, {[]span{{"  " + display.Day(v.SiteNow) + " ", themes.Text}}, 3}, {[]span{{" " + display.Clock(v.SiteNow), themes.Text}}, 1},
		{[]span{{" UTC" + offset(v.SiteNow), themes.Dim}}, 4}, {[]span{{"  " + m.o.Source, themes.Dim}}, 4},
	}
	if m.recorder != nil && m.recorder.cast.err == nil {
		left = append(left, part{[]span{{"  recording", themes.Warning}}, 1})
	}
	if words := operations.HandOverWords(v); words != "" {
		left = append(left, part{[]span{{"  hand-over", themes.Accent}}, 1})
	}
	left = append(left, m.linkParts(v)...)
	if v.Site != nil && !v.Site.Summary.Data.LastUpdated.IsZero() {
		age := v.SiteNow.Sub(v.Site.Summary.Data.LastUpdated.Time)
		role, rank := themes.Dim, 3
		if age > dataLate {
			role, rank = themes.Warning, 1
		}
		left = append(left, part{[]span{{"  data " + ago(age), role}}, rank})
		if text := unitAge(v); text != "" {
			left = append(left, part{[]span{{", " + text, themes.Warning}}, 2})
		}
	}
	// Left and right parts share the line: the least important part is left out first.
	begin, end := fitBoth(left, right, w-4)
	drawSpans(r, 1, begin, m)
	drawSpans(r, max(w-1-width(end), 1), end, m)
}

// unitAge says which unit has older data than its site: the selected one, else how many
// and the age of the oldest; empty if all units are as new.
func unitAge(v view.Context) string {
	newest, day := v.Site.Summary.Data.LastUpdated.Time, v.Site.Day.Data
	if len(day.Units) == 0 || v.Site.Day.At.IsZero() {
		return ""
	}
	late, oldest, selected := 0, newest, ""
	for _, a := range v.Site.Assets.Data {
		last, since := day.Start, "none today"
		if u, ok := day.Unit(a.AssetID); ok && len(u.Records) > 0 {
			last = u.Records[len(u.Records)-1].Timestamp.Time
			since = ago(v.SiteNow.Sub(last))
		}
		if newest.Sub(last) <= dataLate {
			continue
		}
		late++
		if last.Before(oldest) {
			oldest = last
		}
		if a.AssetID == v.Selection.AssetID {
			selected = cmp.Or(a.Name, a.AssetID) + " " + since
		}
	}
	switch {
	case late == 0:
		return ""
	case selected != "":
		return selected
	case !oldest.After(day.Start):
		return fmt.Sprintf("%d of %s none today", late, display.CountOf(len(v.Site.Assets.Data), "unit", "units"))
	}
	return fmt.Sprintf("%d of %s up to %s", late, display.CountOf(len(v.Site.Assets.Data), "unit", "units"), ago(v.SiteNow.Sub(oldest)))
}

// dataLate is the age of the newest telemetry from which a warning is
// shown: two records of a portal that sends quarter hours.
const dataLate = 30 * time.Minute

// linkParts returns the state of the connection to the service if it is not normal.
func (m *Model) linkParts(v view.Context) []part {
	link := &m.data.Link
	switch {
	case link.Down:
		return []part{{[]span{{"  no answer for " + display.Age(v.Now.Sub(link.Since)), themes.Warning}}, 0}}
	case v.Now.Before(link.Limited):
		return []part{{[]span{{"  rate limited " + display.Age(link.Limited.Sub(v.Now)), themes.Warning}}, 0}}
	case link.Latency >= 10*time.Millisecond:
		return []part{{[]span{{"  " + display.Latency(link.Latency), themes.Dim}}, 5}}
	}
	return nil
}

// alarmParts count the active alarms by priority, each with shape and
// colour, then the unacknowledged ones and the shelved ones; a priority
// without any is quiet.
func (m *Model) alarmParts(v view.Context) []part {
	if v.Site == nil {
		return nil
	}
	known := v.Know(alertsNeed)
	if known.Missing() {
		if known.Awaited() {
			return []part{{[]span{{"  alarms …", themes.Dim}}, 0}}
		}
		return []part{{[]span{{"  alarms unknown", themes.Warning}}, 0}}
	}
	if s := v.Site.Summary; !s.At.IsZero() && s.Data.LastUpdated.IsZero() && len(v.Site.Alerts.Data.Alerts) == 0 { // nothing was evaluated yet
		return []part{{[]span{{"  alarms: no data", themes.Dim}}, 0}}
	}
	var count [priorities]int
	waiting := 0
	for _, a := range v.Site.Alerts.Data.Alerts {
		switch a.State {
		case api.AlertUnacknowledged, api.AlertReturned:
			waiting++
		case api.AlertAcknowledged:
		default:
			continue
		}
		count[priorityOf(a.AlertSeverity)]++
	}
	var out []part
	for i, p := range [priorities]struct {
		shape, ascii string
		role         themes.Role
	}{{"▲", "!", themes.Critical}, {"●", "*", themes.Warning}, {"○", "o", themes.Notice}} {
		shape, role, rank := p.shape, p.role, 0
		if m.o.ASCII {
			shape = p.ascii
		}
		if count[i] == 0 {
			role, rank = themes.Muted, 3
		}
		out = append(out, part{[]span{{fmt.Sprintf("  %s%d", shape, count[i]), role}}, rank})
	}
	if known.Certainty == state.Outdated {
		for i := range out {
			for k := range out[i].spans {
				out[i].spans[k].role = themes.Muted
			}
		}
		out = append(out, part{[]span{{"  " + display.Age(v.Now.Sub(known.Since)) + " ago", themes.Warning}}, 0})
	}
	if waiting > 0 {
		out = append(out, part{[]span{{fmt.Sprintf("  %d unack", waiting), themes.Text}}, 0})
	}
	if n := v.Site.Alerts.Data.Counts.Shelved; n > 0 { // shelved alarms are always counted on screen
		out = append(out, part{[]span{{fmt.Sprintf("  shelved %d", n), themes.Text}}, 0})
	}
	return out
}

// drawVitals draws power, energy, performance ratio and availability, each
// against its expectation.
func (m *Model) drawVitals(r terminal.Region, v view.Context) {
	r.Clear(m.prefs.palette.Style(themes.Bar))
	if v.Site == nil {
		return
	}
	s := v.Site.Summary
	w, _ := r.Size()
	known := v.Know(summaryNeed)
	if known.Missing() {
		role := themes.Dim
		if !known.Awaited() {
			role = themes.Warning
		}
		drawSpans(r, 1, []span{{known.Sentence("vital signs", v.Now, v.Site.Zone), role}}, m)
		return
	}
	value := themes.Text
	var parts []part
	if known.Certainty == state.Outdated {
		value = themes.Muted
		parts = append(parts, part{[]span{{display.Age(v.Now.Sub(known.Since)) + " ago: ", themes.Warning}}, 0})
	}
	drawSpans(r, 1, fitParts(append(parts, vitals(s.Data, v.Site.CapacityKW, value)...), w-2), m)
}

// The needs of the status line and the vital signs.
var (
	alertsNeed  = state.Need{Query: state.QueryAlerts, Period: 10 * time.Second}
	summaryNeed = state.Need{Query: state.QuerySummary, Period: 5 * time.Second}
)

// vitals returns a site's vital signs, the most needed with the least rank.
func vitals(d api.SiteSummary, capacityKW float64, value themes.Role) []part {
	measured := d.HasPower()
	out := []part{{[]span{{widget.SitePower(d), value}}, 0}}
	if !measured {
		out[0].spans[0].role = themes.Warning
	}
	if d.ExpectedPowerKW != nil {
		out = append(out, part{[]span{{" of " + display.Power(*d.ExpectedPowerKW) + " expected", themes.Dim}}, 1})
		if measured && *d.ExpectedPowerKW > 0.02*capacityKW {
			out = append(out, part{[]span{{", ", themes.Dim}, {display.Percent(d.TotalPowerKW / *d.ExpectedPowerKW), value}}, 1})
		}
	}
	today := []span{{"  " + widget.SiteEnergy(d), value}, {" today", themes.Dim}}
	if !d.HasEnergy() {
		today = []span{{"  energy unknown", themes.Warning}, {" today", themes.Dim}}
	}
	if d.ExpectedKWhToday != nil {
		today = append(today, span{" (P50 " + display.Energy(*d.ExpectedKWhToday) + ")", themes.Dim})
	}
	out = append(out, part{today, 0})
	if d.FleetPRPct != nil {
		out = append(out, part{[]span{{"  PR ", themes.Dim}, {display.Percent(*d.FleetPRPct / 100), value}}, 2})
	}
	if d.FleetAvailabilityPct != nil {
		out = append(out, part{[]span{{"  availability ", themes.Dim}, {display.Percentage(*d.FleetAvailabilityPct), value}}, 4})
	}
	if measured {
		out = append(out, part{[]span{{"  units ", themes.Dim}, {fmt.Sprintf("%d/%d", d.ActiveInverters, d.TotalInverters), value}}, 3})
	}
	if d.SpecificYieldKWhKWp != nil {
		out = append(out, part{[]span{{"  yield ", themes.Dim}, {display.SpecificYield(max(*d.SpecificYieldKWhKWp, 0)), value}}, 5})
	}
	return out
}

// offset returns a zone's distance from UTC as people write it.
func offset(t time.Time) string {
	_, s := t.Zone()
	sign := "+"
	if s < 0 {
		sign, s = "-", -s
	}
	if s%3600 == 0 {
		return fmt.Sprintf("%s%d", sign, s/3600)
	}
	return fmt.Sprintf("%s%d:%02d", sign, s/3600, s%3600/60)
}

func ago(d time.Duration) string {
	if d < 5*time.Second {
		return "now"
	}
	return display.Age(d) + " old"
}
