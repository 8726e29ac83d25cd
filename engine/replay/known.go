package replay

import (
	"math"
	"time"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
)

// siteHistory is the data available to the references: the site's clear-sky
// power, learned from all power before a time, and its past. Shares of the
// capacity.
type siteHistory struct {
	power  series.Series // NaN is missing
	clear  []float64     // of each interval of power
	bright []bool
	slots  int // intervals a day
}

// bright is the share of the capacity above which the clear-sky power of an
// hour counts as daylight. Shorter intervals count while the sun is above 3° in
// their middle.
const (
	brightShare = 0.02
	brightSine  = 0.0523
)

// learnKnown learns the clear sky from power before at, and applies it to all
// of power, which is in steps of the resolution.
func learnKnown(site forecast.Site, fine, power series.Series, at time.Time, workers int) (*siteHistory, error) {
	share, peak, _, err := forecast.Plausible(site, fine.Slice(fine.Start, at))
	if err != nil {
		return nil, err
	}
	sky := forecast.LearnClearSky(site, share, workers)
	light := sky.Over(power.Start, power.Step, power.Len(), workers)
	k := &siteHistory{power: power, clear: make([]float64, power.Len()), bright: make([]bool, power.Len()), slots: int(24 * time.Hour / power.Step)}
	k.power.Values = make([]float64, power.Len())
	for i, v := range power.Values {
		k.power.Values[i] = v / site.CapacityKW
		k.clear[i] = min(float64(light.Share[i])*peak/site.CapacityKW, 1)
		if power.Step < time.Hour {
			k.bright[i] = elevationSine(power.Time(i).Add(power.Step/2), site.Location) > brightSine
		} else {
			k.bright[i] = k.clear[i] > brightShare
		}
	}
	return k, nil
}

// topIndex bounds the clear-sky index: cloud edges do not exceed it for long.
const topIndex = 1.3

// index returns power over clear-sky power of interval i, NaN if it was not
// measured or the sun is low.
func (k *siteHistory) index(i int) float64 {
	if i < 0 || i >= len(k.clear) || k.clear[i] <= brightShare {
		return math.NaN()
	}
	return min(k.power.Values[i]/k.clear[i], topIndex)
}

// dayIndex returns the clear-sky index of the day before interval end: all
// power over all clear-sky power, NaN if less than half of the clear-sky energy
// was measured.
func (k *siteHistory) dayIndex(end int) float64 {
	var power, clear, light float64
	for i := max(0, end-k.slots); i < min(end, len(k.clear)); i++ {
		if k.clear[i] <= brightShare {
			continue
		}
		light += k.clear[i]
		if v := k.power.Values[i]; !math.IsNaN(v) {
			power += v
			clear += k.clear[i]
		}
	}
	if light <= 0 || clear < light/2 {
		return math.NaN()
	}
	return min(power/clear, topIndex)
}
