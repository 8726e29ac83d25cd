package httpapi

import (
	"context"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/series"
)

// span asks for samples of one unit with from <= at < to.
type span struct {
	siteID, assetID string
	from, to        int64
	step            int64          // seconds of a mean; 0: as measured
	zone            *time.Location // of the site, by whose days energy is summed
	usual           int64          // usual step of the unit in seconds; 0 unknown
	all             bool           // also samples without power, whose power is NaN
	aggregate       string         // of the values of a step; empty: [api.AggregateMean]
}

// samples yields what the unit measured, or means over even steps where it
// measures more often than that. emit returns false to stop.
//
// Whole days are read, so that a record has the same energy in each range, and
// the records of a day have its energy. Means begin at the site's midnights, so that
// those of an hour are hours of its clock in zones with half hours too.
func samples(ctx context.Context, t store.Telemetry, p span, emit func(*sample) bool) error {
	if p.from >= p.to {
		return nil
	}
	if p.zone == nil {
		p.zone = time.UTC
	}
	m := averager{span: p, emit: emit}
	var held series.Frame // of the day that may continue in the next frame
	for f, err := range t.Read(ctx, p.siteID, p.assetID, series.Midnight(time.Unix(p.from, 0), p.zone), series.NextMidnight(time.Unix(p.to-1, 0), p.zone)) {
		if err != nil {
			return err
		}
		if f.Len() == 0 {
			continue
		}
		if held.Len() > 0 {
			f = series.Merge(held, f)
		}
		today := series.Midnight(time.Unix(f.Times[f.Len()-1], 0), p.zone).Unix()
		if !m.days(f.Slice(f.Times[0], today)) {
			return nil
		}
		held = f.Slice(today, math.MaxInt64)
	}
	if m.days(held) {
		m.flush()
	}
	return nil
}

// averager walks frames and gathers means.
type averager struct {
	span
	emit func(*sample) bool
	sum  energy.Integrator
	each []energy.Sample

	origin  int64 // midnight of the current day, from which means are counted
	open    bool  // a mean is being computed
	mean    sample
	start   int64
	power   float64 // weight of the mean's power; 0: it has none
	energy  bool    // the mean has energy
	weights [len(optional)]float64
}

// days takes the samples of whole days of the site; it reports whether to
// continue.
func (m *averager) days(f series.Frame) bool {
	for f.Len() > 0 {
		at := time.Unix(f.Times[0], 0)
		start, end := series.Midnight(at, m.zone).Unix(), series.NextMidnight(at, m.zone).Unix()
		if !m.day(f.Slice(start, end), start, end) {
			return false
		}
		f = f.Slice(end, math.MaxInt64)
	}
	return true
}

// day takes the samples of one day.
func (m *averager) day(f series.Frame, start, end int64) bool {
	m.origin = start
	from, to := m.ceil(m.from), m.ceil(m.to)
	if f.Times[f.Len()-1] < from || f.Times[0] >= to {
		return true
	}
	m.each, _ = m.sum.Samples(m.each[:0], energy.FrameInput(f, start, end, m.usual))
	var columns [len(optional)][]float64
	for i, o := range optional {
		columns[i] = f.Values(o.quantity)
	}
	power := f.Values(series.PowerKW)
	if m.step > 0 {
		m.spread(f.Times, power)
	}
	state, run, code := f.Values(series.InverterState), f.Values(series.RunState), f.Values(series.ErrorCode)
	var s sample
	for i, at := range f.Times {
		if at < from || at >= to {
			continue
		}
		s.at, s.powerKW = at, value(power, i)
		if !finite(s.powerKW) && !m.all {
			continue // a record of the form records always has a power
		}
		s.energyKWh, s.source = rounded(m.each[i].KWh), m.each[i].Source
		s.state, s.run, s.errorCode = value(state, i), value(run, i), value(code, i)
		for k := range columns {
			s.optional[k] = value(columns[k], i)
		}
		covered := m.each[i].CoveredS
		if m.step == 0 || m.step <= covered {
			if !m.flush() || !m.emit(&s) {
				return false
			}
			continue
		}
		if !m.gather(&s, max(float64(covered), 1)) {
			return false
		}
	}
	return true
}

