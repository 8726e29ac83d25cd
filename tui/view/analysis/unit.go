package analysis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/alarm"
	"app.sunloop/tui/view/operations"
	"app.sunloop/tui/view/widget"
)

// Unit is the further screen of one unit.
type Unit struct {
	view.Base
	unit *UnitView
}

// NewUnit returns the screen of one unit.
func NewUnit(assetID string) *Unit { return &Unit{unit: NewUnitView(assetID)} }

// Title names the unit.
func (u *Unit) Title() string { return "Unit " + u.unit.ID }

// Draw draws the unit.
func (u *Unit) Draw(r terminal.Region, v view.Context) { u.unit.Draw(r, v) }

// Do scrolls, or opens the finding of the unit.
func (u *Unit) Do(a keymap.Action, v view.Context) view.Request {
	if a == keymap.Open {
		hand := v.Selection
		if hand.AssetID != u.unit.ID {
			hand = view.Selection{AssetID: u.unit.ID}
		}
		return view.Batch{view.Close{}, view.Select{Selection: hand, Focus: view.Orient}}
	}
	u.unit.Do(a)
	return nil
}

// Wheel scrolls.
func (u *Unit) Wheel(_, _, by int, v view.Context) view.Request {
	for range 3 {
		u.Do(widget.WheelAction(by, keymap.Up, keymap.Down), v)
	}
	return nil
}

// Queries returns the queries about the unit.
func (u *Unit) Queries(view.Context) []state.Need { return u.unit.Queries() }

// Export returns the unit's records as they were measured.
func (u *Unit) Export(v view.Context) [][]string { return u.unit.Export(v) }

// UnitView shows one unit in detail: measurements against expected values,
// its day against that of its peers, its alarms with the actions on them, and
// its measured records.
type UnitView struct {
	ID string

	chart operations.UnitChart
	page  widget.Page
}

// NewUnitView returns the view of one unit.
func NewUnitView(id string) *UnitView {
	return &UnitView{ID: id, chart: operations.UnitChart{Forecast: true}}
}

// Queries returns what the view shows.
func (u *UnitView) Queries() []state.Need {
	return []state.Need{
		{Query: state.QuerySamples, Of: u.ID, Period: 15 * time.Second, Focused: true},
		{Query: state.QueryDay, Period: 5 * time.Second, Focused: true},
		{Query: state.QueryForecast, Period: 30 * time.Second, Focused: true},
		{Query: state.QueryAlerts, Period: 10 * time.Second, Focused: true},
		{Query: state.QueryAlertLog, Period: 2 * time.Minute, Focused: true},
	}
}

// Draw draws the view: in two columns where there is room.
func (u *UnitView) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	if v.Site == nil {
		return
	}
	if w < 120 || h < 18 {
		u.page.Draw(r, v, u.ID, func(r terminal.Region) int {
			y := u.drawFacts(r, v)
			y += u.drawChart(r.Region(terminal.Rect{Y: y + 1, W: w, H: 9}), v) + 1
			y = u.drawAlarms(r, u.drawRecent(r, y+1, v), v)
			return u.drawSamples(r, y+1, v)
		})
		return
	}
	left := w * 55 / 100
	facts := r.Region(terminal.Rect{W: left, H: h})
	y := u.drawFacts(facts, v) + 1
	u.drawChart(facts.Region(terminal.Rect{Y: y, W: left, H: h - y}), v)
	u.page.Draw(r.Region(terminal.Rect{X: left + 2, W: w - left - 2, H: h}), v, u.ID, func(r terminal.Region) int {
		return u.drawSamples(r, u.drawAlarms(r, u.drawRecent(r, 0, v), v)+1, v)
	})
}

// Do scrolls.
func (u *UnitView) Do(a keymap.Action) {
	switch a {
	case keymap.Down:
		u.page.Move(1)
	case keymap.Up:
		u.page.Move(-1)
	default:
		u.page.Do(a)
	}
}

