package interpolate

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/interp"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
	"app.sunloop/internal/longtest"
)

// naturalCubic returns the natural cubic spline in a trial's gap, used only as
// a reference.
func (g *fillState) naturalCubic(a *candidates) []float32 {
	x, y, n := g.fine.knots(a.h)
	out := make([]float32, a.v.b-a.v.a)
	var cubic interp.NaturalCubic
	if n == 0 || n == len(x) || cubic.Fit(x, y) != nil {
		copy(out, a.said[isBridge])
		return out
	}
	for k := range out {
		out[k] = g.m.limit(float32(cubic.Predict(float64(a.v.step(a.v.a+k)))), g.clear(a, k))
	}
	return out
}

// fair reports whether the three days of daylight on either side of the gap
// were bright.
func (g *fillState) fair(h gapSteps) bool {
	s := g.fine
	margin := int(36 * s.perHour())
	a, b := int(s.place[h.from]), int(s.place[h.to])
	before, after := max(0, a-margin), min(len(s.lit), b+margin)
	clear := s.sumClear[a] - s.sumClear[before] + s.sumClear[after] - s.sumClear[b]
	power := s.sumPower[a] - s.sumPower[before] + s.sumPower[after] - s.sumPower[b]
	return power > 0.88*clear
}

// whole reports whether no sample is missing in the gap and in 32 hours of
// daylight on either side of it.
func (g *fillState) whole(h gapSteps) bool {
	s := g.fine
	margin := int(32 * s.perHour())
	a, b := int(s.place[h.from])-margin, int(s.place[h.to])+margin
	if a < 0 || b > len(s.lit) {
		return false
	}
	for _, i := range s.lit[a:b] {
		if s.power[i] != s.power[i] {
			return false
		}
	}
	return true
}

// Columns of the table next to the methods.
const (
	isCubic  = methodCount
	isFilled = methodCount + 1
)

// table is mean absolute errors in percent of the capacity, by gap length and
// column.
type table struct {
	lengths  []time.Duration
	mae      [][isFilled + 1]float64
	n        []int
	coverage []float64
}

// ratio is the error of what fills over another column's, of gaps of from..to.
func (m table) ratio(over int, from, to time.Duration) float64 {
	var a, b float64
	for k, d := range m.lengths {
		if d >= from && d <= to && m.n[k] > 0 {
			a, b = a+m.mae[k][isFilled], b+m.mae[k][over]
		}
	}
	return a / b
}

func (m table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-9s %8s %8s %8s %8s %8s %8s %8s %8s  P10..P90\n", "gap", "linear", "cubic", "spline", "csi", "siblings", "trees", "lstm", "filled")
	for k, d := range m.lengths {
		fmt.Fprintf(&b, "%-9v", d)
		for _, col := range []int{isLinear, isCubic, isSpline, isBridge, isSiblings, isTrees, isLSTM, isFilled} {
			fmt.Fprintf(&b, " %8.2f", m.mae[k][col])
		}
		fmt.Fprintf(&b, "  %.0f %%\n", 100*m.coverage[k])
	}
	return b.String()
}

// real is one site measured on gaps in the last third of its history.
type real struct {
	all, fair, whole table // fair: gaps in fair weather; whole: with nothing else missing near
	model            *Model
	overall          Score
}

