// Package energy turns the measurements of a unit into its energy. It is the
// only code that does: day sums, records, KPIs, reports and exports
// rest on it.
//
// A day's production comes from the best source that the unit has and that
// passes its checks: a lifetime or day counter, else the energy of intervals,
// else mean power over the time that each sample covers (series.Intervals).
// What a better source does not cover comes from the next one, so that gaps of
// power are filled by a counter that ran, and gaps of a counter by power.
//
// Production and consumption are kept apart: negative power is consumption.
//
// A value of interval energy that is more than its interval can have is also of
// the gap before it, if it is not too much for both: loggers add up while they
// cannot report.
//
// A counter is used for a day if at most a tenth of its steps are impossible (a
// fall that is neither a rollover nor a reset, or more energy than the unit can
// produce) and if its gain is within 25 % of the energy by power over the same
// time. Interval energy is used if it is within a factor of two of that. The
// difference is reported in any case.
package energy

import (
	"math"

	"app.sunloop/engine/series"
)

// Input is what a unit measured within one day, or within another span that is
// summed as a whole. Columns are nil or as long as Times, with NaN for what was
// not measured.
type Input struct {
	Times         []int64 // Unix seconds, strictly ascending, within Start..End
	PowerKW       []float64
	EnergyKWh     []float64 // of the interval that a stamp labels
	CounterKWh    []float64 // lifetime counter at the stamp
	DayCounterKWh []float64 // counter of the day so far at the stamp
	CoveredS      []float64 // seconds that samples cover by their source
	StepS         []float64 // step of the source of samples, seconds
	Start, End    int64     // the span: no energy is counted beyond it
	Now           int64     // the clock while the span is running; 0 if the span is complete
	UsualS        int64     // usual step of the unit in seconds; 0 unknown
	RatedKW       float64   // AC rating; 0 unknown
}

// FrameInput is the input of a frame's columns.
func FrameInput(f series.Frame, start, end, usualS int64) Input {
	return Input{
		Times: f.Times, PowerKW: f.Values(series.PowerKW), EnergyKWh: f.Values(series.EnergyKWh), CounterKWh: f.Values(series.EnergyCounterKWh),
		DayCounterKWh: f.Values(series.DayCounterKWh), CoveredS: f.Values(series.CoveredS), StepS: f.Values(series.StepS),
		Start: start, End: end, UsualS: usualS,
	}
}

// Slice is the input of the span start..end, which holds samples lo..hi.
func (in Input) Slice(lo, hi int, start, end int64) Input {
	in.Times, in.Start, in.End = in.Times[lo:hi], start, end
	for _, column := range [...]*[]float64{&in.PowerKW, &in.EnergyKWh, &in.CounterKWh, &in.DayCounterKWh, &in.CoveredS, &in.StepS} {
		if *column != nil {
			*column = (*column)[lo:hi]
		}
	}
	return in
}

// Quantities are those that [FrameInput] reads.
var Quantities = []series.Quantity{series.PowerKW, series.EnergyKWh, series.EnergyCounterKWh, series.CoveredS, series.DayCounterKWh, series.StepS}

// Source is where the energy of a sample or a day comes from.
type Source uint8

// The sources, from the least to the best.
const (
	None Source = iota
	Power
	Interval
	Counter
)

// String is the name of the source in the API.
func (s Source) String() string { return [...]string{"", "power", "interval_energy", "counter"}[s] }

// Sum is the energy of a unit's day.
type Sum struct {
	ProductionKWh  float64 // not negative
	ConsumptionKWh float64 // not negative
	PeakKW         float64 // highest mean power of a sample
	Samples        int     // stamps with power or interval energy
	CoveredS       int64   // seconds that samples cover

	// Parts of ProductionKWh; the rest was measured as power.
	CounterKWh      float64
	IntervalKWh     float64
	ExtrapolatedKWh float64 // over time that no sample is known to cover

	// The energy by power over the time that power and the better source both
	// cover, and by how much the better source exceeds it.
	ComparedKWh   float64
	DifferenceKWh float64

	Edge Edge
}

