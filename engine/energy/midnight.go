package energy

import (
	"math"
	"slices"
	"sort"

	"app.sunloop/engine/series"
)

// SplitDays divides samples that cover time on both sides of a midnight of the
// site, as hours of UTC do in zones with half hours: the power is repeated at
// midnight, and the energy of the interval is divided in proportion to time, so
// that each day has its part. next returns the midnight after a time. A sample is
// divided if the step of its source, or what it states to cover, shows that it
// reaches over midnight, and if its power is not zero.
func SplitDays(f series.Frame, next func(at int64) int64) series.Frame {
	power, kWh, stated, steps := f.Values(series.PowerKW), f.Values(series.EnergyKWh), f.Values(series.CoveredS), f.Values(series.StepS)
	if f.Len() == 0 || stated == nil && steps == nil {
		return f
	}
	produces := func(i int) bool { return known(power, i) || known(kWh, i) }
	var more series.Frame
	var morePower, moreKWh, moreStated []float64
	cloned := false
	for m := next(f.Times[0]); m <= f.Times[f.Len()-1]+day; m = next(m) {
		at := sort.Search(f.Len(), func(i int) bool { return f.Times[i] >= m })
		i := at - 1
		for i >= 0 && !produces(i) {
			i--
		}
		for at < f.Len() && !produces(at) {
			at++
		}
		if i < 0 || valueOr(power, i) == 0 && valueOr(kWh, i) == 0 {
			continue
		}
		end := f.Times[i] + covers(stated, steps, i)
		until := end
		if at < f.Len() {
			until = min(end, f.Times[at])
		}
		if until <= m {
			continue
		}
		part := math.NaN()
		if known(kWh, i) {
			if !cloned {
				cloned = true
				f.Columns = slices.Clone(f.Columns)
				kWh = slices.Clone(kWh)
				f.Set(series.EnergyKWh, kWh)
			}
			// What is left of the sample is from the last midnight on.
			from := f.Times[i]
			if n := more.Len(); n > 0 && more.Times[n-1] > from {
				from = more.Times[n-1]
				part = moreKWh[n-1] * float64(until-m) / float64(until-from)
				moreKWh[n-1] -= part
			} else {
				part = kWh[i] * float64(until-m) / float64(until-from)
				kWh[i] -= part
			}
		}
		kW := math.NaN()
		if known(power, i) {
			kW = power[i]
		}
		more.Times = append(more.Times, m)
		morePower, moreKWh, moreStated = append(morePower, kW), append(moreKWh, part), append(moreStated, float64(end-m))
	}
	if more.Len() == 0 {
		return f
	}
	if power != nil {
		more.Set(series.PowerKW, morePower)
	}
	if kWh != nil {
		more.Set(series.EnergyKWh, moreKWh)
	}
	more.Set(series.CoveredS, moreStated)
	return series.Merge(f, more)
}

// JoinDays undoes [SplitDays]: for a site whose midnights change.
func JoinDays(f series.Frame) series.Frame {
	power, kWh, stated, steps := f.Values(series.PowerKW), f.Values(series.EnergyKWh), f.Values(series.CoveredS), f.Values(series.StepS)
	if stated == nil {
		return f
	}
	var parts []int
	last := -1
	for i := range f.Times {
		if !known(power, i) && !known(kWh, i) {
			continue
		}
		if last >= 0 && known(stated, i) && !known(steps, i) && known(power, last) == known(power, i) && valueOr(power, last) == valueOr(power, i) &&
			known(kWh, last) == known(kWh, i) && f.Times[last]+covers(stated, steps, last) == f.Times[i]+int64(stated[i]) {
			parts = append(parts, last, i)
			continue
		}
		last = i
	}
	if len(parts) == 0 {
		return f
	}
	f = f.Clone()
	power, kWh, stated = f.Values(series.PowerKW), f.Values(series.EnergyKWh), f.Values(series.CoveredS)
	var gone []int
	for k := 0; k < len(parts); k += 2 {
		whole, part := parts[k], parts[k+1]
		if known(kWh, part) {
			kWh[whole] += kWh[part]
			kWh[part] = math.NaN()
		}
		if power != nil {
			power[part] = math.NaN()
		}
		stated[part] = math.NaN()
		if !slices.ContainsFunc(f.Columns, func(c series.Column) bool { return !math.IsNaN(c.Values[part]) }) {
			gone = append(gone, part)
		}
	}
	return without(f, gone)
}

// without is a frame without the stamps at some places, which ascend.
func without(f series.Frame, places []int) series.Frame {
	for _, i := range slices.Backward(places) {
		f.Times = slices.Delete(f.Times, i, i+1)
		for c := range f.Columns {
			f.Columns[c].Values = slices.Delete(f.Columns[c].Values, i, i+1)
		}
	}
	return f
}

// covers is what a sample states to cover, or else the step of its source, in
// seconds; 0 if it states neither.
func covers(stated, steps []float64, i int) int64 {
	switch {
	case known(stated, i):
		return int64(stated[i])
	case known(steps, i):
		return int64(steps[i])
	}
	return 0
}

// valueOr is a value of a column; 0 if it is not known.
func valueOr(column []float64, i int) float64 {
	if !known(column, i) {
		return 0
	}
	return column[i]
}
