package chart

import (
	"encoding/binary"
	"hash/fnv"
	"image"
	"image/color"
	"math"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// Images draws charts as images, for a terminal that takes them. It keeps those drawn last, so
// that a chart that did not change is the same image.
type Images struct {
	// Cell is the size of a cell in pixels.
	Cell terminal.PixelSize

	kept []keptImage // the last used first
}

type keptImage struct {
	key    uint64
	pixels *image.Paletted
}

const (
	keptImages = 8
	// maxPixels bounds an image; a larger chart is drawn in cells.
	maxPixels = 1 << 21
)

// get returns the image of a key, which draw makes unless it is kept.
func (m *Images) get(key uint64, draw func() *image.Paletted) *image.Paletted {
	for i, k := range m.kept {
		if k.key == key {
			copy(m.kept[1:i+1], m.kept[:i])
			m.kept[0] = k
			return k.pixels
		}
	}
	k := keptImage{key, draw()}
	m.kept = append([]keptImage{k}, m.kept[:min(len(m.kept), keptImages-1)]...)
	return k.pixels
}

// image puts the plot over its cells as an image and reports whether it did.
func (d *Day) image(plot terminal.Region) bool {
	if d.Images == nil || d.Pen == ASCII || d.hueless() {
		return false
	}
	w, h := plot.Size()
	w, h = w*d.Images.Cell.W, h*d.Images.Cell.H
	if w < 1 || h < 1 || w*h > maxPixels {
		return false
	}
	if _, _, _, ok := d.Palette.Color(themes.Panel).Values(); !ok {
		return false // the terminal's own background, which only it knows
	}
	return plot.Image(d.Images.get(d.key(w, h), func() *image.Paletted { return d.raster(w, h) }))
}

// key is a hash of all that the image of the plot is drawn from.
func (d *Day) key(w, h int) uint64 {
	sum := fnv.New64a()
	var b []byte
	add := func(values ...uint64) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	points := func(p Points) {
		add(uint64(p.Step)) //nolint:gosec // any number identifies it
		for i := range p.len() {
			add(uint64(p.At[i]), math.Float64bits(p.Value[i])) //nolint:gosec // the same
		}
	}
	add(uint64(w), uint64(h), uint64(d.axis.from.Unix()), uint64(d.axis.to.Unix()), math.Float64bits(d.values.bottom), math.Float64bits(d.values.top)) //nolint:gosec // the same
	for _, t := range [...]time.Time{d.Now, d.Cursor} {
		add(uint64(d.pixel(t, w))) //nolint:gosec // the same
	}
	for role := range themes.Roles {
		add(uint64(d.Palette.Color(role)))
	}
	if d.Stale {
		add(1)
	}
	for i := range d.Lines {
		l := &d.Lines[i]
		add(uint64(l.Role), uint64(l.Pattern), uint64(i)) //nolint:gosec // the same
		if l.Filled {
			add(1)
		}
		points(l.Points)
	}
	for _, band := range []*Band{d.Band, d.Loss} {
		if band != nil {
			points(Points{At: band.At, Value: band.Low, Step: band.Step})
			points(Points{At: band.At, Value: band.High, Step: band.Step})
		}
	}
	_, _ = sum.Write(b) // a hash takes everything
	return sum.Sum64()
}

// pixel returns the middle of the cell of an instant, -1 outside of the axis.
func (d *Day) pixel(t time.Time, w int) int {
	if !d.axis.holds(t) {
		return -1
	}
	cell := d.Images.Cell.W
	return d.axis.column(t, w/cell)*cell + cell/2
}

// raster draws the plot with so many pixels: what it draws in cells, in the same order and colours.
func (d *Day) raster(w, h int) *image.Paletted {
	r := newRaster(w, h, d.rgb(d.Palette.Style(themes.Panel).BG))
	area := func(b *Band, role themes.Role) {
		ground := d.Palette.Color(role)
		if d.Stale {
			ground = d.Palette.Color(themes.Range)
		}
		d.rasterBand(r, b, d.rgb(ground))
	}
	if d.Band != nil {
		d.rasterBand(r, d.Band, d.rgb(d.Palette.Color(themes.Band)))
	}
	for i := range d.Lines {
		if p := d.Lines[i].Points; d.Lines[i].Filled && p.len() > 0 {
			area(&Band{At: p.At, Low: make([]float64, p.len()), High: p.Value, Step: p.Step}, themes.Fill)
		}
	}
	if d.Loss != nil {
		area(d.Loss, themes.Loss)
	}
	for y := 0; y < h; y++ {
		if x := d.pixel(d.Now, w); x >= 0 && y%4 < 2 {
			r.blend(x, y, d.rgb(d.style(themes.NowLine).FG), full)
		}
	}
	for i := range d.Lines {
		d.rasterLine(r, &d.Lines[i])
	}
	for y := 0; y < h; y++ {
		if x := d.pixel(d.Cursor, w); x >= 0 {
			r.blend(x, y, d.rgb(d.Palette.Color(themes.Accent)), full)
		}
	}
	return r.paletted()
}

// rgb returns a colour as red, green and blue; the text's for one that only the terminal knows.
func (d *Day) rgb(c themes.Color) uint32 {
	r, g, b, ok := c.Values()
	if !ok {
		r, g, b, _ = d.Palette.Color(themes.Text).Values()
	}
	return uint32(r)<<16 | uint32(g)<<8 | uint32(b)
}

// rasterBand fills between two limits.
func (d *Day) rasterBand(r *raster, b *Band, c uint32) {
	walk := bandWalk{band: b}
	for x := range r.w {
		low, high, ok := walk.at(d.axis.at((float64(x) + 0.5) / float64(r.w)))
		if !ok {
			continue
		}
		top := (1 - d.values.place(high)) * float64(r.h)
		bottom := (1 - d.values.place(low)) * float64(r.h)
		for y := max(int(top), 0); y < r.h && float64(y) < bottom; y++ {
			r.blend(x, y, c, coverage(min(bottom, float64(y+1))-max(top, float64(y))))
		}
	}
}

// rasterLine draws one series, as line does in cells.
func (d *Day) rasterLine(r *raster, l *Line) {
	clear(r.cover)
	gap := l.Points.step() * 3 / 2
	shift := l.Points.shift()
	from, to := d.axis.from.Unix(), d.axis.to.Unix()
	thick := max(float64(d.Images.Cell.W)/5, 1.2)
	var px, py float64
	var last int64
	drawing := false
	for i := range l.Points.len() {
		at, v := l.Points.At[i], l.Points.Value[i]
		if at < from-gap || math.IsNaN(finite(v)) {
			drawing = false
			continue
		}
		joined := drawing && at-last <= gap
		if at >= to && !joined {
			break
		}
		x := d.axis.place(float64(at)+shift) * float64(r.w)
		y := (1 - d.values.place(v)) * float64(r.h)
		y = min(max(y, thick/2), float64(r.h)-thick/2)
		if !joined {
			px, py = x, y
		}
		r.segment(px, py, x, y, thick)
		if at >= to {
			break
		}
		px, py, last, drawing = x, y, at, true
	}
	c, pattern := d.rgb(d.style(l.Role).FG), d.pattern(l)
	for i, cover := range r.cover {
		if cover > 0 && pattern.shows(i%r.w/2) {
			r.blend(i%r.w, i/r.w, c, cover)
		}
	}
}

// full is the coverage of a whole pixel. Few levels keep the colours of an image few.
const full = 4

// coverage returns a share of a pixel in quarters.
func coverage(share float64) uint8 { return uint8(math.Round(min(max(share, 0), 1) * full)) }

// raster is an image that is drawn.
type raster struct {
	w, h  int
	pix   []uint32 // red, green and blue
	cover []uint8  // by the line that is drawn, in quarters
}

func newRaster(w, h int, ground uint32) *raster {
	r := &raster{w: w, h: h, pix: make([]uint32, w*h), cover: make([]uint8, w*h)}
	for i := range r.pix {
		r.pix[i] = ground
	}
	return r
}

// blend lays a colour over a pixel.
func (r *raster) blend(x, y int, c uint32, cover uint8) {
	if x < 0 || y < 0 || x >= r.w || y >= r.h || cover == 0 {
		return
	}
	at := &r.pix[y*r.w+x]
	if cover >= full {
		*at = c
		return
	}
	mix := func(shift uint) uint32 {
		under, over := *at>>shift&0xff, c>>shift&0xff
		return (under*uint32(full-cover) + over*uint32(cover)) / full << shift
	}
	*at = mix(16) | mix(8) | mix(0)
}

// segment covers a straight line of a thickness, with soft edges.
func (r *raster) segment(x0, y0, x1, y1, thick float64) {
	dx, dy := x1-x0, y1-y0
	length := dx*dx + dy*dy
	reach := thick/2 + 1
	for y := max(int(min(y0, y1)-reach), 0); y <= min(int(max(y0, y1)+reach), r.h-1); y++ {
		for x := max(int(min(x0, x1)-reach), 0); x <= min(int(max(x0, x1)+reach), r.w-1); x++ {
			cx, cy := float64(x)+0.5, float64(y)+0.5
			t := 0.0
			if length > 0 {
				t = min(max(((cx-x0)*dx+(cy-y0)*dy)/length, 0), 1)
			}
			distance := math.Hypot(cx-x0-t*dx, cy-y0-t*dy)
			at := &r.cover[y*r.w+x]
			*at = max(*at, coverage(thick/2+0.5-distance))
		}
	}
}

// paletted returns the image with at most 256 colours; further ones become the nearest of these.
func (r *raster) paletted() *image.Paletted {
	out := image.NewPaletted(image.Rect(0, 0, r.w, r.h), nil)
	index := map[uint32]uint8{}
	for i, c := range r.pix {
		at, ok := index[c]
		if !ok {
			rgba := color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff} //nolint:gosec // its parts
			if len(out.Palette) < 256 {
				at = uint8(len(out.Palette)) //nolint:gosec // below 256
				out.Palette = append(out.Palette, rgba)
			} else {
				at = uint8(out.Palette.Index(rgba)) //nolint:gosec // below 256
			}
			index[c] = at
		}
		out.Pix[i] = at
	}
	return out
}