// Edge is what is needed to continue a lifetime counter from one day to the
// next.
type Edge struct {
	FirstAt, LastAt                  int64   // stamps of the first and the last reading; 0: the day has no usable counter
	First, Last                      float64 // the readings, kWh
	HeadKWh, TailKWh                 float64 // production that was counted before the first and after the last reading
	HeadIntervalKWh, TailIntervalKWh float64 // of these by interval energy
}

// PowerKWh is the part of the production that was measured as power.
func (s *Sum) PowerKWh() float64 {
	return max(s.ProductionKWh-s.CounterKWh-s.IntervalKWh-s.ExtrapolatedKWh, 0)
}

// Source is the source of most of the production.
func (s *Sum) Source() Source {
	power := s.PowerKWh() + s.ExtrapolatedKWh
	switch {
	case s.Samples == 0 && s.ProductionKWh == 0:
		return None
	case s.CounterKWh > 0 && s.CounterKWh >= max(power, s.IntervalKWh):
		return Counter
	case s.IntervalKWh > power:
		return Interval
	}
	return Power
}

// DifferenceLimit is the share by which counter and power may differ before
// their difference is flagged.
const DifferenceLimit = 0.005

// Difference is by which share of the energy by power the better source
// differs from it; ok is false if nothing was compared.
func (s *Sum) Difference() (share float64, ok bool) {
	if s.ComparedKWh <= 0 {
		return 0, false
	}
	return s.DifferenceKWh / s.ComparedKWh, true
}

// Sample is the energy of one stamp.
type Sample struct {
	KWh      float64 // negative: consumption; NaN: the stamp has neither power nor interval energy
	CoveredS int64
	Source   Source
	GapS     int64   // seconds before the stamp that no sample covers and of which the energy is also
	GapKWh   float64 // the part of the energy of these seconds
}

// Within is the part of the energy of a sample at a stamp that is of the time
// from..to: that of the interval if its stamp is in it, and that of the gap
// before it in proportion to time. Energies that are not known are 0.
func (s Sample) Within(at, from, to int64) (kWh float64) {
	if math.IsNaN(s.KWh) {
		return 0
	}
	if from <= at && at < to {
		kWh = s.KWh - s.GapKWh
	}
	if s.GapS > 0 {
		kWh += s.GapKWh * float64(max(min(at, to)-max(at-s.GapS, from), 0)) / float64(s.GapS)
	}
	return kWh
}

// Integrator sums spans and keeps its memory from one to the next. The zero
// Integrator is ready. It is not safe for concurrent use.
type Integrator struct {
	at       []int64 // stamps with power or interval energy
	index    []int   // their places in the input
	stated   []float64
	steps    []float64
	covered  []int64
	kWh      []float64 // by sample, signed
	source   []Source
	gaps     []gap // before each sample, of which its energy is, too; empty: none
	readings []reading
}

// Sum is the energy of a span.
func (g *Integrator) Sum(in Input) Sum {
	var s Sum
	if in.EnergyKWh == nil && in.CounterKWh == nil && in.DayCounterKWh == nil && in.CoveredS == nil && in.PowerKW != nil {
		if g.powerOnly(&s, in) {
			return s
		}
	}
	g.integrate(&s, in)
	return s
}

// Samples is the energy of each stamp, in memory that is used again by the next
// call. Their sum is that of [Integrator.Sum], except for what a counter
// measured at times without power.
func (g *Integrator) Samples(dst []Sample, in Input) ([]Sample, Sum) {
	var s Sum
	g.integrate(&s, in)
	k := 0
	for i := range in.Times {
		one := Sample{KWh: math.NaN()}
		if k < len(g.index) && g.index[k] == i {
			one = Sample{KWh: g.kWh[k], CoveredS: g.covered[k], Source: g.source[k]}
			if len(g.gaps) > 0 && one.Source == Interval {
				one.GapS, one.GapKWh = g.gaps[k].seconds, g.gaps[k].kWh
			}
			k++
		}
		dst = append(dst, one)
	}
	return dst, s
}

