package analysis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
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
	"app.sunloop/tui/view/operations"
	"app.sunloop/tui/view/widget"
)

// period is the time that the KPIs cover: a number of whole days, or the current month and
// the eleven before it.
type period struct {
	at   int
	year bool
}

// days returns how many.
func (p *period) days() int { return operations.LossPeriods[p.at] }

// monthsBack is how many months before the current one the calendar and the months show.
const monthsBack = 11

// ends returns the site's midnights around it.
func (p *period) ends(v view.Context) (from, to time.Time) {
	to = view.MidnightOf(v.SiteNow)
	if p.year {
		return time.Date(to.Year(), to.Month()-monthsBack, 1, 0, 0, 0, 0, to.Location()), to
	}
	return to.AddDate(0, 0, -p.days()), to
}

func (p *period) of(v view.Context) string {
	from, to := p.ends(v)
	return state.SpanOf(from, to, v.Site.Zone)
}

// words say which time that is.
func (p *period) words(v view.Context) string {
	from, to := p.ends(v)
	if p.year {
		return fmt.Sprintf("%s to %s: the current month and the eleven before it.", display.Date(from), display.Date(to.AddDate(0, 0, -1)))
	}
	return fmt.Sprintf("%s to %s, %s; p selects another period.", display.Date(from), display.Date(to.AddDate(0, 0, -1)), display.CountOf(p.days(), "whole day", "whole days"))
}

// NewKPIs shows the site's KPIs, its energy by day and month against the
// forecast, and energy losses.
func NewKPIs() *widget.TabView {
	p, year := &period{at: 1}, &period{year: true}
	units := newAvailability(p)
	return &widget.TabView{Heading: "KPIs", Keys: keymap.KPIList,
		Tabs:   []*widget.Tab{newFigures(p), newDaily(p), newCalendar(year), newMonthly(year), newLosses(p), units, newStretches(p, units)},
		Reason: availabilityReason,
		Act: func(l *widget.Tab, a keymap.Action, v view.Context) view.Request {
			if a == keymap.NextPeriod {
				if l.Name == calendarTab || l.Name == monthsTab {
					return view.Notify{Text: "The calendar and the months show a year; the other tabs have a period.", Role: themes.Dim}
				}
				p.at = (p.at + 1) % len(operations.LossPeriods)
				return nil
			}
			if a == keymap.EditContract {
				return view.OpenDialog{Dialog: NewContract(v.Site.Site)}
			}
			return availabilityAct(p, l, a, v)
		},
	}
}

// The tabs that show a year.
const (
	calendarTab = "calendar"
	monthsTab   = "months"
)

func kpiNeeds(p *period) func(v view.Context) []state.Need {
	return func(v view.Context) []state.Need {
		return []state.Need{{Query: state.QueryKPIs, Of: p.of(v), Period: 5 * time.Minute}}
	}
}

// figureWords are the technical terms of figures.
var figureWords = map[string]string{
	"data_availability": "data availability", "performance_ratio": "performance ratio", "corrected_performance_ratio": "PR, to 25 °C",
	"energy": "energy, stored days", "mtbf": "time between failures", "mttd_mean": "time to detect, mean", "mttd_median": "time to detect, median", "mttr_mean": "time to repair, mean", "mttr_median": "time to repair, median", "mtta_mean": "time to acknowledge, mean",
}

func figureName(name string) string {
	if words := figureWords[name]; words != "" {
		return words
	}
	return strings.ReplaceAll(name, "_", " ")
}

// figureValue writes a figure with its unit; a dash where it cannot be said.
func figureValue(f api.KPI, x *float64) string {
	switch {
	case x == nil:
		return "–"
	case f.Unit == "1":
		return display.Percentage(*x * 100)
	case f.Unit == "kWh":
		return display.Energy(*x)
	case f.Name == "revenue_lost":
		return display.Money(*x, f.Unit)
	}
	return display.Significant(*x) + " " + f.Unit
}

// whenOf writes times by the site's clock.
func whenOf(v view.Context) func(api.Time) string {
	return func(t api.Time) string { return display.DateTime(t.In(v.Site.Zone)) }
}

