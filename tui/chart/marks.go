package chart

import (
	"math"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// EventKind is what happened at an instant.
type EventKind uint8

// The kinds. Where several fall into one cell the last of these is seen.
const (
	// Maintenance is a span in which people work on the plant.
	Maintenance EventKind = iota
	// Cleared is an alarm that has returned to normal.
	Cleared
	// WorkOrder is work that was ordered.
	WorkOrder
	// Raised is an alarm that was raised.
	Raised
)

// eventMarks are the shape of each kind and its letter in ASCII.
var eventMarks = [...][2]rune{Maintenance: {'━', '='}, Cleared: {'○', 'c'}, WorkOrder: {'W', 'W'}, Raised: {'▲', 'A'}}

// Mark returns the shape of a kind, a letter in ASCII.
func (k EventKind) Mark(pen Pen) rune {
	if pen == ASCII {
		return eventMarks[k][1]
	}
	return eventMarks[k][0]
}

// Event is something on the time axis.
type Event struct {
	Kind EventKind
	At   time.Time
	// Until ends a span; zero for an instant.
	Until time.Time
	// Role is the event's colour, for instance its priority's; the zero value is quiet.
	Role themes.Role
}

// events draws the row of events: spans first, then instants by their kind, so that an alarm is never hidden.
func (d *Day) events(r terminal.Region) {
	w, _ := r.Size()
	for kind := Maintenance; kind <= Raised; kind++ {
		for i := range d.Events {
			if d.Events[i].Kind == kind {
				d.event(r, &d.Events[i], w)
			}
		}
	}
}

func (d *Day) event(r terminal.Region, e *Event, w int) {
	role := e.Role
	if role == themes.Background {
		role = themes.Dim
	}
	mark, style := e.Kind.Mark(d.Pen), d.style(role)
	if !e.Until.After(e.At) {
		if d.axis.holds(e.At) {
			r.PutRune(d.axis.column(e.At, w), 0, mark, style)
		}
		return
	}
	if !e.Until.After(d.axis.from) || !e.At.Before(d.axis.to) {
		return
	}
	first, last := 0, w-1
	begins, ends := d.axis.holds(e.At), e.Until.Before(d.axis.to)
	if begins {
		first = d.axis.column(e.At, w)
	}
	if ends {
		last = max(d.axis.column(e.Until, w), first)
	}
	for x := first; x <= last; x++ {
		r.PutRune(x, 0, mark, style)
	}
	left, right := '┝', '┥'
	if d.Pen == ASCII {
		left, right = '[', ']'
	}
	if begins {
		r.PutRune(first, 0, left, style)
	}
	if ends && last > first {
		r.PutRune(last, 0, right, style)
	}
}

// vertical marks an instant by a line behind the others; marks are its character and the one in ASCII.
func (d *Day) vertical(plot terminal.Region, t time.Time, style terminal.Style, marks string) {
	if !d.axis.holds(t) {
		return
	}
	w, h := plot.Size()
	x := d.axis.column(t, w)
	mark := []rune(marks)[0]
	if d.Pen == ASCII {
		mark = []rune(marks)[1]
	}
	for y := range h {
		style.BG = themes.Unset
		if at := plot.Cell(x, y).Text; at != " " && at != "┊" {
			// Where the band's edge is drawn, its characters are replaced by the line.
			style.BG = d.Palette.Color(themes.Panel)
		}
		plot.PutRune(x, y, mark, style)
	}
}

// cursorLabel returns the cursor's time as drawn over the time axis of w cells,
// and its position; empty without a cursor.
func (d *Day) cursorLabel(w int) (x int, label string) {
	if !d.axis.holds(d.Cursor) {
		return 0, ""
	}
	layout := "15:04"
	if span := d.axis.to.Sub(d.axis.from); span > 26*time.Hour {
		layout = "Mon 2 15:04"
		if span > 20*24*time.Hour {
			layout = "2 Jan 2006"
		}
	}
	label = " " + d.Cursor.In(d.axis.loc).Format(layout) + " "
	return max(min(d.axis.column(d.Cursor, w)-len(label)/2, w-len(label)), 0), label
}

// value draws what the last line has at the cursor next to it: right of the cursor where
// there is room, else left.
func (d *Day) value(plot terminal.Region) {
	w, h := plot.Size()
	if !d.axis.holds(d.Cursor) || h < 4 {
		return
	}
	for i := len(d.Lines) - 1; i >= 0; i-- {
		v := d.Lines[i].Points.Standing(d.Cursor.Unix())
		if math.IsNaN(v) {
			continue
		}
		label := " " + d.format(v) + " "
		if d.Unit != "" {
			label += d.Unit + " "
		}
		x := d.axis.column(d.Cursor, w) + 1
		if x+terminal.Width(label) > w {
			x -= terminal.Width(label) + 1
		}
		y := row(d.values.place(v), h)
		if y > 0 {
			y-- // above the line
		}
		plot.Put(x, y, label, d.Palette.Style(themes.Accent).On(d.Palette.Style(themes.Panel)).Inverse())
		return
	}
}

// TimeAt returns the instant in the middle of a column of the region last drawn; false outside the plot.
func (d *Day) TimeAt(x int) (time.Time, bool) {
	if x < d.at.X || x >= d.at.X+d.at.W {
		return time.Time{}, false
	}
	place := (float64(x-d.at.X) + 0.5) / float64(d.at.W)
	return time.Unix(int64(d.axis.at(place)), 0).In(d.axis.loc), true
}

// Plot returns the area of the lines in the region last drawn; empty if there
// was no room.
func (d *Day) Plot() terminal.Rect { return d.at }
