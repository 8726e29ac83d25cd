package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// looks are the variants in which each chart is drawn in the golden files.
var looks = []struct {
	name    string
	theme   string
	profile terminal.Profile
	pen     Pen
}{
	{"braille-true", themes.ControlRoom, themes.TrueColor, Braille},
	{"block-256-light", themes.Daylight, themes.Colors256, Block},
	{"braille-none", themes.ControlRoom, themes.NoColor, Braille},
	{"ascii-none", themes.ControlRoom, themes.NoColor, ASCII},
}

// goldens draws a chart in all variants at one size.
func goldens(t *testing.T, name string, w, h int, draw func(r terminal.Region, pen Pen, p *terminal.Palette)) {
	t.Helper()
	for _, l := range looks {
		t.Run(name+"-"+l.name, func(t *testing.T) {
			p := palette(t, l.theme, l.profile)
			g := terminal.NewGrid(w, h)
			panel := p.Style(themes.Panel)
			g.All().Clear(panel)
			draw(g.All(), l.pen, p)
			text := dump(g, panel)
			golden(t, name+"-"+l.name, text)
			if i := strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }); l.pen == ASCII && i >= 0 {
				t.Errorf("not ASCII: %.20q", text[i:])
			}
		})
	}
}

// window returns the sample day from ten to two with a cursor, events and a window of maintenance.
func window(loc *time.Location) Day {
	d := sampleDay(loc)
	at := func(h, m int) time.Time { return time.Date(2026, 6, 21, h, m, 0, 0, loc) }
	d.From, d.To, d.Cursor, d.Now = at(10, 0), at(14, 0), at(11, 40), at(13, 45)
	d.Events = []Event{
		{Kind: Raised, At: at(10, 0), Role: themes.Critical}, {Kind: Cleared, At: at(10, 40)}, {Kind: WorkOrder, At: at(10, 55)},
		{Kind: Maintenance, At: at(12, 30), Until: at(13, 20)}, {Kind: Maintenance, At: at(13, 50), Until: at(16, 0)}, {Kind: Raised, At: at(16, 0)},
		{Kind: Raised, At: at(11, 20), Role: themes.Warning}, {Kind: WorkOrder, At: at(11, 20)},
	}
	return d
}

func TestWindowGolden(t *testing.T) {
	loc := berlin(t)
	goldens(t, "window", 72, 12, func(r terminal.Region, pen Pen, p *terminal.Palette) {
		d := window(loc)
		d.Pen, d.Palette = pen, p
		if pen == ASCII {
			d.Band.Name = "P10-P90"
		}
		d.Draw(r)
	})
	goldens(t, "window-days", 72, 9, func(r terminal.Region, pen Pen, p *terminal.Palette) {
		d := window(loc)
		d.Pen, d.Palette, d.Cursor = pen, p, time.Time{}
		if pen == ASCII {
			d.Band.Name = "P10-P90"
		}
		d.From, d.To = d.From.AddDate(0, 0, -1), d.From.AddDate(0, 0, 2)
		d.Draw(r)
	})
}

