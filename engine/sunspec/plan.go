package sunspec

import (
	"slices"
)

// MaxRegisters is the most that one Modbus request can read.
const MaxRegisters = 125

// Request is a part of a model to read in one request.
type Request struct {
	Offset, Count int // registers from the model's ID
}

// span is a range of registers that must come from one response.
type span struct{ from, to int }

// Plan returns the requests that read the points of a model of a length, each of at
// most limit registers, in their order. Each value is in one request with its scale
// factor. Where limit is too small for that, the scale factors are read before and
// after the values, and Decode uses them only if both are equal. Texts are not
// read for themselves.
func (m *Model) Plan(length, limit int) []Request {
	limit = min(max(limit, 1), MaxRegisters)
	end := length + 2
	inside := func(from, n int) bool { return from >= 2 && from+n <= end }
	byScale := map[string]*span{}
	var near []span // that fit into a request
	var apart []span
	scales := map[string]span{}
	var order []string
	add := func(p Point, base int) {
		own := span{base + p.Offset, base + p.Offset + p.Length}
		if p.Type == Text || p.Type == Scale || !inside(own.from, p.Length) {
			return
		}
		if p.Scale == "" {
			near = append(near, own)
			return
		}
		sf := m.point(p.Scale)
		if !inside(sf.Offset, 1) {
			return // its value cannot be known
		}
		scale := span{sf.Offset, sf.Offset + 1}
		if both := union(own, scale); both.to-both.from > limit {
			apart, scales[p.Scale] = append(apart, own), scale
			return
		}
		if byScale[p.Scale] == nil {
			s := union(own, scale)
			byScale[p.Scale] = &s
			order = append(order, p.Scale)
			return
		}
		if all := union(*byScale[p.Scale], own); all.to-all.from <= limit {
			*byScale[p.Scale] = all
			return
		}
		near = append(near, union(own, scale))
	}
	for _, p := range m.Points {
		add(p, 0)
	}
	for k := range m.Repeats(length) {
		for _, p := range m.Group.Points {
			add(p, m.Group.Offset+k*m.Group.Length)
		}
	}
	for _, name := range order {
		near = append(near, *byScale[name])
	}
	if len(apart) == 0 {
		return requests(near, limit)
	}
	var checks []span
	for _, s := range scales {
		checks = append(checks, s)
	}
	check := requests(checks, limit)
	body := append(requests(near, limit), requests(apart, limit)...)
	return append(append(check, body...), check...)
}

// requests merges spans into as few requests as a simple pass finds.
func requests(spans []span, limit int) []Request {
	slices.SortFunc(spans, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	var out []span
	for _, s := range spans {
		if s.to-s.from > limit { // a value that is longer than a request cannot be read
			continue
		}
		if n := len(out); n > 0 {
			if all := union(out[n-1], s); all.to-all.from <= limit {
				out[n-1] = all
				continue
			}
		}
		out = append(out, s)
	}
	list := make([]Request, 0, len(out))
	for _, s := range out {
		list = append(list, Request{Offset: s.from, Count: s.to - s.from})
	}
	return list
}

func union(a, b span) span { return span{min(a.from, b.from), max(a.to, b.to)} }
