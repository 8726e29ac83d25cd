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
// customer if a customer is selected, and below it the units of the selected site.
func (f *fleet) drawMaps(r terminal.Region, v view.Context, id string) {
	w, h := r.Size()
	sites := f.listed(v, id)
	at := slices.IndexFunc(sites, func(s api.FleetSite) bool { return fleetID(s) == id })
	rest := h - 1 // the last line has the legend
	part := rest
	if at >= 0 {
		part = min(len(sites)+2, rest/2)
	}
	f.drawSites(r.Region(terminal.Rect{W: w, H: part}), v, sites, at)
	if at >= 0 {
		f.drawUnits(r.Region(terminal.Rect{Y: part + 1, W: w, H: rest - part - 1}), v, sites[at])
	}
	chart.HeatLegend(r, 0, h-1, chart.NormalRatio, penOf(v), v.Palette)
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
	m.Pen, m.Palette, m.Start, m.Location, m.Selected, m.First, m.Rows = penOf(v), v.Palette, start, time.UTC, selected, 0, m.Rows[:0]
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

// drawUnits draws a line for each unit of a site: its power over the median of its peers,
// the units that lost most first.
func (f *fleet) drawUnits(r terminal.Region, v view.Context, site api.FleetSite) {
	w, h := r.Size()
	v.Heading(r, 0, "Units of "+f.labels(site.Ref()), "of the median of peers")
	r = r.Region(terminal.Rect{Y: 1, W: w, H: h - 1})
	value := v.Admin.FleetUnits
	if known := v.Know(state.Need{Query: state.QueryFleetUnits, Of: state.FleetUnitsOf(site), Period: fleetUnitsPeriod}); known.Missing() || value.Data.Site != site.Ref() {
		v.Paragraph(r, 0, 0, state.Knowledge{Certainty: state.Unknown, Since: value.FailedSince, Err: value.Err}.Sentence("the units of this site", v.Now, v.Zone()), themes.Muted)
		return
	}
	zone := value.Data.Day.Start.Location()
	day := f.day.Get(view.DayKey{Of: state.FleetUnitsOf(site), AssetAt: value.At}, func() *view.DayTable {
		own := v
		own.Site = &state.Site{Site: api.Site{SiteID: site.SiteID, CustomerID: site.CustomerID, Timezone: site.Timezone}, Zone: zone}
		own.Site.Assets.Set(value.Data.Assets, value.At)
		own.SiteNow = v.Now.In(zone)
		return view.NewDayData(own, value.Data.Day, 15*time.Minute)
	})
	if len(day.Units) == 0 || len(day.Abnormal) == 0 {
		v.Paragraph(r, 0, 0, "No data of today.", themes.Muted)
		return
	}
	m := &f.units
	m.Pen, m.Palette, m.Start, m.Location, m.Selected, m.First, m.Rows = penOf(v), v.Palette, day.Start, zone, -1, 0, m.Rows[:0]
	for _, i := range byDeficit(day) {
		m.Rows = append(m.Rows, chart.HeatRow{Name: day.Units[i].AssetID, Ratio: widget.Points(day.Abnormal[i], day.Start, day.Step)})
	}
	drawMap(m, r)
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
