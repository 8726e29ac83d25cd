// Package picture draws the day of a site as a PNG picture for e-mail: measured and
// expected power, the energy lost between them, and the times without data.
package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"

	"app.sunloop/internal/display"
)

// Size of the picture in pixels. It is shown at half the size, so that it is sharp on
// screens of high density.
const (
	Width  = 1120
	Height = 480

	left, right, top, bottom = 96, 24, 56, 56 // margins
	fontSize                 = 22
)

// Day is what the picture shows: power in kW of equal steps from Start. NaN is unknown.
type Day struct {
	Start, End time.Time // of the day of the site; the horizontal axis
	Zone       *time.Location
	Step       time.Duration
	Actual     []float64 // up to Now
	Expected   []float64
	Now        time.Time // nothing measured is due at or after it
}

// maxPoints bounds a series of a day: steps of ten seconds.
const maxPoints = 25 * 360

// Colours that also differ in brightness.
var (
	paper   = color.RGBA{255, 255, 255, 255}
	ink     = color.RGBA{33, 37, 41, 255}
	faint   = color.RGBA{222, 226, 230, 255}
	missing = color.RGBA{241, 243, 245, 255}
	actual  = color.RGBA{11, 83, 148, 255}
	want    = color.RGBA{134, 142, 150, 255}
	lost    = color.RGBA{247, 190, 129, 255}
)

// PNG draws the day. It returns an error if the day is empty or its steps do not fit it.
func PNG(d Day) ([]byte, error) {
	hours := d.End.Sub(d.Start).Hours()
	switch {
	case d.Step <= 0 || hours < 1 || hours > 26:
		return nil, fmt.Errorf("draw day: step of %s in a day of %s", d.Step, display.Hours(hours))
	case len(d.Actual) > maxPoints || len(d.Expected) > maxPoints:
		return nil, fmt.Errorf("draw day: more than %d points", maxPoints)
	}
	if d.Zone == nil {
		d.Zone = time.UTC
	}
	face, err := newFace()
	if err != nil {
		return nil, err
	}
	defer face.Close()
	p := &plot{img: image.NewRGBA(image.Rect(0, 0, Width, Height)), face: face, day: d, high: ceiling(peak(d))}
	draw.Draw(p.img, p.img.Bounds(), image.NewUniform(paper), image.Point{}, draw.Src)
	p.gaps()
	p.losses()
	p.axes()
	p.line(d.Expected, want, 3, 12)
	p.line(d.Actual, actual, 4, 0)
	p.legend()
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, p.img); err != nil {
		return nil, fmt.Errorf("encode picture: %w", err)
	}
	return b.Bytes(), nil
}

var parsed = sync.OnceValues(func() (*opentype.Font, error) { return opentype.Parse(goregular.TTF) })

func newFace() (font.Face, error) {
	f, err := parsed()
	if err != nil {
		return nil, fmt.Errorf("read font: %w", err)
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: fontSize, DPI: 72})
	if err != nil {
		return nil, fmt.Errorf("open font: %w", err)
	}
	return face, nil
}

// peak is the highest known power; 0 if none is known.
func peak(d Day) float64 {
	most := 0.0
	for _, list := range [][]float64{d.Actual, d.Expected} {
		for _, v := range list {
			if known(v) {
				most = max(most, v)
			}
		}
	}
	return most
}

func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// ceiling is the end of the vertical axis: the next of 1, 2, 2.5, 4, 5, 8 and 10 times a
// power of ten, so that a quarter of it is a short number.
func ceiling(most float64) float64 {
	if most <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(most)))
	for _, n := range []float64{1, 2, 2.5, 4, 5, 8} {
		if most <= n*unit*(1+1e-9) {
			return n * unit
		}
	}
	return 10 * unit
}

type plot struct {
	img  *image.RGBA
	face font.Face
	day  Day
	high float64 // kW at the top
}

// x is the place of a time, and y that of a power.
func (p *plot) x(t time.Time) float64 {
	return left + (Width-left-right)*t.Sub(p.day.Start).Seconds()/p.day.End.Sub(p.day.Start).Seconds()
}

func (p *plot) y(kw float64) float64 {
	return Height - bottom - (Height-top-bottom)*min(max(kw, 0), p.high)/p.high
}

// at is the beginning of a step.
func (p *plot) at(i int) time.Time { return p.day.Start.Add(time.Duration(i) * p.day.Step) }

// shape is a set of quadrilaterals that are filled together: where they overlap or
// touch, no edge shows.
type shape [][4][2]float64

func (s *shape) box(x0, y0, x1, y1 float64) {
	*s = append(*s, [4][2]float64{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}})
}

// segment adds a line, longer by half its thickness at each end.
func (s *shape) segment(thick, x0, y0, x1, y1 float64) {
	length := math.Hypot(x1-x0, y1-y0)
	if length == 0 {
		return
	}
	dx, dy := (x1-x0)/length*thick/2, (y1-y0)/length*thick/2
	*s = append(*s, [4][2]float64{{x0 - dx - dy, y0 - dy + dx}, {x0 - dx + dy, y0 - dy - dx}, {x1 + dx + dy, y1 + dy - dx}, {x1 + dx - dy, y1 + dy + dx}})
}

