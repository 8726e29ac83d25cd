// Package plant shows what plants are made of: the fleet, assets and
// components, and imports of files.
package plant

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// fleetPeriod is how often the day of all sites is asked for: one request.
const fleetPeriod = 15 * time.Second

// NewFleet lists all accessible sites, those with most energy at risk first.
func NewFleet() *widget.TableView {
	return &widget.TableView{
		Heading: "Fleet", Query: state.QueryFleet, Period: fleetPeriod, Enter: "open the site",
		Empty: "No accessible sites. Press esc, then U, to import a file of a site's production.",
		List:  widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "site", Width: 24, Min: 10}, {Title: "power", Width: 8, Right: true}, {Title: "of exp.", Width: 7, Right: true}, {Title: "lost", Width: 8, Right: true, Rank: 2},
			{Title: "alarms", Width: 9, Min: 6}, {Title: "PR", Width: 4, Right: true, Rank: 3}, {Title: "avail.", Width: 6, Right: true, Rank: 4}, {Title: "yield", Width: 8, Right: true, Rank: 5},
			{Title: "data", Width: 6, Right: true, Rank: 1}, {Title: "the day, 00 to 24", Min: 24, Rank: 6},
		},
		Rows: fleetRows, Detail: fleetDetail, Wide: true, Leaves: true,
		Act: func(a keymap.Action, id string, v view.Context) view.Request {
			if a != keymap.Open || id == "" {
				return nil
			}
			if i := slices.IndexFunc(fleetOf(v), func(f api.FleetSite) bool { return fleetID(f) == id }); i >= 0 {
				return view.OpenSite{Site: fleetOf(v)[i].Ref()}
			}
			return nil
		},
		ExportRows: fleetExport,
		Status: func(v view.Context) widget.ValueStatus {
			if v.Admin == nil {
				return widget.ValueStatus{}
			}
			return widget.StatusOf(v.Admin.Fleet, v.Now, len(v.Admin.Fleet.Data) == 0)
		},
	}
}

// fleetID identifies the row of a site. No id has a tab.
func fleetID(f api.FleetSite) string { return f.CustomerID + "\t" + f.SiteID }