func TestWindowTicks(t *testing.T) {
	loc := berlin(t)
	at := func(month time.Month, day, h, m int) time.Time { return time.Date(2026, month, day, h, m, 0, 0, loc) }
	tests := []struct {
		name     string
		from, to time.Time
		width    int
		want     string
	}{
		{"an hour", at(6, 21, 11, 7), at(6, 21, 12, 7), 60, "11:10 11:20 11:30 11:40 11:50 12:00"},
		{"four hours", at(6, 21, 10, 0), at(6, 21, 14, 0), 60, "10:00 10:30 11:00 11:30 12:00 12:30 13:00 13:30"},
		{"over midnight", at(6, 21, 20, 0), at(6, 22, 4, 0), 40, "20:00 22:00 Mon 22 02:00"},
		{"three days", at(6, 21, 6, 0), at(6, 24, 6, 0), 48, "12:00 Mon 22 12:00 Tue 23 12:00 Wed 24"},
		{"clocks forward", at(3, 29, 0, 30), at(3, 29, 5, 30), 54, "01:00 03:00 CEST 04:00 05:00"},
		{"clocks back", at(10, 25, 0, 30), at(10, 25, 5, 30), 80, "01:00 02:00 02:00 CET 03:00 04:00 05:00"},
		{"within the hour that comes twice", time.Unix(at(10, 25, 1, 0).Unix()+3600+1800, 0), time.Unix(at(10, 25, 1, 0).Unix()+2*3600+1800, 0), 60, "02:30 02:40 02:50 02:00 02:10 02:20"},
		{"three weeks", at(6, 10, 0, 0), at(7, 1, 0, 0), 60, "15 Jun 22 Jun 29 Jun"},
		{"a quarter", at(6, 10, 0, 0), at(9, 10, 0, 0), 60, "22 Jun 6 Jul 20 Jul 3 Aug 17 Aug 31 Aug"},
		{"two years", at(6, 10, 0, 0), at(6, 10, 0, 0).AddDate(2, 0, 0), 60, "Jul Oct 2027 Apr Jul Oct 2028 Apr"},
		{"twelve years", at(6, 10, 0, 0), at(6, 10, 0, 0).AddDate(12, 0, 0), 40, "2030 2035"},
	}
	for _, tt := range tests {
		var labels []string
		for _, tk := range newWindow(tt.from, tt.to, loc).ticks(nil, tt.width) {
			labels = append(labels, tk.label)
		}
		if diff := cmp.Diff(tt.want, strings.Join(labels, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// For any window and zone, ticks ascend, lie within it, are at least a label
// apart and show round times of the site's clock.
func TestWindowTicksAreRound(t *testing.T) {
	zones := []*time.Location{time.UTC, time.FixedZone("NPT", 5*3600+45*60)}
	for _, name := range []string{"Europe/Berlin", "Africa/Johannesburg", "Australia/Lord_Howe", "America/St_Johns"} {
		if loc, err := time.LoadLocation(name); err == nil {
			zones = append(zones, loc)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		from := time.Unix(rapid.Int64Range(1.7e9, 1.9e9).Draw(t, "from"), 0)
		span := time.Duration(rapid.Int64Range(3600, 14*24*3600).Draw(t, "span")) * time.Second
		width := rapid.IntRange(12, 200).Draw(t, "width")
		a := newWindow(from, from.Add(span), rapid.SampledFrom(zones).Draw(t, "zone"))
		var last time.Time
		for _, tk := range a.ticks(nil, width) {
			if !a.holds(tk.at) || !last.IsZero() && !tk.at.After(last) {
				t.Fatalf("tick at %s after %s, axis %s to %s", tk.at, last, a.from, a.to)
			}
			if !last.IsZero() && a.place(float64(tk.at.Unix()))-a.place(float64(last.Unix())) < 3.9/float64(width) {
				t.Fatalf("ticks at %s and %s are too close", last, tk.at)
			}
			if tk.at.Minute()%5 != 0 || tk.at.Second() != 0 {
				t.Fatalf("tick at %s", tk.at)
			}
			last = tk.at
		}
	})
}

// A window shows the same samples as the day, joined to those just outside it.
func TestWindowJoinsItsNeighbours(t *testing.T) {
	loc := berlin(t)
	start := time.Date(2026, 6, 21, 0, 0, 0, 0, loc)
	p := Points{Step: time.Hour}
	for h := range 24 {
		p.At, p.Value = append(p.At, start.Add(time.Duration(h)*time.Hour).Unix()), append(p.Value, 5)
	}
	d := Day{Palette: palette(t, themes.ControlRoom, themes.NoColor), Location: loc, Top: 10, From: start.Add(10 * time.Hour), To: start.Add(12 * time.Hour), Lines: []Line{{Points: p, Role: themes.Actual}}}
	g := terminal.NewGrid(50, 8)
	d.Draw(g.All())
	at := d.Plot()
	drawn := 0
	for x := at.X; x < at.X+at.W; x++ {
		for y := at.Y; y < at.Y+at.H; y++ {
			if g.Cell(x, y).Text != " " {
				drawn++
			}
		}
	}
	if drawn != at.W {
		t.Errorf("%d of %d columns hold the line", drawn, at.W)
	}
}

func TestReadings(t *testing.T) {
	loc := berlin(t)
	d := sampleDay(loc)
	at := time.Date(2026, 6, 21, 10, 4, 0, 0, loc)
	got := d.Readings(at)
	want := []float64{sunny(10.5) * 1.05, sunny(10.5) * 0.8, sunny(10) * 0.93 * 0.4}
	for i, r := range got {
		if r.Name != d.Lines[i].Name || math.Abs(r.Value-want[i]) > 1e-9 {
			t.Errorf("%s at %s is %v, want %v", r.Name, at, r.Value, want[i])
		}
	}
	for _, gone := range []time.Time{at.Add(-2 * time.Hour), at.Add(5 * time.Hour), d.Start.Add(-time.Minute)} {
		if r := d.Readings(gone)[2]; !math.IsNaN(r.Value) {
			t.Errorf("actual at %s is %v, want none", gone, r.Value)
		}
	}
}

// Each column's instant lies in that column.
func TestTimeAt(t *testing.T) {
	loc := berlin(t)
	d := window(loc)
	d.Palette = palette(t, themes.ControlRoom, themes.TrueColor)
	d.Draw(terminal.NewGrid(72, 12).All())
	for x := range 72 {
		at, ok := d.TimeAt(x)
		if want := x >= d.Plot().X; ok != want {
			t.Fatalf("column %d: %v", x, ok)
		}
		if ok && d.axis.column(at, d.Plot().W) != x-d.Plot().X {
			t.Errorf("column %d is %s, which is drawn in %d", x, at, d.axis.column(at, d.Plot().W)+d.Plot().X)
		}
	}
}

// losses returns a month's, from what was expected to what was measured.
func losses() []WaterfallStep {
	return []WaterfallStep{
		{Name: "expected", Value: 412e3, Total: true}, {Name: "weather", Value: 6.2e3}, {Name: "soiling", Value: -8.9e3}, {Name: "shading", Value: -1.1e3},
		{Name: "clipping", Value: -400}, {Name: "outage", Value: -61e3, Role: themes.Warning}, {Name: "no data", Value: math.NaN()}, {Name: "measured", Value: 346.8e3, Total: true},
	}
}

func TestWaterfallGolden(t *testing.T) {
	for _, size := range []struct{ w, h int }{{40, 6}, {80, 8}, {200, 9}} {
		goldens(t, fmt.Sprintf("waterfall-%d", size.w), size.w, size.h, func(r terminal.Region, pen Pen, p *terminal.Palette) {
			c := Waterfall{Pen: pen, Palette: p, Steps: losses(), Selected: 2, Format: func(v float64) string { return significant(v/1000) + " MWh" }}
			c.Draw(r)
		})
	}
}

// Whatever the steps and the height, the levels that are drawn add up: nothing is hidden, and the bars meet.
func TestWaterfallAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := []WaterfallStep{{Name: "first", Value: rapid.Float64Range(0, 1000).Draw(t, "first"), Total: true}}
		sum := steps[0].Value
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			v := rapid.OneOf(rapid.Float64Range(-100, 100), rapid.Just(math.NaN())).Draw(t, "step")
			steps = append(steps, WaterfallStep{Name: "step", Value: v})
			if !math.IsNaN(v) {
				sum += v
			}
		}
		steps = append(steps, WaterfallStep{Name: "last", Value: sum, Total: true})
		c := Waterfall{Steps: steps}
		h := rapid.IntRange(3, 16).Draw(t, "h")
		c.layOut(h)
		if len(c.lines) > h || len(c.lines) < min(h, len(steps)) {
			t.Fatalf("%d lines for %d steps in %d", len(c.lines), len(steps), h)
		}
		end := c.lines[len(c.lines)-1]
		before := c.lines[len(c.lines)-2]
		if !end.Total || math.Abs(end.Value-before.to) > 1e-6 {
			t.Fatalf("the steps end at %v, the total is %v", before.to, end.Value)
		}
		for i := 1; i < len(c.lines); i++ {
			if l := c.lines[i]; !l.Total && l.from != c.lines[i-1].to {
				t.Fatalf("line %d begins at %v, the one before ends at %v", i, l.from, c.lines[i-1].to)
			}
		}
	})
}

