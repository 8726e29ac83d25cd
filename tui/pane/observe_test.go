package pane

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
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
				v.Selection = view.Selection{AssetID: "INV-03", FindingID: "f-dead"}
				return drawn(v, size.w, size.h, NewObserve().Draw)
			})
		}
	}
}

// What a person sees while they look at a time, and during a flood.
func TestObserveInUse(t *testing.T) {
	past := state.Day{Start: view.MidnightOf(noon.In(plant.New().Zone)).AddDate(0, 0, -1)}
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
				store := state.Store{Site: v.Site}
				store.Want(state.QuerySpan, "2026-11-27 2026-11-28")
				v.Site.Span.Good(past.With(p.Records(past.Start, past.End, noon)), noon)
				v.Site.Foreseen.Good(p.Foreseen(noon, 1), noon)
				if tt.past {
					v.Site.PastDate = past.Start
					v.Site.Past.Good(v.Site.Span.Data, noon)
				}
				o := NewObserve()
				drawn(v, size.w, size.h, o.Draw)
				for _, a := range tt.keys {
					if i, ok := o.Do(a, v).(view.Select); ok {
						v.Selection = i.Selection
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
