package interpolate

import (
	"math"
	"time"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
)

// daylight is the clear-sky share of the peak above which a step counts as
// daylight: below it an index is noise.
const daylight = 0.02

// topIndex is the upper bound of a clear-sky index.
const topIndex = 1.4

// siteSeries is a site's power on even steps with its clear-sky power, in
// shares of the site's peak.
type siteSeries struct {
	start  time.Time
	step   time.Duration
	power  []float32 // NaN missing; zero where nothing was said at night
	clear  []float32
	cloud  []float32 // the weather's clear-sky index, NaN unknown; nil without weather
	beside []float32 // the siblings' clear-sky index, NaN unknown; nil without any
	turn   []float32 // of the sun: hours from its local noon, by six
	index  []float32 // power over clear, 0 where missing
	lit    []int32   // the steps in daylight
	place  []int32   // how many lit steps lie before step i; one more than steps
	first  []bool    // by place: the first lit step of a day

	sumPower, sumClear []float64 // by place, over known steps before it
	pairs              []pair    // by place, sums of the steps before it; nil without siblings
	middle             float32   // the mean index
}

func (s *siteSeries) perHour() float32 { return float32(time.Hour) / float32(s.step) }

func (s *siteSeries) time(i int) time.Time { return s.start.Add(time.Duration(i) * s.step) }

// newScene adds the clear sky to plausible power in shares of the peak.
func newScene(c *forecast.ClearSky, share series.Series, wx Weather, workers int) *siteSeries {
	n := share.Len()
	s := &siteSeries{start: share.Start, step: share.Step, power: make([]float32, n), clear: make([]float32, n)}
	light := c.Over(share.Start, share.Step, n, workers)
	for i, v := range share.Values {
		s.power[i] = float32(v)
		if v != v && light.Share[i] <= 0 {
			s.power[i] = 0 // loggers that sleep at night
		}
	}
	levels := learnLevels(share.Start, share.Step, s.power, light.Base)
	for i := range s.clear {
		s.clear[i] = levels.clear(s.time(i).Add(s.step/2), s.step, light.Base[i], light.Share[i])
	}
	if wx.GHI.Len() > 0 {
		s.cloud = cloudIndex(c, wx.GHI, share.Start, share.Step, n, workers)
	}
	if wx.Siblings.Len() > 0 {
		s.beside = siblingIndex(c, wx.Siblings, share.Start, share.Step, n, workers)
	}
	s.note(c.Location.LongitudeDeg)
	return s
}

// note fills what follows from power and clear.
func (s *siteSeries) note(longitudeDeg float64) {
	n := len(s.power)
	s.turn, s.index, s.place = make([]float32, n), make([]float32, n), make([]int32, n+1)
	s.lit, s.first = nil, nil
	s.sumPower, s.sumClear = []float64{0}, []float64{0}
	for i, c := range s.clear {
		s.place[i] = int32(len(s.lit))
		hour := math.Mod(float64(s.time(i).Add(s.step/2).Unix())/3600+longitudeDeg/15+48, 24)
		s.turn[i] = float32(hour-12) / 6
		if !(c > daylight) {
			continue
		}
		p := s.power[i]
		k := len(s.lit)
		s.first = append(s.first, k == 0 || s.lit[k-1] != int32(i-1))
		s.lit = append(s.lit, int32(i))
		sumP, sumC := s.sumPower[k], s.sumClear[k]
		if p == p {
			s.index[i] = min(p/c, topIndex)
			sumP, sumC = sumP+float64(p), sumC+float64(c)
		}
		s.sumPower, s.sumClear = append(s.sumPower, sumP), append(s.sumClear, sumC)
	}
	s.place[n] = int32(len(s.lit))
	if s.beside != nil {
		s.compare()
	}
	s.middle = 0.6 // where nothing was seen
	if k := len(s.lit); s.sumClear[k] > 0 {
		s.middle = float32(s.sumPower[k] / s.sumClear[k])
	}
}

