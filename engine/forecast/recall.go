package forecast

import (
	"math"
	"sync"
	"time"

	"app.sunloop/engine/series"
)

// afterwards is the clear-sky power of the hours since the memory's end. It is
// looked up once, not with every forecast of a model that has grown old.
type afterwards struct {
	sync.Mutex
	clear []float32
}

// staleHours is when a memory is too old to be of use.
const staleHours = 400 * hours

// recall is the memory before hour cut with the recent power in it.
func (m *Model) recall(recent series.Series, cut int64) *past {
	news := resample(recent, time.Hour)
	first := floorDiv(news.Start.Unix(), 3600)
	to := cut // hours without power do no harm
	if news.Len() == 0 || first >= cut {
		to = min(to, m.memory.end())
	} else {
		to = min(to, max(m.memory.end(), first+int64(news.Len())))
	}
	p := &past{start: m.memory.start}
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

// since is the clear-sky power of n hours from the memory's end on.
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
