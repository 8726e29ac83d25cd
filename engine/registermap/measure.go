package registermap

import (
	"fmt"
	"math"

	"app.sunloop/engine/reading"
)

// Request is a request for registers, with the values that it has.
type Request struct {
	Address, Count int
	Points         []Point
}

// Requests returns the requests for the values of a device with a number of DC inputs; 0
// if it is not known. Values whose register is in absent are left out.
func (m *Map) Requests(inputs int, absent map[int]bool) []Request {
	return m.plan(inputs, absent, m.Registers)
}

func (m *Map) plan(inputs int, absent map[int]bool, most int) []Request {
	var out []Request
	for _, p := range m.points {
		if absent[p.Address] || inputs > 0 && p.input > inputs {
			continue
		}
		end := p.Address + p.kind.words
		if n := len(out); n > 0 {
			last := &out[n-1]
			if p.Address <= last.Address+last.Count+m.gap && end-last.Address <= most {
				last.Count = max(last.Count, end-last.Address)
				last.Points = append(last.Points, p)
				continue
			}
		}
		out = append(out, Request{Address: p.Address, Count: p.kind.words, Points: []Point{p}})
	}
	return out
}

// Split returns a request as two, none of which has a register that no value needs at its
// ends; ok is false if it is for one register place.
func (r Request) Split() (a, b Request, ok bool) {
	k := len(r.Points) / 2
	for k < len(r.Points) && k > 0 && r.Points[k].Address == r.Points[k-1].Address {
		k++
	}
	if k == 0 || k >= len(r.Points) {
		return a, b, false
	}
	return span(r.Points[:k]), span(r.Points[k:]), true
}

func span(points []Point) Request {
	r := Request{Address: points[0].Address, Points: points}
	for _, p := range points {
		r.Count = max(r.Count, p.Address+p.kind.words-r.Address)
	}
	return r
}

// Value is a value with the register that it came from.
type Value struct {
	Name    string
	Address int
	Number  float64 // NaN: not there
}

// Measure returns the values of the responses to requests. A response that is too short
// has none.
func (m *Map) Measure(requests []Request, responses [][]uint16) (out reading.Measurement, values []Value) {
	out = reading.None()
	var alarms []uint32
	hasAlarms := false
	voltages := map[string][]float64{} // values that several registers have: their mean
	for i, r := range requests {
		for _, p := range r.Points {
			from := p.Address - r.Address
			v := math.NaN()
			if i < len(responses) && from+p.kind.words <= len(responses[i]) {
				v = p.decode(responses[i][from:from+p.kind.words], m.lowFirst)
			}
			values = append(values, Value{p.value, p.Address, v})
			switch {
			case p.value == alarm:
				hasAlarms = hasAlarms || !math.IsNaN(v)
				word := uint32(0)
				if v > 0 {
					word = uint32(v)
				}
				alarms = append(alarms, word)
			case math.IsNaN(v):
			default:
				voltages[p.value] = append(voltages[p.value], v)
				sum := 0.0
				for _, is := range voltages[p.value] {
					sum += is
				}
				p.field.Set(&out, sum/float64(len(voltages[p.value])))
			}
		}
	}
	if hasAlarms {
		out.VendorCode = reading.VendorCode(alarms...)
	}
	return out, values
}

// Rating reads the rating; the request is nil if the map has none.
func (m *Map) Rating() (request *Request, value func([]uint16) float64) {
	if m.rating == nil {
		return nil, nil
	}
	r := span([]Point{*m.rating})
	return &r, func(words []uint16) float64 {
		if len(words) < m.rating.kind.words {
			return math.NaN()
		}
		return m.rating.decode(words, m.lowFirst)
	}
}

// decode returns a value in the unit of its field; NaN: not there.
func (p *Point) decode(words []uint16, lowFirst bool) float64 {
	var bits uint64
	for i := range words {
		w := words[i]
		if lowFirst {
			w = words[len(words)-1-i]
		}
		bits = bits<<16 | uint64(w)
	}
	size := 16 * len(words)
	var raw float64
	switch {
	case p.kind.float:
		raw = float64(math.Float32frombits(uint32(bits)))
	case p.kind.signed:
		n := int64(bits<<(64-size)) >> (64 - size) //nolint:gosec // the bits of a signed number
		if top := uint64(1) << (size - 1); bits == top || bits == top-1 {
			return math.NaN()
		}
		raw = float64(n)
	default:
		if bits == math.MaxUint64>>(64-size) {
			return math.NaN()
		}
		raw = float64(bits)
	}
	v := raw * p.factor
	switch {
	case math.IsNaN(raw) || math.IsInf(raw, 0):
		return math.NaN()
	case p.states != nil:
		return p.states.Of(raw)
	case v >= p.low && v <= p.high:
		return v
	case p.other != 0 && raw*p.other >= p.low && raw*p.other <= p.high:
		return raw * p.other
	}
	return math.NaN()
}

// String is a line of an explanation.
func (v Value) String() string {
	if math.IsNaN(v.Number) {
		return fmt.Sprintf("%s (register %d): not there", v.Name, v.Address)
	}
	return fmt.Sprintf("%s (register %d): %.10g", v.Name, v.Address, v.Number)
}
