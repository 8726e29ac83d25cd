package forecast

import (
	"math"
	"time"

	"app.sunloop/engine/learn/quantile"
	"app.sunloop/engine/solar"
)

func sineElevation(pos solar.Position) float64 {
	return math.Cos(pos.ApparentZenithDeg * math.Pi / 180)
}

// envelope is what the site gives under a clear sky: the clear sky in the
// modules' plane times a ratio learned for each week of the year and hour of
// the day, which holds shading, clipping, temperature and what else returns.
type envelope struct {
	ratios [weeks * hours]float32 // share of peak over base
}

const (
	weeks, hours = 53, 24
	weekTicks    = 7 * ticksPerDay

	// The 88th percentile over three weeks to either side is the clear-sky
	// level: higher ones follow cloud edges, lower ones sink in dull months.
	clearPercentile = 0.88
	minimumBase     = 0.04 // below it ratios are noise
	enoughDays      = 10
	topRatio        = 3
)

// windows are how far around a week's middle days may lie, in days, until
// enough of them have a value.
var windows = [...]int{21, 35, 60, 120, 400}

// yearTick is how many ticks of its year lie before t.
func yearTick(t int64) int64 {
	at := time.Unix(t*tickSeconds, 0).UTC()
	return int64(at.YearDay()-1)*ticksPerDay + int64(at.Hour()*ticksPerHour+at.Minute()/15)
}

// learnEnvelope takes the hourly past before hour end.
func learnEnvelope(s *sky, p *past, end int64) *envelope {
	e := &envelope{}
	// Ratios by hour of the day and day of the year.
	type sample struct {
		day   int
		ratio float32
	}
	var by [hours][]sample
	var all []float32
	for i, v := range p.power {
		h := p.start + int64(i)
		if h >= end {
			break
		}
		if v != v {
			continue
		}
		base := s.hourlyBase(h)
		if base < minimumBase {
			continue
		}
		r := min(v/base, topRatio)
		slot := int(floorMod(h, hours))
		by[slot] = append(by[slot], sample{int(yearTick(h*ticksPerHour) / ticksPerDay), r})
		all = append(all, r)
	}
	overall := quantile.Select(all, clearPercentile)
	buf := make([]float32, 0, len(all))
	for w := range weeks {
		middle := w*7 + 3
		for slot := range hours {
			ratio := overall
			for _, reach := range windows {
				buf = buf[:0]
				for _, x := range by[slot] {
					if apart(x.day, middle) <= reach {
						buf = append(buf, x.ratio)
					}
				}
				if len(buf) >= enoughDays {
					ratio = quantile.Select(buf, clearPercentile)
					break
				}
			}
			e.ratios[w*hours+slot] = ratio
		}
	}
	return e
}

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

// ratio is the learned ratio at tick t, linear between the middles of weeks
// and of hours.
func (e *envelope) ratio(t int64) float32 {
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
	at := func(w, h int) float32 { return e.ratios[w*hours+h] }
	a := at(w0, h0) + float32(fh*(at(w0, h1)-at(w0, h0)))
	b := at(w1, h0) + float32(fh*(at(w1, h1)-at(w1, h0)))
	return a + float32(fw*(b-a))
}

// topShare bounds the envelope in shares of the peak.
const topShare = 1.1

// share is the clear-sky power at tick t under base, in shares of the peak.
func (e *envelope) share(t int64, base float32) float32 {
	if base <= 0 {
		return 0
	}
	return min(base*e.ratio(t), topShare)
}

// over is the mean clear-sky share over n ticks from t on.
func (e *envelope) over(s *sky, t int64, n int) float32 {
	var sum float32
	for k := t; k < t+int64(n); k++ {
		if i := k - s.start; i >= 0 && i < int64(len(s.base)) {
			sum += e.share(k, s.base[i])
		}
	}
	return sum / float32(n)
}