// coarse is s by the hour of the clock; s itself where it is hourly already.
func (s *siteSeries) coarse(longitudeDeg float64) *siteSeries {
	if s.step >= time.Hour {
		return s
	}
	from := s.start.Truncate(time.Hour)
	n := int((s.time(len(s.power)).Sub(from) + time.Hour - 1) / time.Hour)
	c := &siteSeries{start: from, step: time.Hour, power: make([]float32, n), clear: make([]float32, n)}
	if s.cloud != nil {
		c.cloud = make([]float32, n)
	}
	steps := s.perHour()
	for h := range n {
		i, j := s.within(c, h)
		var all float32
		for _, v := range s.clear[i:j] {
			all += v
		}
		c.clear[h] = all / max(float32(j-i), steps) // hours at the ends are not whole
		index, known := s.meanIndex(i, j, j, j)
		c.power[h] = nan32()
		if known {
			c.power[h] = float32(index * c.clear[h])
		}
		if c.cloud != nil {
			c.cloud[h] = mean(s.cloud[i:j])
		}
	}
	c.note(longitudeDeg)
	return c
}

// within are the steps of s whose middle lies in step h of c.
func (s *siteSeries) within(c *siteSeries, h int) (i, j int) {
	at := func(t time.Time) int {
		// The first step whose middle is not before t.
		d := t.Sub(s.start) - s.step/2
		k := int(d / s.step)
		if d > 0 && d%s.step != 0 {
			k++
		}
		return min(max(k, 0), len(s.power))
	}
	return at(c.time(h)), at(c.time(h + 1))
}

// meanIndex returns the clear-sky index of steps [i, j) as if [hideFrom,
// hideTo) were missing. known is false if less than half of the clear-sky
// energy was measured.
func (s *siteSeries) meanIndex(i, j, hideFrom, hideTo int) (index float32, known bool) {
	var power, clear, all float32
	for k := i; k < j; k++ {
		all += s.clear[k]
		if p := s.power[k]; p == p && (k < hideFrom || k >= hideTo) {
			power, clear = power+p, clear+s.clear[k]
		}
	}
	if !(clear > 0) || clear < 0.5*all {
		return 0, false
	}
	return min(power/clear, topIndex), true
}

func mean(v []float32) float32 {
	var sum, n float32
	for _, x := range v {
		if x == x {
			sum, n = sum+x, n+1
		}
	}
	if n == 0 {
		return nan32()
	}
	return sum / n
}

// faintGHI is the clear-sky irradiance in W/m² below which the weather's index
// is not meaningful.
const faintGHI = 20

// cloudIndex returns measured or forecast irradiance over that of a clear sky,
// at the middles of n steps; NaN where the weather is unknown.
func cloudIndex(c *forecast.ClearSky, ghi series.Series, start time.Time, step time.Duration, n, workers int) []float32 {
	ghi = notFiner(ghi, step)
	light := c.Over(ghi.Start, ghi.Step, ghi.Len(), workers)
	own := make([]float32, ghi.Len())
	for i, v := range ghi.Values {
		own[i] = nan32()
		if k := light.GHI[i]; k > faintGHI && v >= 0 && !math.IsInf(v, 0) {
			own[i] = min(float32(v)/k, topIndex)
		}
	}
	return atMiddles(ghi, own, start, step, n)
}

// notFiner is s by steps that are not shorter.
func notFiner(s series.Series, step time.Duration) series.Series {
	if s.Step >= step {
		return s
	}
	return s.Resample(step)
}

// atMiddles takes values of the steps of grid to the middles of n other steps,
// by straight lines.
func atMiddles(grid series.Series, values []float32, start time.Time, step time.Duration, n int) []float32 {
	get := func(k int) float32 {
		if k < 0 || k >= len(values) {
			return nan32()
		}
		return values[k]
	}
	out := make([]float32, n)
	for i := range out {
		at := start.Add(time.Duration(i)*step+step/2).Sub(grid.Start) - grid.Step/2
		k := int(floorDiv(int64(at), int64(grid.Step)))
		f := float32(at-time.Duration(k)*grid.Step) / float32(grid.Step)
		a, b := get(k), get(k+1)
		switch {
		case f == 0:
			out[i] = a
		case a == a && b == b:
			out[i] = a + float32(f*(b-a))
		case f <= 0.5: // half a step beyond what is known
			out[i] = a
		default:
			out[i] = b
		}
	}
	return out
}
