package operations

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// faces returns a site in each of the five states, as shown by Observe and the
// panes next to it.
func faces() map[string]func() *state.Site {
	p := plant.New()
	refused := fmt.Errorf("ask: %w", &api.Error{Status: 503, Message: "Service unavailable", RequestID: "req-7"})
	return map[string]func() *state.Site{
		"loading": func() *state.Site { return &state.Site{Site: p.Site(), Zone: p.Zone} },
		"empty": func() *state.Site {
			s := &state.Site{Site: p.Site(), Zone: p.Zone}
			s.Day.Set(state.Day{Start: p.Midnight(stage.Noon), End: p.Midnight(stage.Noon).AddDate(0, 0, 1)}, stage.Noon)
			s.Summary.Set(api.SiteSummary{LastUpdated: api.NullTime(api.At(stage.Noon.AddDate(-1, 0, 0)))}, stage.Noon)
			s.Forecast.Set(p.Forecast(stage.Noon), stage.Noon)
			s.Alerts.Set(state.AlertList{}, stage.Noon)
			return s
		},
		"live": func() *state.Site { return stage.SiteOf(p, stage.Noon) },
		"stale": func() *state.Site {
			s := stage.SiteOf(p, stage.Noon.Add(-time.Hour))
			s.Day.SetError(refused, stage.Noon, stage.Noon.Add(20*time.Second))
			s.Alerts.SetError(refused, stage.Noon, stage.Noon.Add(20*time.Second))
			return s
		},
		"failed": func() *state.Site {
			s := &state.Site{Site: p.Site(), Zone: p.Zone}
			s.Day.SetError(errors.New("ask: dial: connection refused"), stage.Noon.Add(-time.Minute), stage.Noon.Add(20*time.Second))
			s.Alerts.Set(state.AlertList{Alerts: p.Alerts(stage.Noon), Counts: plant.Counts(p.Alerts(stage.Noon))}, stage.Noon)
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
				v := stage.ContextOf(t, site())
				v.Palette = p
				v.Selection = view.Selection{AssetID: "INV-03", FindingID: "f-dead"}
				return stage.DrawnBy(v, size.w, size.h, NewObserve().Draw)
			})
		}
	}
}

// What a person sees while they look at a time, and during a flood.
func TestObserveInUse(t *testing.T) {
	past := state.Day{Start: view.MidnightOf(stage.Noon.In(plant.New().Zone)).AddDate(0, 0, -1)}
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
				v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
				v.Palette = pal
				if tt.flood {
					v.Site.Alerts.Set(state.AlertList{Alerts: p.Flood(stage.Noon), Counts: plant.Counts(p.Flood(stage.Noon))}, stage.Noon)
				}
				if tt.quiet {
					calm(p, v.Site)
				}
				past.End = past.Start.AddDate(0, 0, 1)
				store := state.Store{Site: v.Site}
				store.Want(state.QuerySpan, "2026-11-27 2026-11-28")
				v.Site.Span.Set(past.With(p.Records(past.Start, past.End, stage.Noon)), stage.Noon)
				v.Site.Foreseen.Set(api.GeneratedForecast{Past: p.Foreseen(stage.Noon, 1)}, stage.Noon)
				if tt.past {
					v.Site.PastDate = past.Start
					v.Site.Past.Set(v.Site.Span.Data, stage.Noon)
				}
				o := NewObserve()
				stage.DrawnBy(v, size.w, size.h, o.Draw)
				for _, a := range tt.keys {
					if i, ok := o.Do(a, v).(view.Select); ok {
						v.Selection = i.Selection
					}
				}
				return stage.DrawnBy(v, size.w, size.h, o.Draw)
			})
		}
	}
}

// calm makes a site of units that all do as they should.
func calm(p *plant.Plant, s *state.Site) {
	records := p.Records(p.Midnight(stage.Noon), stage.Noon, stage.Noon)
	for i := range p.Units {
		records[p.UnitID(i)] = nil
		for _, r := range records[p.UnitID(0)] {
			r.AssetID = p.UnitID(i)
			records[p.UnitID(i)] = append(records[p.UnitID(i)], r)
		}
	}
	day := state.Day{Start: p.Midnight(stage.Noon), End: p.Midnight(stage.Noon).AddDate(0, 0, 1)}
	s.Day.Set(day.With(records), stage.Noon)
	s.Alerts.Set(state.AlertList{}, stage.Noon)
	s.AlertLog.Set(nil, stage.Noon)
	s.Findings.Set(nil, stage.Noon)
	s.Orders.Set(nil, stage.Noon)
}

