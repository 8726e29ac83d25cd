package telemetry

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"app.sunloop/backend/store/block"
	"app.sunloop/engine/series"
)

var errTail = errors.New("the tail begins before the open day")

// Check reads all telemetry of a site and reports what is wrong with it: blocks
// that cannot be read or that hold samples of other days, sums that their
// samples cannot give, a damaged tail. An error that prevents reading is
// returned.
func (a *Store) Check(siteID string, r Reader, report func(error)) error {
	fault := func(err error) { report(fmt.Errorf("site %s: %w", siteID, err)) }
	site, err := siteIn(r, siteID)
	if err != nil {
		report(err)
		return nil
	}
	if site == nil {
		return nil
	}
	zone, err := a.siteZone(site)
	if err != nil {
		report(err)
		return nil
	}
	known, err := site.assetIndex()
	if err != nil {
		report(err)
		return nil
	}
	cal := calendar{zone: zone}
	ref, months := uint32(0), map[int64]monthSums(nil)
	for c, err := range site.All(Blocks) {
		if err != nil {
			return err
		}
		if int(c.Ref) >= len(known) {
			fault(fmt.Errorf("a block of asset %d of %d", c.Ref, len(known)))
			continue
		}
		if months == nil || ref != c.Ref {
			if ref, months, err = site.months(c.Ref); err != nil {
				return err
			}
		}
		checkBlock(c, known[c.Ref], cal.at(c.Start), site.layout, months, fault)
	}
	if _, err := site.tailBefore(known, maxStamp); err != nil {
		fault(err)
	}
	for c, err := range site.Rows(math.MinInt64, site.layout.open) {
		if err != nil {
			return err
		}
		fault(fmt.Errorf("%w: at %d", errTail, c.Start))
		break
	}
	return nil
}

// months are the stored sums of an asset by the start of their month.
func (s *site) months(ref uint32) (uint32, map[int64]monthSums, error) {
	months := map[int64]monthSums{}
	for c, err := range s.Overlapping(Sums, []uint32{ref}, math.MinInt64, maxStamp, 0) {
		if err != nil {
			return ref, nil, err
		}
		months[c.Start] = c.Value
	}
	return ref, months, nil
}

// checkBlock compares a block with its run of days and their sums.
func checkBlock(c Cell, of asset, run run, layout layout, months map[int64]monthSums, fault func(error)) {
	f, err := block.Decode(c.Value)
	if err != nil {
		fault(fmt.Errorf("asset %s: %w", of.id, err))
		return
	}
	if n := f.Len(); n == 0 || c.Start != run.start || f.Times[0] < run.start || f.Times[n-1] >= min(run.end, layout.open) {
		fault(fmt.Errorf("asset %s: the block of %d has samples of other days", of.id, c.Start))
	}
	if layout.sums != sumsVersion {
		return // nothing reads them
	}
	month := months[run.month]
	if err := month.check(); err != nil {
		fault(fmt.Errorf("asset %s: %w of the month of %d", of.id, err, run.month))
		return
	}
	stored := month.between(nil, run.start, run.end)
	for i, day := range run.days {
		end := run.end
		if i+1 < len(run.days) {
			end = run.days[i+1]
		}
		if err := checkDay(f.Slice(day, end), end, daysWithin(stored, day, end)); err != nil {
			fault(fmt.Errorf("asset %s: day of %d: %w", of.id, day, err))
		}
	}
}

// checkDay compares the sum of a day, if there is one, with its samples.
func checkDay(f series.Frame, end int64, stored []daySum) error {
	b := boundsOf(f, end)
	switch {
	case len(stored) == 0 && b.samples > 0:
		return errors.New("there is no sum of its samples")
	case len(stored) == 0:
		return nil
	case stored[0].Samples != b.samples:
		return fmt.Errorf("the sum is of %d samples, and there are %d", stored[0].Samples, b.samples)
	}
	const slack = 1e-6
	margin := slack * max(b.most, 1)
	if kWh := stored[0].ProductionKWh; !(kWh >= b.least-margin && kWh <= b.most+margin) {
		return fmt.Errorf("the stored production is %.3f kWh, and its samples give %.3f to %.3f", kWh, b.least, b.most)
	}
	return nil
}