// ShortID is the unit's record, and its position in the day on screen; -1 if
// it is not there.
func (u *UnitView) asset(v view.Context) (api.Asset, int) {
	for i, a := range v.Day().Units {
		if a.AssetID == u.ID {
			return a, i
		}
	}
	for _, a := range v.Site.Assets.Data {
		if a.AssetID == u.ID {
			return a, -1
		}
	}
	return api.Asset{AssetID: u.ID}, -1
}

// newest returns the unit's newest record; ok is false without one.
func (u *UnitView) newest(v view.Context) (r api.Record, ok bool) {
	records := u.samples(v)
	if day, there := v.Site.Day.Data.Unit(u.ID); len(records) == 0 && there {
		records = day.Records
	}
	if len(records) == 0 {
		return r, false
	}
	return records[len(records)-1], true
}

func (u *UnitView) samples(v view.Context) []api.Record {
	if v.Site.Wanted(state.QuerySamples) != u.ID {
		return nil
	}
	return v.Site.Samples.Data
}

// measure is one value with its scale and its normal range.
type measure struct {
	name, text, note string
	value, low, high float64
	normal           chart.Normal
}

// drawFacts draws the name of the unit, its state and its measures, and
// returns the y after them.
func (u *UnitView) drawFacts(r terminal.Region, v view.Context) int {
	w, _ := r.Size()
	a, i := u.asset(v)
	title := u.ID
	for _, words := range []string{a.Name, widget.Spaced(a.Type)} {
		if words != "" && words != u.ID {
			title += v.Separator() + words
		}
	}
	if a.CapacityKW > 0 {
		title += v.Separator() + display.Power(a.CapacityKW)
	}
	v.PutIn(r, 0, 0, w, title, themes.Title)
	newest, ok := u.newest(v)
	if !ok {
		face := v.Site.Samples.Status(v.Now, time.Hour, true)
		words := "This unit has reported nothing today."
		if face == state.Loading && v.Site.Day.At.IsZero() {
			words = "Asking for the unit's records …"
		}
		return v.Paragraph(r, 0, 1, words, themes.Dim)
	}
	word, role := "", themes.Dim
	if i >= 0 {
		word, role = operations.UnitState(v, a, v.Day(), i, newest.Power, operations.UnitFindings(v))
	}
	words := word
	if newest.ErrorType != "" && newest.ErrorType != "normal" {
		words += v.Separator() + newest.ErrorType
	}
	if newest.ErrorCode != nil && *newest.ErrorCode != 0 {
		words += v.Separator() + widget.EventCode(*newest.ErrorCode, "code ")
	}
	words += v.Separator() + fmt.Sprintf("inverter state %d, run state %d", newest.InverterState, newest.RunState)
	v.PutIn(r, 0, 1, w, words, role)
	age := v.SiteNow.Sub(newest.Timestamp.Time)
	role = themes.Muted
	if age > operations.StaleAfter+15*time.Minute {
		role = themes.Warning
	}
	v.PutIn(r, 0, 2, w, "last record "+display.When(newest.Timestamp.Time, v.SiteNow, v.Site.Zone)+", "+display.Age(age)+" old", role)
	y := 3
	measures := u.measures(v, a, i, newest)
	bar := 18
	for _, m := range measures {
		bar = max(10, min(bar, w-27-terminal.Width(m.note)))
	}
	for _, m := range measures {
		v.Put(r, 0, y, m.name, themes.Dim)
		r.PutRight(23, y, view.Drawable(m.text, v.ASCII), v.Style(themes.Text))
		x := 25
		if w >= 60 {
			chart.Bar(r, x, y, bar, m.value, m.low, m.high, m.normal, v.Pen, v.Palette)
			x += bar + 2
		}
		role := themes.Dim
		if !m.normal.Holds(m.value) {
			role = themes.Warning
		}
		v.PutIn(r, x, y, w-x, m.note, role)
		y++
	}
	return y
}