// powerOnly sums a span that has power at each stamp; it reports whether it did.
func (g *Integrator) powerOnly(s *Sum, in Input) bool {
	for _, v := range in.PowerKW {
		if v != v {
			return false
		}
	}
	g.covered = series.Intervals(g.covered[:0], series.Span{Times: in.Times, Steps: in.StepS, End: in.End, Usual: in.UsualS})
	g.untilNow(in.Times, in.Now)
	s.PeakKW = math.Inf(-1)
	var up, down float64
	for i, kW := range in.PowerKW {
		seconds := g.covered[i]
		s.CoveredS += seconds
		if kW > s.PeakKW {
			s.PeakKW = kW
		}
		if kW > 0 {
			up += kW * float64(seconds)
		} else {
			down -= kW * float64(seconds)
		}
	}
	s.Samples = len(in.Times)
	if s.Samples == 0 {
		s.PeakKW = 0
	}
	s.ProductionKWh, s.ConsumptionKWh = up/3600, down/3600
	if s.Samples == 1 && !known(in.StepS, 0) {
		s.ExtrapolatedKWh = s.ProductionKWh
	}
	return true
}

// untilNow ends the last sample at the clock: what the unit will produce
// afterwards is not known.
func (g *Integrator) untilNow(times []int64, now int64) {
	if n := len(times); now != 0 && n > 0 && now >= times[n-1] {
		g.covered[n-1] = min(g.covered[n-1], now-times[n-1])
	}
}

func known(column []float64, i int) bool { return column != nil && !math.IsNaN(column[i]) }

func (g *Integrator) integrate(s *Sum, in Input) {
	g.gather(in)
	g.gaps = g.gaps[:0]
	if len(g.at) == 0 {
		g.counters(s, in)
		return
	}
	usual := in.UsualS
	if usual == 0 && len(g.at) < len(in.Times) {
		usual = int64(series.Interval(in.Times).Seconds()) // a missing value shows the step, too
	}
	g.covered = series.Intervals(g.covered[:0], series.Span{Times: g.at, Stated: g.stated, Steps: g.steps, End: in.End, Usual: usual})
	g.untilNow(g.at, in.Now)
	s.Samples = len(g.at)
	s.PeakKW = math.Inf(-1)
	for k, i := range g.index {
		hours := float64(g.covered[k]) / 3600
		s.CoveredS += g.covered[k]
		kW := math.NaN()
		if known(in.PowerKW, i) {
			kW = in.PowerKW[i]
			g.kWh[k], g.source[k] = kW*hours, Power
		} else {
			g.kWh[k], g.source[k] = in.EnergyKWh[i], Interval
			if hours > 0 {
				kW = in.EnergyKWh[i] / hours
			}
		}
		if kW > s.PeakKW {
			s.PeakKW = kW
		}
	}
	if math.IsInf(s.PeakKW, -1) {
		s.PeakKW = 0
	}
	g.intervals(s, in)
	alone := len(g.at) == 1 && !known(in.CoveredS, g.index[0]) && !known(in.StepS, g.index[0])
	if !g.counters(s, in) {
		for k := range g.kWh {
			g.count(s, k, alone)
		}
	}
}

// count adds a sample by power or interval energy to the sum.
func (g *Integrator) count(s *Sum, k int, alone bool) {
	v := g.kWh[k]
	if v <= 0 {
		s.ConsumptionKWh -= v
		return
	}
	s.ProductionKWh += v
	switch {
	case g.source[k] == Interval:
		s.IntervalKWh += v
	case alone:
		s.ExtrapolatedKWh += v
	}
}

