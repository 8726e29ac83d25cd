package ingest

import (
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/engine/series"
)

// group holds the rows of one asset in time order.
type group struct {
	name     string
	rows     []int32 // by time, then by line; nil where direct
	starts   []int32 // index into rows of the first row of each time
	times    []int64
	repeated int  // rows of a quantity that another row of the same time has as well, in a file with a row for each quantity
	direct   bool // the rows are the whole table unchanged

	measured map[*column][]float64 // what further returned
}

// groups sorts the rows by asset and time. Assets are in the order of their
// first row by time.
func (t *table) groups(utc []int64, reversed bool) []*group {
	if len(t.names) <= 1 && !reversed && rising(utc) {
		return []*group{{name: strings.Join(t.names, ""), times: utc, direct: true}}
	}
	byAsset := make([]*group, max(1, len(t.names)))
	var out []*group
	n := len(utc)
	for k := range n {
		i := k
		if reversed {
			i = n - 1 - k
		}
		if utc[i] == noWall {
			continue
		}
		id := int32(0)
		if t.assets != nil {
			id = t.assets[i]
		}
		g := byAsset[id]
		if g == nil {
			g = &group{rows: make([]int32, 0, n/len(byAsset)+1)}
			if t.assets != nil {
				g.name = t.names[id]
			}
			byAsset[id] = g
			out = append(out, g)
		}
		g.rows = append(g.rows, int32(i))
	}
	for _, g := range out {
		if !slices.IsSortedFunc(g.rows, func(a, b int32) int { return byTime(utc, a, b) }) {
			slices.SortFunc(g.rows, func(a, b int32) int { return byTime(utc, a, b) })
		}
		g.times = make([]int64, 0, len(g.rows))
		g.starts = make([]int32, 0, len(g.rows))
		for k, i := range g.rows {
			if k == 0 || utc[i] != utc[g.rows[k-1]] {
				g.times = append(g.times, utc[i])
				g.starts = append(g.starts, int32(k))
			}
		}
		if extra := len(g.rows) - len(g.times); extra > 0 && t.plan.keys.measure < 0 {
			t.skipped[SkipDuplicate] += extra
		}
	}
	return out
}

// rising reports whether every row is later than the previous one.
func rising(utc []int64) bool {
	last := int64(noWall)
	for _, at := range utc {
		if at <= last {
			return false
		}
		last = at
	}
	return len(utc) > 0
}

// byTime orders rows by time, rows of one time by line.
func byTime(utc []int64, a, b int32) int {
	switch {
	case utc[a] < utc[b]:
		return -1
	case utc[a] > utc[b]:
		return 1
	}
	return int(a - b)
}

// gather returns the column in the group's order; of rows with one time the latest
// line with a value counts. The result may be the column itself.
func (g *group) gather(c *column) []float64 {
	if g.direct {
		return c.values
	}
	out := make([]float64, len(g.times))
	for k := range out {
		end := len(g.rows)
		if k+1 < len(g.starts) {
			end = int(g.starts[k+1])
		}
		out[k] = math.NaN()
		for j := end - 1; j >= int(g.starts[k]); j-- {
			if v := c.values[g.rows[j]]; !math.IsNaN(v) {
				out[k] = v
				break
			}
		}
	}
	return out
}

// further returns a column other than production in the group's order, without
// values that its quantity cannot have. The assets of a wide file share it.
func (g *group) further(q series.Quantity, c *column) []float64 {
	if values, ok := g.measured[c]; ok {
		return values
	}
	if g.measured == nil {
		g.measured = map[*column][]float64{}
	}
	g.measured[c] = inLimits(q, g.gather(c))
	return g.measured[c]
}

// interval returns the commonest step of all groups: to the minute where steps are
// longer than half of one, because loggers stagger.
func interval(groups []*group) time.Duration {
	var steps tally
	for _, g := range groups {
		for i := 1; i < len(g.times); i++ {
			step := g.times[i] - g.times[i-1]
			if step >= minute/2 {
				step = (step + minute/2) / minute * minute
			}
			steps.add(step)
		}
	}
	best, most := int64(0), 0
	for step, n := range steps.counted() {
		if n > most || n == most && step < best {
			best, most = step, n
		}
	}
	return time.Duration(best) * time.Second
}

