package interpolate

import "app.sunloop/engine/learn/quantile"

// bands hold the distance of the truth from filled values, as the 10th and 90th
// percentile of the error in clear-sky indices, by whether the nearest edge is
// near and by the level of the filled index. Filled clear steps err downwards,
// filled overcast ones upwards.
type bands [2][bandLevels][2]float32

const (
	bandLevels    = 3
	nearHours     = 2
	bandEnough    = 40   // errors; fewer are pooled
	bandFloor     = 0.02 // share of the peak added to the clear sky's
	unmeasured    = 0.35 // half a band's width where nothing was measured
	lowPercentile = 0.1
)

func bandOf(filled, clear, left, right float32) (near, level int) {
	if min(left, right) > nearHours {
		near = 1
	}
	switch k := filled / clear; {
	case k > 0.8:
		level = 2
	case k > 0.4:
		level = 1
	}
	return near, level
}

// fillError is one error of a filled step.
type fillError struct {
	near, level int
	error       float32
}

func measureBands(slips []fillError) bands {
	var b bands
	// From all to the finest part that has enough.
	pick := func(near, level int) (v []float32) {
		for _, s := range slips {
			if (near < 0 || s.near == near) && (level < 0 || s.level == level) {
				v = append(v, s.error)
			}
		}
		return v
	}
	for near := range b {
		for level := range b[near] {
			b[near][level] = [2]float32{-unmeasured, unmeasured}
			for _, v := range [][]float32{pick(near, level), pick(-1, level), pick(-1, -1)} {
				if len(v) >= bandEnough {
					b[near][level] = [2]float32{min(quantile.Select(v, lowPercentile), 0), max(quantile.Select(v, 1-lowPercentile), 0)}
					break
				}
			}
		}
	}
	return b
}

// around is P10 and P90 about a filled value; limits are the caller's.
func (b *bands) around(filled, clear, left, right float32) (low, high float32) {
	near, level := bandOf(filled, clear, left, right)
	e := b[near][level]
	scale := clear + bandFloor
	return filled + float32(e[0]*scale), filled + float32(e[1]*scale)
}
