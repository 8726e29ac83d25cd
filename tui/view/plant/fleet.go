// Package plant shows what plants are made of: the fleet, assets and
// components, and imports of files.
package plant

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
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

// fleetUnitsPeriod is how often the units of the selected site are asked for.
const fleetUnitsPeriod = time.Minute

// fleet is the screen of all accessible sites, optionally grouped by customer.
type fleet struct {
	screen     *widget.TableView
	byCustomer bool
	open       map[string]bool // customers whose sites are shown

	of     *api.FleetSite // first of the sites that were ordered
	at     time.Time
	sites  []api.FleetSite
	labels func(api.SiteRef) string

	hours chart.Heat // sites over their day
	units chart.Heat // units of the selected site over its day
	power chart.Day  // of the selected site
	day   view.DayMemo
}

// NewFleet lists all accessible sites, those that lose most now first.
func NewFleet() *widget.TableView {
	f := &fleet{open: map[string]bool{}}
	f.screen = &widget.TableView{
		Heading: "Fleet", Query: state.QueryFleet, Period: fleetPeriod, Enter: "open the site",
		Empty: "No accessible sites. Press esc, then U, to import a file of a site's production.",
		List:  widget.List{SortBy: -1, Follow: true},
		Columns: []widget.Column{
			{Title: "site", Width: 24, Min: 10}, {Title: "power", Width: 8, Right: true}, {Title: "of exp.", Width: 7, Right: true}, {Title: "lost", Width: 8, Right: true, Rank: 2},
			{Title: "findings", Width: 11, Min: 8}, {Title: "PR", Width: 4, Right: true, Rank: 3}, {Title: "avail.", Width: 6, Right: true, Rank: 4}, {Title: "energy", Width: 8, Right: true, Rank: 5},
			{Title: "data", Width: 6, Right: true, Rank: 1}, {Title: "the day, 00 to 24", Min: 24, Rank: 6},
		},
		Rows: f.rows, Detail: f.detail, Head: f.drawTotals, Wide: true, Leaves: true, Keys: keymap.FleetList,
		Act: f.act, Side: f.drawMaps, Rest: f.drawRest,
		More: func(_ view.Context, id string) []state.Need {
			if i := slices.IndexFunc(f.sites, func(s api.FleetSite) bool { return fleetID(s) == id }); i >= 0 && (f.screen.SideDrawn() || f.screen.RestDrawn()) {
				return []state.Need{{Query: state.QueryFleetUnits, Of: state.FleetUnitsOf(f.sites[i]), Period: fleetUnitsPeriod, Focused: true}}
			}
			return nil
		},
		Reason: func(a keymap.Action, _ string, v view.Context) string {
			if a == keymap.GroupFleet && !f.severalCustomers(v) {
				return "all sites belong to one customer"
			}
			return ""
		},
		ExportRows: f.export,
		Status: func(v view.Context) widget.ValueStatus {
			if v.Admin == nil {
				return widget.ValueStatus{}
			}
			return widget.StatusOf(v.Admin.Fleet, v.Now, len(v.Admin.Fleet.Data) == 0)
		},
	}
	return f.screen
}

// act opens a site, opens or closes a customer, or switches the groups.
func (f *fleet) act(a keymap.Action, id string, v view.Context) view.Request {
	switch {
	case a == keymap.GroupFleet:
		f.byCustomer = !f.byCustomer
	case a != keymap.Open || id == "":
	case strings.HasSuffix(id, "\t"):
		f.open[id] = !f.open[id]
	default:
		sites := f.ordered(v)
		if i := slices.IndexFunc(sites, func(s api.FleetSite) bool { return fleetID(s) == id }); i >= 0 {
			return view.OpenSite{Site: sites[i].Ref()}
		}
	}
	return nil
}

// fleetID identifies the row of a site; that of a customer has no site. No id
// has a tab.
func fleetID(f api.FleetSite) string { return f.CustomerID + "\t" + f.SiteID }

