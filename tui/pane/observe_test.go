package pane

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// faces are a site in each of the five, as Observe and what stands beside it
// show them.
func faces() map[string]func() *state.Site {
	p := plant.New()
	refused := fmt.Errorf("ask: %w", &api.Error{Status: 503, Message: "Service unavailable", RequestID: "req-7"})
	return map[string]func() *state.Site{
		"loading": func() *state.Site { return &state.Site{Site: p.Site(), Zone: p.Zone} },
		"empty": func() *state.Site {
			s := &state.Site{Site: p.Site(), Zone: p.Zone}
			s.Day.Good(state.Day{Start: p.Midnight(noon), End: p.Midnight(noon).AddDate(0, 0, 1)}, noon)
			s.Summary.Good(api.SiteSummary{LastUpdated: api.At(noon.AddDate(-1, 0, 0))}, noon)
			s.Forecast.Good(p.Forecast(noon), noon)
			s.Alerts.Good(state.AlertList{}, noon)
			return s
		},
		"live": func() *state.Site { return siteOf(p, noon) },
		"stale": func() *state.Site {
			s := siteOf(p, noon.Add(-time.Hour))
			s.Day.Bad(refused, noon, noon.Add(20*time.Second))
			s.Alerts.Bad(refused, noon, noon.Add(20*time.Second))
			return s
		},
		"failed": func() *state.Site {
			s := &state.Site{Site: p.Site(), Zone: p.Zone}
			s.Day.Bad(errors.New("ask: dial: connection refused"), noon.Add(-time.Minute), noon.Add(20*time.Second))
			s.Alerts.Good(state.AlertList{Alerts: p.Alerts(noon), Counts: plant.Counts(p.Alerts(noon))}, noon)
			return s
		},
	}
}

// The insides of the pane at 80×24, with strips at 120×36, and zoomed at 200×60.
var insides = []struct{ w, h int }{{78, 20}, {118, 19}, {198, 55}}

func TestObserveLooks(t *testing.T) {
	for face, site := range faces() {
		for _, size := range insides {
			picture.Looks(t, fmt.Sprintf("observe/%s-%dx%d", face, size.w, size.h), func(p *terminal.Palette) *terminal.Grid {
				v := viewOf(t, site())
				v.Palette = p
				v.Hand = Hand{AssetID: "INV-03", FindingID: "f-dead"}
				return drawn(v, size.w, size.h, NewObserve().Draw)
			})
		}
	}
}

// What a person sees while they look at a time, and during a flood.
func TestObserveInUse(t *testing.T) {
	past := state.Day{Start: midnightOf(noon.In(plant.New().Zone)).AddDate(0, 0, -1)}
	for name, tt := range map[string]struct {
		keys         []keymap.Action
		flood, quiet bool
		past         bool
	}{
		"hours":   {keys: []keymap.Action{keymap.ZoomIn, keymap.ZoomIn, keymap.Cursor, keymap.Left, keymap.Left}},
		"cursor":  {keys: []keymap.Action{keymap.Cursor, keymap.Left, keymap.Left, keymap.Left}},
		"days":    {keys: []keymap.Action{keymap.ZoomOut}},
		"alarms":  {keys: []keymap.Action{keymap.OtherList, keymap.Down}},
		"flood":   {flood: true},
		"flooded": {flood: true, keys: []keymap.Action{keymap.OtherList, keymap.Open}},
		"quiet":   {quiet: true},
		"past":    {past: true, keys: []keymap.Action{keymap.Cursor}},
	} {
		for _, size := range insides[1:] {
			picture.Looks(t, fmt.Sprintf("observe/%s-%dx%d", name, size.w, size.h), func(pal *terminal.Palette) *terminal.Grid {
				p := plant.New()
				v := viewOf(t, siteOf(p, noon))
				v.Palette = pal
				if tt.flood {
					v.Site.Alerts.Good(state.AlertList{Alerts: p.Flood(noon), Counts: plant.Counts(p.Flood(noon))}, noon)
				}
				if tt.quiet {
					calm(p, v.Site)
				}
				past.End = past.Start.AddDate(0, 0, 1)
				v.Site.Span.Good(past.With(p.Records(past.Start, past.End, noon)), noon)
				v.Site.Foreseen.Good(p.Foreseen(noon, 1), noon)
				if tt.past {
					v.Site.PastDate = past.Start
					v.Site.Past.Good(v.Site.Span.Data, noon)
				}
				o := NewObserve()
				drawn(v, size.w, size.h, o.Draw)
				for _, a := range tt.keys {
					if i := o.Do(a, v); i.Hand != nil {
						v.Hand = *i.Hand
					}
				}
				return drawn(v, size.w, size.h, o.Draw)
			})
		}
	}
}

