package operations

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
)

func TestLookAtTime(t *testing.T) {
	p := plant.New()
	midnight := p.Midnight(stage.Noon)
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
		{"the cursor is at now", []keymap.Action{keymap.Cursor}, time.Time{}, time.Time{}, hour(11.5), ""},
		{"and goes", []keymap.Action{keymap.Cursor, keymap.Cursor}, time.Time{}, time.Time{}, time.Time{}, ""},
	} {
		v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
		o := NewObserve()
		stage.DrawnBy(v, 118, 30, o.Draw)
		for _, a := range tt.keys {
			o.Do(a, v)
		}
		w := o.window
		near := func(a, b time.Time) bool { return a.IsZero() == b.IsZero() && a.Sub(b).Abs() <= 15*time.Minute }
		if !near(w.from, tt.from) || !near(w.to, tt.to) || !w.cursor.Equal(tt.cursor) {
			t.Errorf("%s: %s to %s, cursor %s; want %s to %s, %s", tt.name, w.from, w.to, w.cursor, tt.from, tt.to, tt.cursor)
		}
		of := ""
		for _, n := range o.Queries(v) {
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
	v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
	v.Memo = &view.Memo{}
	last := p.Midnight(stage.Noon).AddDate(0, 0, aheadDays)
	rapid.Check(t, func(t *rapid.T) {
		o := NewObserve()
		stage.DrawnBy(v, 100, 30, o.Draw)
		for _, a := range rapid.SliceOfN(rapid.SampledFrom([]keymap.Action{keymap.ZoomIn, keymap.ZoomOut, keymap.PanBack, keymap.PanOn, keymap.Cursor, keymap.WholeDay, keymap.Left, keymap.Right}), 0, 30).Draw(t, "keys") {
			o.Do(a, v)
			stage.DrawnBy(v, 100, 30, o.Draw)
			from, to := o.window.span(v.Day().Start)
			if d := to.Sub(from); d < time.Hour || d > 7*24*time.Hour || to.After(last) {
				t.Fatalf("%s to %s", from, to)
			}
			if c := o.window.cursor; !c.IsZero() && (c.Before(from) || !c.Before(to)) {
				t.Fatalf("the cursor is at %s, outside %s to %s", c, from, to)
			}
		}
	})
}

// The wheel over the chart changes the time around what it points at; a click
// puts the cursor there.
func TestMouseOnTheChart(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	o := NewObserve()
	stage.DrawnBy(v, 118, 30, o.Draw)
	at, ok := o.chart.chart.TimeAt(70)
	if !ok {
		t.Fatal("no time at column 70")
	}
	o.Click(70, o.chartAt.Y+3, v)
	if !o.window.cursor.Equal(at) {
		t.Errorf("the cursor is at %s, want %s", o.window.cursor, at)
	}
	for range 3 {
		o.Wheel(70, o.chartAt.Y+3, -1, v)
		stage.DrawnBy(v, 118, 30, o.Draw)
	}
	if now, _ := o.chart.chart.TimeAt(70); now.Sub(at).Abs() > 12*time.Minute || o.window.to.Sub(o.window.from) != 3*time.Hour {
		t.Errorf("after zooming %s is where %s was, %s", now, at, o.window.to.Sub(o.window.from))
	}
}

// For former days it is asked what was forecast for them, and esc undoes what
// was done with the time, step by step.
func TestFormerDaysAndBack(t *testing.T) {
	p := plant.New()
	v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
	o := NewObserve()
	asks := func() string {
		for _, n := range o.Queries(v) {
			if n.Query == state.QueryForeseen {
				return n.Of
			}
		}
		return ""
	}
	stage.DrawnBy(v, 118, 30, o.Draw)
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
	if steps != 3 || o.window.zoomed() || !o.window.cursor.IsZero() || o.alarmsFocused {
		t.Errorf("%d steps back lead to %+v", steps, o.window)
	}
	v.Site.PastDate = p.Midnight(stage.Noon).AddDate(0, 0, -4)
	if of := asks(); of != "2026-11-24" {
		t.Errorf("a former day asks for the forecast of %q", of)
	}
}

// A window over midnight joins what was reported before with today.
func TestSpanJoinsDays(t *testing.T) {
	p := plant.New()
	v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
	yesterday := p.Midnight(stage.Noon).AddDate(0, 0, -1)
	v.Site.Span.Set(state.Day{Start: yesterday, End: p.Midnight(stage.Noon)}.With(p.Records(yesterday, p.Midnight(stage.Noon), stage.Noon)), stage.Noon)
	d := v.Span(yesterday.Add(10*time.Hour), stage.Noon)
	if !d.Start.Equal(yesterday) || d.Step != 5*time.Minute || len(d.Total) != 2*288 {
		t.Fatalf("%s, each %s, %d slots", d.Start, d.Step, len(d.Total))
	}
	for _, slot := range []int{144, 288 + 132} { // noon of yesterday, eleven of today
		want := 0.0
		for i := range p.Units {
			want += p.PowerKW(i, yesterday.Add(time.Duration(slot)*5*time.Minute))
		}
		if got := d.Total[slot]; math.Abs(got-want) > 0.01 {
			t.Errorf("slot %d has %g kW, want %g", slot, got, want)
		}
	}
	if !math.IsNaN(d.Total[288+200]) {
		t.Errorf("the afternoon to come has %g kW", d.Total[288+200])
	}
}

// Former days that are not there yet are said to be asked for.
func TestSpanIsAskedFor(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	o := NewObserve()
	stage.DrawnBy(v, 118, 30, o.Draw)
	shows := func(words string, want bool) {
		t.Helper()
		if text := picture.Text(stage.DrawnBy(v, 118, 30, o.Draw)); strings.Contains(text, words) != want {
			t.Errorf("%q is there: %v\n%s", words, !want, text)
		}
	}
	shows("the days before", false)
	o.Do(keymap.ZoomOut, v)
	shows("asking for the days before", true)
	store := state.Store{Site: v.Site}
	store.Want(state.QuerySpan, "2026-11-27 2026-11-28")
	v.Site.Span.Set(state.Day{}, stage.Noon)
	shows("the days before", false)
	v.Site.Span.SetError(errors.New("dial: refused"), stage.Noon, stage.Noon)
	shows("no answer about the days before", true)
}