func TestCalendarGolden(t *testing.T) {
	year := make([]float64, 400)
	ratios := make([]float64, 400)
	for i := range year {
		year[i] = 12 * (1 - 0.7*math.Cos(float64(i+10)/365*2*math.Pi)) * (1 + 0.2*math.Sin(float64(i*i)))
		ratios[i] = 1 + 0.08*math.Sin(float64(i))
		if i%29 == 11 {
			year[i], ratios[i] = math.NaN(), 0.6
		}
		if i > 300 && i < 306 {
			year[i], ratios[i] = 0, math.NaN()
		}
	}
	start := time.Date(2025, 10, 15, 0, 0, 0, 0, time.UTC)
	for _, w := range []int{40, 120} {
		goldens(t, fmt.Sprintf("calendar-size-%d", w), w, 9, func(r terminal.Region, pen Pen, p *terminal.Palette) {
			(&Calendar{Pen: pen, Palette: p, Start: start, Values: year, Selected: 395}).Draw(r)
		})
		goldens(t, fmt.Sprintf("calendar-ratio-%d", w), w, 9, func(r terminal.Region, pen Pen, p *terminal.Palette) {
			(&Calendar{Pen: pen, Palette: p, Start: start, Values: ratios, Normal: NormalRatio, Selected: -1}).Draw(r)
		})
	}
	goldens(t, "calendar-months", 60, 5, func(r terminal.Region, pen Pen, p *terminal.Palette) {
		(&Calendar{Pen: pen, Palette: p, Start: start, Values: ratios[290:310], Normal: NormalRatio, Selected: 3, Months: true}).Draw(r)
	})
}

