package sunspec

import "math"

// Part is the response to one request.
type Part struct {
	Offset    int // of the first register, from the model's ID
	Registers []uint16
}

// has returns the registers of a range, if the part has all of them.
func (p Part) has(from, n int) ([]uint16, bool) {
	if from < p.Offset || from+n > p.Offset+len(p.Registers) {
		return nil, false
	}
	return p.Registers[from-p.Offset : from-p.Offset+n], true
}

// Values are the points of a model that were read.
type Values struct {
	points map[string]Value
	Groups []Values
}

// Value returns a point as the device has it; false if it was not read.
func (v Values) Value(name string) (Value, bool) {
	p, ok := v.points[name]
	return p, ok
}

// Number returns the scaled value of a point; false if it is not known.
func (v Values) Number(name string) (float64, bool) {
	p, ok := v.points[name]
	if !ok || !p.Known || p.Type == Text {
		return math.NaN(), false
	}
	return p.Number, true
}

// Float returns the scaled value of a point, NaN if it is not known.
func (v Values) Float(name string) float64 {
	n, _ := v.Number(name)
	return n
}

// Text returns the text of a point, empty if it is not known.
func (v Values) Text(name string) string { return v.points[name].Text }

// Bits returns a bit field; false if it is not known.
func (v Values) Bits(name string) (uint64, bool) {
	p, ok := v.points[name]
	return p.Raw, ok && p.Known
}

// Names returns the names of the points that were read, in no order.
func (v Values) Names() []string {
	names := make([]string, 0, len(v.points))
	for name := range v.points {
		names = append(names, name)
	}
	return names
}

// Decode returns the points of a model of a length that are inside the parts. A
// value whose scale factor is not known, or was not the same before and after it,
// is not known.
func (m *Model) Decode(length int, parts []Part) Values {
	v := m.decodePoints(m.Points, 0, length, parts)
	repeats := m.Repeats(length)
	for _, name := range []string{"N", "NPrt"} { // a device may have room for more inputs than it uses
		if n, ok := v.Number(name); ok && n >= 1 && m.Group.Length > 0 {
			repeats = min(repeats, int(n))
		}
	}
	for k := range repeats {
		v.Groups = append(v.Groups, m.decodePoints(m.Group.Points, m.Group.Offset+k*m.Group.Length, length, parts))
	}
	return v
}

func (m *Model) decodePoints(points []Point, base, length int, parts []Part) Values {
	v := Values{points: make(map[string]Value, len(points))}
	for _, p := range points {
		from := base + p.Offset
		if from+p.Length > length+2 {
			if p.Type != Text || from >= length+2 {
				continue
			}
			p.Length = length + 2 - from // SolarEdge's common model is one register short
		}
		if value, ok := m.decodePoint(p, from, length, parts); ok {
			v.points[p.Name] = value
		}
	}
	return v
}

// decodePoint decodes a point from the part that has it, with its scale factor if
// possible.
func (m *Model) decodePoint(p Point, from, length int, parts []Part) (Value, bool) {
	var sf *Point
	if p.Scale != "" {
		if sf = m.point(p.Scale); sf.Offset+1 > length+2 {
			sf = nil
		}
	}
	var words []uint16
	for _, part := range parts {
		w, ok := part.has(from, p.Length)
		if !ok {
			continue
		}
		words = w
		if p.Scale == "" {
			break
		}
		if sf != nil {
			if s, ok := part.has(sf.Offset, 1); ok {
				return rescale(decode(p.Type, w), decode(Scale, s)), true
			}
		}
	}
	if words == nil {
		return Value{}, false
	}
	v := decode(p.Type, words)
	if p.Scale == "" {
		return rescale(v, Value{Number: float64(p.Exponent), Known: true}), true
	}
	// Read before and after.
	var seen []Value
	if sf != nil {
		for _, part := range parts {
			if s, ok := part.has(sf.Offset, 1); ok {
				seen = append(seen, decode(Scale, s))
			}
		}
	}
	if len(seen) < 2 || seen[0] != seen[len(seen)-1] {
		return rescale(v, Value{}), true
	}
	return rescale(v, seen[0]), true
}

// rescale applies a scale factor. Without one the value is not known.
func rescale(v, scale Value) Value {
	switch {
	case v.Type == Text:
	case !scale.Known:
		v.Known, v.Number = false, math.NaN()
	case v.Known:
		v.Number = scaled(v.Number, int(scale.Number))
	}
	return v
}