// gather finds the stamps with power or interval energy.
func (g *Integrator) gather(in Input) {
	g.at, g.index, g.stated, g.steps = g.at[:0], g.index[:0], g.stated[:0], g.steps[:0]
	for i, t := range in.Times {
		if !known(in.PowerKW, i) && !known(in.EnergyKWh, i) {
			continue
		}
		g.at, g.index = append(g.at, t), append(g.index, i)
		if in.CoveredS != nil {
			g.stated = append(g.stated, in.CoveredS[i])
		}
		if in.StepS != nil {
			g.steps = append(g.steps, in.StepS[i])
		}
	}
	if in.CoveredS == nil {
		g.stated = nil
	}
	if in.StepS == nil {
		g.steps = nil
	}
	n := len(g.at)
	if cap(g.kWh) < n {
		g.kWh, g.source = make([]float64, n, n+n/2), make([]Source, n, n+n/2)
	}
	g.kWh, g.source = g.kWh[:n], g.source[:n]
}

// Limits of interval energy against power: the ratio of their sums, and of one
// value against the highest power.
const (
	intervalRatio = 2
	intervalPeak  = 1.5
)

// intervals replaces energy by power with interval energy where both are known
// and agree.
func (g *Integrator) intervals(s *Sum, in Input) {
	if in.EnergyKWh == nil || in.PowerKW == nil {
		return
	}
	peak := highest(in.PowerKW)
	fits := func(k, i int) bool {
		return peak == 0 || math.Abs(in.EnergyKWh[i])*3600 <= intervalPeak*peak*float64(g.covered[k])+1e-9
	}
	usable := func(k, i int) bool {
		return known(in.PowerKW, i) && known(in.EnergyKWh, i) && g.covered[k] > 0 && fits(k, i)
	}
	var byPower, byEnergy float64
	n, both := 0, 0
	for k, i := range g.index {
		if known(in.PowerKW, i) && known(in.EnergyKWh, i) {
			both++
		}
		if usable(k, i) {
			byPower, byEnergy = byPower+g.kWh[k], byEnergy+in.EnergyKWh[i]
			n++
		}
	}
	if n == 0 || 2*n < both {
		return
	}
	s.ComparedKWh, s.DifferenceKWh = byPower, byEnergy-byPower
	if byPower > 0 && (byEnergy > intervalRatio*byPower || intervalRatio*byEnergy < byPower) {
		return
	}
	for k, i := range g.index {
		if usable(k, i) || known(in.PowerKW, i) && known(in.EnergyKWh, i) && g.covered[k] > 0 && g.reaches(in, k, intervalPeak*peak) {
			g.kWh[k], g.source[k] = in.EnergyKWh[i], Interval
		}
	}
}

// gap is time without samples whose energy the sample after it has.
type gap struct {
	seconds int64
	kWh     float64
}

// maxReach is how long a gap before a sample may be of which its energy is, too, in
// seconds.
const maxReach = 12 * 3600

// reaches reports whether the interval energy of sample k is more than its interval
// can have at a power of limitKW, and not more than that and the gap before it can
// have together; then it notes the part of the gap in the span.
func (g *Integrator) reaches(in Input, k int, limitKW float64) bool {
	i := g.index[k]
	kWh := in.EnergyKWh[i]
	if !(kWh*3600 > limitKW*float64(g.covered[k])+1e-9) {
		return false
	}
	since := in.Start
	if k > 0 {
		since = g.at[k-1] + g.covered[k-1]
	}
	seconds := min(g.at[k]-since, maxReach)
	if seconds <= 0 {
		return false
	}
	most := seconds
	if k == 0 && seconds > g.covered[k] {
		most = maxReach // the gap may have begun before the span, which has all of its energy
	}
	if kWh*3600 > limitKW*float64(most+g.covered[k]) {
		return false
	}
	if len(g.gaps) == 0 {
		g.gaps = append(g.gaps, make([]gap, len(g.at))...)
	}
	g.gaps[k] = gap{seconds, max(kWh-max(in.PowerKW[i], 0)*float64(g.covered[k])/3600, 0)}
	return true
}

// highest is the highest value; 0 if all are below it.
func highest(values []float64) float64 {
	most := 0.0
	for _, v := range values {
		if v > most {
			most = v
		}
	}
	return most
}
