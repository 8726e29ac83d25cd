package energy

import "math"

// reading is a reading of a counter, and the step to the next one.
type reading struct {
	at    int64
	value float64
	gain  float64 // until the next reading; NaN: not usable
}

// Checks of a counter.
const (
	counterRatio   = 0.25 // by which its gain may differ from the energy by power
	counterFaults  = 0.1  // share of its steps that may be impossible
	counterPeak    = 3    // times the highest power of the day that a step may need
	ratedPeak      = 1.5  // times the rating that a step may need
	counterSlip    = 1e-4 // share by which a reading may fall: noise of its conversion
	afterReset     = 0.01 // share of the former reading below which a fall is a reset
	comparedShare  = 0.95 // share of a step that power must cover to be compared
	midnightMargin = 900  // seconds after the start of a day in which a day counter is near zero
)

// moduli are the values at which registers continue from zero: of 16 and 32
// bits in units, tenths, hundredths and thousandths, and of decimal displays.
var moduli = []float64{65536, 6553.6, 655.36, 4294967296, 429496729.6, 42949672.96, 4294967.296, 100000, 1000000, 10000000}

// Gain is the energy between two readings of a lifetime counter; ok is false if
// the counter fell and did not roll over, or if the gain needs more than mostKWh
// (not above 0: no limit).
func Gain(before, after, mostKWh float64) (kWh float64, ok bool) {
	kWh = after - before
	if kWh < 0 && kWh >= -counterSlip*before {
		kWh = 0
	}
	if kWh < 0 {
		for _, m := range moduli {
			if before >= 0.97*m && before <= m && after >= 0 && after <= 0.03*m && (mostKWh <= 0 || kWh+m <= mostKWh) {
				return kWh + m, true
			}
		}
		return 0, false
	}
	return kWh, mostKWh <= 0 || kWh <= mostKWh
}

// counters counts the production by a counter, and by power and interval energy
// where it has no usable step. It reports whether there is a usable counter;
// otherwise nothing is counted.
func (g *Integrator) counters(s *Sum, in Input) bool {
	if in.CounterKWh != nil && g.counter(s, in, in.CounterKWh, false) {
		return true
	}
	return in.DayCounterKWh != nil && g.counter(s, in, in.DayCounterKWh, true)
}

// read collects the readings of a counter and the gains between them. It returns
// the resolution of the counter, and false if too many steps are impossible.
func (g *Integrator) read(in Input, values []float64, peak float64, daily bool) (quantum float64, ok bool) {
	g.readings = g.readings[:0]
	for i, v := range values {
		if !math.IsNaN(v) && v >= 0 {
			g.readings = append(g.readings, reading{in.Times[i], v, math.NaN()})
		}
	}
	n := len(g.readings)
	if n == 0 || n < 2 && !daily {
		return 0, false
	}
	limit := counterPeak * peak
	if in.RatedKW > 0 {
		limit = ratedPeak * in.RatedKW
	}
	quantum = math.Inf(1)
	for i := range n - 1 {
		if d := g.readings[i+1].value - g.readings[i].value; d > 0 && d < quantum {
			quantum = d
		}
	}
	if math.IsInf(quantum, 1) {
		quantum = 0
	}
	faults := 0
	for i := range n - 1 {
		a, b := &g.readings[i], g.readings[i+1]
		most := 0.0
		if limit > 0 {
			most = limit*float64(b.at-a.at)/3600 + 2*quantum
		}
		gain, ok := Gain(a.value, b.value, most)
		if !ok && daily && b.value < a.value && (most <= 0 || b.value <= most) {
			gain, ok = b.value, true // started from zero
		}
		if ok {
			a.gain = gain
		} else {
			faults++
		}
	}
	return quantum, float64(faults) <= max(counterFaults*float64(n-1), 1) && (faults < n-1 || n == 1)
}

// counter counts by one counter if it passes the checks.
func (g *Integrator) counter(s *Sum, in Input, values []float64, daily bool) bool {
	peak := s.PeakKW
	quantum, ok := g.read(in, values, peak, daily)
	if !ok {
		return false
	}
	head, headKnown := 0.0, false
	if daily {
		head, headKnown = g.untilFirst(in, peak)
	}
	compared, gained := g.compare(quantum)
	if len(g.readings) > 1 && compared > 0 {
		s.ComparedKWh, s.DifferenceKWh = compared, gained-compared
		if math.Abs(gained-compared) > max(counterRatio*max(gained, compared), 2*quantum) {
			return false
		}
	}
	g.byCounter(s, in, head, headKnown)
	if !daily {
		first, last := g.readings[0], g.readings[len(g.readings)-1]
		s.Edge.FirstAt, s.Edge.First, s.Edge.LastAt, s.Edge.Last = first.at, first.value, last.at, last.value
	} else {
		s.Edge = Edge{}
	}
	return true
}

// compare returns the energy by power, and by the counter, of the steps of the
// counter that power covers. A step that power covers in part counts too if power
// shows more than the counter, beyond its resolution: the gap can only add to that.
func (g *Integrator) compare(quantum float64) (power, counter float64) {
	first := 0
	for i := range len(g.readings) - 1 {
		a, b := g.readings[i], g.readings[i+1]
		kWh, covered := 0.0, int64(0)
		for first < len(g.at) && g.at[first]+g.covered[first] <= a.at {
			first++
		}
		for k := first; k < len(g.at) && g.at[k] < b.at; k++ {
			from, to := max(g.at[k], a.at), min(g.at[k]+g.covered[k], b.at)
			own := max(g.kWh[k], 0)
			if len(g.gaps) > 0 {
				own -= g.gaps[k].kWh
			}
			switch {
			case to <= from:
				continue
			case to-from == g.covered[k]:
				kWh += own
			default:
				kWh += own * float64(to-from) / float64(g.covered[k])
			}
			covered += to - from
		}
		if !math.IsNaN(a.gain) && (float64(covered) >= comparedShare*float64(b.at-a.at) || kWh > a.gain+2*quantum) {
			power, counter = power+kWh, counter+a.gain
		}
	}
	return power, counter
}

