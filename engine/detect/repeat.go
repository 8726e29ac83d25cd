package detect

import (
	"math"

	"app.sunloop/internal/display"
)

// repeats finds data of the past under new times: the readings of all units are exactly
// those of one, two or three days before, for so long that no weather repeats it. A portal
// or a logger that delivers its cache does so. The weight of an equal reading depends on
// its resolution: readings in whole kW are often equal on two clear days.
type repeats struct {
	past    []pastDay // the last days, oldest first
	lags    [repeatDays]repeatRun
	quantum []float64 // smallest change of each unit's reading while it produces, kW
}

// pastDay is the power of the units on a former day, as read.
type pastDay struct {
	first, step int64
	raw         [][]float32
}

// repeatRun is a stretch in which the readings are those of some days before.
type repeatRun struct {
	since    int64
	times    int
	readings int     // of units, that are not zero
	bits     float64 // of information in them
	record   *record

	differed int // times before the stretch at which readings differed
	equal    int // times before it at which all were equal
}

// Figures of the rule.
const (
	repeatDays   = 3
	repeatTimes  = 4     // at least
	repeatBits   = 48    // from which equal readings are no chance
	repeatIdle   = 0.002 // of the rating: less is no production
	repeatSpread = 0.05  // of the rating: by which two clear days differ
	repeatShare  = 0.2   // of the reading: the same under a low sun, whose power depends on its height more than on the day
	repeatLow    = 0.2   // of a clear sky's 1 kW/m², below which the sun is low
	mostBits     = 10    // of one reading
	repeatBefore = 60    // times at which the readings differed before
	repeatRare   = 0.05  // of them: so often they may have been equal
)

func newRepeats(s *session) *repeats {
	r := &repeats{quantum: make([]float64, len(s.in.Units))}
	for k := range r.quantum {
		r.quantum[k] = math.Inf(1)
	}
	return r
}

func (r *repeats) look(v *view, s *session) {
	for lag := range r.lags {
		for i := range v.cells {
			if !v.dark[i] {
				r.at(v, s, lag, i)
			}
		}
	}
	day := pastDay{first: v.first, step: v.step}
	for k := range v.units {
		raw := v.units[k].raw[:v.cells]
		day.raw = append(day.raw, narrow(raw))
		idle := repeatIdle * s.rating(k)
		for i := 1; i < len(raw); i++ {
			if raw[i-1] <= idle || raw[i] <= idle {
				continue // what a unit reads by night, as its use of some watts, may have finer steps
			}
			if d := math.Abs(raw[i] - raw[i-1]); d > 1e-9 {
				r.quantum[k] = min(r.quantum[k], d)
			}
		}
	}
	r.past = append(r.past, day)
	if n := len(r.past); n > repeatDays+1 { // one more: days of 25 hours
		r.past = r.past[n-repeatDays-1:]
	}
}

func narrow(list []float64) []float32 {
	out := make([]float32, len(list))
	for i, v := range list {
		out[i] = float32(v)
	}
	return out
}

// before returns the cell of unit k at a time of the past days; NaN if unknown.
func (r *repeats) before(k int, t int64) float32 {
	for _, d := range r.past {
		if i := (t - d.first) / d.step; t >= d.first && k < len(d.raw) && i < int64(len(d.raw[k])) && (t-d.first)%d.step == 0 {
			return d.raw[k][i]
		}
	}
	return float32(math.NaN())
}

func (r *repeats) at(v *view, s *session, lag, i int) {
	run, t := &r.lags[lag], v.first+int64(i)*v.step
	earlier := t - int64(lag+1)*86400
	same, bits := 0, 0.0
	other := false
	for k := range v.units {
		now, was := float32(v.units[k].raw[i]), r.before(k, earlier)
		idle := float32(repeatIdle * s.rating(k))
		switch {
		case now != now, was != was, now <= idle && was <= idle: // not read, or at night
		case now == was:
			same++
			// Units see the same sky: the one with the finest readings counts. A reading
			// that stays as it is, as at a limit, has no weight.
			if i > 0 && v.units[k].raw[i] == v.units[k].raw[i-1] {
				break
			}
			differ := repeatSpread * s.rating(k)
			if !(v.clear[i] >= repeatLow) {
				differ = min(differ, repeatShare*float64(now))
			}
			bits = max(bits, min(math.Log2(max(differ/r.quantum[k], 1)), mostBits))
		default:
			other = true
		}
	}
	switch {
	case other:
		if run.record != nil {
			run.record.end = t
		}
		if run.record == nil { // what was reported is no usual day
			run.equal += run.times
		}
		*run = repeatRun{differed: run.differed + 1, equal: run.equal}
		return
	case same == 0:
		return
	}
	if run.readings == 0 {
		run.since = t
	}
	run.times, run.readings, run.bits = run.times+1, run.readings+same, run.bits+bits
	if run.record == nil {
		usual := run.differed < repeatBefore || float64(run.equal) > repeatRare*float64(run.differed)
		if run.bits < repeatBits || run.times < repeatTimes || usual || r.isReported(lag) {
			return
		}
		units := make([]int, len(v.units))
		for k := range units {
			units[k] = k
		}
		run.record = s.open(&record{family: RepeatedData, units: units, start: run.since, detected: t + v.step, lastSeen: t + v.step, seen: newFacts()})
		for j := max(int((run.since-v.first)/v.step), 0); j <= i; j++ {
			claimAll(v, j)
		}
	}
	run.record.lastSeen = t + v.step
	run.record.observed = []Evidence{
		shows("equal_to_former_days", 3, float64(run.readings), repeatTimes, "readings", "%s exactly as %s before.", display.CountOf(run.readings, "reading is", "readings are"), display.CountOf(lag+1, "day", "days")),
		shows("resolution", 2, run.bits, repeatBits, "bits", "They hold %.0f bits: no weather repeats that for %s.", run.bits, formatMinutes(float64(t+v.step-run.since)/60)),
	}
	claimAll(v, i)
}

// isReported reports whether another number of days explains the readings already.
func (r *repeats) isReported(lag int) bool {
	for other := range r.lags {
		if other != lag && r.lags[other].record != nil {
			return true
		}
	}
	return false
}

// claimAll claims a cell of all units.
func claimAll(v *view, i int) {
	for k := range v.units {
		v.units[k].claimed[i] = RepeatedData
	}
}