// When nothing is abnormal nothing has a colour that means something is.
func TestObserveIsQuiet(t *testing.T) {
	for _, theme := range []string{themes.ControlRoom, themes.Daylight} {
		p := plant.New()
		v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
		v.Palette = stage.PaletteOf(t, theme, themes.TrueColor)
		records := p.Records(p.Midnight(stage.Noon), stage.Noon, stage.Noon)
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
		v.Site.Day.Set(state.Day{Start: p.Midnight(stage.Noon), End: p.Midnight(stage.Noon).AddDate(0, 0, 1)}.With(records), stage.Noon)
		loud := map[themes.Color]themes.Role{}
		for _, r := range []themes.Role{themes.Critical, themes.Warning, themes.Notice, themes.HeatLow1, themes.HeatLow2, themes.HeatLow3, themes.HeatLow4, themes.HeatHigh1, themes.HeatHigh2} {
			loud[v.Palette.Color(r)] = r
		}
		g := stage.DrawnBy(v, 198, 55, NewObserve().Draw)
		legend := -1
		for y, line := range strings.Split(picture.Text(g), "\n") {
			if strings.Contains(line, "from 90 %") {
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

// The alarms that an action concerns: the chosen line, all of a group, or
// the selected unit; and the reason if it is unavailable.
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
		{"the selected unit", "INV-03", nil, keymap.Acknowledge, false, "alt_dead"},
		{"acknowledged already", "INV-05", nil, keymap.Acknowledge, false, ""},
		{"and can be shelved", "INV-05", nil, keymap.Shelve, false, "alt_weak"},
		{"what is shelved comes back", "INV-02", nil, keymap.Unshelve, false, "alt_shelf"},
		{"what was not shelved does not", "INV-03", nil, keymap.Unshelve, false, ""},
		{"what is gone is not shelved", "INV-06", nil, keymap.Shelve, false, ""},
		{"the chosen line", "", []keymap.Action{keymap.OtherList, keymap.Down}, keymap.Acknowledge, false, "alt_back"},
		{"a group", "", []keymap.Action{keymap.OtherList}, keymap.Acknowledge, true, "alt_site alt_f0 alt_f1 alt_f2 alt_f3 alt_f4 alt_f5 alt_f6 alt_f7"},
		{"one of a group", "", []keymap.Action{keymap.OtherList, keymap.Open, keymap.Down, keymap.Down}, keymap.Acknowledge, true, "alt_f0"},
	} {
		v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
		if tt.flood {
			v.Site.Alerts.Set(state.AlertList{Alerts: p.Flood(stage.Noon)}, stage.Noon)
		}
		v.Selection.AssetID = tt.hand
		o := NewObserve()
		for _, a := range tt.keys {
			stage.DrawnBy(v, 118, 40, o.Draw)
			if i, ok := o.Do(a, v).(view.Select); ok {
				v.Selection = i.Selection
			}
		}
		stage.DrawnBy(v, 118, 40, o.Draw)
		if why := o.Disabled(tt.do, v); (why == "") != (tt.want != "") {
			t.Errorf("%s: why not %q", tt.name, why)
		}
		var got []string
		for _, a := range o.chosen(tt.do, v) {
			got = append(got, a.AlertID)
		}
		if ids := strings.Join(got, " "); ids != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, ids, tt.want)
		}
		if r := o.Do(tt.do, v); (r != nil) != (tt.want != "") {
			t.Errorf("%s: the pane asks for %#v", tt.name, r)
		}
	}
}

// With nothing selected, an action on an alarm asks for the alarm, and acts on the one that
// is chosen; without one that it may change it says why not.
func TestAsksForTheAlarm(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	o := NewObserve()
	if why := o.Disabled(keymap.Acknowledge, v); why != "" {
		t.Errorf("why not: %q", why)
	}
	dialog := stage.Opened(t, o.Do(keymap.Acknowledge, v))
	if drawn := stage.DialogText(v, dialog, 80, 24); !strings.Contains(drawn, "INV-03") || strings.Contains(drawn, "INV-05") { // the second is acknowledged already
		t.Errorf("the choice is\n%s", drawn)
	}
	calls := 0
	if all, ok := stage.Press(dialog, "enter").(view.Batch); ok {
		for _, r := range all {
			if _, ok := r.(view.Call); ok {
				calls++
			}
		}
	}
	if calls != 1 {
		t.Errorf("the choice makes %d calls", calls)
	}
	v.Site.Alerts.Set(state.AlertList{}, stage.Noon)
	if why := o.Disabled(keymap.Acknowledge, v); why == "" || o.Do(keymap.Acknowledge, v) != nil {
		t.Errorf("without alarms: %q", why)
	}
}

// Twenty units down with the site's breaker are one line, which opens, with
// what came first on top.
func TestFloodIsOneLine(t *testing.T) {
	p := plant.New()
	p.Units = 20
	v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
	v.Site.Alerts.Set(state.AlertList{Alerts: p.Flood(stage.Noon)}, stage.Noon)
	o := NewObserve()
	text := picture.Text(stage.DrawnBy(v, 118, 40, o.Draw))
	if !strings.Contains(text, "+ 20 units") || strings.Count(text, "▲C") != 1 || strings.Contains(text, "▲H") {
		t.Errorf("the flood is not one line:\n%s", text)
	}
	o.Do(keymap.OtherList, v)
	o.Do(keymap.Open, v)
	lines := strings.Split(picture.Text(stage.DrawnBy(v, 118, 60, o.Draw)), "\n")
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