// tally counts how often each value occurs; steps between times are mostly equal to
// the step before, so a run is counted at once.
type tally struct {
	counts map[int64]int
	value  int64 // of the run that is not yet in counts
	run    int
}

func (t *tally) add(v int64) {
	if v != t.value {
		t.counted()
		t.value = v
	}
	t.run++
}

// counted returns the count of each value so far.
func (t *tally) counted() map[int64]int {
	if t.counts == nil {
		t.counts = map[int64]int{}
	}
	if t.run > 0 {
		t.counts[t.value] += t.run
		t.run = 0
	}
	return t.counts
}

// limits are the possible values of a quantity. A value beyond them is a fault of a
// sensor or a register and counts as missing.
var limits = map[series.Quantity][2]float64{
	series.TemperatureC: {-60, 70}, series.ModuleTemperatureC: {-60, 130}, series.CabinetTempC: {-60, 150}, series.PredictedTempC: {-60, 70},
	series.IrradianceWM2: {-50, 2000}, series.PredictedGHIWM2: {-50, 1600}, series.WindSpeedMS: {0, 90}, series.PowerFactor: {-1.05, 1.05},
	series.VoltageV: {0, 50000}, series.StateOfCharge: {0, 110}, series.StateOfHealth: {0, 150},
}

// inLimits returns values, or a copy of them without impossible ones.
func inLimits(q series.Quantity, values []float64) []float64 {
	lim, ok := limits[q]
	if !ok {
		return values
	}
	copied := false
	for i, v := range values {
		if v >= lim[0] && v <= lim[1] || math.IsNaN(v) {
			continue
		}
		if !copied {
			values, copied = slices.Clone(values), true
		}
		values[i] = math.NaN()
	}
	return values
}

// assemble builds the frame of one asset from its power and its other columns.
func (a *assetData) assemble() series.Frame {
	f := series.Frame{Times: a.group.times}
	f.Set(series.PowerKW, a.powerKW)
	if a.energyKWh != nil {
		f.Set(series.EnergyKWh, a.energyKWh)
	}
	if a.counterKWh != nil {
		f.Set(series.EnergyCounterKWh, a.counterKWh)
	}
	if a.dayCounterKWh != nil {
		f.Set(series.DayCounterKWh, a.dayCounterKWh)
	}
	best := map[series.Quantity]*column{}
	for _, c := range a.columns {
		q := c.means.quantity
		if c.means.role == roleState {
			q = series.InverterState
		}
		if q != 0 && a.has(c) && (best[q] == nil || c.means.rank > best[q].means.rank) {
			best[q] = c
		}
	}
	for q, c := range best {
		a.use(c, quantityRole(q))
		f.Set(q, a.group.further(q, c))
	}
	if state := f.Values(series.InverterState); state != nil && f.Values(series.RunState) == nil {
		run := make([]float64, len(state))
		for i, s := range state {
			run[i] = runState(s)
		}
		f.Set(series.RunState, run)
	}
	return withoutEmpty(f)
}

// runState returns 1 for an operating state that feeds in, else 0.
func runState(state float64) float64 {
	switch state {
	case 4, 5: // MPPT, throttled
		return 1
	}
	if math.IsNaN(state) {
		return state
	}
	return 0
}

// withoutEmpty drops times at which nothing was measured. If they are few, they
// stay, because the columns that assets of a wide file share would have to be copied.
func withoutEmpty(f series.Frame) series.Frame {
	measured := func(i int) bool {
		for _, c := range f.Columns {
			if !math.IsNaN(c.Values[i]) {
				return true
			}
		}
		return false
	}
	var keep []int
	for i := range f.Times {
		if measured(i) {
			keep = append(keep, i)
		}
	}
	if f.Len()-len(keep) <= f.Len()/8 {
		return f
	}
	return f.Select(keep)
}
