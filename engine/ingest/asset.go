package ingest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/internal/display"
)

// assetData holds the columns of one asset, from which its frame is built.
type assetData struct {
	name    string
	group   *group
	columns []*column // its own and those that belong to all assets

	main    *column // the column that power is derived from
	kind    string  // KindPower …
	source  []float64
	scale   float64 // source·scale is kW or kWh
	quantum float64 // by which source values differ at least

	powerKW, energyKWh, counterKWh []float64
	dayCounterKWh                  []float64
	unitless                       []float64 // interval energy whose unit is not written
	notes                          counterNotes
	missing                        int
	uses                           map[*column]string // role in a mapping of the columns besides main that the frame holds
}

// mainRoles are the roles that production can come from.
func mainRole(r role) bool { return r >= rolePower && r <= roleDaily }

// assetsOf assigns the columns to assets: those that name a device to that device,
// the others to all.
func (t *table) assetsOf(groups []*group) []*assetData {
	var devices []string
	for _, c := range t.columns {
		if c.device != "" && mainRole(c.means.role) && !slices.Contains(devices, c.device) {
			devices = append(devices, c.device)
		}
	}
	var out []*assetData
	for _, g := range groups {
		if len(devices) == 0 {
			out = append(out, &assetData{name: g.name, group: g, columns: t.columns})
			continue
		}
		for _, d := range devices {
			a := &assetData{name: d, group: g}
			for _, c := range t.columns {
				if c.device == d || c.device == "" && (!mainRole(c.means.role) || len(devices) == 1) {
					a.columns = append(a.columns, c)
				}
			}
			out = append(out, a)
		}
	}
	return out
}

// choose selects the column that best describes production: AC power, otherwise
// interval energy, otherwise a counter, otherwise energy fed into the grid.
// former is the kind of energy in earlier files of the source.
func (a *assetData) choose(step time.Duration, former string, rep *report) bool {
	seconds := int64(step / time.Second)
	power := a.sumOfPhases(rep)
	if power == nil {
		power = a.best(rolePower)
	}
	var interval, counter, daily *column
	var doubtful *column // a counter that may be something else
	whys := map[*column]string{}
	for _, r := range []role{roleEnergy, roleCounter, roleDaily} {
		c := a.best(r)
		if c == nil {
			continue
		}
		shape := shapeOf(a.group.times, a.group.gather(c))
		kind, why := kindByValues(r, shape, seconds)
		if c.fixed {
			kind, why = map[role]string{roleEnergy: KindIntervalEnergy, roleCounter: KindCounter, roleDaily: KindDailyCounter}[r], "the mapping says so"
		}
		if !c.fixed && kindHint(former, r, shape) {
			kind, why = former, "as in former files of the site"
		}
		if !c.fixed && r == roleEnergy && kind != KindIntervalEnergy && a.fitsPower(power, c, step) {
			kind, why = KindIntervalEnergy, "it fits the power over each interval"
		}
		whys[c] = why
		if kind == KindCounter && r == roleEnergy && shape.mayBeDaily(seconds) {
			doubtful = c
		}
		switch {
		case kind == KindIntervalEnergy && interval == nil:
			interval = c
		case kind == KindCounter && counter == nil:
			counter = c
		case kind == KindDailyCounter && daily == nil:
			daily = c
		}
	}
	type option struct {
		column *column
		kind   string
	}
	order := []option{{power, KindPower}, {interval, KindIntervalEnergy}, {counter, KindCounter}, {daily, KindDailyCounter}}
	const tooFew = 2 // times fewer values than the next best
	for i, o := range order {
		if o.column == nil {
			continue
		}
		if o.kind == KindPower {
			for _, other := range order[i+1:] {
				if other.column != nil && (other.column.count > tooFew*o.column.count || isZero(o.column) && a.hasProduction(other.column, other.kind)) {
					rep.addRunnerUp("columns", "%s instead of %s", o.column.label(), other.column.label())
					rep.warn("columns", "%s has values in %s only, %s in %d; the latter is used", o.column.label(), display.CountOf(o.column.count, "row", "rows"), other.column.label(), other.column.count)
					o = other
					break
				}
			}
		}
		a.main, a.kind = o.column, o.kind
		break
	}
	if a.main == nil || a.isGridImport(seconds) {
		return a.chooseFeedIn(seconds, rep)
	}
	a.warnOthers(rep)
	if why := whys[a.main]; why != "" {
		rep.decideOnce("values", "%s is %s: %s", a.main.label(), kindWords[a.kind], why)
	}
	if a.main == doubtful {
		rep.addRunnerUp("values", "%s is the energy of each day, not a counter", a.main.label())
		rep.warn("values", "%s may also be the energy of each day, on days that became brighter; its %s fit both", a.main.label(), display.CountOf(a.main.count, "value", "values"))
	}
	a.keepEnergy(interval, counter, daily)
	return true
}