// calm makes a site of units that all do as they should.
func calm(p *plant.Plant, s *state.Site) {
	records := p.Records(p.Midnight(noon), noon, noon)
	for i := range p.Units {
		records[p.UnitID(i)] = nil
		for _, r := range records[p.UnitID(0)] {
			r.AssetID = p.UnitID(i)
			records[p.UnitID(i)] = append(records[p.UnitID(i)], r)
		}
	}
	day := state.Day{Start: p.Midnight(noon), End: p.Midnight(noon).AddDate(0, 0, 1)}
	s.Day.Good(day.With(records), noon)
	s.Alerts.Good(state.AlertList{}, noon)
	s.AlertLog.Good(nil, noon)
	s.Findings.Good(nil, noon)
	s.Orders.Good(nil, noon)
}

// When nothing is abnormal nothing has a colour that means something is.
func TestObserveIsQuiet(t *testing.T) {
	for _, theme := range []string{themes.ControlRoom, themes.Daylight} {
		p := plant.New()
		v := viewOf(t, siteOf(p, noon))
		v.Palette = paletteOf(t, theme, themes.TrueColor)
		records := p.Records(p.Midnight(noon), noon, noon)
		first := records[p.UnitID(0)]
		for i := range p.Units {
			same := make([]api.Record, len(first))
			for k, r := range first {
				r.AssetID = p.UnitID(i)
				same[k] = r
			}
			records[p.UnitID(i)] = same
		}
		calm(p, v.Site)
		v.Site.Day.Good(state.Day{Start: p.Midnight(noon), End: p.Midnight(noon).AddDate(0, 0, 1)}.With(records), noon)
		loud := map[themes.Color]themes.Role{}
		for _, r := range []themes.Role{themes.Critical, themes.Warning, themes.Notice, themes.HeatLow1, themes.HeatLow2, themes.HeatLow3, themes.HeatLow4, themes.HeatHigh1, themes.HeatHigh2} {
			loud[v.Palette.Color(r)] = r
		}
		g := drawn(v, 198, 55, NewObserve().Draw)
		legend := -1
		for y, line := range strings.Split(picture.Text(g), "\n") {
			if strings.Contains(line, "90 to 110 %") {
				legend = y // which names the colours
			}
		}
		w, h := g.Size()
		for y := range h {
			for x := range w {
				c := g.Cell(x, y)
				for _, is := range []themes.Color{c.Style.FG, c.Style.BG} {
					if r, ok := loud[is]; ok && y != legend && c.Text != " " {
						t.Fatalf("%s: %q at %d,%d has the colour of %s", theme, c.Text, x, y, r)
					}
				}
			}
		}
	}
}

