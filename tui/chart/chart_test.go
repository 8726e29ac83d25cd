package chart

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// A single high sample among a thousand reaches its height, and a single missing one leaves a gap.
func TestPeaksAndGapsSurvive(t *testing.T) {
	start := time.Date(2026, 6, 21, 0, 0, 0, 0, time.UTC)
	p := Points{Step: time.Minute}
	for i := range 1440 {
		v := 1.0
		if i == 700 {
			v = 10
		}
		p.At, p.Value = append(p.At, start.Unix()+int64(i)*60), append(p.Value, v)
	}
	d := Day{Start: start, Top: 10, Lines: []Line{{Points: p, Role: themes.Actual}}, Palette: palette(t, themes.ControlRoom, themes.NoColor)}
	g := terminal.NewGrid(60, 12)
	d.Draw(g.All())
	top := false
	for x := range 60 {
		if c := g.Cell(x, 0).Text; c[0] >= 0xe2 && x > 5 {
			top = true
		}
	}
	if !top {
		t.Error("the peak does not reach the top row")
	}
	columns := reduce(p, newDays(start, 1, time.UTC), 40)
	if columns[19] != 10 {
		t.Errorf("the plain chart's column of the peak is %v", columns[19])
	}

	p.Value[300] = math.NaN()
	for i := 301; i < 340; i++ {
		p.Value[i] = math.NaN()
	}
	if v := reduce(p, newDays(start, 1, time.UTC), 40)[8]; !math.IsNaN(v) && v != 1 {
		t.Errorf("a gap became %v", v)
	}
}

// One more sample changes only the cells it is drawn in.
func TestAxisIsStable(t *testing.T) {
	loc := berlin(t)
	before := sampleDay(loc)
	before.Palette = palette(t, themes.ControlRoom, themes.TrueColor)
	after := before
	after.Lines = append([]Line(nil), before.Lines...)
	l := &after.Lines[2].Points
	n := len(l.At)
	l.At = append(l.At[:n:n], l.At[n-1]+300)
	l.Value = append(l.Value[:n:n], l.Value[n-1]*0.99)
	a, b := terminal.NewGrid(58, 14), terminal.NewGrid(58, 14)
	before.Draw(a.All())
	after.Draw(b.All())
	changed := 0
	for y := range 14 {
		for x := range 58 {
			if a.Cell(x, y) != b.Cell(x, y) {
				changed++
			}
		}
	}
	if changed == 0 || changed > 3 {
		t.Errorf("%d cells changed", changed)
	}
}