// measures returns what the unit reports, each with what is normal for it: what
// its peers have now.
func (u *UnitView) measures(v view.Context, a api.Asset, i int, newest api.Record) []measure {
	day := v.Day()
	nan := math.NaN()
	power := measure{name: "power", text: display.Power(newest.Power), value: newest.Power, high: max(a.CapacityKW, newest.Power, 1), normal: chart.Anything}
	var out []measure
	if i >= 0 && day.Expected[i] > 0 && v.Site.PastDate.IsZero() {
		power.normal = chart.Normal{Low: day.Expected[i] * chart.NormalRatio.Low, High: day.Expected[i] * chart.NormalRatio.High}
		power.high = max(power.high, power.normal.High)
		power.note = "its peers " + display.Power(day.Expected[i]) + ", " + display.Percent(newest.Power/day.Expected[i])
		if lost := day.Expected[i] - newest.Power; lost > 0.1*day.Expected[i] {
			power.note += ", lost " + display.Power(lost)
		}
	}
	out = append(out, power)
	if i >= 0 && !math.IsNaN(day.Energy[i]) {
		kwh := measure{name: "energy", text: display.Energy(day.Energy[i]), value: day.Energy[i], normal: chart.Anything}
		peers := day.PeersEnergy(i)
		if peers > 0 {
			kwh.normal = chart.Normal{Low: peers * chart.NormalRatio.Low, High: peers * chart.NormalRatio.High}
			kwh.note = "its peers " + display.Energy(peers) + ", " + display.Percent(day.Energy[i]/peers)
		} else {
			peers = 0
		}
		kwh.high = max(peers*1.25, day.Energy[i], 1)
		out = append(out, kwh)
	}
	for _, m := range []struct {
		name, unit string
		of         func(api.Record) *float64
		low, high  float64
		around     float64 // the normal range, as a share of the peers' median
	}{
		{"temperature", "°C", func(r api.Record) *float64 { return r.Temperature }, 0, 100, 0.3},
		{"voltage", "V", func(r api.Record) *float64 { return r.Voltage }, 0, 0, 0.15},
		{"power factor", "", func(r api.Record) *float64 { return r.PF }, -1, 1, 0.1},
		{"apparent power", "kVA", func(r api.Record) *float64 { return r.KVA }, 0, 0, 0.2},
		{"irradiance", "W/m²", func(r api.Record) *float64 { return r.Irradiance }, 0, 1200, 0.2},
		{"state of charge", "%", func(r api.Record) *float64 { return r.SoC }, 0, 100, 1},
	} {
		p := m.of(newest)
		if p == nil {
			continue
		}
		unit := m.unit
		if v.ASCII {
			unit = map[string]string{"°C": "degC", "W/m²": "W/m2"}[m.unit]
			if unit == "" {
				unit = m.unit
			}
		}
		line := measure{name: m.name, text: display.Significant(*p) + " " + unit, value: *p, low: m.low, high: m.high, normal: chart.Normal{Low: nan, High: nan}}
		if peers := peersNow(v, u.ID, m.of); !math.IsNaN(peers) {
			line.normal = chart.Normal{Low: peers - m.around*math.Abs(peers), High: peers + m.around*math.Abs(peers)}
			line.note = "its peers " + display.Significant(peers) + " " + unit
		}
		if line.high == line.low {
			line.high = 1.3 * max(math.Abs(*p), line.normal.High, 1)
		}
		out = append(out, line)
	}
	return out
}

// peersNow returns the median of the other units' newest values; NaN without any.
func peersNow(v view.Context, id string, of func(api.Record) *float64) float64 {
	var values []float64
	for _, u := range v.Site.Day.Data.Units {
		if n := len(u.Records); u.AssetID != id && n > 0 {
			if p := of(u.Records[n-1]); p != nil && !math.IsNaN(*p) {
				values = append(values, *p)
			}
		}
	}
	return view.Median(values)
}

// drawChart draws the unit's day and returns the rows it took.
func (u *UnitView) drawChart(r terminal.Region, v view.Context) int {
	_, h := r.Size()
	if h < 4 || !u.chart.Draw(r, v, u.ID) {
		return 0
	}
	return h
}

