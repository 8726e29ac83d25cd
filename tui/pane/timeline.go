package pane

import (
	"fmt"
	"math"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// timeline draws the days ahead, a column or two each: the energy that the
// forecast expects, above it what is likely at most, below it what is planned
// and where the best windows lie.
type timeline struct {
	at    terminal.Rect // the columns of days, as last drawn
	first int           // day in the first column
	cells int           // of a day
	shown int           // days
}

// timelineMargin is the room for the names of the rows.
const timelineMargin = 9

// timelineRows are the rows of a timeline beside those of its bars.
const timelineRows = 3

// draw draws the days into r; chosen is the day under the cursor, -1 for none.
func (t *timeline) draw(r terminal.Region, v view.Context, days []dayAhead, chosen int) {
	w, h := r.Size()
	bars := h - timelineRows
	room := w - timelineMargin
	if bars < 1 || room < 10 {
		t.at = terminal.Rect{}
		return
	}
	t.cells = min(max(room/len(days), 1), 2)
	t.shown = min(room/t.cells, len(days))
	t.first = min(max(t.first, chosen-t.shown+1), max(chosen, 0), len(days)-t.shown)
	t.at = terminal.Rect{X: timelineMargin, W: t.shown * t.cells, H: h}
	top := 0.0
	for _, d := range days {
		top = max(top, d.p90, d.p50)
	}
	if top > 0 {
		r.PutRight(timelineMargin-1, 0, Energy(top), v.Style(themes.Dim))
	}
	v.Put(r, 0, bars, "work", themes.Dim)
	v.Put(r, 0, bars+1, "window", themes.Dim)
	past := -1 // the first day of which the forecast does not speak
	for i := range t.shown {
		d := days[t.first+i]
		x := timelineMargin + i*t.cells
		for c := range t.cells {
			t.column(r, v, x+c, bars, d, top)
		}
		if !d.known && past < 0 {
			past = x
		}
		if mark, role := dayMark(d); mark != "" {
			v.Put(r, x, bars, mark, role)
		}
		if mark, role := windowMark(d, v); mark != "" {
			v.Put(r, x, bars+1, mark, role)
		}
	}
	if words := " no forecast"; past >= 0 && timelineMargin+t.at.W-past > len(words) {
		v.Put(r, past, bars-1, words, themes.Muted)
	}
	t.axis(r, v, days, bars+2)
	if i := chosen - t.first; chosen >= 0 && i >= 0 && i < t.shown {
		r.Shade(terminal.Rect{X: timelineMargin + i*t.cells, W: t.cells, H: h}, v.SelectionStyle())
	}
}

// eighths are the heights of a cell.
var eighths = []rune(" ▁▂▃▄▅▆▇█")

// column draws one day's energy from the bottom up: full up to P10, which is
// nearly certain, lighter up to the median, and a shade up to P90.
func (t *timeline) column(r terminal.Region, v view.Context, x, bars int, d dayAhead, top float64) {
	if !d.known || top <= 0 {
		return
	}
	sure, likely, most := '█', '▓', '░'
	if v.Pen == chart.ASCII || v.ASCII {
		sure, likely, most = '#', '=', '.'
	}
	height := func(kwh float64) float64 { return kwh / top * float64(bars) }
	for y := range bars {
		low := float64(bars - 1 - y) // of this cell, counted from the bottom
		switch {
		case height(d.p10) >= low+0.75:
			r.PutRune(x, y, sure, v.Style(themes.P50))
		case height(d.p50) >= low+0.875:
			r.PutRune(x, y, likely, v.Style(themes.P50))
		case height(d.p50) > low+0.06 && sure == '█':
			r.PutRune(x, y, eighths[min(max(int(math.Round((height(d.p50)-low)*8)), 1), 7)], v.Style(themes.P50))
		case height(d.p50) >= low+0.5:
			r.PutRune(x, y, likely, v.Style(themes.P50))
		case height(d.p90) >= low+0.5:
			r.PutRune(x, y, most, v.Style(themes.Muted))
		}
	}
}

// axis draws the dates below the days.
func (t *timeline) axis(r terminal.Region, v view.Context, days []dayAhead, y int) {
	every := 14
	if t.cells > 1 {
		every = 7
	}
	for i := 0; i < t.shown; i += every {
		if room := (t.shown - i) * t.cells; room >= 6 {
			v.PutIn(r, timelineMargin+i*t.cells, y, room, days[t.first+i].day.Format("02 Jan"), themes.Dim)
		}
	}
}

// dayMark is what is planned on a day: the most pressing of it, or how much.
func dayMark(d dayAhead) (string, themes.Role) {
	made, late := 0, false
	for _, p := range d.plans {
		if !p.again {
			made++
		}
		late = late || p.late
	}
	switch {
	case late:
		return "!", themes.Warning
	case made > 1:
		return fmt.Sprint(min(made, 9)), themes.Text
	case len(d.plans) == 0:
		return "", themes.Text
	case made == 0:
		return planMark(d.plans[0]), themes.Dim
	}
	for _, p := range d.plans {
		if !p.again {
			return planMark(p), themes.Text
		}
	}
	return "", themes.Text
}

// planMark is the letter of a piece of work.
func planMark(p planned) string {
	switch {
	case p.late:
		return "!"
	case p.again:
		return "r"
	case p.scheduleID != "":
		return "p"
	}
	return "o"
}

// windowMark is how good a day's window is.
func windowMark(d dayAhead, v view.Context) (string, themes.Role) {
	switch {
	case d.window == nil:
		return "", themes.Text
	case d.rank == 1:
		return "*", themes.Accent
	case d.rank <= 3:
		return fmt.Sprint(d.rank), themes.Text
	case d.window.Windy:
		return "w", themes.Dim
	}
	return view.Words("·", v.ASCII), themes.Muted
}

// timelineKey explains the marks.
const timelineKey = "o order, p plan, r again, ! late; * best window, w wind"

// dayAt is the day at a cell of the region last drawn; ok is false beside them.
func (t *timeline) dayAt(x, y int) (i int, ok bool) {
	if !t.at.Contains(x, y) || t.cells == 0 {
		return 0, false
	}
	return t.first + (x-t.at.X)/t.cells, true
}

// span are the first and the last day that are shown.
func (t *timeline) span(days []dayAhead) (first, last time.Time) {
	return days[t.first].day, days[t.first+max(t.shown, 1)-1].day
}
