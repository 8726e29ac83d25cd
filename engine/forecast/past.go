package forecast

import (
	"math"
	"time"

	"app.sunloop/engine/series"
)

// past is what the site did, hour by hour from start (hours since 1970): mean
// power and clear-sky power in shares of the peak. Sums over both give the
// clear-sky index of any span at once.
type past struct {
	start    int64
	power    []float32 // NaN is missing
	clear    []float32
	indices  []float32 // power over clear, NaN at night and where not measured
	sumPower []float64 // of the hours in which both are known and the sun is up
	sumClear []float64
	sumLight []float64 // of clear in all hours with the sun up
}

// daylight is the clear-sky share of the peak above which an hour counts.
const daylight = 0.02

func nan32() float32 { return float32(math.NaN()) }

// remember takes a power series in shares of the peak.
func remember(share series.Series) *past {
	h := resample(share, time.Hour)
	p := &past{start: floorDiv(h.Start.Unix(), 3600), power: make([]float32, h.Len())}
	for i, v := range h.Values {
		p.power[i] = float32(v)
	}
	return p
}

func (p *past) end() int64 { return p.start + int64(len(p.power)) }

// light sets the clear-sky power and the sums.
func (p *past) light(e *envelope, s *sky) {
	p.clear = make([]float32, len(p.power))
	for i := range p.clear {
		p.clear[i] = e.over(s, (p.start+int64(i))*ticksPerHour, ticksPerHour)
	}
	p.sum()
}

func (p *past) sum() {
	n := len(p.power)
	p.sumPower, p.sumClear, p.sumLight = make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)
	p.indices = make([]float32, n)
	for i, v := range p.power {
		a, b, c := p.sumPower[i], p.sumClear[i], p.sumLight[i]
		p.indices[i] = nan32()
		if k := p.clear[i]; k > daylight {
			c += float64(k)
			if v == v {
				a, b = a+float64(v), b+float64(k)
				p.indices[i] = min(v/k, topIndex)
			}
		}
		p.sumPower[i+1], p.sumClear[i+1], p.sumLight[i+1] = a, b, c
	}
}

// Indices are kept within what clouds can do.
const topIndex = 1.3

// index is the clear-sky index of hours [a, b), NaN where less than half of
// the light was measured or there is hardly any.
func (p *past) index(a, b int64) float32 {
	i, j := min(max(a-p.start, 0), int64(len(p.power))), min(max(b-p.start, 0), int64(len(p.power)))
	if i >= j {
		return nan32()
	}
	clear := p.sumClear[j] - p.sumClear[i]
	if light := p.sumLight[j] - p.sumLight[i]; clear < daylight || clear < 0.5*light {
		return nan32()
	}
	return float32(min((p.sumPower[j]-p.sumPower[i])/clear, topIndex))
}

// at is the clear-sky index of one hour, NaN at night and where not measured.
func (p *past) at(h int64) float32 {
	if i := h - p.start; i >= 0 && i < int64(len(p.indices)) {
		return p.indices[i]
	}
	return nan32()
}

// until is what lies before tick end, without the clear sky's share of it.
func (p *past) until(end int64) *past {
	return &past{start: p.start, power: p.power[:max(0, min(int64(len(p.power)), floorDiv(end, ticksPerHour)-p.start))]}
}