// kpiWords returns the ratings and the revision of the figures of a window, in a
// line.
func kpiWords(k api.KPIs, when func(api.Time) string) string {
	rated := display.Power(k.RatedKW) + " rated"
	if r := k.Ratings; r != nil {
		mark := func(inferred bool) string {
			if inferred {
				return " (inferred)"
			}
			return ""
		}
		rated = display.Power(r.DCKW) + " DC" + mark(r.DCInferred) + ", " + display.Power(r.ACKW) + " AC" + mark(r.ACInferred)
	}
	words := fmt.Sprintf("%s, %s", display.CountOf(k.Units, "unit", "units"), rated)
	if as := widget.RevisionWords(k.AsOf, k.Revision, when); as != "" {
		words += "; as of " + as
	}
	return words + "."
}

// windowFacts returns what all figures of a window rest on.
func windowFacts(k api.KPIs, when func(api.Time) string) []widget.Fact {
	facts := []widget.Fact{{Label: "sun-up by", Text: strings.Join(k.UsefulBy, ", ")}}
	if r := k.Ratings; r != nil {
		facts = append(facts, widget.Fact{Label: "DC rating", Text: widget.RatingWords("dc", r.DCKW, r.DCSource, r.DCInferred)}, widget.Fact{Label: "AC rating", Text: widget.RatingWords("ac", r.ACKW, r.ACSource, r.ACInferred)})
	}
	if r := k.Irradiance; r != nil {
		facts = append(facts, widget.Fact{Label: "irradiance", Text: r.Description})
		for _, s := range r.Sensors {
			if s.Health != "ok" {
				facts = append(facts, widget.Fact{Label: "sensor", Text: s.AssetID + " is " + s.Health})
			}
		}
	}
	for _, r := range slices.Backward(k.Revisions) {
		facts = append(facts, widget.Fact{Label: fmt.Sprintf("revision %d", r.Revision), Text: when(r.AsOf) + ": " + r.Reason})
	}
	return facts
}

