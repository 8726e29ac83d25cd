package chart

import (
	"math"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// lowerBlocks fill a cell from the bottom by eighths.
var lowerBlocks = [9]rune{' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}

// band fills between the two limits. With colours the ground of whole cells carries it and block characters its edges, to an
// eighth of a cell; without, a shade does, or tildes at both edges.
func (d *Day) band(plot terminal.Region) {
	if d.Band == nil {
		return
	}
	_, h := plot.Size()
	d.covered(plot, d.Band)
	for x, s := range d.cover {
		if s.high <= s.low {
			continue
		}
		for y := range h {
			cell := span{low: max(s.low-8*(h-1-y), 0), high: min(s.high-8*(h-1-y), 8)}
			if cell.high <= cell.low {
				continue
			}
			d.shade(plot, x, y, cell)
		}
	}
}

// covered sets d.cover to the part of each column that lies between the limits of b.
func (d *Day) covered(plot terminal.Region, b *Band) {
	w, h := plot.Size()
	d.cover = d.cover[:0]
	walk := bandWalk{band: b}
	for x := range w {
		low, high, ok := walk.at(d.axis.at((float64(x) + 0.5) / float64(w)))
		s := span{}
		if ok {
			eighths := float64(8 * h)
			s.low = min(max(int(math.Round(d.values.place(low)*eighths)), 0), 8*h)
			s.high = min(max(int(math.Round(d.values.place(high)*eighths)), 0), 8*h)
		}
		d.cover = append(d.cover, s)
	}
}

// areas fills below the lines that are filled, then shades what is lost. Whole cells are
// filled: the line is drawn over the edge.
func (d *Day) areas(plot terminal.Region) {
	for i := range d.Lines {
		l := &d.Lines[i]
		if !l.Filled || l.Points.len() == 0 {
			continue
		}
		d.zero = append(d.zero[:0], make([]float64, l.Points.len())...)
		d.covered(plot, &Band{At: l.Points.At, Low: d.zero, High: l.Points.Value, Step: l.Points.Step})
		d.area(plot, themes.Fill)
	}
	if d.Loss != nil {
		d.covered(plot, d.Loss)
		d.area(plot, themes.Loss)
	}
}

// areaMarks are the characters of areas without colours, and those in ASCII.
var areaMarks = map[themes.Role][2]rune{themes.Fill: {'▒', '#'}, themes.Loss: {'╱', '/'}}

// area gives the cells of which at least half is covered the colour of a role, or its
// character where colours cannot be distinguished.
func (d *Day) area(plot terminal.Region, role themes.Role) {
	_, h := plot.Size()
	mark, style := ' ', terminal.Style{BG: d.Palette.Color(role)}
	if d.hueless() || style.BG == d.Palette.Color(themes.Panel) {
		mark, style = areaMarks[role][0], d.Palette.Style(themes.Muted)
		if d.Pen == ASCII {
			mark = areaMarks[role][1]
		}
	} else if d.Stale {
		style.BG = d.Palette.Color(themes.Range)
	}
	for x, s := range d.cover {
		for y := range h {
			if min(s.high-8*(h-1-y), 8)-max(s.low-8*(h-1-y), 0) >= 4 {
				plot.PutRune(x, y, mark, style)
			}
		}
	}
}

// hueless reports whether the band cannot be shown by its background.
func (d *Day) hueless() bool {
	return d.Palette.Colorless() || d.Palette.Color(themes.Band) == d.Palette.Color(themes.Panel)
}

// bandSample returns the band's sample in the legend.
func (d *Day) bandSample() (string, terminal.Style) {
	switch {
	case !d.hueless():
		return "  ", d.Palette.Style(themes.Band)
	case d.Pen == ASCII:
		return "~~", d.Palette.Style(themes.Muted)
	}
	return "░░", d.Palette.Style(themes.Muted)
}

// shade draws one cell of the band; s is what of it is covered.
func (d *Day) shade(plot terminal.Region, x, y int, s span) {
	fill, panel := d.Palette.Color(themes.Band), d.Palette.Color(themes.Panel)
	hueless := d.hueless()
	edge := s.low > 0 || s.high < 8
	switch {
	case hueless && d.Pen == ASCII:
		if edge {
			plot.PutRune(x, y, '~', d.Palette.Style(themes.Muted))
		}
	case hueless:
		if s.high-s.low >= 4 {
			plot.PutRune(x, y, '░', d.Palette.Style(themes.Muted))
		}
	case d.Pen == ASCII:
		if s.high-s.low >= 4 {
			plot.PutRune(x, y, ' ', terminal.Style{BG: fill})
		}
	case !edge:
		plot.PutRune(x, y, ' ', terminal.Style{BG: fill})
	case s.low == 0:
		plot.PutRune(x, y, lowerBlocks[s.high], terminal.Style{FG: fill, BG: panel})
	case s.high == 8:
		plot.PutRune(x, y, lowerBlocks[s.low], terminal.Style{FG: panel, BG: fill})
	case s.low+s.high >= 8: // both edges are in one cell: draw the half that contains the band
		plot.PutRune(x, y, '▀', terminal.Style{FG: fill, BG: panel})
	default:
		plot.PutRune(x, y, '▄', terminal.Style{FG: fill, BG: panel})
	}
}

// bandWalk interpolates a band at rising instants.
type bandWalk struct {
	band *Band
	i    int
	step int64
}

// at gives both limits at an instant; false before, after and in gaps of the band.
func (b *bandWalk) at(unix float64) (low, high float64, ok bool) {
	p := Points{At: b.band.At, Value: b.band.Low, Step: b.band.Step}
	n := min(p.len(), len(b.band.High))
	if n == 0 {
		return 0, 0, false
	}
	if b.step == 0 {
		b.step = max(p.step(), 1)
	}
	shift := p.shift()
	for b.i+1 < n && float64(b.band.At[b.i+1])+shift <= unix {
		b.i++
	}
	i := b.i
	t := float64(b.band.At[i]) + shift
	low, high = b.band.Low[i], b.band.High[i]
	half := float64(b.step) / 2
	switch {
	case unix < t: // before the first sample's middle
		if t-unix > half {
			return 0, 0, false
		}
	case i+1 >= n || b.band.At[i+1]-b.band.At[i] > b.step*3/2 || math.IsNaN(b.band.Low[i+1]) || math.IsNaN(b.band.High[i+1]):
		if unix-t > half { // after the last sample before a gap or the end
			return 0, 0, false
		}
	default:
		f := (unix - t) / float64(b.band.At[i+1]-b.band.At[i])
		if math.IsNaN(low) || math.IsNaN(high) {
			// A sample without limits, but the next has them from half a step before its middle.
			if float64(b.band.At[i+1])+shift-unix > half {
				return 0, 0, false
			}
			return b.band.Low[i+1], b.band.High[i+1], true
		}
		low += f * (b.band.Low[i+1] - low)
		high += f * (b.band.High[i+1] - high)
	}
	return low, high, !math.IsNaN(low) && !math.IsNaN(high)
}