// learned trains on the first two thirds of a history.
func learned(t *testing.T, site forecast.Site, power series.Series, wx Weather) (m *Model, split time.Time) {
	t.Helper()
	split = power.Start.Add(power.End().Sub(power.Start) * 2 / 3).Truncate(day)
	m, rep, err := Train(context.Background(), site, power.Slice(power.Start, split), wx, Options{Workers: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d days, fade %g min, network %+v, trees %+v", rep.Days, rep.FadeMinutes, rep.Neural, rep.Trees)
	return m, split
}

// measured hides gaps in the last third.
func (m *Model) measured(t *testing.T, name string, power series.Series, wx Weather, split time.Time, gaps int) real {
	t.Helper()
	g, err := m.open(power, wx, 2)
	if err != nil {
		t.Fatal(err)
	}
	trials, lengths, err := g.evaluate(context.Background(), Evaluation{From: split, Gaps: gaps, Seed: 2, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	best := blind
	switch {
	case m.siblings:
		best = bySiblings
	case m.weather:
		best = byWeather
	}
	scores, overall := m.scores(trials, lengths)
	r := real{model: m, overall: overall}
	for _, x := range []struct {
		to *table
		in func(gapSteps) bool
	}{{&r.all, func(gapSteps) bool { return true }}, {&r.fair, g.fair}, {&r.whole, g.whole}} {
		*x.to = table{lengths, make([][isFilled + 1]float64, len(lengths)), make([]int, len(lengths)), make([]float64, len(lengths))}
		for _, y := range trials {
			if y.best && x.in(y.h) {
				x.to.add(g, y)
			}
		}
		for k := range lengths {
			for col := range x.to.mae[k] {
				x.to.mae[k][col] *= 100 * m.peakKW / m.site.CapacityKW / float64(max(x.to.n[k], 1))
			}
			for _, s := range scores {
				if s.Length == lengths[k] && s.Sky == sights[best] {
					x.to.coverage[k] = s.Filled.Coverage80
				}
			}
		}
	}
	for _, c := range m.report.Choices {
		if c.Gaps > 0 {
			t.Logf("  %-16s %-14s %-18s share of the network %.2f, of %d gaps", c.Class, c.Sky, c.Method, c.LSTMShare, c.Gaps)
		}
	}
	long := 99 * time.Hour
	t.Logf("MAE, %% of the capacity, %s\n%s12 h on: %.2f of the bridge's, %.2f of the natural cubic's (%.2f and %.2f in fair weather, %.2f and %.2f with nothing else missing near)\noverall %+v", name, r.all,
		r.all.ratio(isBridge, 12*time.Hour, long), r.all.ratio(isCubic, 12*time.Hour, long), r.fair.ratio(isBridge, 12*time.Hour, long), r.fair.ratio(isCubic, 12*time.Hour, long),
		r.whole.ratio(isBridge, 12*time.Hour, long), r.whole.ratio(isCubic, 12*time.Hour, long), overall)
	return r
}

func (m *table) add(g *fillState, x *trial) {
	c := g.m.choices[x.sight][x.class]
	said := append([][]float32{}, x.said[:]...)
	mixed, filled := make([]float32, len(x.truth)), make([]float32, len(x.truth))
	for k := range mixed {
		mixed[k] = x.mixed(c.share, k)
	}
	x.decide(c, filled)
	said[isLSTM] = mixed
	said = append(said, g.naturalCubic(x.candidates), filled)
	for k, y := range x.truth {
		if y != y {
			continue
		}
		m.n[x.length]++
		for col := range said {
			m.mae[x.length][col] += math.Abs(float64(said[col][k] - y))
		}
	}
}

// atMost fails where a measured ratio is above its bound.
func atMost(t *testing.T, what string, got, bound float64) {
	t.Helper()
	if !(got <= bound) {
		t.Errorf("%s: %.3f, at most %.2f", what, got, bound)
	}
}

const (
	halfDay = 12 * time.Hour
	threes  = 72 * time.Hour
)

// withSiblings is m as it fills a unit whose siblings are known.
func (m *Model) withSiblings(t *testing.T, power, siblings series.Series, split time.Time) *Model {
	t.Helper()
	own, _, err := m.ForUnits(context.Background(), []Unit{{power.Slice(power.Start, split), Weather{Siblings: siblings}}}, Options{Workers: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// Long gaps in hourly power on real sites. Bounds are the measured ratios with
// a small margin.
func TestRealHourly(t *testing.T) {
	longtest.Mark(t)
	site, power := madrid(t, time.Hour)
	m, split := learned(t, site, power, Weather{})
	r := m.measured(t, "UPM Madrid hourly", power, Weather{}, split, 250)
	atMost(t, "Madrid, over the bridge", r.all.ratio(isBridge, halfDay, threes), 0.92)
	atMost(t, "Madrid, over the natural cubic", r.all.ratio(isCubic, halfDay, threes), 0.28)
	atMost(t, "Madrid in fair weather, over the bridge", r.fair.ratio(isBridge, halfDay, threes), 0.75)
	atMost(t, "Madrid in fair weather, over the natural cubic", r.fair.ratio(isCubic, halfDay, threes), 0.15)
	atMost(t, "Madrid with nothing else missing, over the bridge", r.whole.ratio(isBridge, halfDay, threes), 0.76)
	atMost(t, "Madrid with nothing else missing, over the natural cubic", r.whole.ratio(isCubic, halfDay, threes), 0.18)
	beside := besideMadrid(t, time.Hour)
	r = m.withSiblings(t, power, beside, split).measured(t, "UPM Madrid hourly with its siblings", power, Weather{Siblings: beside}, split, 250)
	atMost(t, "Madrid with siblings, over the bridge", r.all.ratio(isBridge, halfDay, threes), 0.33)
	atMost(t, "Madrid with siblings, over the natural cubic", r.all.ratio(isCubic, halfDay, threes), 0.1)
	sun := Weather{GHI: madridColumn(t, site.Zone, "G_M3", time.Hour)} // in the modules' plane
	m, split = learned(t, site, power, sun)
	r = m.measured(t, "UPM Madrid hourly with its pyranometer", power, sun, split, 250)
	atMost(t, "Madrid with a pyranometer, over the bridge", r.all.ratio(isBridge, halfDay, threes), 0.38)

	site, power, wx := golden(t, time.Hour)
	m, split = learned(t, site, power, Weather{})
	r = m.measured(t, "PVDAQ 50 hourly", power, Weather{}, split, 250)
	atMost(t, "Golden, over the bridge", r.all.ratio(isBridge, halfDay, threes), 0.85)
	atMost(t, "Golden, over the natural cubic", r.all.ratio(isCubic, halfDay, threes), 0.6)
	m, split = learned(t, site, power, wx)
	r = m.measured(t, "PVDAQ 50 hourly with weather", power, wx, split, 250)
	atMost(t, "Golden with weather, over the bridge", r.all.ratio(isBridge, halfDay, threes), 0.6)
	if c := r.overall.Coverage80; c < 0.72 || c > 0.88 {
		t.Errorf("P10..P90 hold %.2f", c)
	}
}

// Short gaps in power by the minute are never worse than the monotone spline's
// by more than a twentieth.
func TestRealMinutes(t *testing.T) {
	longtest.Mark(t)
	for _, step := range []time.Duration{15 * time.Minute, 5 * time.Minute} {
		site, power := madrid(t, step)
		m, split := learned(t, site, power, Weather{})
		beside := besideMadrid(t, step)
		for _, x := range []struct {
			name  string
			model *Model
			wx    Weather
			long  float64
		}{
			{fmt.Sprintf("UPM Madrid %v", step), m, Weather{}, 0.93},
			{fmt.Sprintf("UPM Madrid %v with its siblings", step), m.withSiblings(t, power, beside, split), Weather{Siblings: beside}, 0.4},
		} {
			r := x.model.measured(t, x.name, power, x.wx, split, 150)
			for k, d := range r.all.lengths {
				if d <= 30*time.Minute {
					atMost(t, fmt.Sprintf("%s, %v, over the spline", x.name, d), r.all.mae[k][isFilled]/r.all.mae[k][isSpline], 1.05)
				}
			}
			atMost(t, x.name+" from 12 h on, over the bridge", r.all.ratio(isBridge, halfDay, threes), x.long)
		}
	}
}
