package forecast

import (
	"math"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

// spec is which features a set of learners sees.
type spec struct {
	Weather bool // a weather forecast's irradiance and temperature
	Season  bool // the day of the year: with less than 18 months it only memorises
}

var (
	baseNames = []string{"clear_sky", "base", "sun_sine", "solar_hour", "lead_h",
		"index_day", "index_eve", "index_third", "index_week", "index_month",
		"index_hour_1", "index_hour_2", "index_last_3h", "index_spread_day", "index_hour_month",
		"analog_p10", "analog_p50", "analog_p90"}
	weatherNames = []string{"wx_irradiance", "wx_index", "wx_index_before", "wx_index_after", "wx_index_day", "wx_power", "wx_temperature_c"}
	seasonNames  = []string{"season_sin", "season_cos"}
)

func (s spec) names() []string {
	out := append([]string(nil), baseNames...)
	if s.Weather {
		out = append(out, weatherNames...)
	}
	if s.Season {
		out = append(out, seasonNames...)
	}
	return out
}

var analogQuantiles = []float64{0.1, 0.5, 0.9}

// maximumLeadH: later leads are as hard as this one.
const maximumLeadH = 96

// world is what is known around a site at some moment.
type world struct {
	longitudeDeg float64
	sky          sky
	env          *envelope
	past         *past
	wx           *skyForecast // nil without weather
}

// view is what an issue hour knows: everything before it.
type view struct {
	issue   int64 // hours since 1970
	day     [3]float32
	week    float32
	month   float32
	last    float32
	spread  float32
	analogs [analogHorizonDays + 1]*analogs
}

func (w *world) view(issue int64) *view {
	p := w.past
	v := &view{issue: issue}
	for d := range v.day {
		v.day[d] = p.index(issue-24*int64(d+1), issue-24*int64(d))
	}
	v.week, v.month = p.index(issue-168, issue), p.index(issue-720, issue)
	v.last = nan32()
	// The last three hours of sun: this morning's, or yesterday evening's.
	for to := issue; to > issue-20; to-- {
		if k := p.at(to - 1); k == k {
			v.last = p.index(to-3, to)
			break
		}
	}
	var sum, squares, n float32
	for h := issue - 24; h < issue; h++ {
		if k := p.at(h); k == k {
			sum, squares, n = sum+k, squares+k*k, n+1
		}
	}
	v.spread = nan32()
	if n >= 4 {
		v.spread = float32(math.Sqrt(float64(max(squares/n-(sum/n)*(sum/n), 0))))
	}
	return v
}

// lead is how many whole days a target hour lies after the issue.
func (v *view) lead(h int64) int {
	return int(min(max(h-v.issue, 0)/24, analogHorizonDays))
}

// similar is the analogs for the lead of target hour h. Leads beyond the last
// use the last one's: then the days back must reach before the issue.
func (v *view) similar(p *past, h int64) analogs {
	l := v.lead(h)
	if v.analogs[l] == nil {
		a := p.findAnalogs(v.issue, l)
		v.analogs[l] = &a
	}
	return *v.analogs[l]
}

// seen moves a target hour back by whole days until it and its neighbour lie
// before the issue, at the same hour of the day.
func (v *view) seen(h int64) int64 {
	if h+1 < v.issue {
		return h
	}
	return h - 24*((h+1-v.issue)/24+1)
}

// around is the index of an hour and its neighbours, the middle counting most.
func (p *past) around(h int64) float32 {
	var sum, weight float32
	for d, share := range [3]float32{neighbourWeight, 1, neighbourWeight} {
		if k := p.at(h + int64(d) - 1); k == k {
			sum, weight = sum+share*k, weight+share
		}
	}
	if weight == 0 {
		return nan32()
	}
	return sum / weight
}

// row appends the features of the target of n ticks at tick t, seen by v.
func (w *world) row(dst []float32, s spec, v *view, t int64, n int) []float32 {
	i := int(t - w.sky.start)
	var base, sine float32
	for k := i; k < i+n; k++ {
		base, sine = base+w.sky.base[k], sine+w.sky.sine[k]
	}
	base, sine = base/float32(n), sine/float32(n)
	clear := w.env.over(&w.sky, t, n)
	h := floorDiv(t, ticksPerHour)
	middle := float64(t) + float64(n)/2
	solarHour := math.Mod(middle/ticksPerHour+w.longitudeDeg/15, hours)
	lead := min(middle/ticksPerHour-float64(v.issue), maximumLeadH)
	before := v.seen(h)
	dst = append(dst, clear, base, sine, float32(solarHour), float32(lead),
		v.day[0], v.day[1], v.day[2], v.week, v.month,
		w.past.around(before), w.past.around(before-24), v.last, v.spread, w.hourMonth(before))
	var q [3]float32
	v.similar(w.past, h).quantiles(w.past, v.target(h), analogQuantiles, q[:])
	dst = append(dst, q[:]...)
	if s.Weather {
		dst = w.wx.features(dst, &w.sky, clear, t, n)
	}
	if s.Season {
		at := 2 * math.Pi * float64(yearTick(t)) / (365.25 * ticksPerDay)
		dst = append(dst, float32(math.Sin(at)), float32(math.Cos(at)))
	}
	return dst
}

// target is the hour the analogs' shifts are counted from: h itself, or with a
// long lead the same hour of the last day whose analogs were sought.
func (v *view) target(h int64) int64 {
	if far := (h - v.issue) / 24; far > analogHorizonDays {
		return h - 24*(far-analogHorizonDays)
	}
	return h
}

// hourMonth is the mean index at one hour of the day over the 30 days to h.
func (w *world) hourMonth(h int64) float32 {
	var sum, n float32
	for d := int64(0); d < 30; d++ {
		if k := w.past.at(h - 24*d); k == k {
			sum, n = sum+k, n+1
		}
	}
	if n < 3 {
		return nan32()
	}
	return sum / n
}

// skyForecast is a weather forecast on the grid of a model's step.
type skyForecast struct {
	start       int64 // tick
	n           int   // ticks a value
	ghi         []float32
	temperature []float32
}

func (f *skyForecast) at(v []float32, t int64) float32 {
	if i := floorDiv(t-f.start, int64(f.n)); i >= 0 && i < int64(len(v)) {
		return v[i]
	}
	return nan32()
}

// index is the forecast's clear-sky index of irradiance at tick t; NaN where
// it is dark or unknown.
func (f *skyForecast) index(s *sky, t int64) float32 {
	t = f.start + floorDiv(t-f.start, int64(f.n))*int64(f.n)
	var clear float32
	for k := t; k < t+int64(f.n); k++ {
		if i := k - s.start; i >= 0 && i < int64(len(s.ghi)) {
			clear += s.ghi[i]
		}
	}
	clear /= float32(f.n)
	ghi := f.at(f.ghi, t)
	if clear < 10 || ghi != ghi {
		return nan32()
	}
	return min(max(ghi/clear, 0), topIndex)
}

func (f *skyForecast) features(dst []float32, s *sky, clear float32, t int64, n int) []float32 {
	k := f.index(s, t)
	var sum, count float32
	for h := int64(-4); h <= 4; h++ {
		if x := f.index(s, t+h*ticksPerHour); x == x {
			sum, count = sum+x, count+1
		}
	}
	day := nan32()
	if count > 0 {
		day = sum / count
	}
	return append(dst, f.at(f.ghi, t)/1000, k, f.index(s, t-ticksPerHour), f.index(s, t+ticksPerHour), day, k*clear, f.at(f.temperature, t))
}

// skyFrom puts series of irradiance and temperature on the model's grid.
func skyFrom(ghi, temperature series.Series, start int64, n, count int) *skyForecast {
	f := &skyForecast{start: start, n: n, ghi: make([]float32, count), temperature: make([]float32, count)}
	step := time.Duration(n) * tick
	ghi, temperature = resample(ghi, step), resample(temperature, step)
	for i := range f.ghi {
		t := tickTime(start + int64(i*n))
		f.ghi[i], f.temperature[i] = float32(ghi.At(t)), float32(temperature.At(t))
	}
	return f
}

// skyOf is an issued forecast's conditions, aligned to the model's grid.
func skyOf(conditions []weather.Conditions, start int64, n int) *skyForecast {
	f := &skyForecast{start: start, n: n}
	for _, c := range conditions {
		f.ghi, f.temperature = append(f.ghi, float32(c.GHI)), append(f.temperature, float32(c.TemperatureC))
	}
	return f
}