func newFigures(p *period) *widget.Tab {
	l := widget.NewTab("figures")
	rest := &kpiRest{tab: l, period: p, losses: true}
	l.Needs, l.Rest = rest.needs(kpiNeeds(p)), rest.draw
	l.Status = func(v view.Context) widget.ValueStatus {
		return widget.StatusOf(v.Site.KPIs, v.Now, len(v.Site.KPIs.Data.Figures) == 0)
	}
	l.Empty = "No KPIs for this period: at least one complete day of data is required."
	l.Head = func(r terminal.Region, v view.Context, _ string) int {
		k := v.Site.KPIs.Data
		y := v.Paragraph(r, 0, 0, p.words(v), themes.Dim)
		return v.Paragraph(r, 0, y, kpiWords(k, whenOf(v)), themes.Dim)
	}
	l.Columns = func(v view.Context) []widget.Column {
		name := 6
		for _, f := range v.Site.KPIs.Data.Figures {
			name = max(name, terminal.Width(figureName(f.Name)))
		}
		return []widget.Column{{Title: "figure", Width: name, Min: name}, {Title: "value", Width: 14, Min: 11, Right: true}, {Title: "why not, or what went into it", Min: 20, Rank: 1}}
	}
	l.Rows = func(v view.Context) []widget.Row {
		k := v.Site.KPIs.Data
		rows := make([]widget.Row, 0, len(k.Figures))
		for _, f := range k.Figures {
			value, why := widget.Text(figureValue(f, f.Value)), widget.QuietText(f.Basis)
			if !f.Reportable {
				value.Role, why = themes.Muted, widget.Cell{Text: f.Note, Role: themes.Dim}
			}
			rows = append(rows, widget.Row{ID: f.Name, Sort: []any{figureName(f.Name), value.Text, why.Text}, Cells: []widget.Cell{widget.Text(figureName(f.Name)), value, why}})
		}
		return rows
	}
	l.Detail = func(v view.Context, id string) []widget.Detail {
		k := v.Site.KPIs.Data
		var lines []widget.Detail
		for _, f := range k.Figures {
			if f.Name != id {
				continue
			}
			add := widget.FactsOf(&lines)
			lines = append(lines, widget.Detail{Heading: figureName(f.Name)})
			add("value", figureValue(f, f.Value))
			if f.Low != nil && f.High != nil {
				add("95 % band", figureValue(f, f.Low)+" to "+figureValue(f, f.High))
			}
			add("why not", f.Note)
			for _, fact := range widget.FigureFacts(f, whenOf(v)) {
				add(fact.Label, fact.Text)
			}
		}
		lines = append(lines, widget.Detail{Heading: "All figures of the window"})
		add := widget.FactsOf(&lines)
		for _, fact := range windowFacts(k, whenOf(v)) {
			add(fact.Label, fact.Text)
		}
		if len(k.Categories) > 0 {
			lines = append(lines, widget.Detail{Heading: "Sun-up time by category"})
			for _, c := range k.Categories {
				if c.Hours > 0 {
					lines = append(lines, widget.Detail{Label: strings.ReplaceAll(c.Category, "_", " "), Text: fmt.Sprintf("%s h, %s", display.Significant(c.Hours), display.Percentage(c.Share*100)), Role: themes.Text})
				}
			}
		}
		return lines
	}
	l.Export = func(v view.Context) [][]string {
		rows := [][]string{{"figure", "value", "unit", "low", "high", "from (UTC)", "to (UTC)", "data_availability", "source", "note", "formula", "as of (UTC)", "revision", "rating", "irradiance", "energy", "covered", "excluded", "difference", "basis"}}
		for _, f := range v.Site.KPIs.Data.Figures {
			rows = append(rows, []string{f.Name, plain(f.Value), f.Unit, plain(f.Low), plain(f.High), f.From.String(), f.To.String(), plain(f.DataAvailability), f.Source, f.Note, f.Formula, written(f.AsOf), revision(f.Revision), ratingWords(f), irradianceOf(f), energyOf(f), plain(f.Covered), widget.ExcludedWords(f.Excluded), differenceOf(f), f.Basis})
		}
		return rows
	}
	return l
}

// written writes a time for a file, nothing for none.
func written(t api.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.String()
}

