package pane

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// Observe shows the site's day: power against forecast and clear sky, the heat
// map of the units, the units and the alarms.
type Observe struct {
	units  List
	alarms List
	// where the lists stand in the region last drawn
	unitsAt, alarmsAt terminal.Rect

	chart, strip siteChart
	heat         heatMap
}

// NewObserve lists the units by name.
func NewObserve() *Observe { return &Observe{alarms: List{SortBy: -1}} }

// Needs are what the pane shows.
func (o *Observe) Needs() []state.Need {
	return []state.Need{
		{Query: state.QueryDay, Period: 5 * time.Second},
		{Query: state.QueryForecast, Period: 15 * time.Second},
		{Query: state.QueryFindings, Period: 10 * time.Second},
	}
}

// Filter is the filter of the units.
func (o *Observe) Filter() string { return o.units.Filter }

// SetFilter narrows the units.
func (o *Observe) SetFilter(s string) { o.units.Filter = s }

// staleAfter is when a day's data count as old: live samples come every few
// seconds, and the planner asks at most every 15 s for a pane out of focus.
const staleAfter = 2 * time.Minute

// Draw draws chart, heat map, units and alarms in what room there is.
func (o *Observe) Draw(r terminal.Region, v View) {
	w, h := r.Size()
	day := v.Site.Day
	if face := day.Face(v.Now, staleAfter, len(day.Data.Units) == 0); v.face(r, face, day.Err, day.FailedSince, day.NextTry, "the day's telemetry",
		"Nothing was reported today. "+o.lastData(v)+" Press U to import a file.") {
		return
	}
	if day.Face(v.Now, staleAfter, false) == state.Stale {
		h-- // the age has the last line
		v.putIn(r, 0, h, w, fmt.Sprintf("These values are %s old: %s", state.Age(v.Now.Sub(day.At)), reason(day.Err)), themes.Warning)
		r = r.Region(terminal.Rect{W: w, H: h})
	}
	p := o.plan(w, h, v)
	chartArea := r.Region(terminal.Rect{W: w, H: p.chart})
	o.chart.draw(chartArea, v)
	y := p.chart
	if p.heat > 0 {
		o.heat.draw(r.Region(terminal.Rect{Y: y, W: w, H: p.heat}), v)
		y += p.heat
	}
	o.alarmsAt, o.unitsAt = terminal.Rect{}, terminal.Rect{}
	if p.beside {
		left := w * 55 / 100
		o.unitsAt = terminal.Rect{Y: y, W: left, H: h - y}
		o.alarmsAt = terminal.Rect{X: left + 2, Y: y, W: w - left - 2, H: h - y}
	} else {
		o.alarmsAt = terminal.Rect{Y: y, W: w, H: p.alarms}
		o.unitsAt = terminal.Rect{Y: y + p.alarms, W: w, H: h - y - p.alarms}
	}
	if !o.alarmsAt.Empty() {
		o.drawAlarms(r.Region(o.alarmsAt), v)
	}
	if !o.unitsAt.Empty() {
		o.drawUnits(r.Region(o.unitsAt), v)
	}
}

// observePlan shares the rows out.
type observePlan struct {
	chart, heat, alarms int
	beside              bool // units and alarms side by side
}

func (o *Observe) plan(w, h int, v View) observePlan {
	active, units := len(activeFindings(v)), len(v.Site.Day.Data.Units)
	p := observePlan{beside: w >= 110}
	if !p.beside {
		p.alarms = min(max(active, 1), max(h/6, 2)) + 1
	}
	lists := p.alarms + min(units+2, max(h*2/5, 4))
	if p.beside {
		lists = min(max(units, active)+2, h/2)
	}
	p.chart = min(max(h-lists, 4), 22)
	if heat := (units+1)/2 + 1; p.chart-heat >= 9 && w >= 50 {
		p.heat = heat
		p.chart -= heat
	}
	return p
}

// Strip shows power, energy and the worst alarm.
func (o *Observe) Strip(r terminal.Region, v View) {
	w, h := r.Size()
	day := v.Site.Day.Data
	if h >= 4 {
		o.strip.draw(r.Region(terminal.Rect{W: w, H: h - 1}), v)
	}
	x := v.put(r, 0, h-1, fmt.Sprintf("%d units ", len(day.Units)), themes.Dim)
	for _, f := range activeFindings(v) {
		x = v.severity(r, x+1, h-1, f.SeverityLabel)
		x = v.putIn(r, x+1, h-1, w-x-1, f.AssetID+" "+Family(f.FaultFamily), themes.Text)
		break
	}
}

// lastData says when the site's last data came.
func (o *Observe) lastData(v View) string {
	if at := v.Site.Summary.Data.LastUpdated; !at.IsZero() {
		return "The newest data are of " + When(at.Time, v.SiteNow, v.Site.Zone) + "."
	}
	return "The site has no data yet."
}