// ordered returns the sites, those that need attention first.
func (f *fleet) ordered(v view.Context) []api.FleetSite {
	if v.Admin == nil || len(v.Admin.Fleet.Data) == 0 {
		return nil
	}
	if data := v.Admin.Fleet; f.of != &data.Data[0] || !f.at.Equal(data.At) {
		f.of, f.at, f.sites = &data.Data[0], data.At, SortFleet(data.Data)
		f.labels = state.SiteLabels(f.sites)
	}
	return f.sites
}

func (f *fleet) severalCustomers(v view.Context) bool {
	sites := f.ordered(v)
	return slices.ContainsFunc(sites, func(s api.FleetSite) bool { return s.CustomerID != sites[0].CustomerID })
}

// SortFleet returns the sites in the order in which they need attention: by the
// power that is missing now, by the priorities of their findings, sites without
// present data before those with, by energy at risk, by name.
func SortFleet(sites []api.FleetSite) []api.FleetSite {
	sites = slices.Clone(sites)
	slices.SortStableFunc(sites, func(a, b api.FleetSite) int {
		return cmp.Or(
			cmp.Compare(deficit(b.Summary), deficit(a.Summary)), cmp.Compare(alarmRank(b), alarmRank(a)), cmp.Compare(silent(b.Summary), silent(a.Summary)),
			cmp.Compare(b.EnergyAtRiskKW, a.EnergyAtRiskKW), strings.Compare(a.Name, b.Name), strings.Compare(a.SiteID, b.SiteID))
	})
	return sites
}

// deficit returns the power that is missing, 0 while it is within the normal range or
// unknown.
func deficit(s api.SiteSummary) float64 {
	if of := ratio(s.TotalPowerKW, s.ExpectedPowerKW); math.IsNaN(of) || of >= chart.NormalRatio.Low {
		return 0
	}
	return lost(s)
}

// silent returns 1 for a site whose present power is unknown.
func silent(s api.SiteSummary) int {
	if s.HasPower() {
		return 0
	}
	return 1
}

// fleetTotals are the sums of sites. Expected and Measured are of the sites of
// which both are known.
type fleetTotals struct {
	sites, silent, counted       int // counted: those whose energy of today is known
	power, measured, expected    float64
	lost, today, risk            float64
	findings                     map[string]int
	compared                     bool
	unacknowledged, units, feeds int
}

func totalsOf(sites []api.FleetSite) fleetTotals {
	t := fleetTotals{sites: len(sites), findings: map[string]int{}}
	for _, f := range sites {
		s := f.Summary
		t.today, t.risk, t.unacknowledged, t.units = t.today+s.TotalKWhToday, t.risk+f.EnergyAtRiskKW, t.unacknowledged+f.Unacknowledged, t.units+s.TotalInverters
		if s.HasEnergy() {
			t.counted++
		}
		for severity, n := range widget.Priorities(f) {
			t.findings[severity] += n
		}
		if !s.HasPower() {
			t.silent++
			continue
		}
		t.power, t.feeds = t.power+s.TotalPowerKW, t.feeds+s.ActiveInverters
		if s.ExpectedPowerKW != nil {
			t.compared, t.measured, t.expected, t.lost = true, t.measured+s.TotalPowerKW, t.expected+*s.ExpectedPowerKW, t.lost+lost(s)
		}
	}
	return t
}

// of is measured over expected power, NaN when there is nothing to compare.
func (t fleetTotals) of() float64 {
	if !t.compared || t.expected <= 0 {
		return math.NaN()
	}
	return t.measured / t.expected
}

// energy writes the energy of today of the sites where it is known.
func (t fleetTotals) energy() string {
	if t.counted == 0 && t.sites > 0 {
		return "unknown"
	}
	return display.Energy(t.today)
}