// trend returns a year of a performance ratio by days with its range, a gap and days outside.
func trend(loc *time.Location) Trend {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, loc)
	p, band := Points{Step: 24 * time.Hour}, Band{Name: "expected", Step: 24 * time.Hour}
	for i := range 300 {
		at := start.AddDate(0, 0, i).Unix()
		mid := 84 - 3*math.Sin(float64(i)/365*2*math.Pi)
		v := mid + 2*math.Sin(float64(i)*1.7)
		switch {
		case i > 120 && i < 135:
			v = math.NaN()
		case i == 200 || i > 270:
			v = mid - 9
		}
		p.At, p.Value = append(p.At, at), append(p.Value, v)
		band.At, band.Low, band.High = append(band.At, at), append(band.Low, mid-3), append(band.High, mid+3)
	}
	return Trend{From: start, To: start.AddDate(1, 0, 0), Location: loc, Name: "PR", Values: p, Expected: &band, Unit: "%", Floating: true, Legend: true, Cursor: start.AddDate(0, 0, 200)}
}

func TestTrendGolden(t *testing.T) {
	loc := berlin(t)
	goldens(t, "trend", 72, 10, func(r terminal.Region, pen Pen, p *terminal.Palette) {
		c := trend(loc)
		c.Pen, c.Palette = pen, p
		c.Draw(r)
	})
}

// Whatever the data and the size, the further charts stay inside their region.
func TestAnythingFurtherDraws(t *testing.T) {
	pals := []*terminal.Palette{palette(t, themes.ControlRoom, themes.TrueColor), palette(t, themes.Mono, themes.Colors16), palette(t, themes.Daylight, themes.NoColor)}
	value := rapid.OneOf(rapid.Float64Range(-1e6, 1e9), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), 1e-300, 5}))
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(value, 0, 60).Draw(t, "values")
		pal, pen := rapid.SampledFrom(pals).Draw(t, "palette"), Pen(rapid.IntRange(0, 2).Draw(t, "pen"))
		from := time.Unix(rapid.Int64Range(0, 2e9).Draw(t, "from"), 0)
		to := from.Add(time.Duration(rapid.Int64Range(-3600, 1e8).Draw(t, "span")) * time.Second)
		p := Points{Value: values, Step: time.Hour}
		var steps []WaterfallStep
		var events []Event
		for i, v := range values {
			at := from.Add(time.Duration(i) * time.Hour)
			p.At = append(p.At, at.Unix())
			steps = append(steps, WaterfallStep{Name: "日本語 loss", Value: v, Total: i%7 == 0})
			events = append(events, Event{Kind: EventKind(i % 4), At: at, Until: at.Add(time.Duration(i%3) * time.Hour)})
		}
		cursor := from.Add(to.Sub(from) / 3)
		selected := rapid.IntRange(-1, 70).Draw(t, "selected")
		d := Day{Pen: pen, Palette: pal, From: from, To: to, Start: from, Cursor: cursor, Events: events, Legend: true, Floating: true, Unit: "kW", Lines: []Line{{"a", p, themes.Actual, Solid, false}}, Band: &Band{"b", p.At, values, values, p.Step}}
		tr := Trend{Pen: pen, Palette: pal, From: from, To: to, Cursor: cursor, Values: p, Expected: d.Band, Legend: true}
		heat := Heat{Pen: pen, Palette: pal, From: from, To: to, Start: from, Cursor: cursor, Rows: []HeatRow{{"INV-世界", p}, {"INV-02", p}}}
		w, height := rapid.IntRange(0, 90).Draw(t, "w"), rapid.IntRange(0, 16).Draw(t, "h")
		g := terminal.NewGrid(w+2, height+2)
		frame := terminal.Style{FG: themes.Indexed(200)}
		g.All().Fill(g.All().Bounds(), '#', frame)
		inner := g.Region(terminal.Rect{X: 1, Y: 1, W: w, H: height})
		d.Draw(inner)
		tr.Draw(inner)
		heat.Draw(inner)
		(&Waterfall{Pen: pen, Palette: pal, Steps: steps, Selected: selected}).Draw(inner)
		for _, months := range []bool{false, true} {
			(&Calendar{Pen: pen, Palette: pal, Start: from, Values: values, Months: months, Selected: selected}).Draw(inner)
			(&Calendar{Pen: pen, Palette: pal, Start: from, Values: values, Months: months, Normal: NormalRatio, Selected: selected}).Draw(inner)
		}
		for y := range height + 2 {
			for x := range w + 2 {
				edge := x == 0 || y == 0 || x == w+1 || y == height+1
				if c := g.Cell(x, y); edge && (c.Text != "#" || c.Style != frame) {
					t.Fatalf("drew at %d,%d outside", x, y)
				}
			}
		}
	})
}