func TestGroupAlarms(t *testing.T) {
	p := plant.New()
	flood := p.Flood(noon)
	at := func(minutes int, kind, unit string) api.Alert {
		return api.Alert{AlertID: fmt.Sprintf("%s-%s-%d", kind, unit, minutes), AlertType: kind, AssetID: unit, Timestamp: api.At(noon.Add(time.Duration(minutes) * time.Minute)), AlertSeverity: api.AlertMajor, State: api.AlertUnacknowledged, EnergyAtRiskKW: 10}
	}
	for _, tt := range []struct {
		name   string
		alerts []api.Alert
		want   string // members of each group
	}{
		{"none", nil, ""},
		{"the site's breaker", flood, "9"},
		{"two of a kind", []api.Alert{at(0, "inverter_outage", "A"), at(1, "inverter_outage", "B")}, "1 1"},
		{"three of a kind", []api.Alert{at(0, "inverter_outage", "A"), at(1, "inverter_outage", "B"), at(9, "inverter_outage", "C")}, "3"},
		{"a third that came later", []api.Alert{at(0, "inverter_outage", "A"), at(1, "inverter_outage", "B"), at(11, "inverter_outage", "C")}, "1 1 1"},
		{"of other kinds", []api.Alert{at(0, "inverter_outage", "A"), at(1, "soiling", "B"), at(2, "snow_cover", "C")}, "1 1 1"},
		{"a fault before the breaker", append([]api.Alert{at(-300, "soiling", "INV-01")}, flood...), "1 9"},
	} {
		var sizes []string
		for _, g := range GroupAlarms(tt.alerts) {
			sizes = append(sizes, fmt.Sprint(len(g.Alerts)))
		}
		if got := strings.Join(sizes, " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	g := GroupAlarms(flood)[0]
	if g.Alerts[0].AlertID != "alt_site" || g.worst().AlertSeverity != api.AlertCritical || g.units() != 8 || g.risk() != 320 || g.state() != api.AlertUnacknowledged {
		t.Errorf("the flood: first out %s, %s, %d units, %g kW, %s", g.Alerts[0].AlertID, g.worst().AlertSeverity, g.units(), g.risk(), g.state())
	}
	g.Alerts[3].State = api.AlertAcknowledged
	if got := g.state(); got != "unack 8/9" {
		t.Errorf("one of nine is acknowledged: %s", got)
	}
}

// Whatever the alarms, each stands in one group, and each group is in order of
// time.
func TestGroupsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var alerts []api.Alert
		for i := range rapid.IntRange(0, 40).Draw(t, "n") {
			a := api.Alert{AlertID: fmt.Sprint(i), AlertType: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "type"), AssetID: rapid.SampledFrom([]string{"", "U1", "U2", "U3"}).Draw(t, "unit"),
				Timestamp: api.At(noon.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "at")) * time.Minute)), AlertSeverity: rapid.SampledFrom(api.AlertSeverities()).Draw(t, "severity"), State: api.AlertUnacknowledged}
			if rapid.Bool().Draw(t, "several") {
				a.Metadata = &api.AlertMetadata{AssetIDs: []string{"U1", "U2"}}
			}
			alerts = append(alerts, a)
		}
		seen := map[string]bool{}
		for _, g := range GroupAlarms(alerts) {
			for i, a := range g.Alerts {
				if seen[a.AlertID] {
					t.Fatalf("alarm %s stands twice", a.AlertID)
				}
				seen[a.AlertID] = true
				if i > 0 && a.Timestamp.Before(g.Alerts[i-1].Timestamp.Time) {
					t.Fatalf("alarm %s came before the one above it", a.AlertID)
				}
			}
		}
		if len(seen) != len(alerts) {
			t.Fatalf("%d of %d alarms are seen", len(seen), len(alerts))
		}
	})
}

