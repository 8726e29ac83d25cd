package chart

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// dump writes a grid as text, then its styles as letters with their meaning. Dots are the panel's own.
func dump(g *terminal.Grid, plain terminal.Style) string {
	var text, letters, meaning strings.Builder
	names := map[terminal.Style]byte{plain: '.'}
	w, h := g.Size()
	for y := range h {
		var row strings.Builder
		for x := range w {
			c := g.Cell(x, y)
			row.WriteString(c.Text)
			n, known := names[c.Style]
			if !known {
				n = byte('a' + len(names) - 1)
				names[c.Style] = n
				fmt.Fprintf(&meaning, "%c %s\n", n, describe(c.Style))
			}
			letters.WriteByte(n)
		}
		text.WriteString(strings.TrimRight(row.String(), " ") + "\n")
		letters.WriteByte('\n')
	}
	return text.String() + "\n" + letters.String() + "\n" + meaning.String()
}

func describe(s terminal.Style) string {
	return strings.TrimSpace(fmt.Sprintf("%s on %s", themes.Token{Color: s.FG, Attr: s.Attr}, s.BG))
}

func berlin(t testing.TB) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	return loc
}

func palette(t testing.TB, name string, p terminal.Profile) *terminal.Palette {
	t.Helper()
	th, ok := themes.Find(themes.Builtin(), name)
	if !ok {
		t.Fatalf("no theme %s", name)
	}
	return terminal.NewPalette(&th, p)
}

// sunny returns clear-sky power in kW at an hour of a summer day.
func sunny(hour float64) float64 { return 4200 * math.Max(0, math.Sin((hour-5)/16*math.Pi)) }

// sampleDay returns a day in June: hourly forecast, measurements each five minutes until 14:00 with a gap and two dips.
func sampleDay(loc *time.Location) Day {
	start := time.Date(2026, 6, 21, 0, 0, 0, 0, loc)
	var actual Points
	for i := range 168 {
		v := sunny(float64(i)/12) * 0.93
		switch {
		case i >= 95 && i < 104:
			v = math.NaN()
		case i == 120 || i == 140:
			v *= 0.4
		}
		actual.At = append(actual.At, start.Unix()+int64(i)*300)
		actual.Value = append(actual.Value, v)
	}
	actual.Step = 5 * time.Minute
	p50, sky := Points{Step: time.Hour}, Points{Step: time.Hour}
	band := &Band{Name: "P10–P90", Step: time.Hour}
	for h := range 24 {
		at, v := start.Unix()+int64(h)*3600, sunny(float64(h)+0.5)
		p50.At, p50.Value = append(p50.At, at), append(p50.Value, 0.8*v)
		sky.At, sky.Value = append(sky.At, at), append(sky.Value, 1.05*v)
		band.At, band.Low, band.High = append(band.At, at), append(band.Low, 0.55*v), append(band.High, 0.95*v)
	}
	return Day{
		Start: start, Location: loc, Unit: "kW", Top: 5000, Now: start.Add(14 * time.Hour), Legend: true, Band: band,
		Lines: []Line{
			{"clear sky", sky, themes.ClearSky, Dotted, false},
			{"P50", p50, themes.P50, Dashed, false},
			{"actual", actual, themes.Actual, Solid, true},
		},
	}
}

// lossAtNine takes half of the power from nine o'clock on, with a cursor in that time.
func lossAtNine(d *Day) {
	p := d.Lines[2].Points
	loss := &Band{Step: p.Step}
	for i, at := range p.At {
		low, high := math.NaN(), math.NaN()
		if i >= 9*12 {
			low, high = p.Value[i]/2, p.Value[i]
			p.Value[i] = low
		}
		loss.At, loss.Low, loss.High = append(loss.At, at), append(loss.Low, low), append(loss.High, high)
	}
	d.Loss, d.Cursor = loss, d.Start.Add(11*time.Hour)
}

