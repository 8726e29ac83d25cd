package chart

import (
	"math"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// Trend is a line of daily or monthly values with the range that was expected of them. The line is quiet; a value outside the
// range is marked.
type Trend struct {
	Pen     Pen
	Palette *terminal.Palette
	// From and To are the time axis, Location the site's zone.
	From, To time.Time
	Location *time.Location
	// Name is the line's, Values its values; their Step is a day or a month. Missing ones are gaps.
	Name   string
	Values Points
	// Expected is the range, nil without one; Middle the expected values themselves, drawn as a line if there are any.
	Expected *Band
	Middle   Points
	// Unit is written above the value axis, which holds Top and, unless it floats, zero.
	Unit     string
	Top      float64
	Floating bool
	// Now, Cursor, Format, Events, Margin, Legend and Stale are those of [Day].
	Now, Cursor   time.Time
	Format        func(float64) string
	Events        []Event
	Margin        int
	Legend, Stale bool

	day   Day
	lines []Line
}

// outside is the mark of a value outside its range: the shape repeats what the
// colour shows.
var outside = map[bool]rune{false: '╳', true: 'x'}

// Draw fills a region with the trend.
func (t *Trend) Draw(r terminal.Region) {
	t.lines = t.lines[:0]
	if t.Middle.len() > 0 {
		t.lines = append(t.lines, Line{Name: "expected", Points: t.Middle, Role: themes.P50, Pattern: Dashed})
	}
	t.lines = append(t.lines, Line{Name: t.Name, Points: t.Values, Role: themes.Actual})
	d := &t.day
	d.Pen, d.Palette, d.From, d.To, d.Location = t.Pen, t.Palette, t.From, t.To, t.Location
	d.Lines, d.Band, d.Unit, d.Top, d.Floating = t.lines, t.Expected, t.Unit, t.Top, t.Floating
	d.Now, d.Cursor, d.Format, d.Events, d.Margin, d.Legend, d.Stale = t.Now, t.Cursor, t.Format, t.Events, t.Margin, t.Legend, t.Stale
	d.Empty = "no data for this time"
	d.Draw(r)
	t.mark(r)
}

// mark draws the values outside their range over the line.
func (t *Trend) mark(r terminal.Region) {
	d := &t.day
	if t.Expected == nil || d.at.Empty() {
		return
	}
	plot := r.Region(d.at)
	w, h := plot.Size()
	low := Points{At: t.Expected.At, Value: t.Expected.Low, Step: t.Expected.Step}
	high := Points{At: t.Expected.At, Value: t.Expected.High, Step: t.Expected.Step}
	style := d.style(themes.Warning)
	for i := range t.Values.len() {
		at, v := t.Values.At[i], finite(t.Values.Value[i])
		if math.IsNaN(v) || !d.axis.holds(time.Unix(at, 0)) || (Normal{low.Standing(at), high.Standing(at)}).Holds(v) {
			continue
		}
		x := int(d.axis.place(float64(at)+t.Values.shift()) * float64(w))
		plot.PutRune(min(x, w-1), row(d.values.place(v), h), outside[t.Pen == ASCII], style)
	}
}