func TestLookAtTime(t *testing.T) {
	p := plant.New()
	midnight := p.Midnight(noon)
	hour := func(h float64) time.Time { return midnight.Add(time.Duration(h * float64(time.Hour))) }
	for _, tt := range []struct {
		name     string
		keys     []keymap.Action
		from, to time.Time // zero: the whole day
		cursor   time.Time
		of       string // what is asked for
	}{
		{"nothing", nil, time.Time{}, time.Time{}, time.Time{}, ""},
		{"closer, around now", []keymap.Action{keymap.ZoomIn}, hour(5.75), hour(17.75), time.Time{}, ""},
		{"closest", []keymap.Action{keymap.ZoomIn, keymap.ZoomIn, keymap.ZoomIn, keymap.ZoomIn, keymap.ZoomIn, keymap.ZoomIn, keymap.ZoomIn}, hour(11), hour(12), time.Time{}, ""},
		{"there and back", []keymap.Action{keymap.ZoomIn, keymap.WholeDay}, time.Time{}, time.Time{}, time.Time{}, ""},
		{"two days", []keymap.Action{keymap.ZoomOut}, hour(-11.5), hour(36.5), time.Time{}, "2026-11-27 2026-11-28"},
		{"back a quarter", []keymap.Action{keymap.ZoomIn, keymap.PanBack}, hour(2.75), hour(14.75), time.Time{}, ""},
		{"on a quarter", []keymap.Action{keymap.ZoomIn, keymap.PanOn}, hour(8.75), hour(20.75), time.Time{}, ""},
		{"the cursor stands at now", []keymap.Action{keymap.Cursor}, time.Time{}, time.Time{}, hour(11.5), ""},
		{"and goes", []keymap.Action{keymap.Cursor, keymap.Cursor}, time.Time{}, time.Time{}, time.Time{}, ""},
	} {
		v := viewOf(t, siteOf(p, noon))
		o := NewObserve()
		drawn(v, 118, 30, o.Draw)
		for _, a := range tt.keys {
			o.Do(a, v)
		}
		w := o.window
		near := func(a, b time.Time) bool { return a.IsZero() == b.IsZero() && a.Sub(b).Abs() <= 15*time.Minute }
		if !near(w.from, tt.from) || !near(w.to, tt.to) || !w.cursor.Equal(tt.cursor) {
			t.Errorf("%s: %s to %s, cursor %s; want %s to %s, %s", tt.name, w.from, w.to, w.cursor, tt.from, tt.to, tt.cursor)
		}
		of := ""
		for _, n := range o.Needs(v) {
			if n.Query == state.QuerySpan {
				of = n.Of
			}
		}
		if of != tt.of {
			t.Errorf("%s: asks for %q, want %q", tt.name, of, tt.of)
		}
	}
}

// However one zooms and pans, the time on screen stays between an hour and a
// week, within the forecast's reach, and the cursor within it.
func TestLookStaysInReach(t *testing.T) {
	p := plant.New()
	v := viewOf(t, siteOf(p, noon))
	v.Memo = &Memo{}
	last := p.Midnight(noon).AddDate(0, 0, aheadDays)
	rapid.Check(t, func(t *rapid.T) {
		o := NewObserve()
		drawn(v, 100, 30, o.Draw)
		for _, a := range rapid.SliceOfN(rapid.SampledFrom([]keymap.Action{keymap.ZoomIn, keymap.ZoomOut, keymap.PanBack, keymap.PanOn, keymap.Cursor, keymap.WholeDay, keymap.Left, keymap.Right}), 0, 30).Draw(t, "keys") {
			o.Do(a, v)
			drawn(v, 100, 30, o.Draw)
			from, to := o.window.span(v.day().start)
			if d := to.Sub(from); d < time.Hour || d > 7*24*time.Hour || to.After(last) {
				t.Fatalf("%s to %s", from, to)
			}
			if c := o.window.cursor; !c.IsZero() && (c.Before(from) || !c.Before(to)) {
				t.Fatalf("the cursor stands at %s, outside %s to %s", c, from, to)
			}
		}
	})
}

// The wheel over the chart changes the time around what it points at; a click
// puts the cursor there.
func TestMouseOnTheChart(t *testing.T) {
	v := viewOf(t, siteOf(plant.New(), noon))
	o := NewObserve()
	drawn(v, 118, 30, o.Draw)
	at, ok := o.chart.chart.TimeAt(70)
	if !ok {
		t.Fatal("no time at column 70")
	}
	o.Click(70, o.chartAt.Y+3, v)
	if !o.window.cursor.Equal(at) {
		t.Errorf("the cursor stands at %s, want %s", o.window.cursor, at)
	}
	for range 3 {
		o.Wheel(70, o.chartAt.Y+3, -1, v)
		drawn(v, 118, 30, o.Draw)
	}
	if now, _ := o.chart.chart.TimeAt(70); now.Sub(at).Abs() > 12*time.Minute || o.window.to.Sub(o.window.from) != 3*time.Hour {
		t.Errorf("after zooming %s stands where %s stood, %s", now, at, o.window.to.Sub(o.window.from))
	}
}