// fleetOf are the sites, the most at risk first.
func fleetOf(v view.Context) []api.FleetSite {
	if v.Admin == nil {
		return nil
	}
	sites := slices.Clone(v.Admin.Fleet.Data)
	slices.SortStableFunc(sites, func(a, b api.FleetSite) int {
		switch {
		case a.EnergyAtRiskKW > b.EnergyAtRiskKW:
			return -1
		case a.EnergyAtRiskKW < b.EnergyAtRiskKW:
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return sites
}

// ratio is a over b, NaN when it says nothing.
func ratio(a float64, b *float64) float64 {
	if b == nil || *b <= 0 {
		return math.NaN()
	}
	return a / *b
}

// percentOf writes percent of a figure that may be absent, and what it sorts by.
func percentOf(pct *float64) (string, any) {
	if pct == nil {
		return "–", nil
	}
	return widget.Percent(*pct / 100), *pct
}

// lost is by how much a site's power is below the expected now.
func lost(s api.SiteSummary) float64 {
	if s.ExpectedPowerKW == nil || !s.HasPower() {
		return 0
	}
	return max(*s.ExpectedPowerKW-s.TotalPowerKW, 0)
}

// dataAge is how old the newest data of a site are, and whether that is more
// than two intervals of the slowest exports.
func dataAge(s api.SiteSummary) (string, bool) {
	if s.LastUpdated.IsZero() {
		return "none", true
	}
	age := s.ServiceTime.Sub(s.LastUpdated.Time)
	return state.Age(age), age > 2*time.Hour
}

func fleetRows(v view.Context) []widget.Row {
	sites := fleetOf(v)
	rows := make([]widget.Row, 0, len(sites))
	for _, f := range sites {
		s := f.Summary
		of, power, lack, powerSort, lackSort := ratio(s.TotalPowerKW, s.ExpectedPowerKW), s.TotalPowerKW, lost(s), any(s.TotalPowerKW), any(lost(s))
		if !s.HasPower() {
			of, power, lack, powerSort, lackSort = math.NaN(), math.NaN(), math.NaN(), nil, nil
		}
		ofRole, ofSort := themes.Text, any(of)
		switch {
		case math.IsNaN(of):
			ofRole, ofSort = themes.Muted, nil
		case of < chart.NormalRatio.Low:
			ofRole = themes.Warning
		}
		age, old := dataAge(s)
		ageRole, valueRole := themes.Dim, themes.Text
		if old {
			ageRole, valueRole, ofRole = themes.Warning, themes.Muted, themes.Muted
		}
		pr, prSort := percentOf(s.FleetPRPct)
		available, availableSort := percentOf(s.FleetAvailabilityPct)
		rows = append(rows, widget.Row{
			ID: fleetID(f), Sort: []any{strings.ToLower(f.SiteID), powerSort, ofSort, lackSort, alarmRank(f), prSort, availableSort, s.TotalKWhToday, -s.LastUpdated.Sub(s.ServiceTime.Time).Seconds(), nil},
			Cells: []widget.Cell{
				{Text: state.SiteLabel(sites, f.Ref()), Role: themes.Text}, {Text: widget.Power(power), Role: valueRole}, {Text: widget.Percent(of), Role: ofRole}, {Text: widget.Power(lack), Role: valueRole},
				{Text: alarmWords(f), Draw: func(r terminal.Region) { drawAlarms(r, f, v) }}, {Text: pr, Role: valueRole}, {Text: available, Role: valueRole}, {Text: widget.Energy(s.TotalKWhToday), Role: valueRole},
				{Text: age, Role: ageRole}, {Draw: func(r terminal.Region) { drawHours(r, f.Hours, v) }},
			},
		})
	}
	return rows
}

// alarmRank sorts sites by their findings, one critical above any number of
// warnings.
func alarmRank(f api.FleetSite) float64 {
	return 1e6*float64(f.Findings[api.SeverityCritical]) + 1e3*float64(f.Findings[api.SeverityWarning]) + float64(f.Findings[api.SeverityNormal])
}

// alarmWords are the findings by severity, for filters.
func alarmWords(f api.FleetSite) string {
	var words []string
	for _, severity := range []string{api.SeverityCritical, api.SeverityWarning, api.SeverityNormal} {
		if n := f.Findings[severity]; n > 0 {
			words = append(words, fmt.Sprint(widget.FindingPriority(severity), " ", n))
		}
	}
	return strings.Join(words, ", ")
}

// fresh writes an age.
func fresh(age string) string {
	if age == "now" {
		return "up to date"
	}
	return age + " old"
}

// drawAlarms draws the findings by severity, each with its shape and letter.
func drawAlarms(r terminal.Region, f api.FleetSite, v view.Context) {
	w, _ := r.Size()
	x := 0
	for _, severity := range []string{api.SeverityCritical, api.SeverityWarning, api.SeverityNormal} {
		n := fmt.Sprint(f.Findings[severity])
		if f.Findings[severity] == 0 || x+2+len(n) > w {
			continue
		}
		x = widget.DrawSeverity(v, r, x, 0, severity)
		x = r.Put(x, 0, n, v.Palette.Style(widget.SeverityRole(severity))) + 1
	}
	if x == 0 {
		r.Put(0, 0, "none", v.Palette.Style(themes.Muted))
	}
}

// drawHours draws a strip of the day: grey where a site made what was expected.
func drawHours(r terminal.Region, hours []*float64, v view.Context) {
	w, _ := r.Size()
	pen := v.Pen
	if v.ASCII {
		pen = chart.ASCII
	}
	each := min(max(w/max(len(hours), 1), 1), 3) // cells of an hour
	for h, ratio := range hours {
		if (h+1)*each > w {
			break
		}
		of := math.NaN()
		if ratio != nil {
			of = *ratio
		}
		mark, style := chart.HeatCell(chart.NormalRatio.Class(of), pen, v.Palette)
		for x := range each {
			r.PutRune(h*each+x, 0, mark, style)
		}
	}
}

func fleetDetail(v view.Context, id string) []widget.Detail {
	sites := fleetOf(v)
	i := slices.IndexFunc(sites, func(f api.FleetSite) bool { return fleetID(f) == id })
	if i < 0 {
		return nil
	}
	f := sites[i]
	s := f.Summary
	lines := []widget.Detail{{Heading: f.SiteID}}
	add := widget.FactsOf(&lines)
	if f.Name != f.SiteID {
		add("name", f.Name)
	}
	add("customer", f.CustomerID)
	add("capacity", widget.Power(f.CapacityKW))
	if where, err := time.LoadLocation(f.Timezone); err == nil {
		add("time there", s.ServiceTime.In(where).Format("15:04")+", "+f.Timezone)
	}
	now := widget.SitePower(s)
	if s.ExpectedPowerKW != nil {
		now += fmt.Sprintf(" of %s expected", widget.Power(*s.ExpectedPowerKW))
		if s.HasPower() {
			now += ", " + widget.Percent(ratio(s.TotalPowerKW, s.ExpectedPowerKW))
		}
	}
	add("power", now)
	today := widget.Energy(s.TotalKWhToday)
	if s.ExpectedKWhSoFar != nil {
		today += " of " + widget.Energy(*s.ExpectedKWhSoFar) + " expected so far"
	}
	add("today", today)
	if s.SpecificYieldKWhKWp != nil {
		add("yield", widget.Significant(*s.SpecificYieldKWhKWp)+" kWh/kWp")
	}
	pr, _ := percentOf(s.FleetPRPct)
	available, _ := percentOf(s.FleetAvailabilityPct)
	add("PR", pr)
	add("availability", available)
	add("units", fmt.Sprintf("%d of %d feed in", s.ActiveInverters, s.TotalInverters))
	age, old := dataAge(s)
	lines = append(lines, widget.Detail{Label: "data", Words: fresh(age), Role: map[bool]themes.Role{false: themes.Text, true: themes.Warning}[old]})
	if old && s.LastUpdated.IsZero() {
		lines[len(lines)-1].Words = "none has come"
	}
	words := alarmWords(f)
	if words == "" {
		words = "none"
	}
	add("findings", words)
	if f.EnergyAtRiskKW > 0 {
		add("at risk", widget.Power(f.EnergyAtRiskKW)+", daylight mean")
	}
	if f.Unacknowledged > 0 {
		lines = append(lines, widget.Detail{Label: "alarms", Words: fmt.Sprintf("%d ask for a person", f.Unacknowledged), Role: themes.Warning})
	}
	return lines
}

// fleetExport is the fleet as plain numbers, with their units in the header.
func fleetExport(v view.Context) [][]string {
	out := [][]string{strings.Split("site,customer,capacity_kw,power_kw,expected_kw,today_kwh,expected_so_far_kwh,yield_kwh_per_kwp,pr_percent,availability_percent,units_active,units,critical,warning,notice,at_risk_kw,unacknowledged,last_data", ",")}
	number := func(v float64) string { return fmt.Sprintf("%.6g", v) }
	maybe := func(v *float64) string {
		if v == nil {
			return ""
		}
		return number(*v)
	}
	for _, f := range fleetOf(v) {
		s, last := f.Summary, ""
		if !s.LastUpdated.IsZero() {
			last = s.LastUpdated.String()
		}
		power, active := "", ""
		if s.HasPower() {
			power, active = number(s.TotalPowerKW), fmt.Sprint(s.ActiveInverters)
		}
		out = append(out, []string{
			f.SiteID, f.CustomerID, number(f.CapacityKW), power, maybe(s.ExpectedPowerKW), number(s.TotalKWhToday), maybe(s.ExpectedKWhSoFar), maybe(s.SpecificYieldKWhKWp), maybe(s.FleetPRPct), maybe(s.FleetAvailabilityPct),
			active, fmt.Sprint(s.TotalInverters), fmt.Sprint(f.Findings[api.SeverityCritical]), fmt.Sprint(f.Findings[api.SeverityWarning]), fmt.Sprint(f.Findings[api.SeverityNormal]),
			number(f.EnergyAtRiskKW), fmt.Sprint(f.Unacknowledged), last,
		})
	}
	return out
}
