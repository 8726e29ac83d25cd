package replay

import (
	"math"
	"slices"

	"app.sunloop/engine/replay/metric"
)

// The references, by the names of the results.
const (
	persistence      = "persistence"       // the power at this time of the last known day
	smartPersistence = "smart_persistence" // the last known day's clear-sky index times the clear sky
	climatologyMix   = "climatology_mix"   // the index drawn to its mean at this time of day
	completeHistory  = "ch_peen"           // all indices there were at this time of day
	quantileTrees    = "quantile_trees"    // see peer.go
)

// References are the names of all references in the order to show them.
func References() []string {
	return []string{persistence, smartPersistence, climatologyMix, completeHistory, quantileTrees}
}

// lookBackDays is how far back a reference searches for a day with data.
const lookBackDays = 30

// referenceForecast is the forecast of the references at one issue. They use
// measurements before interval end.
type referenceForecast struct {
	k    *siteHistory
	end  int
	last float64 // index of the last known day
	pull float64 // how much of it stays: the correlation of one day with the next
}

// look returns the reference forecast from interval end.
func (k *siteHistory) look(end int, pull float64) *referenceForecast {
	o := &referenceForecast{k: k, end: end, pull: pull, last: math.NaN()}
	for d := 0; d < lookBackDays && math.IsNaN(o.last); d++ {
		o.last = k.dayIndex(end - d*k.slots)
	}
	if math.IsNaN(o.last) {
		o.last = 0.5
	}
	return o
}

// persistence is the power at the time of interval i on the last day of which
// it is known.
func (o *referenceForecast) persistence(i int) float64 {
	back := (i - o.end + o.k.slots) / o.k.slots // whole days back to before end
	for d := range lookBackDays {
		if j := i - (back+d)*o.k.slots; j >= 0 && j < o.end && !math.IsNaN(o.k.power.Values[j]) {
			return o.k.power.Values[j]
		}
	}
	return o.smart(i)
}

// smart is smart persistence.
func (o *referenceForecast) smart(i int) float64 { return min(o.last*o.k.clear[i], 1) }

// mix is the convex combination of climatology and persistence in the clear-sky
// index with the lowest squared error (Yang 2019, "Making reference solar
// forecasts with climatology, persistence, and their optimal convex
// combination", Solar Energy 193): the weight of persistence is its correlation
// with the following value.
func (o *referenceForecast) mix(i int, indices []float64) float64 {
	return min((o.pull*o.last+(1-o.pull)*mean(indices))*o.k.clear[i], 1)
}

// ensemble is the complete-history persistence ensemble (Yang 2019, "A
// universal benchmarking method for probabilistic solar irradiance
// forecasting", Solar Energy 184): the distribution of all past indices at this
// time of day, times the clear sky. The indices are ascending.
func (o *referenceForecast) ensemble(i int, indices []float64) (d metric.Distribution) {
	for l := range d {
		d[l] = min(sortedQuantile(indices, metric.Level(l))*o.k.clear[i], 1)
	}
	return d
}

// climate are the indices of all days by time of day, ascending.
type climate [][]float64

// climateBefore gathers the indices before interval end.
func (k *siteHistory) climateBefore(end int) climate {
	c := make(climate, k.slots)
	for i := range min(end, len(k.clear)) {
		c.add(k, i)
	}
	for _, s := range c {
		slices.Sort(s)
	}
	return c
}

func (c climate) add(k *siteHistory, i int) {
	if v := k.index(i); !math.IsNaN(v) {
		s := k.slot(i)
		c[s] = append(c[s], v)
	}
}

// extend puts the indices of intervals [from, to) in.
func (c climate) extend(k *siteHistory, from, to int) {
	for i := from; i < min(to, len(k.clear)); i++ {
		if v := k.index(i); !math.IsNaN(v) {
			s := k.slot(i)
			at, _ := slices.BinarySearch(c[s], v)
			c[s] = slices.Insert(c[s], at, v)
		}
	}
}

// at are the indices for interval i: those of the nearest time of day that has
// any.
func (c climate) at(k *siteHistory, i int) []float64 {
	s := k.slot(i)
	for d := range len(c) {
		for _, near := range [...]int{s + d, s - d + len(c)} {
			if found := c[near%len(c)]; len(found) > 0 {
				return found
			}
		}
	}
	return []float64{0.5}
}

// slot is the time of day of interval i, in intervals.
func (k *siteHistory) slot(i int) int {
	return int(k.power.Time(i).Unix()/int64(k.power.Step.Seconds())) % k.slots
}

// dayCorrelation returns the correlation of the clear-sky index of one day with
// that of the next, over the days before interval end, within 0 and 1.
func (k *siteHistory) dayCorrelation(end int) float64 {
	var a, b []float64
	before := math.NaN()
	for e := end % k.slots; e <= end; e += k.slots {
		now := k.dayIndex(e)
		if !math.IsNaN(before) && !math.IsNaN(now) {
			a, b = append(a, before), append(b, now)
		}
		before = now
	}
	if len(a) < 3 {
		return 0.5
	}
	meanA, meanB := mean(a), mean(b)
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - meanA) * (b[i] - meanB)
		aa += (a[i] - meanA) * (a[i] - meanA)
		bb += (b[i] - meanB) * (b[i] - meanB)
	}
	if aa <= 0 || bb <= 0 {
		return 0.5
	}
	return min(max(ab/math.Sqrt(aa*bb), 0), 1)
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// sortedQuantile is the quantile of ascending values, straight between them.
func sortedQuantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