// For former days it is asked what was forecast for them, and esc undoes what
// was done with the time, step by step.
func TestFormerDaysAndBack(t *testing.T) {
	p := plant.New()
	v := viewOf(t, siteOf(p, noon))
	o := NewObserve()
	asks := func() string {
		for _, n := range o.Needs(v) {
			if n.Query == state.QueryForeseen {
				return n.Of
			}
		}
		return ""
	}
	drawn(v, 118, 30, o.Draw)
	if of := asks(); of != "" {
		t.Errorf("today asks for the forecast of %s", of)
	}
	o.Do(keymap.ZoomOut, v)
	if of := asks(); of != "2026-11-27" {
		t.Errorf("two days ask for the forecast of %q", of)
	}
	o.Do(keymap.Cursor, v)
	o.Do(keymap.OtherList, v)
	steps := 0
	for o.Back() {
		steps++
	}
	if steps != 3 || o.window.zoomed() || !o.window.cursor.IsZero() || o.onAlarms {
		t.Errorf("%d steps back lead to %+v", steps, o.window)
	}
	v.Site.PastDate = p.Midnight(noon).AddDate(0, 0, -4)
	if of := asks(); of != "2026-11-24" {
		t.Errorf("a former day asks for the forecast of %q", of)
	}
}

// A window over midnight joins what was reported before with today.
func TestSpanJoinsDays(t *testing.T) {
	p := plant.New()
	v := viewOf(t, siteOf(p, noon))
	yesterday := p.Midnight(noon).AddDate(0, 0, -1)
	v.Site.Span.Good(state.Day{Start: yesterday, End: p.Midnight(noon)}.With(p.Records(yesterday, p.Midnight(noon), noon)), noon)
	d := v.spanOf(yesterday.Add(10*time.Hour), noon)
	if !d.start.Equal(yesterday) || d.step != 5*time.Minute || len(d.total) != 2*288 {
		t.Fatalf("%s, each %s, %d slots", d.start, d.step, len(d.total))
	}
	for _, slot := range []int{144, 288 + 132} { // noon of yesterday, eleven of today
		want := 0.0
		for i := range p.Units {
			want += p.PowerKW(i, yesterday.Add(time.Duration(slot)*5*time.Minute))
		}
		if got := d.total[slot]; math.Abs(got-want) > 0.01 {
			t.Errorf("slot %d has %g kW, want %g", slot, got, want)
		}
	}
	if !math.IsNaN(d.total[288+200]) {
		t.Errorf("the afternoon to come has %g kW", d.total[288+200])
	}
}

// What an action on alarms is about: the chosen line, all of a group, or the
// unit in hand; and why it is not possible.
func TestChosenAlarms(t *testing.T) {
	p := plant.New()
	for _, tt := range []struct {
		name  string
		hand  string
		keys  []keymap.Action
		do    keymap.Action
		flood bool
		want  string
	}{
		{"nothing in hand", "", nil, keymap.Acknowledge, false, ""},
		{"the unit in hand", "INV-03", nil, keymap.Acknowledge, false, "alt_dead"},
		{"acknowledged already", "INV-05", nil, keymap.Acknowledge, false, ""},
		{"and can be shelved", "INV-05", nil, keymap.Shelve, false, "alt_weak"},
		{"what is shelved comes back", "INV-02", nil, keymap.Unshelve, false, "alt_shelf"},
		{"what was not shelved does not", "INV-03", nil, keymap.Unshelve, false, ""},
		{"what is gone is not shelved", "INV-06", nil, keymap.Shelve, false, ""},
		{"the chosen line", "", []keymap.Action{keymap.OtherList, keymap.Down}, keymap.Acknowledge, false, "alt_back"},
		{"a group", "", []keymap.Action{keymap.OtherList}, keymap.Acknowledge, true, "alt_site alt_f0 alt_f1 alt_f2 alt_f3 alt_f4 alt_f5 alt_f6 alt_f7"},
		{"one of a group", "", []keymap.Action{keymap.OtherList, keymap.Open, keymap.Down, keymap.Down}, keymap.Acknowledge, true, "alt_f0"},
	} {
		v := viewOf(t, siteOf(p, noon))
		if tt.flood {
			v.Site.Alerts.Good(state.AlertList{Alerts: p.Flood(noon)}, noon)
		}
		v.Hand.AssetID = tt.hand
		var got []string
		o := NewObserve()
		o.Request = func(_ keymap.Action, alerts []api.Alert, _ View) any {
			for _, a := range alerts {
				got = append(got, a.AlertID)
			}
			return nil
		}
		for _, a := range tt.keys {
			drawn(v, 118, 40, o.Draw)
			if i := o.Do(a, v); i.Hand != nil {
				v.Hand = *i.Hand
			}
		}
		drawn(v, 118, 40, o.Draw)
		if why := o.Why(tt.do, v); (why == "") != (tt.want != "") {
			t.Errorf("%s: why not %q", tt.name, why)
		}
		o.Do(tt.do, v)
		if ids := strings.Join(got, " "); ids != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, ids, tt.want)
		}
	}
}