// fill draws the shape.
func (p *plot) fill(c color.Color, s shape) {
	area := image.Rectangle{}
	for _, q := range s {
		for _, at := range q {
			x, y := int(at[0]), int(at[1])
			area = area.Union(image.Rect(x-1, y-1, x+2, y+2))
		}
	}
	if area = area.Intersect(p.img.Bounds()); area.Empty() {
		return
	}
	r := vector.NewRasterizer(area.Dx(), area.Dy())
	for _, q := range s {
		for i, at := range q {
			x, y := float32(at[0]-float64(area.Min.X)), float32(at[1]-float64(area.Min.Y))
			if i == 0 {
				r.MoveTo(x, y)
			} else {
				r.LineTo(x, y)
			}
		}
		r.ClosePath()
	}
	r.Draw(p.img, area, image.NewUniform(c), image.Point{})
}

func (p *plot) box(c color.Color, x0, y0, x1, y1 float64) {
	var s shape
	s.box(x0, y0, x1, y1)
	p.fill(c, s)
}

func value(list []float64, i int) float64 {
	if i < 0 || i >= len(list) || !known(list[i]) {
		return math.NaN()
	}
	return list[i]
}

// steps is how many steps the day has.
func (p *plot) steps() int { return int(p.day.End.Sub(p.day.Start) / p.day.Step) }

// gaps marks the times up to now without a measured value.
func (p *plot) gaps() {
	n := p.steps()
	for i := 0; i < n; i++ {
		from := i
		for i < n && math.IsNaN(value(p.day.Actual, i)) && !p.at(i+1).After(p.day.Now) {
			i++
		}
		if i == from {
			continue
		}
		x0, x1 := p.x(p.at(from)), p.x(p.at(i))
		p.box(missing, x0, top, x1, Height-bottom)
		const label = "no data"
		if w := p.width(label); w+8 < x1-x0 {
			p.text(label, (x0+x1-w)/2, top+28, want)
		}
	}
}

// losses fills what was expected and not produced, where both are known.
func (p *plot) losses() {
	var s shape
	for i := range p.day.Actual {
		a, e := value(p.day.Actual, i), value(p.day.Expected, i)
		if math.IsNaN(a) || math.IsNaN(e) || e <= a || !p.at(i).Before(p.day.End) {
			continue
		}
		s.box(p.x(p.at(i)), p.y(e), p.x(p.at(i+1)), p.y(a))
	}
	p.fill(lost, s)
}

func (p *plot) axes() {
	for i := range 5 {
		kw := p.high * float64(i) / 4
		y := p.y(kw)
		p.box(faint, left, y-1, Width-right, y+1)
		text := strconv.FormatFloat(kw, 'g', 4, 64)
		p.text(text, left-12-p.width(text), y+7, ink)
	}
	p.text("kW", left-12-p.width("kW"), top-20, ink)
	// By the clock of the site: a day of a clock change has 23 or 25 hours.
	for t := p.day.Start; !t.After(p.day.End); t = t.Add(time.Hour) {
		local := t.In(p.day.Zone)
		if local.Hour()%3 != 0 || local.Minute() != 0 {
			continue
		}
		x := p.x(t)
		p.box(ink, x-1, Height-bottom, x+1, Height-bottom+8)
		text := display.Clock(local)
		if t.Equal(p.day.End) {
			text = "24:00"
		}
		w := p.width(text)
		p.text(text, min(x-w/2, Width-w-4), Height-bottom+34, ink)
	}
	p.box(ink, left, Height-bottom-1, Width-right, Height-bottom+1)
}

// line draws a series at the middle of its steps, dashed if dash is above 0. Unknown
// values interrupt it.
func (p *plot) line(list []float64, c color.Color, thick, dash float64) {
	drawn := 0.0
	var s shape
	for i := range list {
		v, next := value(list, i), value(list, i+1)
		if math.IsNaN(v) || !p.at(i).Before(p.day.End) {
			continue
		}
		x0, y0 := p.x(p.at(i).Add(p.day.Step/2)), p.y(v)
		if math.IsNaN(next) || !p.at(i+1).Before(p.day.End) {
			if math.IsNaN(value(list, i-1)) { // a single value
				s.segment(thick, p.x(p.at(i)), y0, p.x(p.at(i+1)), y0)
			}
			continue
		}
		x1, y1 := p.x(p.at(i+1).Add(p.day.Step/2)), p.y(next)
		length := math.Hypot(x1-x0, y1-y0)
		if dash <= 0 {
			s.segment(thick, x0, y0, x1, y1)
			continue
		}
		for from := 0.0; from < length; {
			phase := math.Mod(drawn+from, 2*dash)
			to := min(from+dash-math.Mod(phase, dash), length)
			if phase < dash {
				s.segment(thick, x0+(x1-x0)*from/length, y0+(y1-y0)*from/length, x0+(x1-x0)*to/length, y0+(y1-y0)*to/length)
			}
			if to <= from {
				break
			}
			from = to
		}
		drawn += length
	}
	p.fill(c, s)
}

func (p *plot) legend() {
	x := float64(left + 24)
	const y = top - 20
	for _, e := range []struct {
		text string
		mark func(x float64)
	}{
		{"actual", func(x float64) { p.box(actual, x, y-9, x+40, y-5) }},
		{"expected", func(x float64) {
			p.box(want, x, y-8, x+15, y-5)
			p.box(want, x+25, y-8, x+40, y-5)
		}},
		{"lost", func(x float64) { p.box(lost, x, y-16, x+40, y+2) }},
	} {
		e.mark(x)
		p.text(e.text, x+50, y, ink)
		x += 50 + p.width(e.text) + 40
	}
}

func (p *plot) text(text string, x, y float64, c color.Color) {
	d := font.Drawer{Dst: p.img, Src: image.NewUniform(c), Face: p.face, Dot: fixed.P(int(x), int(y))}
	d.DrawString(text)
}

func (p *plot) width(text string) float64 { return float64(font.MeasureString(p.face, text)) / 64 }