// nearSteps is how many steps before and after a sample may show what it covers.
const nearSteps = 4

// bounds are between what and what the production of a day must be.
type bounds struct {
	samples     int
	least, most float64 // kWh
}

// boundsOf integrates a day in the plainest way, independently of package
// energy, so that an error in that is found: a sample covers at least the
// shortest of the near steps around it and the one of its source, and at most the
// time to the next one.
// For a day of even steps both are the same. A few uneven samples cover what the
// unit's usual step was when the day was summed, if that is not stated with them,
// and may have changed since: they have no least. If there is interval energy or a counter, what these show
// extends the bounds.
func boundsOf(f series.Frame, end int64) bounds {
	var b bounds
	power, energy, stated, sourced := f.Values(series.PowerKW), f.Values(series.EnergyKWh), f.Values(series.CoveredS), f.Values(series.StepS)
	at := func(column []float64, i int) float64 {
		if column == nil {
			return math.NaN()
		}
		return column[i]
	}
	var used []int
	each := make([]float64, f.Len()) // the most that a sample can be
	for i := range f.Times {
		if !math.IsNaN(at(power, i)) || !math.IsNaN(at(energy, i)) {
			used = append(used, i)
		}
	}
	b.samples = len(used)
	steps := make([]int64, max(len(used)-1, 0))
	for k := range steps {
		steps[k] = f.Times[used[k+1]] - f.Times[used[k]]
	}
	few := len(steps) < 2 || len(steps) <= nearSteps && slices.Min(steps) != slices.Max(steps)
	for k, i := range used {
		short, long := end-f.Times[i], end-f.Times[i]
		if k < len(steps) {
			long = steps[k]
		}
		if before := steps[max(k-nearSteps, 0):k]; k == len(steps) && k > 1 && slices.Min(before) == slices.Max(before) {
			long = min(before[0], long)
		}
		for _, step := range steps[max(k-nearSteps, 0):min(k+1+nearSteps, len(steps))] {
			short = min(short, step)
		}
		if s := at(sourced, i); !math.IsNaN(s) {
			if short = min(short, int64(s)); k == len(steps) {
				long = min(int64(s), end-f.Times[i])
			}
		}
		if few && math.IsNaN(at(sourced, i)) {
			short = 0
		}
		if s := at(stated, i); !math.IsNaN(s) {
			short = min(short, int64(s))
		}
		kW, kWh := at(power, i), max(at(energy, i), 0)
		if math.IsNaN(kW) {
			b.least, b.most, each[i] = b.least+kWh, b.most+kWh, kWh
			continue
		}
		least, most := max(kW, 0)*float64(short)/3600, max(kW, 0)*float64(long)/3600
		if !math.IsNaN(kWh) {
			least, most = min(least, kWh), max(most, kWh)
		}
		b.least, b.most = b.least+least, b.most+most
		each[i] = most
	}
	b.extend(f.Values(series.EnergyCounterKWh), each)
	if day := f.Values(series.DayCounterKWh); day != nil {
		b.extend(day, each)
		for _, v := range day {
			if !math.IsNaN(v) {
				b.most += v // what it gained before its first reading
				break
			}
		}
	}
	return b
}

// extend extends the bounds by what a counter shows, and by what samples before
// its first reading and from its last one on can be.
func (b *bounds) extend(values, each []float64) {
	gained, last, inside, outside := 0.0, math.NaN(), 0.0, 0.0
	for i, v := range values {
		if math.IsNaN(v) {
			inside += each[i]
			continue
		}
		switch {
		case math.IsNaN(last):
			outside = inside
		case v < last:
			b.least, b.most = 0, math.Inf(1) // it fell: only the engine knows why
			return
		default:
			gained += v - last
		}
		last, inside = v, each[i]
	}
	if math.IsNaN(last) {
		return
	}
	b.least, b.most = min(b.least, gained), max(b.most, gained+outside+inside)
}