// Twenty units down with the site's breaker are one line, which opens, with
// what came first on top.
func TestFloodIsOneLine(t *testing.T) {
	p := plant.New()
	p.Units = 20
	v := viewOf(t, siteOf(p, noon))
	v.Site.Alerts.Good(state.AlertList{Alerts: p.Flood(noon)}, noon)
	o := NewObserve()
	text := picture.Text(drawn(v, 118, 40, o.Draw))
	if !strings.Contains(text, "+ 20 units") || strings.Count(text, "▲C") != 1 || strings.Contains(text, "▲M") {
		t.Errorf("the flood is not one line:\n%s", text)
	}
	o.Do(keymap.OtherList, v)
	o.Do(keymap.Open, v)
	lines := strings.Split(picture.Text(drawn(v, 118, 60, o.Draw)), "\n")
	at := 0
	for i, line := range lines {
		if strings.Contains(line, "- 20 units") {
			at = i
		}
	}
	if at == 0 || !strings.Contains(lines[at+1], "first out: site outage") || !strings.Contains(lines[at+2], "inverter outage") {
		t.Errorf("the open group:\n%s", strings.Join(lines, "\n"))
	}
}

// A unit's records are told with their gaps, and a change of cadence is none.
func TestCadence(t *testing.T) {
	at := func(minutes ...int) []api.Record {
		var out []api.Record
		for _, m := range minutes {
			out = append(out, api.Record{Timestamp: api.At(noon.Add(time.Duration(m) * time.Minute))})
		}
		return out
	}
	for _, tt := range []struct {
		records []api.Record
		want    int // gaps
	}{
		{at(0, 5, 10, 15), 0}, {at(0, 5, 10, 25, 30), 1}, {at(0, 15, 30, 35, 40, 45), 0}, {at(0, 1, 2, 14, 15, 40, 41), 2},
	} {
		step, gaps := commonest(tt.records), 0
		for i := 1; i < len(tt.records); i++ {
			if tt.records[i].Timestamp.Sub(tt.records[i-1].Timestamp.Time) > max(step, cadence(tt.records, i))*3/2 {
				gaps++
			}
		}
		if gaps != tt.want {
			t.Errorf("%d gaps, want %d", gaps, tt.want)
		}
	}
}

// The unit closely, wide and narrow, in three looks.
func TestUnitLooks(t *testing.T) {
	for _, size := range []struct{ w, h int }{{78, 20}, {118, 32}, {198, 56}} {
		picture.Looks(t, fmt.Sprintf("observe/unit-%dx%d", size.w, size.h), func(pal *terminal.Palette) *terminal.Grid {
			p := plant.New()
			v := viewOf(t, siteOf(p, noon))
			v.Palette = pal
			store := state.Store{Site: v.Site}
			store.Want(state.QuerySamples, "INV-03")
			v.Site.Samples.Good(p.Samples(plant.DeadUnit, noon), noon)
			return drawn(v, size.w, size.h, NewUnitView("INV-03").Draw)
		})
	}
	for _, pen := range []chart.Pen{chart.Block, chart.ASCII} {
		v := viewOf(t, siteOf(plant.New(), noon))
		v.Pen, v.ASCII = pen, pen == chart.ASCII
		text := picture.Text(drawn(v, 118, 60, NewUnitView("INV-05").Draw))
		if i := strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }); v.ASCII && i >= 0 {
			t.Errorf("not ASCII: %.20q", text[i:])
		}
		for _, words := range []string{"INV-05", "expected 76.4 kW by its peers, 80 %", "string outage", "ack by anna", "anna: crew is told"} {
			if !strings.Contains(text, words) {
				t.Errorf("the unit does not show %q:\n%s", words, text)
			}
		}
	}
}