func TestTicks(t *testing.T) {
	loc := berlin(t)
	labels := func(day time.Time, n, w int) (s []string) {
		for _, tk := range newDays(day, n, loc).ticks(nil, w) {
			s = append(s, tk.label)
		}
		return s
	}
	spring := time.Date(2026, 3, 29, 0, 0, 0, 0, loc)
	autumn := time.Date(2026, 10, 25, 0, 0, 0, 0, loc)
	tests := []struct {
		name string
		got  []string
		want []string
	}{
		{"summer", labels(time.Date(2026, 6, 21, 0, 0, 0, 0, loc), 1, 40), []string{"00", "03", "06", "09", "12", "15", "18", "21", "24"}},
		{"clocks forward: no 02", labels(spring, 1, 120)[:4], []string{"00", "01", "03", "04"}},
		{"clocks back: 02 once", labels(autumn, 1, 130)[:4], []string{"00", "01", "02", "03"}},
		{"narrow", labels(spring, 1, 12), []string{"00", "12", "24"}},
		{"week", labels(time.Date(2026, 6, 22, 9, 0, 0, 0, loc), 7, 70), []string{"Mon 22", "Tue 23", "Wed 24", "Thu 25", "Fri 26", "Sat 27", "Sun 28"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if h := newDays(spring, 1, loc); h.to.Sub(h.from) != 23*time.Hour {
		t.Errorf("the spring day has %v", h.to.Sub(h.from))
	}
	// Noon is after the change: eleven of 23 hours have passed in spring, thirteen of 25 in autumn.
	for _, tt := range []struct {
		day  time.Time
		want float64
	}{{spring, 11.0 / 23}, {autumn, 13.0 / 25}} {
		noon := time.Date(tt.day.Year(), tt.day.Month(), tt.day.Day(), 12, 0, 0, 0, loc)
		if got := newDays(tt.day, 1, loc).place(float64(noon.Unix())); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("noon on %s lies at %v, want %v", tt.day.Format(time.DateOnly), got, tt.want)
		}
	}
}

func TestScale(t *testing.T) {
	tests := []struct {
		low, high float64
		n         int
		want      scale
		top       string
	}{
		{0, 4200, 4, scale{0, 4500, 2000, 0}, "4500"},
		{0, 5000, 5, scale{0, 5000, 1000, 0}, "5000"},
		{0, 0.9, 3, scale{0, 1, 0.5, 1}, "1.0"},
		{0, 1, 4, scale{0, 1, 0.25, 2}, "1.00"},
		{0, 0, 4, scale{0, 1, 0.25, 2}, "1.00"},
		{-3, 7, 5, scale{-4, 7, 2, 0}, "7"},
	}
	for _, tt := range tests {
		got := newScale(tt.low, tt.high, tt.n)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(scale{}), cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" {
			t.Errorf("%v to %v in %d (-want +got):\n%s", tt.low, tt.high, tt.n, diff)
		}
		if s := string(got.label(nil, got.top)); s != tt.top {
			t.Errorf("top label %s, want %s", s, tt.top)
		}
	}
}

func TestClass(t *testing.T) {
	for ratio, want := range map[float64]themes.Role{
		1: themes.HeatNormal, 0.9: themes.HeatNormal, 1.1: themes.HeatNormal, 0.89: themes.HeatLow1, 0.74: themes.HeatLow2,
		0.49: themes.HeatLow3, 0: themes.HeatLow4, 1.2: themes.HeatHigh1, 1.3: themes.HeatHigh2,
	} {
		if got := NormalRatio.Class(ratio); got != want {
			t.Errorf("%v is %s, want %s", ratio, got, want)
		}
	}
	if got := NormalRatio.Class(math.NaN()); got != themes.HeatNone {
		t.Errorf("a missing ratio is %s", got)
	}
}

func TestHeatRowAt(t *testing.T) {
	h := Heat{Palette: palette(t, themes.ControlRoom, themes.TrueColor), Rows: make([]HeatRow, 9), First: 1}
	for _, tt := range []struct{ y, height, want int }{{0, 20, 1}, {7, 20, 8}, {8, 20, -1}, {0, 4, 1}, {1, 4, 3}, {3, 4, -1}, {-1, 4, -1}} {
		if got := h.RowAt(tt.y, tt.height); got != tt.want {
			t.Errorf("line %d of %d: %d, want %d", tt.y, tt.height, got, tt.want)
		}
	}
	if got := h.Visible(4); got != 6 {
		t.Errorf("%d visible in 4 lines", got)
	}
}

func TestWorst(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		values []float64
		n      Normal
		want   float64
	}{
		{[]float64{1, 1, 0.2, 1}, Normal{0.9, 1.1}, 0.2},
		{[]float64{1, 1.5, 0.8}, Normal{0.9, 1.1}, 1.5},
		{[]float64{1, 1.05, nan}, Normal{0.9, 1.1}, 1.05},
		{[]float64{3, 8, 5}, Normal{nan, 6}, 8},
		{[]float64{3, 8, 5}, Normal{4, nan}, 3},
		{[]float64{3, 8, 5}, Anything, 5},
	}
	for _, tt := range tests {
		if got := worst(tt.values, tt.n); got != tt.want {
			t.Errorf("%v in %v: %v, want %v", tt.values, tt.n, got, tt.want)
		}
	}
	if got := worst([]float64{nan}, Anything); !math.IsNaN(got) {
		t.Errorf("nothing became %v", got)
	}
}