// drawTotals draws the sums of all sites in one row.
func (f *fleet) drawTotals(r terminal.Region, v view.Context) int {
	sites := f.ordered(v)
	if len(sites) < 2 {
		return 0
	}
	t := totalsOf(sites)
	w, _ := r.Size()
	x := v.Put(r, 0, 0, display.CountOf(t.sites, "site", "sites"), themes.Title)
	add := func(text string, role themes.Role) {
		if x+2+terminal.Width(text) <= w {
			x = v.Put(r, x+2, 0, text, role)
		}
	}
	if t.silent < t.sites {
		add(display.Power(t.power), themes.Text)
	}
	if of := t.of(); !math.IsNaN(of) {
		role := themes.Dim
		if of < chart.NormalRatio.Low {
			role = themes.Warning
		}
		add(display.Percent(of)+" of "+display.Power(t.expected)+" expected", role)
		add(display.Power(t.lost)+" lost", themes.Dim)
	}
	if t.silent > 0 {
		add(display.CountOf(t.silent, "site", "sites")+" without current data", themes.Warning)
	}
	if t.unacknowledged > 0 {
		words := display.CountOf(t.unacknowledged, "unacknowledged alarm", "unacknowledged alarms")
		if x+2+terminal.Width(words) > w {
			words = fmt.Sprintf("%d unack", t.unacknowledged)
		}
		add(words, themes.Warning)
	}
	switch t.counted {
	case 0:
		add("energy unknown today", themes.Warning)
	case t.sites:
		add(t.energy()+" today", themes.Dim)
	default:
		add(t.energy()+" today of "+display.CountOf(t.counted, "site", "sites"), themes.Dim)
	}
	if t.silent < t.sites || v.Site == nil || !IsLoading(v) {
		return 1
	}
	return 1 + DrawImporting(r.Region(terminal.Rect{Y: 1, W: w, H: 2}), v, 2)
}

// ratio returns a over b, NaN if it is undefined.
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
	return display.Percent(*pct / 100), *pct
}

// lost is by how much a site's power is below the expected now.
func lost(s api.SiteSummary) float64 {
	if s.ExpectedPowerKW == nil || !s.HasPower() {
		return 0
	}
	return max(*s.ExpectedPowerKW-s.TotalPowerKW, 0)
}

// dataAge returns how old the newest data of a site are, and whether that is more
// than two intervals of the slowest exports.
func dataAge(s api.SiteSummary) (string, bool) {
	if s.LastUpdated.IsZero() {
		return "none", true
	}
	age := s.ServiceTime.Sub(s.LastUpdated.Time)
	return display.Age(age), age > 2*time.Hour
}

// rows returns the sites, or the customers with the sites of those that are open.
func (f *fleet) rows(v view.Context) []widget.Row {
	sites := f.ordered(v)
	if !f.byCustomer || !f.severalCustomers(v) {
		rows := make([]widget.Row, 0, len(sites))
		for _, s := range sites {
			rows = append(rows, f.siteRow(v, s, ""))
		}
		return rows
	}
	var order []string
	of := map[string][]api.FleetSite{}
	for _, s := range sites {
		if of[s.CustomerID] == nil {
			order = append(order, s.CustomerID)
		}
		of[s.CustomerID] = append(of[s.CustomerID], s)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(totalsOf(of[b]).lost, totalsOf(of[a]).lost) })
	var rows []widget.Row
	for _, customer := range order {
		rows = append(rows, f.customerRow(v, customer, of[customer]))
		if f.open[customer+"\t"] {
			for _, s := range of[customer] {
				rows = append(rows, f.siteRow(v, s, "  "))
			}
		}
	}
	return rows
}