// revision writes the revision of a figure for a file, nothing where it has none.
func revision(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func ratingWords(f api.KPI) string {
	if f.Rating == nil {
		return ""
	}
	return widget.RatingWords(f.Rating.Side, f.Rating.KW, f.Rating.Source, f.Rating.Inferred)
}

func irradianceOf(f api.KPI) string {
	if f.Irradiance == nil {
		return ""
	}
	return f.Irradiance.Description
}

func energyOf(f api.KPI) string {
	if f.Energy == nil {
		return ""
	}
	return widget.EnergyWords(*f.Energy)
}

func differenceOf(f api.KPI) string {
	if f.Difference == nil {
		return ""
	}
	return widget.DifferenceWords(*f.Difference)
}

// plain writes a number for a file, nothing for none.
func plain(x *float64) string {
	if x == nil || math.IsNaN(*x) {
		return ""
	}
	return display.Number(*x)
}

// dayResult is a day, or a month, against what was forecast for it.
type dayResult struct {
	day            time.Time
	kwh            float64 // NaN where nothing was reported
	p10, p50, p90  float64 // as issued before each hour; NaN where no forecast covered all of it
	days, reported int
	backcast       bool // the forecast was computed after the day, or one of the days
}

// ratio returns the energy relative to its forecast; NaN if unknown.
func (d dayResult) ratio() float64 {
	if !(d.p50 > 0) {
		return math.NaN()
	}
	return d.kwh / d.p50
}

// results returns the days of the period.
func results(v view.Context, p *period) []dayResult {
	if v.Site.Wanted(state.QueryDaily) != p.of(v) {
		return nil
	}
	type band struct {
		p10, p50, p90, hours float64
		backcast             bool
	}
	foreseen := map[string]*band{}
	for _, x := range v.Site.Foreseen.Data.Past {
		day := x.Timestamp.In(v.Site.Zone).Format(time.DateOnly)
		if foreseen[day] == nil {
			foreseen[day] = &band{p10: math.NaN(), p90: math.NaN()} // quantiles of hours do not add up
		}
		b := foreseen[day]
		b.p50, b.hours = b.p50+x.PredictedPowerKW, b.hours+1
	}
	for _, d := range v.Site.Foreseen.Data.Days {
		if b := foreseen[d.Day]; b != nil {
			b.p10, b.p50, b.p90, b.backcast = d.P10KWh, d.P50KWh, d.P90KWh, d.Issued == api.IssuedBackcast
		}
	}
	var out []dayResult
	for _, d := range v.Site.Daily.Data {
		day := dayResult{day: d.Day.In(v.Site.Zone), kwh: d.KWh, p10: math.NaN(), p50: math.NaN(), p90: math.NaN(), days: 1}
		if d.Units > 0 {
			day.reported = 1
		}
		if b := foreseen[day.day.Format(time.DateOnly)]; b != nil && b.hours >= 23 {
			day.p10, day.p50, day.p90, day.backcast = b.p10, b.p50, b.p90, b.backcast
		}
		out = append(out, day)
	}
	return out
}

// months add the days of each month up. A value that is unknown for a day is
// unknown for its month, except for the energy of days without a report. P10 and P90 of
// days do not add up, as the errors of days are not fully correlated: a month of
// several days has none.
func months(days []dayResult) []dayResult {
	var out []dayResult
	for _, d := range days {
		first := time.Date(d.day.Year(), d.day.Month(), 1, 0, 0, 0, 0, d.day.Location())
		if n := len(out); n == 0 || !out[n-1].day.Equal(first) {
			out = append(out, dayResult{day: first, kwh: math.NaN(), p10: d.p10, p90: d.p90})
		}
		m := &out[len(out)-1]
		if m.days++; m.days > 1 {
			m.p10, m.p90 = math.NaN(), math.NaN()
		}
		m.p50, m.backcast = m.p50+d.p50, m.backcast || d.backcast
		if !math.IsNaN(d.kwh) {
			m.reported++
			if math.IsNaN(m.kwh) {
				m.kwh = 0
			}
			m.kwh += d.kwh
		}
	}
	return out
}

func dailyNeeds(p *period) func(v view.Context) []state.Need {
	return func(v view.Context) []state.Need {
		from, to := p.ends(v)
		needs := []state.Need{{Query: state.QueryDaily, Of: p.of(v), Period: 30 * time.Minute}}
		if first := to.AddDate(0, 0, -api.MaxPastDays); from.Before(first) {
			from = first
		}
		return append(needs, state.Need{Query: state.QueryForeseen, Of: from.Format(time.DateOnly), Period: 30 * time.Minute})
	}
}

func dailyStatus(v view.Context) widget.ValueStatus {
	return widget.StatusOf(v.Site.Daily, v.Now, len(v.Site.Daily.Data) == 0)
}

// backcastMark follows values of a [api.IssuedBackcast].
const backcastMark = "*"

// backcastNote explains the mark where it is on screen.
func backcastNote(r terminal.Region, v view.Context, y int, list []dayResult) int {
	n := 0
	for _, d := range list {
		if d.backcast && !math.IsNaN(d.p50) {
			n++
		}
	}
	if n == 0 {
		return y
	}
	return v.Paragraph(r, 0, y, backcastMark+" backcast: computed after the day, as it would have been forecast at its midnight", themes.Dim)
}

// resultColumns returns those of days and months; months have no band.
func resultColumns(name string, band bool) func(view.Context) []widget.Column {
	return func(view.Context) []widget.Column {
		all := []widget.Column{
			{Title: name, Width: 12}, {Title: "energy", Width: 9, Right: true}, {Title: "P50", Width: 9, Right: true}, {Title: "of P50", Width: 7, Right: true},
			{Title: "yield", Width: 12, Right: true, Rank: 1}, {Title: "days", Width: 7, Right: true, Rank: 3},
		}
		if !band {
			return append(all, widget.Column{Title: "energy against P50", Min: 20, Rank: 4})
		}
		return append(all, widget.Column{Title: "P10", Width: 9, Right: true, Rank: 2}, widget.Column{Title: "P90", Width: 9, Right: true, Rank: 2},
			widget.Column{Title: "energy against P10 to P90", Min: 25, Rank: 4})
	}
}

func resultRows(v view.Context, list []dayResult, band bool, name func(time.Time) string) []widget.Row {
	rows := make([]widget.Row, 0, len(list))
	top := 0.0
	for _, d := range list {
		for _, x := range []float64{d.kwh, d.p50, d.p90} {
			if x > top {
				top = x
			}
		}
	}
	unmarked := "" // keeps the units of marked and other values in one column
	if slices.ContainsFunc(list, func(d dayResult) bool { return d.backcast }) {
		unmarked = " "
	}
	for i := len(list) - 1; i >= 0; i-- {
		d := list[i]
		energy, yield, of := widget.QuietText("no data"), widget.QuietText(""), widget.Text(display.Percent(d.ratio()))
		if !math.IsNaN(d.kwh) {
			energy = widget.Text(display.Energy(d.kwh))
			if v.Site.CapacityKW > 0 {
				yield = widget.QuietText(display.Significant(d.kwh/v.Site.CapacityKW) + " kWh/kWp")
			}
		}
		if d.kwh < d.p10 || d.kwh > d.p90 {
			of.Role = themes.Warning
		}
		bound := func(x float64) widget.Cell {
			if math.IsNaN(x) {
				return widget.QuietText("–")
			}
			return widget.QuietText(display.Energy(x))
		}
		median := bound(d.p50)
		switch {
		case math.IsNaN(d.p50):
		case d.backcast:
			median.Text += backcastMark
		default:
			median.Text += unmarked
		}
		row := widget.Row{ID: d.day.Format(time.DateOnly), Sort: []any{d.day.Format(time.DateOnly), known(d.kwh), known(d.p50), known(d.ratio()), known(d.kwh), float64(d.reported)}, Cells: []widget.Cell{
			widget.Text(name(d.day)), energy, median, of, yield, widget.QuietText(fmt.Sprintf("%d/%d", d.reported, d.days)),
		}}
		if band {
			row.Sort, row.Cells = append(row.Sort, known(d.p10), known(d.p90)), append(row.Cells, bound(d.p10), bound(d.p90))
		} else {
			d.p10, d.p90 = math.NaN(), math.NaN()
		}
		row.Sort = append(row.Sort, known(d.kwh))
		row.Cells = append(row.Cells, widget.Cell{Draw: func(r terminal.Region) { widget.DrawMeasured(r, v, d.kwh, d.p10, d.p50, d.p90, top) }})
		rows = append(rows, row)
	}
	return rows
}

// exportResults returns days or months, newest first, for a file: numbers in one unit, and
// nothing for what is unknown.
func exportResults(v view.Context, name, layout string, list []dayResult) [][]string {
	rows := [][]string{{name, "energy (kWh)", "P50 (kWh)", "of P50 (%)", "yield (kWh/kWp)", "days with data", "days", "P10 (kWh)", "P90 (kWh)", "forecast"}}
	for _, d := range slices.Backward(list) {
		percent, yield, forecast := 100*d.ratio(), math.NaN(), ""
		if v.Site.CapacityKW > 0 {
			yield = d.kwh / v.Site.CapacityKW
		}
		switch {
		case math.IsNaN(d.p50):
		case d.backcast:
			forecast = api.IssuedBackcast
		default:
			forecast = "issued"
		}
		rows = append(rows, []string{d.day.Format(layout), plain(&d.kwh), plain(&d.p50), plain(&percent), plain(&yield), strconv.Itoa(d.reported), strconv.Itoa(d.days), plain(&d.p10), plain(&d.p90), forecast})
	}
	return rows
}

// known returns a number as rows are sorted by it; what is missing sorts last.
func known(x float64) any {
	if math.IsNaN(x) {
		return nil
	}
	return x
}

// resultTrend draws energies of days with the band that was foreseen, and a cursor at the day of
// a row.
func resultTrend(t *chart.Trend, r terminal.Region, v view.Context, list []dayResult, id string) {
	const step = 24 * time.Hour
	t.Cursor = time.Time{}
	if day, err := time.ParseInLocation(time.DateOnly, id, v.Site.Zone); err == nil {
		t.Cursor = day.Add(step / 2)
	}
	t.Format = display.Significant
	t.Pen, t.Palette, t.Location, t.Unit, t.Legend, t.Name, t.Stale = v.Pen, v.Palette, v.Site.Zone, "MWh", true, "energy", v.Site.Daily.Err != nil
	t.From, t.To = list[0].day, list[len(list)-1].day.Add(step)
	band := &chart.Band{Name: "P10–P90", Step: step}
	if v.ASCII {
		band.Name = "P10-P90"
	}
	t.Values = chart.Points{Step: step}
	for _, d := range list {
		at := d.day.Unix()
		t.Values.At, t.Values.Value = append(t.Values.At, at), append(t.Values.Value, d.kwh/1000)
		band.At, band.Low, band.High = append(band.At, at), append(band.Low, d.p10/1000), append(band.High, d.p90/1000)
	}
	t.Expected = nil
	if slices.ContainsFunc(band.Low, func(x float64) bool { return !math.IsNaN(x) }) {
		t.Expected = band
	}
	t.Draw(r)
}

func newDaily(p *period) *widget.Tab {
	l := widget.NewTab("days")
	trend := &chart.Trend{}
	l.Needs, l.Status, l.Empty = dailyNeeds(p), dailyStatus, "No complete day of this period has data."
	l.Columns = resultColumns("day", true)
	l.Rows = func(v view.Context) []widget.Row {
		return resultRows(v, results(v, p), true, func(t time.Time) string { return display.DayName(t, v.SiteNow) })
	}
	l.Export = func(v view.Context) [][]string { return exportResults(v, "day", time.DateOnly, results(v, p)) }
	l.Head = func(r terminal.Region, v view.Context, id string) int {
		list := results(v, p)
		w, h := r.Size()
		y := backcastNote(r, v, v.Paragraph(r, 0, 0, p.words(v), themes.Dim), list)
		if len(list) < 2 || h-y < 7 {
			return y
		}
		resultTrend(trend, r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, list, id)
		return h
	}
	return l
}

// newCalendar shows the days as weeks side by side.
func newCalendar(p *period) *widget.Tab {
	l := newDaily(p)
	l.Name = calendarTab
	c := &chart.Calendar{}
	l.Head = func(r terminal.Region, v view.Context, id string) int {
		list := results(v, p)
		w, h := r.Size()
		y := backcastNote(r, v, v.Paragraph(r, 0, 0, p.words(v), themes.Dim), list)
		if len(list) < 2 || h-y < 8 {
			return y
		}
		rows := min(h-y, 9)
		drawDays(c, r.Region(terminal.Rect{Y: y, W: w, H: rows}), v, list, id)
		return y + rows
	}
	return l
}

// drawDays draws days as a calendar: the energy relative to its forecast if forecasts
// cover the days, else the energy.
func drawDays(c *chart.Calendar, r terminal.Region, v view.Context, list []dayResult, id string) {
	c.Pen, c.Palette, c.Start, c.Selected, c.Normal, c.Low, c.High, c.Format = v.Pen, v.Palette, list[0].day, -1, chart.Normal{}, 0, 0, display.Energy
	c.Values = c.Values[:0]
	judged := 0
	for i, d := range list {
		if d.day.Format(time.DateOnly) == id {
			c.Selected = i
		}
		if !math.IsNaN(d.ratio()) {
			judged++
		}
		c.Values = append(c.Values, d.kwh)
	}
	if 2*judged > len(list) {
		c.Normal = chart.Normal{Low: 0.7, High: 1.3}
		for i, d := range list {
			c.Values[i] = d.ratio()
		}
	}
	c.Draw(r)
}

func newMonthly(p *period) *widget.Tab {
	l := widget.NewTab(monthsTab)
	c := &chart.Calendar{Months: true}
	l.Rest = (&kpiRest{tab: l, period: p}).draw
	l.Needs, l.Status, l.Empty = dailyNeeds(p), dailyStatus, "No complete day of this period has data."
	l.Columns = resultColumns("month", false)
	l.Rows = func(v view.Context) []widget.Row {
		return resultRows(v, months(results(v, p)), false, display.ShortMonth)
	}
	l.Export = func(v view.Context) [][]string { return exportResults(v, "month", "2006-01", months(results(v, p))) }
	l.Head = func(r terminal.Region, v view.Context, id string) int {
		list := months(results(v, p))
		w, h := r.Size()
		y := backcastNote(r, v, v.Paragraph(r, 0, 0, p.words(v), themes.Dim), list)
		if len(list) == 0 || h-y < 5 {
			return y
		}
		c.Pen, c.Palette, c.Start, c.Selected, c.Format = v.Pen, v.Palette, list[0].day, -1, display.Energy
		c.Values = c.Values[:0]
		for i, m := range list {
			if m.day.Format(time.DateOnly) == id {
				c.Selected = i
			}
			c.Values = append(c.Values, m.kwh)
		}
		rows := min(h-y, 3+list[len(list)-1].day.Year()-list[0].day.Year()+1)
		c.Draw(r.Region(terminal.Rect{Y: y, W: w, H: rows}))
		return y + rows
	}
	return l
}

// lossesOf returns the losses of the period; nil until they are known.
func lossesOf(v view.Context, p *period) *api.Losses {
	if v.Site.Wanted(state.QueryKPIs) != p.of(v) {
		return nil
	}
	return v.Site.KPIs.Data.Losses
}

func newLosses(p *period) *widget.Tab {
	l := widget.NewTab("losses")
	c := &chart.Waterfall{}
	rest := &kpiRest{tab: l, period: p}
	l.Rest = rest.draw
	l.Needs = func(v view.Context) []state.Need {
		return append(rest.needs(kpiNeeds(p))(v), state.Need{Query: state.QueryFindings, Period: 30 * time.Second})
	}
	l.Detail, l.Aside = func(v view.Context, id string) []widget.Detail { return lossDetail(v, p, id) }, true
	l.Status = func(v view.Context) widget.ValueStatus {
		return widget.StatusOf(v.Site.KPIs, v.Now, lossesOf(v, p) == nil)
	}
	l.Empty = "No energy was lost by findings in this period."
	l.Head = func(r terminal.Region, v view.Context, _ string) int {
		w, h := r.Size()
		y := v.Paragraph(r, 0, 0, p.words(v), themes.Dim)
		measured := math.NaN()
		if v.Site.Wanted(state.QueryKPIs) == p.of(v) {
			measured = operations.MeasuredKWh(v.Site.KPIs.Data)
		}
		losses := lossesOf(v, p)
		if math.IsNaN(measured) || losses == nil {
			return v.Paragraph(r, 0, y, "Produced energy of this period is unknown, so losses have no reference.", themes.Dim)
		}
		rows := min(h-y, operations.LossSteps(*losses))
		operations.DrawLosses(c, r.Region(terminal.Rect{Y: y, W: w, H: rows}), v, *losses)
		return y + rows
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{{Title: "fault", Min: 18}, {Title: "lost", Width: 9, Right: true}, {Title: "value", Width: 12, Right: true, Rank: 1}}
	}
	l.Rows = func(v view.Context) []widget.Row {
		losses := lossesOf(v, p)
		if losses == nil {
			return nil
		}
		rows := make([]widget.Row, 0, len(losses.ByCause))
		for _, c := range losses.ByCause {
			worth := c.LostKWh * v.Site.TariffPerKWh
			money := ""
			if worth > 0 {
				money = display.Money(worth, v.Site.Currency)
			}
			rows = append(rows, widget.Row{ID: c.FaultFamily, Sort: []any{c.FaultFamily, c.LostKWh, worth}, Cells: []widget.Cell{widget.Text(widget.Family(c.FaultFamily)), widget.Text(display.Energy(c.LostKWh)), widget.Text(money)}})
		}
		return rows
	}
	return l
}
