package detect

import (
	"math"
	"slices"

	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// stuck finds power readings that are constant by day while the unit's power
// cannot be: six equal samples while the expectation changes by a twentieth of
// the rating. Plateaus are excluded: a unit at its rating, at its highest power
// so far, throttled, or at the same share of the rating as another is ignored;
// without a counter also a unit at a round share, which is a set point. A
// reading stuck at zero requires a counter that shows that the unit runs.
type stuck struct {
	units []frozenRun
	usual []usualShare
}

// usualShare is the newest moving readings of a unit over what was expected of it.
type usualShare struct {
	shares [stuckShares]float64
	n      int // readings so far
}

// median returns the median share, NaN before the first reading.
func (u *usualShare) median() float64 {
	some := u.shares
	return median(some[:min(u.n, stuckShares)])
}

// leastMove returns by how many kW the expectation moves at least while a reading is frozen.
// Readings in coarse steps (quantum, kW; 0: fine) are equal while the power moves, by the
// unit's share of what is expected.
func (u *usualShare) leastMove(rating, quantum float64) float64 {
	least := stuckMoves * rating
	if quantum > 0 {
		least += stuckSteps * quantum
		if share := u.median(); share > 0 && share < 1 {
			least /= share
		}
	}
	return least
}

// frozenRun is a run of equal readings of one unit.
type frozenRun struct {
	power     float64
	since     int64
	samples   int
	low, high float64 // of what was expected meanwhile, kW
	from, to  float64 // counter
	expected  float64 // kWh
	sunk      int     // samples in which less than the reading was expected
	record    *record
}

// Figures of the rule.
const (
	stuckSamples = 6
	stuckMoves   = 0.05
	stuckTrue    = 0.015 // of the energy of the reading
	stuckLimit   = 0.93  // of the reading, that is expected all the while under a limit
	stuckSunk    = 3     // samples with less that show that it is none
	stuckShares  = 12    // readings that show the unit's usual share of what is expected
	stuckWithin  = 2e-5  // of the rating: a limit that follows the heat moves more than that
	stuckSteps   = 3     // steps of the readings, by which the expectation has to move more
)

func newStuck(s *session) *stuck {
	return &stuck{make([]frozenRun, len(s.in.Units)), make([]usualShare, len(s.in.Units))}
}

func (st *stuck) look(v *view, s *session) {
	for k := range st.units {
		if s.in.Site.Location != nil && len(st.units) < 3 && !present(s.in.Units[k].Frame.Values(series.EnergyCounterKWh)) {
			continue // without peers or a counter a limit looks the same at first: see plateaus
		}
		for i := range v.cells {
			st.at(v, s, k, i)
		}
	}
}

func (st *stuck) at(v *view, s *session, k, i int) {
	run, usual, u, rating := &st.units[k], &st.usual[k], &v.units[k], s.rating(k)
	p, t := u.power[i], v.first+int64(i)*v.step
	if math.IsNaN(p) || rating <= 0 {
		return
	}
	if math.Abs(p-run.power) >= stuckWithin*rating || run.record == nil && math.IsNaN(u.counter[i]) && (atLimit(u, i, min(rating, s.memory.units[k].peakKW)) || u.state[i] == stateThrottled) {
		if run.record != nil {
			run.record.end = t
		}
		*run = frozenRun{power: p, since: t, samples: 1, low: math.Inf(1), high: math.Inf(-1), from: u.counter[i]}
		if e := u.expected[i]; e > stuckMoves*rating && p > stuckMoves*rating && (u.tier[i] == tierPeers || u.tier[i] == tierLight) {
			usual.shares[usual.n%stuckShares] = p / e
			usual.n++
		}
		return
	}
	if p < offShare*rating && !u.sun[i] {
		if run.record == nil { // zero power without sun is no frozen reading
			*run = frozenRun{power: p, since: t + v.step, low: math.Inf(1), high: math.Inf(-1), from: u.counter[i]}
		}
		return
	}
	run.samples++
	run.to = u.counter[i]
	run.expected += max(zeroIfMissing(u.expected[i]), 0) * v.hours()
	if e := u.expected[i]; u.tier[i] == tierPeers || u.tier[i] == tierLight {
		run.low, run.high = min(run.low, e), max(run.high, e)
		if usual.median()*e < stuckLimit*p {
			run.sunk++
		}
	}
	if run.record != nil {
		run.record.lastSeen = t + v.step
		run.record.seen.samples++
		u.claimed[i] = StuckSensor
		return
	}
	runs := run.to-run.from > 0.3*run.expected && run.expected > 0
	if math.IsNaN(u.counter[i]) && run.sunk < stuckSunk && usual.n > 0 {
		return // as under a limit, the light was above it all the while: see plateaus
	}
	if run.samples < stuckSamples || run.high-run.low < usual.leastMove(rating, s.quanta[k]) || p < offShare*rating && !runs || run.isTrue(t) || held(v, s, k, i) || math.IsNaN(u.counter[i]) && setPoint(p/rating) {
		return
	}
	f := newFacts()
	f.samples, f.maxKW, f.expectedKWh, f.rating = run.samples, p, run.high-run.low, rating
	f.counterFrom, f.counterTo = run.from, run.to
	if run.record = s.frozen(k, run.since); run.record != nil { // found by the dark: one event, and the peers show it as well
		run.record.lastSeen, run.record.seen, run.record.observed, run.record.basis = t+v.step, f, nil, ""
	} else {
		run.record = s.open(&record{family: StuckSensor, units: []int{k}, start: run.since, detected: t + v.step, lastSeen: t + v.step, seen: f})
	}
	for j := max(int((run.since-v.first)/v.step), 0); j <= i; j++ {
		u.claimed[j] = StuckSensor
	}
}

// frozen returns the open event of a frozen reading of unit k that lasted at a time, or nil.
func (s *session) frozen(k int, at int64) *record {
	for _, r := range slices.Backward(s.records) {
		if r.family == StuckSensor && r.end == 0 && r.lastSeen > at && len(r.units) == 1 && r.units[0] == k {
			return r
		}
	}
	return nil
}

// isTrue reports whether the counter gained what the reading implies, to 1.5 %:
// the unit is limited and the reading is right.
func (run *frozenRun) isTrue(t int64) bool {
	gained, read := run.to-run.from, run.power*float64(t-run.since)/3600
	return math.Abs(gained-read) <= stuckTrue*read+0.02
}

// atLimit reports whether the unit is at its limit and its peers confirm that
// it would be: such a reading may be constant.
func atLimit(u *unitView, i int, limit float64) bool {
	return u.power[i] > 0.97*limit && !(u.expected[i] < 0.6*limit && u.tier[i] == tierPeers)
}

// setPoint reports whether a share of the rating is a multiple of a twentieth,
// as limits are set. A stuck reading has such a value by chance once in a
// hundred times.
func setPoint(share float64) bool { return math.Abs(share-math.Round(20*share)/20) < 2e-4 }

// held reports whether another unit has been constant for as long at the same
// share of its rating: a limit holds both, and their readings are true.
func held(v *view, s *session, k, i int) bool {
	share := v.units[k].power[i] / s.rating(k)
	if share < offShare {
		return false
	}
	from := max(i-stuckSamples+1, 0)
	for j := range v.units {
		rating := s.rating(j)
		if j == k || rating <= 0 || !(math.Abs(v.units[j].power[i]/rating-share) <= plateauWidth) {
			continue
		}
		still := true
		for _, p := range v.units[j].power[from:i] {
			still = still && math.Abs(p-v.units[j].power[i]) < 0.0005*rating
		}
		if still {
			return true
		}
	}
	return false
}

func stuckEvidence(r *record) []Evidence {
	f := &r.seen
	if len(r.observed) > 0 {
		return r.observed
	}
	out := []Evidence{shows("equal_readings", 2.5, float64(f.samples), stuckSamples, "samples", "The reading was %s in %s in a row.", display.Power(f.maxKW), display.CountOf(f.samples, "sample", "samples")),
		shows("expected_moved", 1.5, f.expectedKWh, stuckMoves*f.rating, "kW", "Meanwhile the expected power changed by %s.", display.Power(f.expectedKWh))}
	if gained := f.counterTo - f.counterFrom; gained > 0 {
		out = append(out, shows("counter_moved", 1, gained, 0, "kWh", "The lifetime counter continued: %s.", display.Energy(gained)))
	}
	return out
}