// untilFirst is what a day counter gained before its first reading, if it was
// set to zero at the start of the day.
func (g *Integrator) untilFirst(in Input, peak float64) (kWh float64, ok bool) {
	first := g.readings[0]
	for i := range len(g.readings) - 1 {
		if g.readings[i+1].value < g.readings[i].value {
			return 0, false // it still showed the former day
		}
	}
	elapsed := first.at - in.Start
	limit := peak
	if in.RatedKW > 0 {
		limit = in.RatedKW
	}
	if elapsed < midnightMargin {
		elapsed = midnightMargin
	}
	return first.value, limit <= 0 || first.value <= ratedPeak*limit*float64(elapsed)/3600
}

// byCounter is the second pass: it counts samples before the first reading and
// after the last one by themselves, and shares the gain of each step out to the
// samples in it, or adds it to the sample that covers it.
func (g *Integrator) byCounter(s *Sum, in Input, head float64, headKnown bool) {
	n := len(g.readings)
	first, last := g.readings[0].at, g.readings[n-1].at
	k := 0
	if headKnown {
		from := k
		for k < len(g.at) && g.at[k] < first {
			k++
		}
		g.share(s, from, k, head)
	}
	for ; k < len(g.at) && g.at[k] < first; k++ {
		g.edge(s, k, &s.Edge.HeadKWh, &s.Edge.HeadIntervalKWh)
	}
	for i := range n - 1 {
		from := k
		for k < len(g.at) && g.at[k] < g.readings[i+1].at {
			k++
		}
		if gain := g.readings[i].gain; math.IsNaN(gain) {
			for j := from; j < k; j++ {
				g.count(s, j, false)
			}
		} else {
			g.share(s, from, k, gain)
			if at := g.readings[i].at; from == k && k > 0 && gain > 0 && g.kWh[k-1] >= 0 && at < g.at[k-1]+g.covered[k-1] {
				g.kWh[k-1] += gain
			}
		}
	}
	running := in.Now != 0 && len(g.at) > 0 && in.Now < g.at[len(g.at)-1]+2*max(in.UsualS, g.covered[len(g.at)-1])
	for ; k < len(g.at) && g.at[k] >= last; k++ {
		if running && k == len(g.at)-1 && g.at[k] == last && g.kWh[k] > 0 {
			// The next reading gives it: counted now by power, it could be less then.
			g.kWh[k] = 0
			continue
		}
		g.edge(s, k, &s.Edge.TailKWh, &s.Edge.TailIntervalKWh)
	}
}

// edge counts a sample outside of the readings.
func (g *Integrator) edge(s *Sum, k int, kWh, interval *float64) {
	g.count(s, k, false)
	*kWh += max(g.kWh[k], 0)
	if g.source[k] == Interval {
		*interval += max(g.kWh[k], 0)
	}
}

// share counts the gain of a counter, which the samples from..to get in
// proportion to their own energies. Consumption remains theirs.
func (g *Integrator) share(s *Sum, from, to int, gain float64) {
	s.ProductionKWh += gain
	s.CounterKWh += gain
	own := 0.0
	for k := from; k < to; k++ {
		own += max(g.kWh[k], 0)
	}
	for k := from; k < to; k++ {
		switch v := g.kWh[k]; {
		case v < 0:
			s.ConsumptionKWh -= v
			continue
		case own > 0:
			g.kWh[k] = gain * v / own
		case k == from:
			g.kWh[k] = gain
		default:
			g.kWh[k] = 0
		}
		g.source[k] = Counter
	}
}

// Bridge is the energy that a lifetime counter gained between the last reading
// of a day and the first one of a later day, in kW over that time; ok is false
// if it is not known. peakKW is the highest power of both days.
func Bridge(a, b Edge, peakKW float64) (kW float64, ok bool) {
	if a.LastAt == 0 || b.FirstAt == 0 || b.FirstAt <= a.LastAt {
		return 0, false
	}
	hours := float64(b.FirstAt-a.LastAt) / 3600
	most := 0.0
	if peakKW > 0 {
		most = counterPeak*peakKW*hours + 2
	}
	kWh, ok := Gain(a.Last, b.First, most)
	return kWh / hours, ok
}

// Close replaces what was counted after the last reading by the gain of the
// counter until the end of the day.
func (s *Sum) Close(kW float64, end int64) {
	s.bridge(kW*float64(end-s.Edge.LastAt)/3600, &s.Edge.TailKWh, &s.Edge.TailIntervalKWh)
}

// Open replaces what was counted before the first reading by the gain of the
// counter since the start of the day.
func (s *Sum) Open(kW float64, start int64) {
	s.bridge(kW*float64(s.Edge.FirstAt-start)/3600, &s.Edge.HeadKWh, &s.Edge.HeadIntervalKWh)
}

func (s *Sum) bridge(kWh float64, was, interval *float64) {
	s.ProductionKWh += kWh - *was
	s.CounterKWh += kWh
	s.IntervalKWh = max(s.IntervalKWh-*interval, 0)
	*was, *interval = 0, 0
	// Of sums of floats, zero may come out as less.
	s.ProductionKWh = max(s.ProductionKWh, s.CounterKWh)
}