// recentSpan is the time that the chart of records of less than a minute is of.
const recentSpan = 15 * time.Minute

// drawRecent draws the power of the last minutes as it was measured, if the unit is read
// more often than each minute, and returns the y after it. The day's chart has means.
func (u *UnitView) drawRecent(r terminal.Region, y int, v view.Context) int {
	const height = 8
	w, _ := r.Size()
	records := u.samples(v)
	step := commonest(records)
	if step <= 0 || step >= time.Minute || w < 30 {
		return y
	}
	to := v.SiteNow.Truncate(time.Minute).Add(time.Minute) // the axis moves once a minute
	from := to.Add(-recentSpan)
	points := chart.Points{Step: step}
	for _, rec := range records {
		if !rec.Timestamp.Before(from) {
			points.At, points.Value = append(points.At, rec.Timestamp.Unix()), append(points.Value, rec.Power)
		}
	}
	v.Heading(r.Region(terminal.Rect{Y: y, W: w, H: 1}), 0, "Power as measured", display.Duration(recentSpan), "each "+display.Step(step))
	c := chart.Day{Pen: v.Pen, Palette: v.Palette, Start: from, From: from, To: to, Location: v.Site.Zone, Unit: "kW", Now: v.SiteNow,
		Lines: []chart.Line{{Name: "power", Points: points, Role: themes.Actual}}, Empty: "no records in the last minutes"}
	c.Draw(r.Region(terminal.Rect{Y: y + 1, W: w, H: height - 1}))
	return y + height + 1
}

// drawAlarms lists the unit's alarms with their history, active ones first, and
// returns the y after them.
func (u *UnitView) drawAlarms(r terminal.Region, y int, v view.Context) int {
	w, _ := r.Size()
	alerts := AlertsOf(v, u.ID)
	v.Heading(r.Region(terminal.Rect{Y: y, W: w, H: 1}), 0, "Alarms and their history", display.CountOf(state.AlertLogDays, "day", "days"))
	y++
	if len(alerts) == 0 {
		words := "None."
		if v.Site.Alerts.At.IsZero() {
			words = "Asking for alarms …"
		}
		v.PutIn(r, 0, y, w, words, themes.Dim)
		return y + 1
	}
	for _, a := range alerts {
		alarm.DrawPriority(v, r.Region(terminal.Rect{Y: y, W: 11, H: 1}), a.AlertSeverity, a.State)
		v.Put(r, 12, y, a.State, themes.Text)
		v.PutIn(r, 23, y, w-23, widget.Family(a.AlertType)+", since "+display.When(a.Timestamp.Time, v.SiteNow, v.Site.Zone), themes.Text)
		y = alarm.DrawHistory(v, r, 2, y+1, a)
	}
	return y
}

// AlertsOf returns the alarms of a unit: active ones, and cleared ones of the last
// days.
func AlertsOf(v view.Context, assetID string) []api.Alert {
	var out []api.Alert
	for _, a := range v.Site.Alerts.Data.Alerts {
		if slices.Contains(alarm.Units(a), assetID) {
			out = append(out, a)
		}
	}
	for _, a := range v.Site.AlertLog.Data {
		if a.State == api.AlertCleared && slices.Contains(alarm.Units(a), assetID) {
			out = append(out, a)
		}
	}
	return out
}

// sampleColumn is what a record may hold besides its power.
type sampleColumn struct {
	title string
	width int
	of    func(api.Record) string
}

var sampleColumns = []sampleColumn{
	{"kWh", 8, func(r api.Record) string { return display.Significant(r.KWh) }},
	{"V", 7, func(r api.Record) string { return pointed(r.Voltage) }},
	{"temp", 6, func(r api.Record) string { return pointed(r.Temperature) }},
	{"PF", 5, func(r api.Record) string { return pointed(r.PF) }},
	{"state", 6, func(r api.Record) string { return fmt.Sprintf("%d/%d", r.InverterState, r.RunState) }},
}

func pointed(p *float64) string {
	if p == nil {
		return ""
	}
	return display.Significant(*p)
}

