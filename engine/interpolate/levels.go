package interpolate

import (
	"math"
	"time"

	"app.sunloop/engine/learn/quantile"
)

// The clear-sky level of a time of day is the 88th percentile of power over
// irradiance in the surrounding weeks. The adjacent days are excluded, so that
// a gap does not differ from a measured day.
const (
	clearPercentile = 0.88
	levelDays       = 23 // to either side
	levelSkip       = 3  // of them, the nearest
	levelEnough     = 10 // ratios; with fewer the season's level counts in part
	levelLight      = 0.02
	topLevel        = 3
	topClear        = 1.1 // share of the peak
)

var nan = math.NaN()

func nan32() float32 { return float32(nan) }

// levelGrid has a level for each day and each slot of a day, both in UTC.
type levelGrid struct {
	first int64 // day since 1970
	days  int
	slot  time.Duration
	slots int
	value []float32 // days x slots: ratio of power to light, NaN unknown
	sure  []float32 // 0..1, how far to trust it
}

const day = 24 * time.Hour

// slotFor is the slot that samples of a step are gathered in: ratios of a few
// minutes are too noisy one by one.
func slotFor(step time.Duration) time.Duration {
	for _, s := range []time.Duration{15 * time.Minute, 30 * time.Minute} {
		if step <= s {
			return s
		}
	}
	return time.Hour
}

// learnLevels takes power (NaN unknown) and base, the light in the modules'
// plane, both on the same even steps.
func learnLevels(start time.Time, step time.Duration, power, base []float32) *levelGrid {
	g := &levelGrid{first: floorDiv(start.Unix(), 86400), slot: slotFor(step)}
	g.slots = int(day / g.slot)
	last := floorDiv(start.Add(time.Duration(len(power))*step).Unix(), 86400)
	g.days = int(last-g.first) + 1
	seen := make([][]float32, g.days*g.slots)
	for i, b := range base {
		if v := power[i]; b > levelLight && v == v {
			d, s := g.place(start.Add(time.Duration(i)*step + step/2))
			k := d*g.slots + s
			seen[k] = append(seen[k], min(v/b, topLevel))
		}
	}
	g.value, g.sure = make([]float32, len(seen)), make([]float32, len(seen))
	var around []float32
	for d := range g.days {
		for s := range g.slots {
			around = around[:0]
			for k := levelSkip + 1; k <= levelDays; k++ {
				for _, at := range [2]int{d - k, d + k} {
					if at >= 0 && at < g.days {
						around = append(around, seen[at*g.slots+s]...)
					}
				}
			}
			k := d*g.slots + s
			g.value[k] = nan32()
			if len(around) > 0 {
				g.sure[k] = min(1, float32(len(around))/levelEnough)
				g.value[k] = quantile.Select(around, clearPercentile)
			}
		}
	}
	return g
}

func (g *levelGrid) place(t time.Time) (day, slot int) {
	s := t.Unix()
	d := floorDiv(s, 86400)
	return int(d - g.first), int((s - d*86400) / int64(g.slot/time.Second))
}

// clear returns the clear-sky power at the middle of a step. share is the
// seasonal level. Steps shorter than a slot are interpolated linearly between
// the levels of two slots.
func (g *levelGrid) clear(middle time.Time, step time.Duration, base, share float32) float32 {
	if base <= levelLight {
		return share
	}
	if step >= g.slot {
		d, s := g.place(middle)
		return g.mix(d, s, base, share)
	}
	d, s := g.place(middle.Add(-g.slot / 2))
	since := middle.Add(-g.slot/2).Unix() - ((g.first+int64(d))*86400 + int64(s)*int64(g.slot/time.Second))
	f := float32(since) / float32(g.slot/time.Second)
	a := g.mix(d, s, base, share)
	d, s = g.place(middle.Add(g.slot / 2))
	b := g.mix(d, s, base, share)
	return a + float32(f*(b-a))
}

func (g *levelGrid) mix(d, s int, base, share float32) float32 {
	if d < 0 || d >= g.days {
		return share
	}
	k := d*g.slots + s
	v := g.value[k]
	if v != v {
		return share
	}
	return min(share+float32(g.sure[k]*(float32(v*base)-share)), topClear)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
