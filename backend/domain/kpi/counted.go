package kpi

import (
	"math"
	"sort"

	"app.sunloop/backend/domain/availability"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
)

// Limits of what a counter may gain in a gap: times the rating, and kWh on top.
const (
	countedPeak = 1.5
	countedMore = 2
)

// countedGaps are the gaps of a unit's power through which its lifetime counter ran
// plausibly: their energy is in the sums of the days, although no sample covers them. A
// gap at the start or the end of the frame is none of them.
func countedGaps(f series.Frame, ratedKW float64) (out []kpi.Span) {
	counter, power := f.Values(series.EnergyCounterKWh), f.Values(series.PowerKW)
	if counter == nil {
		return nil
	}
	seconds := availability.Intervals(f)
	before := -1              // the last sample with power
	reading := [2]int{-1, -1} // the last reading up to that sample, and the last of all
	for i, at := range f.Times {
		isRead := !math.IsNaN(counter[i])
		if isRead {
			reading[1] = i
		}
		if power != nil && math.IsNaN(power[i]) || power == nil && !isRead {
			continue
		}
		if before >= 0 {
			if gap := (kpi.Span{From: f.Times[before] + seconds[before], To: at}); gap.From < gap.To && reading[0] >= 0 && reading[1] > reading[0] {
				a, b := reading[0], reading[1]
				_, ok := energy.Gain(counter[a], counter[b], countedPeak*ratedKW*float64(f.Times[b]-f.Times[a])/3600+countedMore)
				if ok && f.Times[b] >= gap.To {
					out = append(out, gap)
				}
			}
		}
		before, reading[0] = i, reading[1]
	}
	return out
}

// inGap reports whether a time is in one of a unit's gaps, which ascend.
func (u *unit) inGap(at int64) bool {
	i := sort.Search(len(u.gaps), func(i int) bool { return at < u.gaps[i].To })
	return i < len(u.gaps) && u.gaps[i].From <= at
}

// energyKnown is the share of the daylight whose energy is known: that of the data, and
// gaps through which counters ran.
func (r *reading) energyKnown() float64 {
	share, weight := r.available.DataAvailability, 0.0
	for _, u := range r.available.Units {
		if !math.IsNaN(u.DataAvailability) {
			weight += u.WeightKW
		}
	}
	if !(r.days.counter > 0) || !(weight > 0) {
		return share
	}
	for _, of := range r.available.Units {
		i, counted := r.places[of.Asset.AssetID]
		due := r.available.Sun.Daylight(of.Due)
		if !counted || !(due > 0) || math.IsNaN(of.DataAvailability) {
			continue
		}
		for _, gap := range r.units[i].gaps {
			if in := (kpi.Span{From: max(gap.From, of.Due.From), To: min(gap.To, of.Due.To)}); in.From < in.To {
				share += of.WeightKW / weight * r.available.Sun.Daylight(in) / due
			}
		}
	}
	return min(share, 1)
}