// spread moves the energy of a gap, which the sample after it has, to the means that
// the gap reaches into, in proportion to time. What is of means without a record
// stays with the sample.
func (m *averager) spread(times []int64, power []float64) {
	for i := range m.each {
		gap := m.each[i].GapS
		if gap == 0 {
			continue
		}
		from, own := times[i]-gap, m.begin(times[i])
		for k, done := i-1, own; k >= 0 && times[k]+m.step > from; k-- {
			begin := m.begin(times[k])
			if begin == done || !finite(value(power, k)) {
				continue
			}
			done = begin
			if seconds := min(begin+m.step, own) - max(begin, from); seconds > 0 {
				kWh := m.each[i].GapKWh * float64(seconds) / float64(gap)
				m.each[k].KWh, m.each[i].KWh = m.each[k].KWh+kWh, m.each[i].KWh-kWh
				m.each[k].Source = max(m.each[k].Source, energy.Interval)
			}
		}
	}
}

// begin is the start of the mean of a time of the current day.
func (m *averager) begin(at int64) int64 { return m.origin + floorDiv(at-m.origin, m.step)*m.step }

// ceil is the start of the first mean of the current day that does not start
// before t.
func (m *averager) ceil(t int64) int64 {
	if m.step == 0 {
		return t
	}
	return m.origin - floorDiv(m.origin-t, m.step)*m.step
}

// gather adds a sample to the mean of its step, after the mean before is out.
func (m *averager) gather(s *sample, held float64) bool {
	start := m.begin(s.at)
	if m.open && start != m.start && !m.flush() {
		return false
	}
	if !m.open {
		m.open, m.start, m.power, m.energy = true, start, 0, false
		m.mean = sample{at: start, state: math.NaN(), run: math.NaN(), errorCode: math.NaN()}
		m.weights = [len(optional)]float64{}
	}
	m.fold(&m.mean.powerKW, &m.power, s.powerKW, held)
	if finite(s.energyKWh) {
		m.mean.energyKWh += s.energyKWh
		m.energy = true
	}
	m.mean.source = max(m.mean.source, s.source)
	for i, v := range s.optional {
		switch to, weight := &m.mean.optional[i], &m.weights[i]; {
		case !finite(v):
		case optional[i].quantity == series.ReactiveKVArh:
			*to += v
			*weight = 1
		case optional[i].lasting && (m.aggregate == "" || m.aggregate == api.AggregateMean || m.aggregate == api.AggregateSum):
			*to, *weight = v, 1
		default:
			m.fold(to, weight, v, held)
		}
	}
	last(&m.mean.state, s.state)
	last(&m.mean.run, s.run)
	// An error within the step is not hidden by a good end of it.
	if finite(s.errorCode) && (s.errorCode != 0 || !finite(m.mean.errorCode)) {
		m.mean.errorCode = s.errorCode
	}
	return true
}

// fold adds a value that holds for some seconds to that of the step, which is to divided by
// weight.
func (m *averager) fold(to, weight *float64, v, held float64) {
	switch {
	case !finite(v):
		return
	case m.aggregate == "" || m.aggregate == api.AggregateMean:
		*to += v * held
		*weight += held
		return
	case m.aggregate == api.AggregateSum:
		*to += v
	case *weight == 0 || m.aggregate == api.AggregateLast || m.aggregate == api.AggregateMin && v < *to || m.aggregate == api.AggregateMax && v > *to:
		*to = v
	}
	*weight = 1
}

func last(to *float64, v float64) {
	if finite(v) {
		*to = v
	}
}

// flush emits the current mean.
func (m *averager) flush() bool {
	if !m.open {
		return true
	}
	m.open = false
	m.mean.powerKW = rounded(m.mean.powerKW / m.power) // NaN without a weight
	m.mean.energyKWh = rounded(m.mean.energyKWh)
	if !m.energy {
		m.mean.energyKWh = math.NaN()
	}
	for i := range m.mean.optional {
		if m.weights[i] == 0 {
			m.mean.optional[i] = math.NaN()
			continue
		}
		m.mean.optional[i] = rounded(m.mean.optional[i] / m.weights[i])
	}
	return m.emit(&m.mean)
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