var kindWords = map[string]string{
	KindPower: "power", KindIntervalEnergy: "the energy of each interval", KindCounter: "a lifetime counter", KindDailyCounter: "a counter of the day so far",
}

// keepEnergy keeps the energy columns in addition to power. Interval energy
// without a written unit is kept until its unit follows from the power.
func (a *assetData) keepEnergy(interval, counter, daily *column) {
	if counter != nil && counter != a.main && counter.unit.dim == dimEnergy {
		a.counterKWh = a.group.gather(counter)
		a.use(counter, MapCounter)
	}
	if daily != nil && daily != a.main && daily.unit.dim == dimEnergy {
		a.dayCounterKWh = a.group.gather(daily)
		a.use(daily, MapDayCounter)
	}
	if interval == nil || interval == a.main {
		return
	}
	switch {
	case interval.unit.dim == dimEnergy:
		a.energyKWh = a.group.gather(interval)
		a.use(interval, MapEnergy)
	case interval.unit.dim == dimNone && len(interval.units) == 0 && a.kind == KindPower:
		a.unitless = a.group.gather(interval)
		a.use(interval, MapEnergy)
	}
}

// use records what a column besides main is kept as.
func (a *assetData) use(c *column, role string) {
	if a.uses == nil {
		a.uses = map[*column]string{}
	}
	a.uses[c] = role
}

// fitsPower reports whether the sum of an energy column is that of the power over
// the step, to a factor of two. The readings of a counter sum up to far more.
func (a *assetData) fitsPower(power, energy *column, step time.Duration) bool {
	if power == nil || power.unit.dim == dimNone || step <= 0 || energy.means.total != power.means.total {
		return false
	}
	byPower, sum := bothEnergies(a.group.gather(power), a.group.gather(energy), step)
	return byPower > 0 && sum >= 0.5*byPower && sum <= 2*byPower
}

// bothEnergies sums power over the step, and energy, over the rows that have both.
func bothEnergies(power, energy []float64, step time.Duration) (byPower, sum float64) {
	for i, v := range energy {
		if p := power[i]; !math.IsNaN(v) && !math.IsNaN(p) {
			byPower, sum = byPower+p*step.Hours(), sum+v
		}
	}
	return byPower, sum
}

// settleEnergy finds the unit of interval energy that has none written: the one
// with which the energy is within a factor of two of the power over the step.
func (a *assetData) settleEnergy(step time.Duration, rep *report) {
	if a.unitless == nil || step <= 0 {
		return
	}
	byPower, sum := bothEnergies(a.powerKW, a.unitless, step)
	if !(byPower > 0 && sum > 0) {
		return
	}
	for _, u := range []struct {
		name  string
		scale float64
	}{{"kWh", 1}, {"Wh", 1e-3}, {"MWh", 1e3}} {
		if ratio := sum * u.scale / byPower; ratio < 0.5 || ratio > 2 {
			continue
		}
		a.energyKWh = make([]float64, len(a.unitless))
		for i, v := range a.unitless {
			a.energyKWh[i] = v * u.scale
		}
		rep.decideOnce("unit", "the energy of each interval is in %s, which is not written: it fits the power", u.name)
		return
	}
}

// isGridImport reports whether the selected column is the energy from the grid
// rather than production: its name does not denote production, and it is zero, or
// positive at night, while the energy fed into the grid looks like production.
func (a *assetData) isGridImport(step int64) bool {
	fed := a.best(roleFeedIn)
	if fed == nil || a.main.fixed || isZero(fed) || conceptsOf(a.main.name)&cProduction != 0 {
		return false
	}
	if isZero(a.main) {
		return true
	}
	kind := KindPower
	if fed.means.energy {
		kind, _ = kindByValues(roleEnergy, shapeOf(a.group.times, a.group.gather(fed)), step)
	}
	if a.kind != KindPower && a.kind != KindIntervalEnergy || kind != KindPower && kind != KindIntervalEnergy {
		return false
	}
	own, other := &assetData{group: a.group, source: a.group.gather(a.main)}, &assetData{group: a.group, source: a.group.gather(fed)}
	return own.nightShare() > mostAtNight && other.nightShare() <= mostAtNight
}

