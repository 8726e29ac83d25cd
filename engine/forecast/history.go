package forecast

import (
	"math"
	"sync"
	"time"

	"app.sunloop/engine/series"
)

// history is the site's past by the hour from start (hours since 1970): mean
// power and clear-sky power in shares of the peak. Cumulative sums of both give
// the clear-sky index of any span.
type history struct {
	start    int64
	power    []float32 // NaN is missing
	clear    []float32
	indices  []float32 // power over clear, NaN at night and where not measured
	sumPower []float64 // of the hours in which both are known and the sun is up
	sumClear []float64
	sumLight []float64 // of clear in all hours with the sun up
}

// daylight is the clear-sky share of the peak above which an hour counts as
// daylight.
const daylight = 0.02

func nan32() float32 { return float32(math.NaN()) }

// newHistory makes a history of a power series in shares of the peak.
func newHistory(share series.Series) *history {
	h := resample(share, time.Hour)
	p := &history{start: floorDiv(h.Start.Unix(), 3600), power: make([]float32, h.Len())}
	for i, v := range h.Values {
		p.power[i] = float32(v)
	}
	return p
}

func (p *history) end() int64 { return p.start + int64(len(p.power)) }

// light sets the clear-sky power and the sums.
func (p *history) light(e *envelope, s *sky) {
	p.clear = make([]float32, len(p.power))
	for i := range p.clear {
		p.clear[i] = e.over(s, (p.start+int64(i))*ticksPerHour, ticksPerHour)
	}
	p.sum()
}

func (p *history) sum() {
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

// index returns the clear-sky index of hours [a, b), NaN if less than half of
// the clear-sky energy was measured or there is hardly any.
func (p *history) index(a, b int64) float32 {
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

// at returns the clear-sky index of one hour, NaN at night and where power was
// not measured.
func (p *history) at(h int64) float32 {
	if i := h - p.start; i >= 0 && i < int64(len(p.indices)) {
		return p.indices[i]
	}
	return nan32()
}

// until returns the part before tick end, without its clear-sky power.
func (p *history) until(end int64) *history {
	return &history{start: p.start, power: p.power[:max(0, min(int64(len(p.power)), floorDiv(end, ticksPerHour)-p.start))]}
}

// afterwards caches the clear-sky power of the hours after the end of the
// stored history, so that an old model does not compute it for each forecast.
type afterwards struct {
	sync.Mutex
	clear []float32
}

// staleHours is when a memory is too old to be of use.
const staleHours = 400 * hours

// recentHistory is the memory before hour cut with the recent power in it.
func (m *Model) recentHistory(recent series.Series, cut int64) *history {
	news := resample(recent, time.Hour)
	first := floorDiv(news.Start.Unix(), 3600)
	to := cut // hours without power do no harm
	if news.Len() == 0 || first >= cut {
		to = min(to, m.memory.end())
	} else {
		to = min(to, max(m.memory.end(), first+int64(news.Len())))
	}
	p := &history{start: m.memory.start}
	if to-m.memory.end() > staleHours {
		p.start = to - staleHours
		p.power, p.clear = make([]float32, staleHours), m.clearSky(p.start, to)
		for i := range p.power {
			p.power[i] = nan32()
		}
	} else {
		n := max(to-p.start, 0)
		p.power, p.clear = make([]float32, n), make([]float32, n)
		k := copy(p.power, m.memory.power)
		copy(p.clear, m.memory.clear)
		for i := k; i < len(p.power); i++ {
			p.power[i] = nan32()
		}
		copy(p.clear[k:], m.since(len(p.clear)-k))
	}
	for i, v := range news.Values {
		at := first + int64(i) - p.start
		if at < 0 || at >= int64(len(p.power)) || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		p.power[at] = float32(min(max(v, 0), overCapacity*m.site.CapacityKW) / m.peakKW)
	}
	p.sum()
	return p
}

// since returns the clear-sky power of n hours from the end of the stored
// history.
func (m *Model) since(n int) []float32 {
	m.later.Lock()
	defer m.later.Unlock()
	if have := int64(len(m.later.clear)); have < int64(n) {
		end := m.memory.end()
		m.later.clear = append(m.later.clear, m.clearSky(end+have, end+int64(n))...)
	}
	return m.later.clear[:n]
}

// clearSky is the envelope over the hours [from, to).
func (m *Model) clearSky(from, to int64) []float32 {
	light := lookUp(m.site.Location, m.geometry, from*ticksPerHour, to*ticksPerHour, 1)
	out := make([]float32, to-from)
	for i := range out {
		out[i] = m.env.over(&light, (from+int64(i))*ticksPerHour, ticksPerHour)
	}
	return out
}
