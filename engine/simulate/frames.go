package simulate

import (
	"math"
	"time"

	"app.sunloop/engine/series"
)

// SunSpec operating states (models 101-103).
const (
	stateOff       = 1
	stateSleeping  = 2
	stateMPPT      = 4
	stateThrottled = 5
	stateFault     = 7
	stateStandby   = 8
)

// reading is what a unit's logger would say at a stamp.
type reading struct {
	powerKW, counterKWh, irradiance, tempC float64
	state, run, code                       float64
}

// Frames is the telemetry of the site's units, by asset id, at every multiple
// of step with from <= t < to that is not before the site's Start. Step is
// from a second to a day. Every frame has power (kW, mean until the next
// stamp), lifetime counter (kWh), irradiance of the site's sensor (W/m², in
// the plane of the first unit), ambient temperature (°C), SunSpec operating
// state, run state and event code. Rows that a fault keeps back are not there.
func (s *Site) Frames(from, to time.Time, step time.Duration) map[string]series.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from.Before(s.Start) {
		from = s.Start
	}
	stepS := max(int64(step/time.Second), 1)
	first, last := ceilTo(from.Unix(), stepS), to.Unix()
	n := int(max((last-first+stepS-1)/stepS, 0))

	columns := make([]recorder, len(s.Units))
	for k := range columns {
		columns[k] = newRecorder(n)
	}
	w := window{site: s}
	for t := first; t < last; t += stepS {
		w.move(t)
		for k := range s.Units {
			if r, ok := w.report(k, t, stepS); ok {
				columns[k].add(t, r)
			}
		}
	}
	out := make(map[string]series.Frame, len(s.Units))
	for k, u := range s.Units {
		out[u.AssetID] = columns[k].frame()
	}
	return out
}

// Sample is the live stream: what every unit that is heard reports at the
// multiple of step at or before t. It is the row that [Site.Frames] has there.
func (s *Site) Sample(t time.Time, step time.Duration) map[string]series.Frame {
	stamp := time.Unix(t.Unix()/int64(step/time.Second)*int64(step/time.Second), 0)
	out := s.Frames(stamp, stamp.Add(time.Second), step)
	for id, f := range out {
		if f.Len() == 0 {
			delete(out, id)
		}
	}
	return out
}

// LostKWh is the energy that a fault on the site's list kept from being made
// in [from, to): zero for faults of the data alone.
func (s *Site) LostKWh(fault Fault, from, to time.Time) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from.Before(fault.From) {
		from = fault.From
	}
	if !fault.To.IsZero() && fault.To.Before(to) {
		to = fault.To
	}
	var others []Fault
	for _, f := range s.Faults {
		if f.ID != fault.ID {
			others = append(others, f)
		}
	}
	var lost float64
	for index := s.dayIndex(from); from.Before(to); index++ {
		with, without := s.at(index), s.generate(index, others)
		a, b := max(from.Unix()-with.startS, 0), to.Unix()-with.startS
		for k, u := range s.Units {
			if fault.Concerns(u.AssetID) {
				lost += without.units[k].upTo(b) - without.units[k].upTo(a) - with.units[k].upTo(b) + with.units[k].upTo(a)
			}
		}
		from = s.dayStart(index + 1)
	}
	return lost
}

// window is the day that a walk over stamps is in, and what it needs there.
// The site's mu is held while it is used.
type window struct {
	site     *Site
	day      *day
	endS     int64
	counters []float64
	hiding   [][]Fault // faults that touch the readings of each unit on the day
}

// move brings the window to the day of stamp t.
func (w *window) move(t int64) {
	if w.day != nil && t >= w.day.startS && t < w.endS {
		return
	}
	s := w.site
	index := s.dayIndex(time.Unix(t, 0))
	w.counters = s.counters(index)
	w.day = s.at(index)
	w.endS = w.day.startS + int64(w.day.cells)*cellS
	start, end := time.Unix(w.day.startS, 0), time.Unix(w.endS, 0)
	w.hiding = make([][]Fault, len(s.Units))
	for k, u := range s.Units {
		for _, f := range s.Faults {
			if f.Overlaps(start, end) && f.Concerns(u.AssetID) {
				w.hiding[k] = append(w.hiding[k], f)
			}
		}
	}
}