// customerRow returns the line of a customer: the sums of its sites.
func (f *fleet) customerRow(v view.Context, customer string, sites []api.FleetSite) widget.Row {
	t := totalsOf(sites)
	mark := "+ "
	if f.open[customer+"\t"] {
		mark = "- "
	}
	power, powerSort := display.Power(t.power), any(t.power)
	if t.silent == t.sites {
		power, powerSort = "–", nil
	}
	of, ofRole, ofSort := t.of(), themes.Text, any(t.of())
	switch {
	case math.IsNaN(of):
		ofRole, ofSort = themes.Muted, nil
	case of < chart.NormalRatio.Low:
		ofRole = themes.Warning
	}
	lack, lackSort := display.Power(t.lost), any(t.lost)
	today, todaySort := display.Energy(t.today), any(t.today)
	if t.counted == 0 {
		today, todaySort = "–", nil
	}
	if !t.compared {
		lack, lackSort = "–", nil
	}
	data, dataRole := "", themes.Dim
	if t.silent > 0 {
		data, dataRole = fmt.Sprintf("-%d/%d", t.silent, t.sites), themes.Warning
	}
	group := api.FleetSite{AlertSeverities: t.findings}
	return widget.Row{
		ID: customer + "\t", Sort: []any{strings.ToLower(customer), powerSort, ofSort, lackSort, alarmRank(group), nil, nil, todaySort, float64(-t.silent), nil},
		Cells: []widget.Cell{
			{Text: mark + customer + ", " + display.CountOf(t.sites, "site", "sites"), Role: themes.Text}, {Text: power, Role: themes.Text}, {Text: display.Percent(of), Role: ofRole}, {Text: lack, Role: themes.Text},
			{Text: alarmWords(group), Draw: func(r terminal.Region) { drawAlarms(r, group, v) }}, {Text: ""}, {Text: ""}, {Text: today, Role: themes.Text}, {Text: data, Role: dataRole}, {Text: ""},
		},
	}
}

