package plant

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// drawMaps draws the heat maps next to the list: the sites over their day, those of one
// customer if a customer is selected, and below it the units of the selected site and its
// alarms.
func (f *fleet) drawMaps(r terminal.Region, v view.Context, id string) {
	w, h := r.Size()
	sites := f.listed(v, id)
	at := slices.IndexFunc(sites, func(s api.FleetSite) bool { return fleetID(s) == id })
	legend := func(y int) { chart.HeatLegend(r, 0, y, chart.LowRatio, penOf(v), v.Palette) }
	if at < 0 {
		f.drawSites(r.Region(terminal.Rect{W: w, H: h - 1}), v, sites, at)
		legend(min(len(sites)+2, h-1))
		return
	}
	part := min(len(sites)+2, h/3)
	f.drawSites(r.Region(terminal.Rect{W: w, H: part}), v, sites, at)
	y := part + 1
	rest := h - y - 1 // the legend has a line
	own, day, ok := f.siteDay(v, sites[at])
	alarms := 0
	if ok {
		alarms = min(alarmLines(own, w), rest*2/3)
	}
	y += f.drawUnits(r.Region(terminal.Rect{Y: y, W: w, H: rest - alarms}), v, sites[at], day)
	legend(y)
	if y += 2; ok && h-y > 1 {
		drawSiteAlarms(r.Region(terminal.Rect{Y: y, W: w, H: h - y}), own, f.labels(sites[at].Ref()))
	}
}

// listed returns the sites of the list in its order; those of a customer if the selected
// row is one.
func (f *fleet) listed(v view.Context, id string) []api.FleetSite {
	all := f.ordered(v)
	if customer, ok := strings.CutSuffix(id, "\t"); ok {
		return slices.DeleteFunc(slices.Clone(all), func(s api.FleetSite) bool { return s.CustomerID != customer })
	}
	row := make(map[string]int, len(all))
	for i, s := range all {
		row[fleetID(s)] = i
	}
	var out []api.FleetSite
	for _, id := range f.screen.List.Drawn() {
		if i, ok := row[id]; ok {
			out = append(out, all[i])
		}
	}
	return out
}

// penOf returns what charts are drawn with.
func penOf(v view.Context) chart.Pen {
	if v.ASCII {
		return chart.ASCII
	}
	return v.Pen
}

// drawSites draws a line for each site: measured over expected power of each hour by the
// clock of the site. Half lines are used where there are more sites than lines.
func (f *fleet) drawSites(r terminal.Region, v view.Context, sites []api.FleetSite, selected int) {
	w, h := r.Size()
	v.Heading(r, 0, "Sites by hour", "of expected power")
	m := &f.hours
	start := time.Unix(0, 0).UTC() // any day: each site has its own clock
	m.Pen, m.Palette, m.Normal, m.Start, m.Location, m.Selected, m.First, m.Rows = penOf(v), v.Palette, chart.LowRatio, start, time.UTC, selected, 0, m.Rows[:0]
	for _, s := range sites {
		ratios := make([]float64, len(s.Hours))
		for i, of := range s.Hours {
			ratios[i] = known(of)
		}
		m.Rows = append(m.Rows, chart.HeatRow{Name: f.labels(s.Ref()), Ratio: widget.Points(ratios, start, time.Hour)})
	}
	drawMap(m, r.Region(terminal.Rect{Y: 1, W: w, H: h - 1}))
}

// drawMap draws a map, scrolled so that the selected row is seen.
func drawMap(m *chart.Heat, r terminal.Region) {
	_, h := r.Size()
	if seen := m.Visible(h); m.Selected >= seen {
		m.First = m.Selected - seen + 1
	}
	w, _ := r.Size()
	m.Draw(r.Region(terminal.Rect{W: w, H: min(h, len(m.Rows)+1)})) // the hours follow the last row
}

// siteDay returns a context of the selected site, with what is known of it, and its day; ok is
// false while that is unknown.
func (f *fleet) siteDay(v view.Context, site api.FleetSite) (own view.Context, day *view.DayTable, ok bool) {
	value := v.Admin.FleetUnits
	known := v.Know(state.Need{Query: state.QueryFleetUnits, Of: state.FleetUnitsOf(site), Period: fleetUnitsPeriod})
	if known.Missing() || value.Data.Site != site.Ref() {
		return v, nil, false
	}
	zone := value.Data.Day.Start.Location()
	own = v
	own.Site = &state.Site{Site: api.Site{SiteID: site.SiteID, CustomerID: site.CustomerID, Timezone: site.Timezone, CapacityKW: site.CapacityKW}, Zone: zone}
	own.Site.Assets.Set(value.Data.Assets, value.At)
	own.Site.Findings.Set(value.Data.Findings, value.At)
	own.Site.Alerts.Set(state.AlertList{Alerts: value.Data.Alerts}, value.At)
	own.SiteNow = v.Now.In(zone)
	if at := site.Summary.ServiceTime; !at.IsZero() {
		own.SiteNow = at.In(zone)
	}
	day = f.day.Get(view.DayKey{Of: state.FleetUnitsOf(site), AssetAt: value.At}, func() *view.DayTable {
		return view.NewDayData(own, value.Data.Day, 15*time.Minute)
	})
	return own, day, true
}

// whyNoSite says why nothing is known of today at a site.
func whyNoSite(v view.Context, what string) string {
	value := v.Admin.FleetUnits
	return state.Knowledge{Certainty: state.Unknown, Since: value.FailedSince, Err: value.Err}.Sentence(what, v.Now, v.Zone())
}

// drawUnits draws a line for each unit of a site: its power over the median of its peers,
// the units that lost most first. It returns the number of lines drawn.
func (f *fleet) drawUnits(r terminal.Region, v view.Context, site api.FleetSite, day *view.DayTable) int {
	w, h := r.Size()
	v.Heading(r, 0, "Units of "+f.labels(site.Ref()), "of the median of peers")
	r = r.Region(terminal.Rect{Y: 1, W: w, H: h - 1})
	if day == nil {
		return 1 + v.Paragraph(r, 0, 0, whyNoSite(v, "the units of this site"), themes.Muted)
	}
	if len(day.Units) == 0 || len(day.Abnormal) == 0 {
		return 1 + v.Paragraph(r, 0, 0, "No data of today.", themes.Muted)
	}
	m := &f.units
	m.Pen, m.Palette, m.Normal, m.Start, m.Location, m.Selected, m.First, m.Rows = penOf(v), v.Palette, chart.LowRatio, day.Start, day.Start.Location(), -1, 0, m.Rows[:0]
	for _, i := range byDeficit(day) {
		m.Rows = append(m.Rows, chart.HeatRow{Name: day.Units[i].AssetID, Ratio: widget.Points(day.Abnormal[i], day.Start, day.Step)})
	}
	drawMap(m, r)
	return 1 + min(h-1, len(m.Rows)+1)
}

// byDeficit returns the units of a day, those whose deficits that lasted add up to most first.
func byDeficit(day *view.DayTable) []int {
	lack, order := make([]float64, len(day.Units)), make([]int, len(day.Units))
	for i := range order {
		order[i] = i
		for _, ratio := range day.Abnormal[i] {
			if ratio < chart.NormalRatio.Low {
				lack[i] += (1 - ratio) * day.Units[i].CapacityKW
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lack[b], lack[a]) })
	return order
}
