package forecast

import (
	"cmp"
	"math"
	"slices"
	"time"

	"app.sunloop/engine/learn/portable"
	"app.sunloop/engine/learn/quantile"
	"app.sunloop/engine/solar"
)

func sineElevation(pos solar.Position) float64 {
	return math.Cos(pos.ApparentZenithDeg * math.Pi / 180)
}

// envelope is the site's power under a clear sky: the clear-sky irradiance in
// the modules' plane times a ratio learned for each week of the year and hour
// of the day, which covers shading, clipping, temperature and other recurring
// effects. Where the sun is too low for a ratio, or below the horizon because
// the coordinates are wrong, it is the power observed there.
type envelope struct {
	ratios  [weeks * hours]float32 // share of peak over base
	dim     [weeks * hours]float32 // share of peak while the base is below minimumBase
	overall float32                // share of peak over base, of all hours alike
	lit     [hours]bool            // the hours that have any dim level, or a neighbour with one
}

const (
	weeks, hours = 53, 24
	weekTicks    = 7 * ticksPerDay

	// The 88th percentile over about three weeks on either side is the
	// clear-sky level: higher percentiles follow cloud edges, lower ones
	// drop in overcast months.
	clearPercentile = 0.88
	minimumBase     = 0.03 // below it ratios are noise
	topRatio        = 3
)

// weekWeight is the weight of a day for a week by its distance from the week's
// middle: a bell of 13 days, and a long tail that only matters for seasons
// without data.
var weekWeight = func() (w [184]int64) {
	for d := range w {
		bell := portable.Exp(-0.5 * float64(d*d) / (13 * 13))
		w[d] = int64(1e6 * (bell + 0.03*portable.Exp(-float64(d)/40)))
	}
	return w
}()

// yearTick is how many ticks of its year lie before t.
func yearTick(t int64) int64 {
	at := time.Unix(t*tickSeconds, 0).UTC()
	return int64(at.YearDay()-1)*ticksPerDay + int64(at.Hour()*ticksPerHour+at.Minute()/15)
}

// learnEnvelope takes the hourly past before hour end.
func learnEnvelope(s *sky, p *history, end int64) *envelope {
	e := &envelope{}
	var bright, dark [hours][]seenShare
	var all []float32
	for i, v := range p.power {
		h := p.start + int64(i)
		if h >= end {
			break
		}
		if v != v {
			continue
		}
		slot, day := int(floorMod(h, hours)), int32(yearTick(h*ticksPerHour)/ticksPerDay)
		base := s.hourlyBase(h)
		if base < minimumBase {
			dark[slot] = append(dark[slot], seenShare{v, day})
			continue
		}
		r := min(v/base, topRatio)
		bright[slot] = append(bright[slot], seenShare{r, day})
		all = append(all, r)
	}
	overall := quantile.Select(all, clearPercentile)
	e.overall = overall
	for slot := range hours {
		clearLevels(bright[slot], 1, overall, e.ratios[:], slot)
		// Below the horizon only the season itself carries information.
		clearLevels(dark[slot], darkEvidence, 0, e.dim[:], slot)
	}
	e.note()
	return e
}

// note sets lit from dim.
func (e *envelope) note() {
	e.lit = [hours]bool{}
	for i, v := range e.dim {
		if v > 0 {
			slot := i % hours
			e.lit[slot], e.lit[(slot+1)%hours], e.lit[(slot+hours-1)%hours] = true, true, true
		}
	}
}

type seenShare struct {
	value float32
	day   int32 // of the year
}

// darkEvidence is the weight of five days of the week itself.
const darkEvidence = 5e6

// clearLevels writes the clear-sky level of one hour of the day for all weeks,
// or otherwise where the weight of the samples is below least.
func clearLevels(samples []seenShare, least int64, otherwise float32, out []float32, slot int) {
	slices.SortFunc(samples, func(a, b seenShare) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.day, b.day))
	})
	for w := range weeks {
		weight := &dayWeight[w]
		var total int64
		for _, x := range samples {
			total += weight[x.day]
		}
		out[w*hours+slot] = otherwise
		if total < max(least, 1) {
			continue
		}
		// From the top: there the level is nearer.
		above := total - int64(clearPercentile*float64(total))
		at := len(samples) - 1
		for ; at > 0; at-- {
			if above -= weight[samples[at].day]; above < 0 {
				break
			}
		}
		out[w*hours+slot] = samples[at].value
	}
}

// dayWeight is weekWeight for each week and day of the year.
var dayWeight = func() (out [weeks][366]int64) {
	for w := range out {
		for day := range out[w] {
			out[w][day] = weekWeight[apart(day, w*7+3)]
		}
	}
	return out
}()

// apart is the distance of two days of the year.
func apart(a, b int) int {
	d := a - b
	if d < 0 {
		d = -d
	}
	return min(d, 365-min(d, 365))
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

func (s *sky) hourlyBase(h int64) float32 {
	i := h*ticksPerHour - s.start
	if i < 0 || i+ticksPerHour > int64(len(s.base)) {
		return 0
	}
	var sum float32
	for _, b := range s.base[i : i+ticksPerHour] {
		sum += b
	}
	return sum / ticksPerHour
}

// share returns the clear-sky power at tick t for the irradiance base, in
// shares of the peak. Levels are interpolated linearly between the middles of
// weeks and of hours.
func (e *envelope) share(t int64, base float32) float32 {
	if base <= 0 && !e.lit[floorMod(t, ticksPerDay)/ticksPerHour] {
		return 0
	}
	week := (float32(yearTick(t))+0.5)/weekTicks - 0.5
	if week < 0 {
		week += float32(365) / 7
	}
	hour := (float32(floorMod(t, ticksPerDay))+0.5)/ticksPerHour - 0.5
	if hour < 0 {
		hour += hours
	}
	w0, h0 := int(week), int(hour)
	fw, fh := week-float32(w0), hour-float32(h0)
	w1, h1 := w0+1, (h0+1)%hours
	if w1 >= weeks {
		w1 = 0
	}
	w0 = min(w0, weeks-1)
	between := func(v *[weeks * hours]float32) float32 {
		a := v[w0*hours+h0] + float32(fh*(v[w0*hours+h1]-v[w0*hours+h0]))
		b := v[w1*hours+h0] + float32(fh*(v[w1*hours+h1]-v[w1*hours+h0]))
		return a + float32(fw*(b-a))
	}
	share := base * between(&e.ratios)
	if base < 2*minimumBase {
		share = max(share, between(&e.dim))
	}
	return min(share, topShare)
}

// plain returns the clear-sky power from the sun's position only, with one
// ratio for all hours and seasons, so that it is equally right for seasons
// without data.
func (e *envelope) plain(base float32) float32 { return min(e.overall*base, topShare) }

// topShare bounds the envelope in shares of the peak.
const topShare = 1.1

// over returns the mean clear-sky share of n ticks from t.
func (e *envelope) over(s *sky, t int64, n int) float32 {
	var sum float32
	for k := t; k < t+int64(n); k++ {
		if i := k - s.start; i >= 0 && i < int64(len(s.base)) {
			sum += e.share(k, s.base[i])
		}
	}
	return sum / float32(n)
}