// drawSamples lists the records as measured, newest first, with their gaps and error
// codes, and returns the y after them.
func (u *UnitView) drawSamples(r terminal.Region, y int, v view.Context) int {
	w, _ := r.Size()
	value := v.Site.Samples
	records := u.samples(v)
	step := commonest(records)
	note := ""
	if step > 0 {
		note = "each " + display.Step(step)
	}
	v.Heading(r.Region(terminal.Rect{Y: y, W: w, H: 1}), 0, "Records as measured", fmt.Sprintf("%d h", state.SampleHours), note)
	y++
	if len(records) == 0 {
		words := "Nothing was reported in the last hours."
		switch {
		case value.Err != nil:
			words = "No answer about the records: " + state.Reason(value.Err) + "."
		case value.At.IsZero():
			words = "Asking for the records …"
		}
		v.PutIn(r, 0, y, w, words, themes.Dim)
		return y + 1
	}
	columns := slices.DeleteFunc(slices.Clone(sampleColumns), func(c sampleColumn) bool {
		return !slices.ContainsFunc(records, func(r api.Record) bool { return c.of(r) != "" })
	})
	put := func(y int, at, power string, cell func(k int) string, role themes.Role) int {
		v.Put(r, 0, y, at, themes.Dim)
		r.PutRight(18, y, view.Drawable(power, v.ASCII), v.Style(role))
		x := 18
		for k, c := range columns {
			if x+c.width > w {
				break
			}
			x += c.width
			r.PutRight(x, y, view.Drawable(cell(k), v.ASCII), v.Style(role))
		}
		return x + 1
	}
	put(y, "time", "kW", func(k int) string { return columns[k].title }, themes.Muted)
	for i, rec := range slices.Backward(records) {
		y++
		x := put(y, display.ClockSeconds(rec.Timestamp.In(v.Site.Zone)), display.Significant(rec.Power), func(k int) string { return columns[k].of(rec) }, themes.Text)
		words, role := "", themes.Dim
		if rec.ErrorType != "" && rec.ErrorType != "normal" {
			words = rec.ErrorType
		}
		if rec.ErrorCode != nil && *rec.ErrorCode != 0 {
			words += " " + widget.EventCode(*rec.ErrorCode, "")
		}
		if i > 0 && step > 0 {
			if gap := rec.Timestamp.Sub(records[i-1].Timestamp.Time); gap > max(step, cadence(records, i))*3/2 {
				words, role = words+" gap of "+display.Duration(gap)+" before", themes.Warning
			}
		}
		v.PutIn(r, x, y, w-x, words, role)
	}
	return y + 1
}

// commonest returns the commonest distance between records, 0 with fewer than two.
func commonest(records []api.Record) time.Duration {
	return state.Day{Units: []state.UnitDay{{Records: records}}}.Step()
}

// cadence returns the interval of the records around the pair i-1, i: a device
// that changes its interval leaves no gap.
func cadence(records []api.Record, i int) time.Duration {
	switch {
	case i >= 2:
		return records[i-1].Timestamp.Sub(records[i-2].Timestamp.Time)
	case i+1 < len(records):
		return records[i+1].Timestamp.Sub(records[i].Timestamp.Time)
	}
	return 0
}

// Export returns the records as measured.
func (u *UnitView) Export(v view.Context) [][]string {
	rows := [][]string{{"timestamp (UTC)", "asset_id", "power (kW)", "energy (kWh)", "voltage (V)", "temperature (degC)", "power factor", "inverter_state", "run_state", "error_type"}}
	for _, r := range u.samples(v) {
		rows = append(rows, []string{r.Timestamp.String(), r.AssetID, display.Number(r.Power), display.Number(r.KWh), exact(r.Voltage), exact(r.Temperature), exact(r.PF), strconv.Itoa(r.InverterState), strconv.Itoa(r.RunState), r.ErrorType})
	}
	return rows
}

func exact(p *float64) string {
	if p == nil {
		return ""
	}
	return display.Number(*p)
}