// Whatever the data and the size, drawing stays inside its region and does not fail.
func TestAnythingDraws(t *testing.T) {
	pals := []*terminal.Palette{palette(t, themes.ControlRoom, themes.TrueColor), palette(t, themes.Mono, themes.Colors16), palette(t, themes.Daylight, themes.NoColor)}
	value := rapid.OneOf(rapid.Float64Range(-1e6, 1e9), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), 1e-300, 5}))
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(value, 0, 40).Draw(t, "values")
		p := Points{Value: values, Step: time.Duration(rapid.IntRange(0, 7200).Draw(t, "step")) * time.Second}
		at := int64(rapid.IntRange(-5000, 90000).Draw(t, "from"))
		for range values {
			p.At = append(p.At, at)
			at += int64(rapid.IntRange(0, 9000).Draw(t, "distance"))
		}
		pal, pen := rapid.SampledFrom(pals).Draw(t, "palette"), Pen(rapid.IntRange(0, 2).Draw(t, "pen"))
		start := time.Unix(0, 0).UTC()
		d := Day{
			Pen: pen, Palette: pal, Start: start, Now: time.Unix(at, 0), Legend: true, Unit: "kW", Days: rapid.IntRange(0, 3).Draw(t, "days"),
			Lines: []Line{{"a", p, themes.Actual, Solid, false}, {"b", p, themes.P50, Dashed, false}},
			Band:  &Band{"band", p.At, values, values, p.Step},
		}
		h := Heat{Pen: pen, Palette: pal, Start: start, Rows: []HeatRow{{"INV-世界", p}, {"INV-02", p}, {"INV-03", p}}, Selected: 1}
		w, height := rapid.IntRange(0, 70).Draw(t, "w"), rapid.IntRange(0, 16).Draw(t, "h")
		g := terminal.NewGrid(w+2, height+2)
		frame := terminal.Style{FG: themes.Indexed(200)}
		g.All().Fill(terminal.Rect{W: w + 2, H: height + 2}, '#', frame)
		inner := g.Region(terminal.Rect{X: 1, Y: 1, W: w, H: height})
		d.Draw(inner)
		h.Draw(inner)
		Bar(inner, 0, 0, w, 3, 0, 5, Normal{1, 5}, pen, pal)
		_ = Plain{Start: start, Columns: w, Rows: height}.Render(p)
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

func BenchmarkDay58x14(b *testing.B) {
	d := sampleDay(berlin(b))
	d.Palette = palette(b, themes.ControlRoom, themes.TrueColor)
	g := terminal.NewGrid(58, 14)
	b.ReportAllocs()
	for b.Loop() {
		d.Draw(g.All())
	}
}

func BenchmarkHeat20Units(b *testing.B) {
	d := sampleDay(berlin(b))
	h := Heat{Palette: palette(b, themes.ControlRoom, themes.TrueColor), Start: d.Start, Location: d.Location}
	for range 20 {
		h.Rows = append(h.Rows, HeatRow{"INV-01", d.Lines[2].Points})
	}
	g := terminal.NewGrid(58, 21)
	b.ReportAllocs()
	for b.Loop() {
		h.Draw(g.All())
	}
}

func TestParsePen(t *testing.T) {
	for _, tt := range []struct {
		value, term string
		want        Pen
		ok          bool
	}{
		{"auto", "xterm-256color", Braille, true}, {"auto", "linux", Block, true}, {"", "linux", Block, true}, {"braille", "linux", Braille, true}, {"ascii", "xterm", ASCII, true}, {"dots", "xterm", Braille, false},
	} {
		if got, ok := ParsePen(tt.value, tt.term); got != tt.want || ok != tt.ok {
			t.Errorf("ParsePen(%q, %q) = %v, %t, want %v, %t", tt.value, tt.term, got, ok, tt.want, tt.ok)
		}
	}
}