func TestDayGolden(t *testing.T) {
	loc := berlin(t)
	tests := []struct {
		name    string
		theme   string
		profile terminal.Profile
		pen     Pen
		w, h    int
		change  func(*Day)
	}{
		{"day-braille-true", themes.ControlRoom, themes.TrueColor, Braille, 64, 15, nil},
		{"day-braille-256-light", themes.Daylight, themes.Colors256, Braille, 64, 15, nil},
		{"day-braille-16", themes.ControlRoom, themes.Colors16, Braille, 64, 15, nil},
		{"day-braille-none", themes.ControlRoom, themes.NoColor, Braille, 64, 15, nil},
		{"day-block-256", themes.ControlRoom, themes.Colors256, Block, 64, 15, nil},
		{"day-ascii-none", themes.ControlRoom, themes.NoColor, ASCII, 64, 15, nil},
		{"day-ascii-256", themes.ControlRoom, themes.Colors256, ASCII, 40, 8, nil},
		{"day-stale", themes.ControlRoom, themes.Colors256, Braille, 40, 8, func(d *Day) { d.Stale = true }},
		{"day-loss-true", themes.ControlRoom, themes.TrueColor, Braille, 64, 15, lossAtNine},
		{"day-loss-none", themes.ControlRoom, themes.NoColor, Braille, 64, 15, lossAtNine},
		{"day-loss-ascii", themes.ControlRoom, themes.NoColor, ASCII, 64, 15, lossAtNine},
		{"day-small", themes.ControlRoom, themes.Colors256, Braille, 20, 4, nil},
		{"day-empty", themes.ControlRoom, themes.Colors256, Braille, 40, 8, func(d *Day) { d.Lines, d.Band = nil, nil }},
		{"day-all-missing", themes.ControlRoom, themes.Colors256, Braille, 40, 8, func(d *Day) {
			d.Band = nil
			d.Lines = []Line{{"actual", Points{At: []int64{d.Start.Unix()}, Value: []float64{math.NaN()}}, themes.Actual, Solid, false}}
		}},
		{"day-week", themes.ControlRoom, themes.Colors256, Braille, 64, 8, func(d *Day) { d.Days = 7 }},
		{"day-clocks-forward", themes.ControlRoom, themes.Colors256, Braille, 80, 6, func(d *Day) { d.Start = time.Date(2026, 3, 29, 12, 0, 0, 0, loc) }},
		{"day-clocks-back", themes.ControlRoom, themes.Colors256, Braille, 80, 6, func(d *Day) { d.Start = time.Date(2026, 10, 25, 12, 0, 0, 0, loc) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := sampleDay(loc)
			d.Pen, d.Palette = tt.pen, palette(t, tt.theme, tt.profile)
			if tt.change != nil {
				tt.change(&d)
			}
			g := terminal.NewGrid(tt.w, tt.h)
			panel := d.Palette.Style(themes.Panel)
			g.All().Clear(panel)
			d.Draw(g.All())
			golden(t, tt.name, dump(g, panel))
		})
	}
}

func TestHeatGolden(t *testing.T) {
	loc := berlin(t)
	start := time.Date(2026, 6, 21, 0, 0, 0, 0, loc)
	var rows []HeatRow
	for u := range 8 {
		row := HeatRow{Name: fmt.Sprintf("INV-%02d", u+1), Ratio: Points{Step: 15 * time.Minute}}
		for i := range 96 {
			v := 1.0
			switch hour := i / 4; {
			case hour < 5 || hour >= 21 || u == 6 && hour == 12:
				v = math.NaN()
			case u == 1 && hour >= 9:
				v = 0
			case u == 2 && hour >= 7 && hour < 15:
				v = 0.85 - 0.08*float64(hour-7)
			case u == 4 && i == 50:
				v = 0.3 // one sample among normal ones
			case u == 5:
				v = 1.12 + 0.03*float64(hour-12)
			}
			row.Ratio.At = append(row.Ratio.At, start.Unix()+int64(i)*900)
			row.Ratio.Value = append(row.Ratio.Value, v)
		}
		rows = append(rows, row)
	}
	tests := []struct {
		name    string
		profile terminal.Profile
		pen     Pen
		h       int
	}{
		{"heat-rows-256", themes.Colors256, Braille, 9},
		{"heat-halves-true", themes.TrueColor, Block, 5},
		{"heat-none", themes.NoColor, Braille, 9},
		{"heat-ascii-none", themes.NoColor, ASCII, 9},
		{"heat-ascii-16", themes.Colors16, ASCII, 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := Heat{Pen: tt.pen, Palette: palette(t, themes.ControlRoom, tt.profile), Start: start, Location: loc, Rows: rows, Selected: 2}
			g := terminal.NewGrid(48, tt.h)
			panel := h.Palette.Style(themes.Panel)
			g.All().Clear(panel)
			h.Draw(g.All())
			golden(t, tt.name, dump(g, panel))
		})
	}
}

func TestGaugesGolden(t *testing.T) {
	for _, tt := range []struct {
		name    string
		profile terminal.Profile
		pen     Pen
	}{{"gauges-256", themes.Colors256, Braille}, {"gauges-none", themes.NoColor, Block}, {"gauges-ascii", themes.NoColor, ASCII}} {
		t.Run(tt.name, func(t *testing.T) {
			p := palette(t, themes.ControlRoom, tt.profile)
			g := terminal.NewGrid(40, 10)
			r := g.All()
			panel := p.Style(themes.Panel)
			r.Clear(panel)
			for i, v := range []float64{3.4, 1, -2, 9, math.NaN()} {
				Bar(r, 0, 4+i, 14, v, 0, 5, Normal{3, 4}, tt.pen, p)
			}
			Bar(r, 0, 9, 14, 2, 0, 5, Anything, tt.pen, p)
			golden(t, tt.name, dump(g, panel))
		})
	}
}

func TestPlainGolden(t *testing.T) {
	loc := berlin(t)
	d := sampleDay(loc)
	p50, actual := d.Lines[1].Points, d.Lines[2].Points
	p := Plain{Start: d.Start, Location: loc, Columns: 64, Rows: 10, Unit: "kW", Caption: "Site power", Top: 5000}
	golden(t, "plain", p.Render(p50, actual)+"\n")
	p.ASCII = true
	text := p.Render(p50, actual)
	golden(t, "plain-ascii", text+"\n")
	for _, r := range text {
		if r > 0x7e {
			t.Fatalf("the ASCII chart holds %q", r)
		}
	}
	golden(t, "plain-empty", p.Render(Points{At: d.Lines[2].Points.At[:1], Value: []float64{math.NaN()}})+"\n")
}
