package forecast

import (
	"context"
	"math"

	"golang.org/x/sync/errgroup"

	"app.sunloop/engine/learn/frame"
	"app.sunloop/engine/series"
)

const (
	// Intervals below this clear-sky share are dusk and give no samples.
	dusk = 0.01
	// scaleFloor is added to the clear-sky power when an index is computed
	// from it.
	scaleFloor = 0.05
	// warmUpDays pass before the first sample, so that there is a past to see.
	warmUpDays = 7
)

// samples holds rows for learners, in time order, with the analogs' forecast
// next to the features: without weather it is a separate member.
type samples struct {
	frame.Frame
	clear  []float32 // what the site gives under a clear sky, shares of the peak
	analog []float32 // rows x quantiles, shares of the peak
}

// gather makes samples of the targets in ticks [from, to) of the power, given
// in shares of the peak in steps of n ticks. plan returns the issue hours for a
// target. Of the targets the share keep is taken, chosen by a fixed
// permutation. The parts of the work are days in order, so that the number of
// workers does not change the result.
func (w *siteContext) gather(ctx context.Context, s spec, quantiles []float64, share series.Series, n int, from, to int64, workers int, keep float64, plan func(t int64) []int64) (*samples, error) {
	first := tickOf(share.Start)
	from = first + (max(from, first)-first+int64(n)-1)/int64(n)*int64(n)
	to = min(to, first+int64(share.Len()*n), w.sky.start+int64(len(w.sky.sine)))
	const part = 10 * ticksPerDay
	var parts []*samples
	var g errgroup.Group
	g.SetLimit(max(workers, 1))
	for a := from; a < to; a += part {
		out := &samples{}
		parts = append(parts, out)
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.gatherPart(out, s, quantiles, share, n, a, min(a+part, to), keep, plan)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := &samples{Frame: frame.Frame{Names: s.names()}}
	for _, p := range parts {
		all.join(p)
	}
	return all, nil
}

func (a *samples) join(b *samples) {
	b.Names = a.Names
	a.Append(&b.Frame)
	a.clear = append(a.clear, b.clear...)
	a.analog = append(a.analog, b.analog...)
}

func (w *siteContext) gatherPart(out *samples, s spec, quantiles []float64, share series.Series, n int, from, to int64, keep float64, plan func(t int64) []int64) {
	views := map[int64]*issueView{}
	q := make([]float32, len(quantiles))
	first := tickOf(share.Start)
	for t := from; t < to; t += int64(n) {
		y := share.Values[(t-first)/int64(n)]
		if math.IsNaN(y) || float64(splitmix(uint64(t)+1<<32)>>32) >= keep*(1<<32) {
			continue
		}
		clear := w.env.over(&w.sky, t, n)
		if clear <= dusk {
			continue
		}
		if s.Weather {
			if !known(w.wx.at(w.wx.ghi, t)) {
				continue
			}
		}
		for _, issue := range plan(t) {
			v := views[issue]
			if v == nil {
				v = w.view(issue)
				views[issue] = v
			}
			var scale float32
			out.Rows, scale = w.row(out.Rows, s, v, t, n)
			out.Target = append(out.Target, float32(y))
			out.Scale = append(out.Scale, scale)
			out.clear = append(out.clear, clear)
			out.Weight = append(out.Weight, 1)
			out.Group = append(out.Group, int32(floorDiv(t, ticksPerDay)))
			out.Time = append(out.Time, t*tickSeconds)
			if !s.Weather {
				w.analog(v, t, clear, quantiles, q)
			}
			out.analog = append(out.analog, q...)
		}
	}
}

// analog is the analogs' forecast in shares of the peak.
func (w *siteContext) analog(v *issueView, t int64, clear float32, quantiles []float64, out []float32) {
	h := floorDiv(t, ticksPerHour)
	v.similar(w.past, h).quantiles(w.past, v.target(h), quantiles, out)
	for i := range out {
		out[i] *= clear
	}
}

// midnight is the hour the site's day of tick t begins by the sun.
func (w *siteContext) midnight(t int64) int64 {
	offset := int64(math.Round(w.longitudeDeg / 15))
	h := floorDiv(t, ticksPerHour)
	return floorDiv(h+offset, hours)*hours - offset
}

// dayAhead is the plan the engine is scored on: seen from midnight.
func (w *siteContext) dayAhead(t int64) []int64 { return []int64{w.midnight(t)} }

// mixed is the plan the engine learns from: every target from midnight or,
// where perTarget is 2, from midnight and once more: from the same day's hours
// before it, from the day before, or from days before. The choice is a fixed
// splitmix of the time.
func (w *siteContext) mixed(n, perTarget int) func(t int64) []int64 {
	return func(t int64) []int64 {
		day := w.midnight(t)
		h := floorDiv(t, ticksPerHour)
		r := splitmix(uint64(t))
		other := day
		switch r % 6 {
		case 0, 1: // within the day, at most six hours ahead
			other = max(day, h-int64(r>>8%6))
		case 2:
			other = day - 12
		case 3:
			other = day - 6
		case 4:
			other = day - 24 - 12*int64(r>>8&1)
		case 5:
			other = day - 72
		}
		switch {
		case perTarget > 1:
			return []int64{day, other}
		case floorDiv(t, int64(n))&1 == 0:
			return []int64{day}
		}
		return []int64{other}
	}
}

// splitmix is a step of splitmix64 (Steele, Lea and Flood 2014).
func splitmix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// seedOf is a seed for one fit, from the site, the member and the quantile.
func seedOf(seed uint64, id, member string, k int) uint64 {
	for _, part := range []string{id, member} {
		for _, c := range []byte(part) {
			seed = splitmix(seed ^ uint64(c))
		}
		seed = splitmix(seed ^ 0xff00)
	}
	return splitmix(seed + uint64(k))
}
