package httpapi

import (
	"context"
	"math"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// pad is how far beyond a range telemetry is read, so that the first and last
// sample of it have the same interval as in any other range.
const pad = 2 * time.Hour

const padSeconds = int64(pad / time.Second)

// span asks for samples of one unit with from <= at < to.
type span struct {
	siteID, assetID string
	from, to        int64
	step            int64 // seconds of a mean; 0: as measured
}

// samples yields what the unit measured, or means over even steps where it
// measures more often than that. emit answers false to stop.
func samples(ctx context.Context, t store.Telemetry, p span, emit func(*sample) bool) error {
	from, to := p.from, p.to
	if p.step > 0 {
		from, to = -floorDiv(-from, p.step)*p.step, -floorDiv(-to, p.step)*p.step
	}
	if from >= to {
		return nil
	}
	m := averager{span: span{p.siteID, p.assetID, from, to, p.step}, emit: emit}
	var held series.Frame // one frame behind, to know the stamp that follows it
	for f, err := range t.Read(ctx, p.siteID, p.assetID, time.Unix(from, 0).Add(-pad), time.Unix(to, 0).Add(pad)) {
		if err != nil {
			return err
		}
		if f.Len() == 0 {
			continue
		}
		if !m.frame(held, f.Times[0]) {
			return nil
		}
		held = f
	}
	if m.frame(held, 0) {
		m.flush()
	}
	return nil
}

// averager walks frames and gathers means.
type averager struct {
	span
	emit func(*sample) bool
	own  int64 // the unit's interval in the last frame that showed one

	open    bool // a mean is under way
	sum     sample
	start   int64
	seconds float64
	weights [len(optional)]float64
}

// frame takes the samples of f; next is the stamp after it, 0 if not known.
func (m *averager) frame(f series.Frame, next int64) bool {
	n := f.Len()
	if n == 0 {
		return true
	}
	// Two stamps may stand on both sides of a gap: they show no interval where
	// one is known.
	if own := int64(series.Interval(f.Times) / time.Second); own > 0 && (n > 2 || m.own == 0) {
		m.own = own
	}
	var columns [len(optional)][]float64
	for i, o := range optional {
		columns[i] = f.Values(o.quantity)
	}
	power, energy := f.Values(series.PowerKW), f.Values(series.EnergyKWh)
	state, run, code := f.Values(series.InverterState), f.Values(series.RunState), f.Values(series.ErrorCode)
	var s sample
	for i, at := range f.Times {
		if at < m.from || at >= m.to {
			continue
		}
		s.at, s.powerKW = at, value(power, i)
		if !finite(s.powerKW) {
			continue // a record always has a power
		}
		after := next
		if i+1 < n {
			after = f.Times[i+1]
		}
		held := float64(m.hold(at, after))
		if s.energyKWh = value(energy, i); !finite(s.energyKWh) {
			s.energyKWh = rounded(s.powerKW * held / 3600)
		}
		s.state, s.run, s.errorCode = value(state, i), value(run, i), value(code, i)
		for k := range columns {
			s.optional[k] = value(columns[k], i)
		}
		if m.step <= m.own || m.step == 0 {
			if !m.flush() || !m.emit(&s) {
				return false
			}
			continue
		}
		if !m.gather(&s, max(held, 1)) {
			return false
		}
	}
	return true
}

// hold is for how long the sample at a stamp stands, in seconds: until the
// next one, at most half as long again as the unit's interval.
func (m *averager) hold(at, next int64) int64 {
	switch {
	case next > at && m.own > 0:
		return min(next-at, m.own*3/2)
	case m.own > 0:
		return m.own
	case next > at:
		return min(next-at, int64(pad/time.Second))
	}
	return 0
}

// gather adds a sample to the mean of its step, after the mean before is out.
func (m *averager) gather(s *sample, held float64) bool {
	start := floorDiv(s.at, m.step) * m.step
	if m.open && start != m.start && !m.flush() {
		return false
	}
	if !m.open {
		m.open, m.start, m.seconds = true, start, 0
		m.sum = sample{at: start, state: math.NaN(), run: math.NaN(), errorCode: math.NaN()}
		m.weights = [len(optional)]float64{}
	}
	m.seconds += held
	m.sum.powerKW += s.powerKW * held
	m.sum.energyKWh += s.energyKWh
	for i, v := range s.optional {
		switch {
		case !finite(v):
		case optional[i].lasting:
			m.sum.optional[i], m.weights[i] = v, 1
		case optional[i].quantity == series.ReactiveKVArh:
			m.sum.optional[i] += v
			m.weights[i] = 1
		default:
			m.sum.optional[i] += v * held
			m.weights[i] += held
		}
	}
	last(&m.sum.state, s.state)
	last(&m.sum.run, s.run)
	// An error within the step is not hidden by a good end of it.
	if finite(s.errorCode) && (s.errorCode != 0 || !finite(m.sum.errorCode)) {
		m.sum.errorCode = s.errorCode
	}
	return true
}

func last(to *float64, v float64) {
	if finite(v) {
		*to = v
	}
}

// flush emits the mean under way.
func (m *averager) flush() bool {
	if !m.open {
		return true
	}
	m.open = false
	m.sum.powerKW = rounded(m.sum.powerKW / m.seconds)
	m.sum.energyKWh = rounded(m.sum.energyKWh)
	for i := range m.sum.optional {
		if m.weights[i] == 0 {
			m.sum.optional[i] = math.NaN()
			continue
		}
		m.sum.optional[i] = rounded(m.sum.optional[i] / m.weights[i])
	}
	return m.emit(&m.sum)
}

func value(column []float64, i int) float64 {
	if column == nil {
		return math.NaN()
	}
	return column[i]
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