// chooseFeedIn is for plants that sell all their production: the feed-in is
// the production, less the consumption.
func (a *assetData) chooseFeedIn(step int64, rep *report) bool {
	c := a.best(roleFeedIn)
	if c == nil {
		return false
	}
	a.main, a.kind = c, KindPower
	if c.means.energy {
		a.kind, _ = kindByValues(roleEnergy, shapeOf(a.group.times, a.group.gather(c)), step)
	}
	rep.warn("columns", "there is no column of production; %s, the energy fed into the grid, is taken for it. What was used on site is not in it", c.label())
	return true
}

// best returns the column of a role with the highest rank that holds values. It
// returns a column of zeros, one phase of three, or a sum over assets only if there
// is no other. A sum is preferred to one of three phases.
func (a *assetData) best(r role) *column {
	var best *column
	for _, c := range a.columns {
		if c.means.role != r || !a.has(c) {
			continue
		}
		if best == nil || c.betterThan(best) {
			best = c
		}
	}
	return best
}

// betterThan reports whether a column describes production better than another
// one of its role.
func (c *column) betterThan(other *column) bool {
	if !c.fixed && !other.fixed {
		if zeros, otherZeros := isZero(c), isZero(other); zeros != otherZeros {
			return otherZeros
		}
		if phase, otherPhase := parseHeader(c.name).oneOfThree(), parseHeader(other.name).oneOfThree(); phase != otherPhase && (c.means.total || other.means.total) {
			return otherPhase
		}
	}
	if c.means.total != other.means.total {
		return other.means.total
	}
	return c.means.rank > other.means.rank
}

// warnOthers warns of columns that may be production as much as the one that is used.
func (a *assetData) warnOthers(rep *report) {
	for _, c := range a.columns {
		if c != a.main && c.means.role == a.main.means.role && c.means.total == a.main.means.total && c.means.rank == a.main.means.rank && a.has(c) && !a.main.parts {
			rep.addRunnerUp("columns", "%s instead of %s", c.label(), a.main.label())
			rep.warn("columns", "%s is used; others, such as %s, may be production as well, of another unit or as another measurement of the same power", a.main.label(), c.label())
			return
		}
	}
}

// sumOfPhases returns the column of power that is the sum of all other power
// columns of the asset, as the power of an inverter is the sum of its phases,
// or nil.
func (a *assetData) sumOfPhases(rep *report) *column {
	var columns []*column
	for _, c := range a.columns {
		if c.means.role == rolePower && a.has(c) {
			columns = append(columns, c)
		}
	}
	if len(columns) != 3 && len(columns) != 4 || slices.ContainsFunc(columns, func(c *column) bool { return c.fixed }) {
		return nil
	}
	var phases []*assetData
	for _, c := range columns {
		p := &assetData{main: c, kind: KindPower, group: a.group, source: a.group.gather(c)}
		p.quantum = quantumOf(p.source)
		phases = append(phases, p)
	}
	sum := slices.MaxFunc(phases, func(a, b *assetData) int { return cmp.Compare(a.amount(), b.amount()) })
	phases = slices.DeleteFunc(phases, func(p *assetData) bool { return p == sum })
	if !sum.isSumOf(phases) {
		return nil
	}
	sum.main.parts = true
	rep.decideOnce("columns", "%s is the sum of %s, so that it is the power of the unit and they are parts of it", sum.shown(), shownAll(phases))
	return sum.main
}

// has reports whether a column holds a value of this asset.
func (a *assetData) has(c *column) bool {
	if c.count == 0 || a.group.direct {
		return c.count > 0
	}
	for _, i := range a.group.rows {
		if !math.IsNaN(c.values[i]) {
			return true
		}
	}
	return false
}

// isZero reports whether a column is always zero.
func isZero(c *column) bool {
	for _, v := range c.values {
		if v != 0 && !math.IsNaN(v) {
			return false
		}
	}
	return true
}

// hasProduction reports whether an energy column shows production. A counter shows it only
// if it rises: a file of one row, or of a night, has a power of zero and the
// reading of the evening before.
func (a *assetData) hasProduction(c *column, kind string) bool {
	if kind != KindCounter && kind != KindDailyCounter {
		return !isZero(c)
	}
	first := math.NaN()
	for _, v := range a.group.gather(c) {
		if math.IsNaN(first) {
			first = v
		}
		if v > first {
			return true
		}
	}
	return false
}