// report is what arrives from unit k for stamp t; ok is false where nothing does.
func (w *window) report(k int, t, stepS int64) (r reading, ok bool) {
	now := time.Unix(t, 0)
	for _, f := range w.hiding[k] {
		if !f.hidesRows() || !f.Open(now) {
			continue
		}
		switch {
		case f.outage() || f.Gap == RowsRemoved:
			return reading{}, false
		case f.Gap == RowsEmpty:
			nan := math.NaN()
			return reading{nan, nan, nan, nan, nan, nan, nan}, true
		default:
			return w.earlier(k, ceilTo(f.From.Unix(), stepS)-stepS, stepS), true
		}
	}
	r = w.reading(k, t, stepS)
	for _, f := range w.hiding[k] {
		if f.Kind == StuckSensor && f.Open(now) {
			r.powerKW = w.earlier(k, ceilTo(f.From.Unix(), stepS)-stepS, stepS).powerKW
		}
	}
	return r, true
}

// earlier is the reading of unit k at a stamp that may lie on a day before.
func (w *window) earlier(k int, t, stepS int64) reading {
	if t >= w.day.startS {
		return w.reading(k, t, stepS)
	}
	before := window{site: w.site}
	before.move(t)
	return before.reading(k, t, stepS)
}

// reading is what unit k does at stamp t, before anything is hidden.
func (w *window) reading(k int, t, stepS int64) reading {
	u, d := &w.site.Units[k], w.day
	hours := float64(stepS) / 3600
	a, b := t-d.startS, t+stepS-d.startS
	energy := d.units[k].upTo(b) - d.units[k].upTo(a)
	light := d.sensor.upTo(b) - d.sensor.upTo(a)
	for at, next := w.endS, d; t+stepS > at; at = next.startS + int64(next.cells)*cellS {
		next = w.site.at(next.index + 1)
		energy += next.units[k].upTo(t + stepS - next.startS)
		light += next.sensor.upTo(t + stepS - next.startS)
	}
	node := int(a / cellS)
	r := reading{
		powerKW:    round(energy/hours, 1000),
		counterKWh: round(w.counters[k]+d.units[k].upTo(a), 100),
		irradiance: round(light/hours, 10),
		tempC:      round(d.tempC[node]+(d.tempC[node+1]-d.tempC[node])*float64(a%cellS)/float64(cellS), 10),
		state:      stateMPPT, run: 1,
	}
	if r.powerKW > 0 {
		for _, f := range w.hiding[k] {
			if (f.Kind == Curtailment || f.Kind == Derating) && f.Open(time.Unix(t, 0)) && r.powerKW >= 0.98*f.limitKW(u, r.tempC) {
				r.state, r.code = stateThrottled, float64(f.Code)
			}
			if f.Kind == StringLoss && f.Open(time.Unix(t, 0)) {
				r.code = float64(f.Code)
			}
		}
		return r
	}
	r.state, r.run, r.powerKW = stateSleeping, 0, u.NightKW
	if r.irradiance > 2 { // by day a unit without power is not asleep
		r.state = stateStandby
		for _, f := range w.hiding[k] {
			if f.outage() && f.Open(time.Unix(t, 0)) {
				r.code = float64(f.Code)
				r.state = stateFault
				if f.Kind == SiteOutage {
					r.state = stateOff
				}
			}
		}
	}
	return r
}

// limitKW is the limit that a curtailment or a derating sets to a unit.
func (f Fault) limitKW(u *Unit, ambientC float64) float64 {
	return combined([]action{{Fault: f, to: 1, array: 1}}, *u, 0, 0, ambientC).limitKW
}

// recorder collects the rows of one unit.
type recorder struct {
	times   []int64
	columns [7][]float64
}

var recorded = [7]series.Quantity{
	series.PowerKW, series.EnergyCounterKWh, series.IrradianceWM2, series.TemperatureC,
	series.InverterState, series.RunState, series.ErrorCode,
}

func newRecorder(n int) recorder {
	r := recorder{times: make([]int64, 0, n)}
	for i := range r.columns {
		r.columns[i] = make([]float64, 0, n)
	}
	return r
}

func (r *recorder) add(t int64, v reading) {
	r.times = append(r.times, t)
	for i, x := range [7]float64{v.powerKW, v.counterKWh, v.irradiance, v.tempC, v.state, v.run, v.code} {
		r.columns[i] = append(r.columns[i], x)
	}
}

func (r *recorder) frame() series.Frame {
	f := series.Frame{Times: r.times}
	for i, q := range recorded {
		f.Set(q, r.columns[i])
	}
	return f
}

func round(v, parts float64) float64 { return math.Round(v*parts) / parts }

func ceilTo(t, step int64) int64 {
	q := t / step * step
	if q < t {
		q += step
	}
	return q
}