// siteRow returns the line of a site; mark precedes its name.
func (f *fleet) siteRow(v view.Context, site api.FleetSite, mark string) widget.Row {
	s := site.Summary
	of, power, lack, powerSort, lackSort := ratio(s.TotalPowerKW, s.ExpectedPowerKW), s.TotalPowerKW, lost(s), any(s.TotalPowerKW), any(lost(s))
	if !s.HasPower() {
		of, power, powerSort = math.NaN(), math.NaN(), nil
	}
	if !s.HasPower() || s.ExpectedPowerKW == nil {
		lack, lackSort = math.NaN(), nil
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
	today, todaySort := display.Energy(s.TotalKWhToday), any(s.TotalKWhToday)
	if !s.HasEnergy() {
		today, todaySort = "–", nil
	}
	return widget.Row{
		ID: fleetID(site), Sort: []any{strings.ToLower(site.SiteID), powerSort, ofSort, lackSort, alarmRank(site), prSort, availableSort, todaySort, -s.LastUpdated.Sub(s.ServiceTime.Time).Seconds(), nil},
		Cells: []widget.Cell{
			{Text: mark + f.labels(site.Ref()), Role: themes.Text}, {Text: display.Power(power), Role: valueRole}, {Text: display.Percent(of), Role: ofRole}, {Text: display.Power(lack), Role: valueRole},
			{Text: alarmWords(site), Draw: func(r terminal.Region) { drawAlarms(r, site, v) }}, {Text: pr, Role: valueRole}, {Text: available, Role: valueRole}, {Text: today, Role: valueRole},
			{Text: age, Role: ageRole}, {Draw: func(r terminal.Region) { DrawHours(r, site.Hours, v) }},
		},
	}
}

// SiteFacts returns the facts by which a site is chosen, in one line.
func SiteFacts(f api.FleetSite) string {
	s := f.Summary
	parts := []string{widget.SitePower(s)}
	if of := ratio(s.TotalPowerKW, s.ExpectedPowerKW); s.HasPower() && !math.IsNaN(of) {
		parts = append(parts, display.Percent(of)+" of exp.", display.Power(lost(s))+" lost")
	}
	if words := alarmWords(f); words != "" {
		parts = append(parts, words)
	}
	age, _ := dataAge(s)
	if s.LastUpdated.IsZero() {
		return strings.Join(parts, ", ")
	}
	if age == "now" {
		return strings.Join(append(parts, "data "+fresh(age)), ", ")
	}
	return strings.Join(append(parts, fresh(age)), ", ")
}

// alarmRank sorts sites by their findings, one critical above any number of
// of a lower priority.
func alarmRank(f api.FleetSite) float64 {
	rank := 0.0
	for _, severity := range api.AlertSeverities() {
		rank = 1e3*rank + float64(min(widget.Priorities(f)[severity], 999))
	}
	return rank
}

// alarmWords returns the findings by priority, for filters.
func alarmWords(f api.FleetSite) string {
	var words []string
	for _, severity := range api.AlertSeverities() {
		if n := widget.Priorities(f)[severity]; n > 0 {
			words = append(words, fmt.Sprint(widget.AlarmPriority(severity), " ", n))
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

// drawAlarms draws the findings by priority, each with its shape and letter.
func drawAlarms(r terminal.Region, f api.FleetSite, v view.Context) {
	w, _ := r.Size()
	x := 0
	counts := widget.Priorities(f)
	for _, severity := range api.AlertSeverities() {
		n := fmt.Sprint(counts[severity])
		if counts[severity] == 0 || x+2+len(n) > w {
			continue
		}
		x = widget.DrawPriorityMark(v, r, x, 0, severity)
		x = r.Put(x, 0, n, v.Palette.Style(widget.PriorityRole(severity))) + 1
	}
	if x == 0 {
		r.Put(0, 0, noFindings(f), v.Palette.Style(themes.Muted))
	}
}

// noFindings says that a site has no findings, which is known only of one with data.
func noFindings(f api.FleetSite) string {
	if f.SiteID != "" && f.Summary.LastUpdated.IsZero() {
		return "unknown"
	}
	return "none"
}

// DrawHours draws a strip of the day: grey where a site made what was expected.
func DrawHours(r terminal.Region, hours []*float64, v view.Context) {
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
		mark, style := chart.HeatCell(chart.LowRatio.Class(of), pen, v.Palette)
		for x := range each {
			r.PutRune(h*each+x, 0, mark, style)
		}
	}
}

func (f *fleet) detail(v view.Context, id string) []widget.Detail {
	sites := f.ordered(v)
	if customer, ok := strings.CutSuffix(id, "\t"); ok {
		return customerDetail(customer, slices.DeleteFunc(slices.Clone(sites), func(s api.FleetSite) bool { return s.CustomerID != customer }))
	}
	i := slices.IndexFunc(sites, func(s api.FleetSite) bool { return fleetID(s) == id })
	if i < 0 {
		return nil
	}
	return siteDetail(sites[i])
}

// customerDetail returns what the sites of a customer are together.
func customerDetail(customer string, sites []api.FleetSite) []widget.Detail {
	t := totalsOf(sites)
	lines := []widget.Detail{{Heading: customer}}
	add := widget.FactsOf(&lines)
	add("sites", fmt.Sprint(t.sites))
	if t.silent < t.sites {
		add("power", display.Power(t.power))
	}
	if of := t.of(); !math.IsNaN(of) {
		add("expected", display.Power(t.expected)+", of which "+display.Percent(of)+" is measured")
		add("lost", display.Power(t.lost))
	}
	add("today", t.energy())
	if t.silent < t.sites {
		add("units", fmt.Sprintf("%d of %d active", t.feeds, t.units))
	}
	if t.silent > 0 {
		lines = append(lines, widget.Detail{Label: "data", Text: display.CountOf(t.silent, "site", "sites") + " without current data", Role: themes.Warning})
	}
	words := alarmWords(api.FleetSite{AlertSeverities: t.findings})
	if words == "" {
		words = "none"
	}
	add("findings", words)
	if t.risk > 0 {
		add("at risk", display.Power(t.risk)+", daylight mean")
	}
	if t.unacknowledged > 0 {
		lines = append(lines, widget.Detail{Label: "alarms", Text: display.CountOf(t.unacknowledged, "unacknowledged alarm", "unacknowledged alarms"), Role: themes.Warning})
	}
	return lines
}

func siteDetail(f api.FleetSite) []widget.Detail {
	s := f.Summary
	lines := []widget.Detail{{Heading: f.SiteID}}
	add := widget.FactsOf(&lines)
	if f.Name != f.SiteID {
		add("name", f.Name)
	}
	add("customer", f.CustomerID)
	add("capacity", display.Power(f.CapacityKW))
	if where, err := time.LoadLocation(f.Timezone); err == nil {
		add("time there", display.Clock(s.ServiceTime.In(where))+", "+f.Timezone)
	}
	now := widget.SitePower(s)
	if s.ExpectedPowerKW != nil {
		now += fmt.Sprintf(" of %s expected", display.Power(*s.ExpectedPowerKW))
		if s.HasPower() {
			now += ", " + display.Percent(ratio(s.TotalPowerKW, s.ExpectedPowerKW))
		}
	}
	add("power", now)
	today := widget.SiteEnergy(s)
	if s.ExpectedKWhSoFar != nil {
		today += " of " + display.Energy(*s.ExpectedKWhSoFar) + " expected so far"
	}
	add("today", today)
	if s.SpecificYieldKWhKWp != nil {
		add("yield", display.Significant(*s.SpecificYieldKWhKWp)+" kWh/kWp")
	}
	pr, _ := percentOf(s.FleetPRPct)
	available, _ := percentOf(s.FleetAvailabilityPct)
	add("PR", pr)
	add("availability", available)
	if s.HasPower() {
		add("units", fmt.Sprintf("%d of %d active", s.ActiveInverters, s.TotalInverters))
	} else {
		add("units", fmt.Sprint(s.TotalInverters))
	}
	age, old := dataAge(s)
	lines = append(lines, widget.Detail{Label: "data", Text: fresh(age), Role: map[bool]themes.Role{false: themes.Text, true: themes.Warning}[old]})
	if old && s.LastUpdated.IsZero() {
		lines[len(lines)-1].Text = "none yet"
	}
	words := alarmWords(f)
	if words == "" {
		words = noFindings(f)
	}
	add("findings", words)
	if f.EnergyAtRiskKW > 0 {
		add("at risk", display.Power(f.EnergyAtRiskKW)+", daylight mean")
	}
	if f.Unacknowledged > 0 {
		lines = append(lines, widget.Detail{Label: "alarms", Text: display.CountOf(f.Unacknowledged, "unacknowledged alarm", "unacknowledged alarms"), Role: themes.Warning})
	}
	return lines
}

// export returns the fleet as plain numbers, with their units in the header.
func (f *fleet) export(v view.Context) [][]string {
	out := [][]string{strings.Split("site,customer,capacity_kw,power_kw,expected_kw,today_kwh,expected_so_far_kwh,yield_kwh_per_kwp,pr_percent,availability_percent,units_active,units,critical,warning,notice,at_risk_kw,unacknowledged,last_data", ",")}
	number := func(v float64) string { return fmt.Sprintf("%.6g", v) }
	maybe := func(v *float64) string {
		if v == nil {
			return ""
		}
		return number(*v)
	}
	for _, f := range f.ordered(v) {
		s, last := f.Summary, ""
		if !s.LastUpdated.IsZero() {
			last = s.LastUpdated.String()
		}
		power, active, today := "", "", ""
		if s.HasEnergy() {
			today = number(s.TotalKWhToday)
		}
		if s.HasPower() {
			power, active = number(s.TotalPowerKW), fmt.Sprint(s.ActiveInverters)
		}
		out = append(out, []string{
			f.SiteID, f.CustomerID, number(f.CapacityKW), power, maybe(s.ExpectedPowerKW), today, maybe(s.ExpectedKWhSoFar), maybe(s.SpecificYieldKWhKWp), maybe(s.FleetPRPct), maybe(s.FleetAvailabilityPct),
			active, fmt.Sprint(s.TotalInverters), fmt.Sprint(f.Findings[api.SeverityCritical]), fmt.Sprint(f.Findings[api.SeverityWarning]), fmt.Sprint(f.Findings[api.SeverityNormal]),
			number(f.EnergyAtRiskKW), fmt.Sprint(f.Unacknowledged), last,
		})
	}
	return out
}