// needsUnit reports whether neither header nor cells give the unit of the main
// column.
func (a *assetData) needsUnit() bool {
	return a.main.unit.dim == dimNone && len(a.main.units) == 0
}

// derive turns the source values into power. hold is the largest plausible
// power in kW, 0 unknown.
func (a *assetData) derive(step time.Duration, site *time.Location, hold float64) {
	values := a.source
	if a.scale != 1 || a.kind == KindCounter { // counters lose glitches in place
		values = make([]float64, len(a.source))
		for i, v := range a.source {
			values[i] = v * a.scale
		}
	}
	a.notes = counterNotes{}
	switch a.kind {
	case KindPower:
		a.powerKW = values
	case KindIntervalEnergy:
		a.energyKWh = values
		a.powerKW = intervalPower(a.group.times, values, step, site)
	case KindCounter:
		a.powerKW, a.notes = counterPower(a.group.times, values, hold)
		a.counterKWh = values
	case KindDailyCounter:
		a.powerKW, a.notes = dayCounterPower(a.group.times, values, hold)
		a.dayCounterKWh = values
	}
	a.missing = 0
	for _, v := range values {
		if math.IsNaN(v) {
			a.missing++
		}
	}
}

// dropOutside removes power far beyond the capacity, and energy that would require
// it over its interval and the gap before it: a logger without a connection adds
// the energy of the gap to the next value.
func (a *assetData) dropOutside(capacityKW float64, step time.Duration) {
	most := 10 * capacityKW
	if a.kind == KindIntervalEnergy {
		most = holdFactor * capacityKW
	}
	if a.energyKWh != nil && step > 0 {
		a.energyKWh = slices.Clone(a.energyKWh)
		for i, kWh := range a.energyKWh {
			hours := step.Hours()
			if times := a.group.times; math.Abs(kWh) > holdFactor*capacityKW*hours && len(times) > 1 {
				last := max(i, 1)
				hours = min(max(float64(times[last]-times[last-1])/hour, hours), longestGap+hours)
			}
			switch {
			case math.Abs(kWh) > holdFactor*capacityKW*hours:
				a.energyKWh[i] = math.NaN()
			case a.kind == KindIntervalEnergy && hours > step.Hours():
				a.powerKW[i] = kWh / hours
			}
		}
	}
	var dropped int
	a.powerKW, dropped = within(a.powerKW, most)
	a.notes.outside += dropped
	a.missing += dropped
}

// mostlyOutside reports whether too many values were removed for faults to be
// the reason.
func (a *assetData) mostlyOutside() bool {
	kept := 0
	for _, v := range a.powerKW {
		if v > 0 {
			kept++
		}
	}
	return a.notes.outside > kept/4 && a.notes.outside > 2
}

// within returns values, or a copy without the values above most.
func within(values []float64, most float64) (out []float64, dropped int) {
	for i, v := range values {
		if math.Abs(v) <= most || math.IsNaN(v) {
			continue
		}
		if dropped == 0 {
			values = slices.Clone(values)
		}
		values[i] = math.NaN()
		dropped++
	}
	return values, dropped
}

// holdFactor times the capacity is the most that a mean power can be.
const holdFactor = 3

// longestGap is how many hours before its interval the energy of a row may be of,
// as in engine/energy.
const longestGap = 12

// decideOnce reports the same decision about several assets only once.
func (r *report) decideOnce(topic, format string, args ...any) {
	d := Decision{topic, fmt.Sprintf(format, args...)}
	if !slices.Contains(r.decisions, d) {
		r.decisions = append(r.decisions, d)
	}
}

// report adds what was done with counters and values to the decisions.
func (n counterNotes) report(name string, rep *report) {
	of := ""
	if name != "" {
		of = " of " + name
	}
	var parts []string
	for _, p := range []struct {
		n         int
		one, many string
	}{
		{n.glitches, "impossible counter reading dropped", "impossible counter readings dropped"},
		{n.rollovers, "roll-over at the end of the register removed", "roll-overs at the end of the register removed"},
	} {
		if p.n > 0 {
			parts = append(parts, display.CountOf(p.n, p.one, p.many))
		}
	}
	if len(parts) > 0 {
		rep.decide("counter", "%s%s", strings.Join(parts, ", "), of)
	}
	if n.outside > 0 {
		rep.warn("values", "%s far beyond the capacity counted as missing", display.CountOf(n.outside, "value"+of, "values"+of))
	}
}