// Do moves in the list of units, or takes one in hand.
func (o *Observe) Do(a keymap.Action, v View) Intent {
	if a == keymap.Open {
		if id := o.units.Current(); id != "" {
			return Intent{Hand: &Hand{AssetID: id, FindingID: findingOf(v, id)}, Focus: "Orient"}
		}
		return Intent{}
	}
	if o.units.Do(a, len(unitColumns)) && (a == keymap.Up || a == keymap.Down || a == keymap.Top || a == keymap.Bottom || a == keymap.PageUp || a == keymap.PageDown) {
		id := o.units.Current()
		return Intent{Hand: &Hand{AssetID: id, FindingID: findingOf(v, id)}}
	}
	return Intent{}
}

// Click takes what is clicked in hand.
func (o *Observe) Click(x, y int, v View) Intent {
	switch {
	case o.unitsAt.Contains(x, y) && o.units.Click(y-o.unitsAt.Y-1):
		id := o.units.Current()
		return Intent{Hand: &Hand{AssetID: id, FindingID: findingOf(v, id)}}
	case o.alarmsAt.Contains(x, y) && o.alarms.Click(y-o.alarmsAt.Y-1):
		for _, f := range activeFindings(v) {
			if f.SummaryID == o.alarms.Selected {
				return Intent{Hand: &Hand{AssetID: f.AssetID, FindingID: f.SummaryID}}
			}
		}
	}
	return Intent{}
}

// unitColumns are the columns of the list of units.
var unitColumns = []Column{
	{Title: "unit", Width: 6}, {Title: "state", Width: 15, Rank: 1}, {Title: "power", Width: 8, Right: true},
	{Title: "of peers", Width: 8, Right: true, Rank: 2}, {Title: "today", Width: 8, Right: true, Rank: 3}, {Title: "trend", Rank: 4},
}

func (o *Observe) drawUnits(r terminal.Region, v View) {
	w, h := r.Size()
	if v.Hand.AssetID != "" {
		o.units.Selected = v.Hand.AssetID
	}
	rows := o.unitRows(v)
	columns := slices.Clone(unitColumns)
	for _, row := range rows {
		columns[0].Width = min(max(columns[0].Width, terminal.Width(row.ID)), 24)
	}
	o.units.Draw(r.Region(terminal.Rect{Y: 1, W: w, H: h - 1}), v, columns, rows)
	v.heading(r, 0, "Units", fmt.Sprintf("%d of %d active", v.Site.Summary.Data.ActiveInverters, v.Site.Summary.Data.TotalInverters), o.units.Range())
}

