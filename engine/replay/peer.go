package replay

import (
	"context"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"app.sunloop/engine/learn/frame"
	"app.sunloop/engine/learn/quantile"
	"app.sunloop/engine/learn/tree"
	"app.sunloop/engine/replay/metric"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

// peer is a baseline of plain quantile trees of the power, as an engineer would
// fit them with any library: one boosted ensemble a quantile, no clear-sky
// target, no blend, no calibration. The engine must be better.
type peer struct {
	levels    []float64
	ensembles []*tree.Ensemble
	features  features
}

const (
	peerBins   = 255
	peerBag    = 0.5 // of whole days
	peerWarmUp = 8   // days before the first sample, for the lags
)

func fitPeer(ctx context.Context, s *Replay, k *siteHistory, at time.Time, workers int) (*peer, error) {
	p := &peer{levels: s.Protocol.Levels, ensembles: make([]*tree.Ensemble, len(s.Protocol.Levels)), features: s.features(k)}
	f := p.features.frame(k, index(k.power, s.from(at)), index(k.power, at))
	binner, err := frame.FitBinner(f, peerBins)
	if err != nil {
		return nil, err
	}
	binned, err := binner.Apply(f)
	if err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for j, q := range p.levels {
		g.Go(func() error {
			c := tree.Default(f.Len())
			c.Quantile, c.BagFraction, c.Seed = q, peerBag, uint64(j+1)
			var err error
			p.ensembles[j], _, err = tree.Fit(ctx, binned, nil, c)
			return err
		})
	}
	return p, g.Wait()
}

// forecast predicts intervals at an issue before interval end.
func (p *peer) forecast(k *siteHistory, end int, intervals []int) []metric.Distribution {
	var rows []float32
	for _, i := range intervals {
		rows = p.features.row(rows, k, i, end)
	}
	said := make([][]float32, len(p.ensembles))
	for j, e := range p.ensembles {
		said[j] = make([]float32, len(intervals))
		e.Predict(rows, said[j])
	}
	out := make([]metric.Distribution, len(intervals))
	one := make([]float32, len(p.ensembles))
	wide := make([]float64, len(p.ensembles))
	for n := range intervals {
		for j := range said {
			one[j] = min(max(said[j][n], 0), 1)
		}
		quantile.Rearrange(one)
		for j, v := range one {
			wide[j] = float64(v)
		}
		out[n] = metric.Spread(p.levels, wide)
	}
	return out
}

// features are computed once for all intervals, except for the lags.
type features struct {
	names []string
	sine  []float64 // of the sun's elevation
	fixed [][]float32
}

func (s *Replay) features(k *siteHistory) features {
	n := k.power.Len()
	f := features{sine: make([]float64, n)}
	column := func(name string) []float32 {
		c := make([]float32, n)
		f.names, f.fixed = append(f.names, name), append(f.fixed, c)
		return c
	}
	sin, cos, sine, azimuth, ghi, clear := column("hour_sin"), column("hour_cos"), column("elevation_sine"), column("azimuth"), column("clear_ghi"), column("clear_power")
	for i := range n {
		middle := k.power.Time(i).Add(k.power.Step / 2)
		pos := solar.At(middle, s.Site.Location)
		hour := 2 * math.Pi * (float64(middle.Unix()%86400)/86400 + s.Site.Location.LongitudeDeg/360)
		f.sine[i] = math.Cos(pos.ZenithDeg * math.Pi / 180)
		sin[i], cos[i], sine[i], azimuth[i] = float32(math.Sin(hour)), float32(math.Cos(hour)), float32(f.sine[i]), float32(pos.AzimuthDeg)
		ghi[i], clear[i] = float32(solar.Haurwitz(pos.ApparentZenithDeg)), float32(k.clear[i])
	}
	hour := int(time.Hour / k.power.Step)
	for _, c := range s.Weather {
		if c.Measured {
			continue
		}
		own := column(c.Name)
		values := onto(c.Series, k.power)
		for i := range n {
			own[i] = float32(values[i])
		}
		if c.Quantity != weather.GHI {
			continue
		}
		before, after, around, power := column(c.Name+"_before"), column(c.Name+"_after"), column(c.Name+"_around"), column(c.Name+"_power")
		for i := range n {
			before[i], after[i] = own[max(i-hour, 0)], own[min(i+hour, n-1)]
			around[i] = (before[i] + own[i] + after[i]) / 3
			power[i] = min(own[i]/max(ghi[i], 1), 1.1) * clear[i]
		}
	}
	f.names = append(f.names, "lead", "index_slot", "index_day", "index_week")
	return f
}

// onto is a series on the intervals of another.
func onto(s series.Series, grid series.Series) []float64 {
	if s.Step < grid.Step {
		s = means(s, grid.Step)
	}
	out := make([]float64, grid.Len())
	for i := range out {
		out[i] = s.At(grid.Time(i))
	}
	return out
}

// frame are the samples of the intervals [from, to) with the sun up, each as
// seen at the issue of its day; an issue is a whole number of days before to.
func (f *features) frame(k *siteHistory, from, to int) *frame.Frame {
	out := &frame.Frame{Names: f.names}
	for i := from + peerWarmUp*k.slots; i < to; i++ {
		if v := k.power.Values[i]; !math.IsNaN(v) && f.sine[i] > 0 {
			issued := to - (to-i+k.slots-1)/k.slots*k.slots
			out.Rows = f.row(out.Rows, k, i, issued)
			out.Target, out.Group, out.Time = append(out.Target, float32(v)), append(out.Group, int32(issued)), append(out.Time, k.power.Time(i).Unix())
		}
	}
	return out
}

// row appends the features of interval i as seen at an issue before which end
// is known.
func (f *features) row(rows []float32, k *siteHistory, i, end int) []float32 {
	for _, c := range f.fixed {
		rows = append(rows, c[i])
	}
	slot := i
	for slot >= end {
		slot -= k.slots
	}
	week, days := 0.0, 0.0
	for d := range 7 {
		if v := k.dayIndex(end - d*k.slots); !math.IsNaN(v) {
			week, days = week+v, days+1
		}
	}
	return append(rows, float32(i-end), float32(k.index(slot)), float32(k.dayIndex(end)), float32(week/days))
}