func (o *Observe) unitRows(v View) []Row {
	day := v.Site.Day.Data
	relative := relativePower(v)
	value := themes.Text
	if v.Site.Day.Face(v.Now, staleAfter, false) == state.Stale {
		value = themes.Muted
	}
	var rows []Row
	for _, a := range unitsOf(v) {
		u, _ := day.Unit(a.AssetID)
		row := Row{ID: a.AssetID}
		power, share, energy := math.NaN(), math.NaN(), math.NaN()
		if n := len(u.Records); n > 0 {
			last := u.Records[n-1]
			if v.SiteNow.Sub(last.Timestamp.Time) < 2*day.Step()+15*time.Minute {
				power = last.Power
				share = relative[a.AssetID]
			}
			energy = 0
			for _, rec := range u.Records {
				energy += rec.KWh
			}
		}
		word, role := unitState(v, a, u, power)
		slots, top := unitTrend(v, u), a.CapacityKW
		row.Cells = []Cell{
			{Text: a.AssetID, Role: themes.Text}, {Text: word, Role: role},
			{Text: Power(power), Role: value}, {Text: Percent(share), Role: shareRole(share)},
			{Text: Energy(energy), Role: value}, {Draw: func(r terminal.Region) { drawSpark(r, v, slots, top) }},
		}
		row.Sort = []any{a.AssetID, word, power, share, energy, energy}
		for i, k := range row.Sort {
			if f, ok := k.(float64); ok && math.IsNaN(f) {
				row.Sort[i] = nil
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// unitsOf are the site's units: the registered ones, else those that reported.
func unitsOf(v View) []api.Asset {
	if assets := v.Site.Assets.Data; len(assets) > 0 {
		return assets
	}
	var out []api.Asset
	for _, u := range v.Site.Day.Data.Units {
		out = append(out, api.Asset{AssetID: u.AssetID})
	}
	return out
}

// unitState is a unit's state in a word: the finding that holds it, else what
// it reports.
func unitState(v View, a api.Asset, u state.UnitDay, power float64) (string, themes.Role) {
	for _, f := range activeFindings(v) {
		if f.AssetID == a.AssetID || slices.Contains(f.AssetIDs, a.AssetID) {
			return Family(f.FaultFamily), severityRole(f.SeverityLabel)
		}
	}
	if math.IsNaN(power) {
		return "no data", themes.Muted
	}
	if last := u.Records[len(u.Records)-1]; last.ErrorType != "" && last.ErrorType != "normal" && last.ErrorType != "unknown" {
		return last.ErrorType, themes.Dim
	}
	if power > 0.001*max(a.CapacityKW, 1) {
		return "feeds in", themes.Dim
	}
	return "idle", themes.Dim
}

// relativePower is each unit's newest power per capacity against the median of
// its peers'; NaN when the sun gives too little to compare.
func relativePower(v View) map[string]float64 {
	specific := map[string]float64{}
	var all []float64
	for _, a := range unitsOf(v) {
		u, _ := v.Site.Day.Data.Unit(a.AssetID)
		if n := len(u.Records); n > 0 && a.CapacityKW > 0 {
			s := u.Records[n-1].Power / a.CapacityKW
			specific[a.AssetID] = s
			all = append(all, s)
		}
	}
	m := median(all)
	for id, s := range specific {
		if len(all) < 3 || m < 0.05 {
			specific[id] = math.NaN()
			continue
		}
		specific[id] = s / m
	}
	return specific
}

func shareRole(share float64) themes.Role {
	switch {
	case math.IsNaN(share):
		return themes.Muted
	case share < 0.5:
		return themes.Critical
	case share < 0.9:
		return themes.Warning
	}
	return themes.Dim
}

// unitTrend is a unit's day in slots of 90 minutes until now.
func unitTrend(v View, u state.UnitDay) []float64 {
	day := v.Site.Day.Data
	one := state.Day{Start: day.Start, End: day.End, Units: []state.UnitDay{u}}
	slots := one.Slots(90 * time.Minute)[0]
	return slots[:min(len(slots), int(v.SiteNow.Sub(day.Start)/(90*time.Minute))+1)]
}

// drawAlarms lists the active findings, most energy at risk first as the
// service orders them.
func (o *Observe) drawAlarms(r terminal.Region, v View) {
	w, h := r.Size()
	active := activeFindings(v)
	right := ""
	if len(active) > 0 {
		var risk float64
		for _, f := range active {
			risk += f.EnergyAtRiskKW
		}
		right = Power(risk) + " at risk"
	}
	if len(active) == 0 {
		v.heading(r, 0, "Alarms")
		text := "None. Nothing abnormal is known of this site."
		if v.Site.Findings.At.IsZero() {
			text = "Asking for findings …"
		}
		v.putIn(r, 0, 1, w, text, themes.Dim)
		return
	}
	o.alarms.Selected = v.Hand.FindingID
	o.alarms.Draw(r.Region(terminal.Rect{Y: 1, W: w, H: h - 1}), v, alarmColumns, alarmRows(v, active))
	v.heading(r, 0, "Alarms", right, o.alarms.Range())
}

var alarmColumns = []Column{
	{Title: "", Width: 2}, {Title: "unit", Width: 22}, {Title: "what"}, {Title: "since", Width: 12, Right: true, Rank: 1}, {Title: "at risk", Width: 8, Right: true, Rank: 2},
}

func alarmRows(v View, findings []api.Finding) []Row {
	var rows []Row
	for _, f := range findings {
		rows = append(rows, Row{ID: f.SummaryID, Cells: []Cell{
			{Draw: func(r terminal.Region) { v.severity(r, 0, 0, f.SeverityLabel) }, Text: f.SeverityLabel},
			{Text: unitName(f), Role: themes.Text}, {Text: Family(f.FaultFamily), Role: severityRole(f.SeverityLabel)},
			{Text: When(f.StartedAt.Time, v.SiteNow, v.Site.Zone), Role: themes.Dim}, {Text: Power(f.EnergyAtRiskKW), Role: themes.Text},
		}, Sort: []any{float64(alarms[f.SeverityLabel].rank), unitName(f), f.FaultFamily, f.StartedAt.String(), f.EnergyAtRiskKW}})
	}
	return rows
}

// unitName is the unit of a finding, or how many.
func unitName(f api.Finding) string {
	if n := len(f.AssetIDs); n > 1 {
		return strconv.Itoa(n) + " units"
	}
	if f.AssetID != "" {
		return f.AssetID
	}
	return f.SiteID
}

func activeFindings(v View) []api.Finding {
	var out []api.Finding
	for _, f := range v.Site.Findings.Data {
		if f.Active {
			out = append(out, f)
		}
	}
	return out
}

// findingOf is the active finding that holds a unit, empty without one.
func findingOf(v View, assetID string) string {
	for _, f := range activeFindings(v) {
		if f.AssetID == assetID || slices.Contains(f.AssetIDs, assetID) {
			return f.SummaryID
		}
	}
	return ""
}

// Export is the units' day, one row a record.
func (o *Observe) Export(v View) [][]string {
	rows := [][]string{{"timestamp (UTC)", "asset_id", "power (kW)", "energy (kWh)", "inverter_state"}}
	for _, u := range v.Site.Day.Data.Units {
		for _, r := range u.Records {
			rows = append(rows, []string{r.Timestamp.String(), u.AssetID, number(r.Power), number(r.KWh), strconv.Itoa(r.InverterState)})
		}
	}
	return rows
}

func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func median(values []float64) float64 {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// reason is an error in few words for a pane.
func reason(err error) string {
	if err == nil {
		return "the service has sent nothing newer"
	}
	return strings.TrimSpace(terminal.Printable(err.Error()))
}
