package forecast

import "math"

// spec is which features a set of learners sees: the sun, and the site's past
// or the weather and a little of the past.
type spec struct {
	Weather bool
	Columns []columnSpec // of the weather
	Perfect bool         // the columns were measured: no forecast is as good
	Spare   bool         // it is only used if the weather forecast is missing
	Season  bool         // the day of the year: with less than two years it only memorises
}

var (
	sunNames  = []string{"clear_sky", "base", "sun_sine", "solar_hour", "lead_h"}
	pastNames = []string{"index_day", "index_eve", "index_third", "index_week", "index_month",
		"index_hour_1", "index_hour_2", "index_last_3h", "index_spread_day", "index_hour_month",
		"analog_p10", "analog_p50", "analog_p90"}
	latelyNames = []string{"index_day", "index_week", "index_hour_1", "index_last_3h"}
	seasonNames = []string{"season_sin", "season_cos"}
)

func (s spec) names() []string {
	out := append([]string(nil), sunNames...)
	if s.Weather {
		out = append(out, outlookNames...)
		for _, c := range s.Columns {
			out = append(out, "wx:"+c.Name)
		}
		out = append(out, latelyNames...)
	} else {
		out = append(out, pastNames...)
	}
	if s.Season {
		out = append(out, seasonNames...)
	}
	return out
}

var analogQuantiles = []float64{0.1, 0.5, 0.9}

// maximumLeadH is the lead time above which forecasts do not become harder.
const maximumLeadH = 96

// siteContext holds what is known of a site at some time.
type siteContext struct {
	longitudeDeg float64
	sky          sky
	env          *envelope
	past         *history
	wx           *outlook // nil without weather
	// blindfold hides the latest power from half of the issues, so that
	// learners know what to do when none has come.
	blindfold bool
}

// issueView holds what is known at an issue hour: everything before it.
type issueView struct {
	issue   int64 // hours since 1970
	day     [3]float32
	week    float32
	month   float32
	last    float32
	spread  float32
	analogs [analogHorizonDays + 1]*analogs
}

func (w *siteContext) view(issue int64) *issueView {
	p := w.past
	v := &issueView{issue: issue}
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

// lead returns the number of whole days between the issue and a target hour.
func (v *issueView) lead(h int64) int {
	return int(min(max(h-v.issue, 0)/24, analogHorizonDays))
}

// similar returns the analogs for the lead of target hour h. Leads beyond the
// last use the last one's; the days back must then reach before the issue.
func (v *issueView) similar(p *history, h int64) analogs {
	l := v.lead(h)
	if v.analogs[l] == nil {
		a := p.findAnalogs(v.issue, l)
		v.analogs[l] = &a
	}
	return *v.analogs[l]
}

// knownHour moves a target hour back by whole days until it and its neighbour lie
// before the issue, at the same hour of the day.
func (v *issueView) knownHour(h int64) int64 {
	if h+1 < v.issue {
		return h
	}
	return h - 24*((h+1-v.issue)/24+1)
}

// around is the index of an hour and its neighbours, the middle counting most.
func (p *history) around(h int64) float32 {
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

// scale returns the scale of a set of learners' targets and predictions, from
// the first two features of a row: the clear-sky power and the base.
func (w *siteContext) scale(s spec, clear, base float32) float32 {
	if s.Weather {
		// Half of each: the learned envelope includes shading, the
		// plain one covers seasons without data.
		return (clear+w.env.plain(base))/2 + scaleFloor
	}
	return clear + scaleFloor
}

// row appends the features of the target of n ticks at tick t, seen by v, and
// answers the scale too.
func (w *siteContext) row(dst []float32, s spec, v *issueView, t int64, n int) (row []float32, scale float32) {
	clear, base := w.env.over(&w.sky, t, n), w.sky.mean(w.sky.base, t, n)
	middle := float64(t) + float64(n)/2
	solarHour := math.Mod(middle/ticksPerHour+w.longitudeDeg/15, hours)
	lead := min(middle/ticksPerHour-float64(v.issue), maximumLeadH)
	dst = append(dst, clear, base, w.sky.mean(w.sky.sine, t, n), float32(solarHour), float32(lead))
	if s.Weather {
		dst = w.wx.features(dst, clear, t)
		dst = w.lately(dst, v, floorDiv(t, ticksPerHour))
	} else {
		dst = w.pastFeatures(dst, v, floorDiv(t, ticksPerHour))
	}
	if s.Season {
		at := 2 * math.Pi * float64(yearTick(t)) / (365.25 * ticksPerDay)
		dst = append(dst, float32(math.Sin(at)), float32(math.Cos(at)))
	}
	return dst, w.scale(s, clear, base)
}

// lately appends the recent past that adds information to the weather: the
// site's index of the last days and of this morning.
func (w *siteContext) lately(dst []float32, v *issueView, h int64) []float32 {
	if w.blindfold && splitmix(uint64(v.issue))%2 == 0 {
		return append(dst, nan32(), nan32(), nan32(), nan32())
	}
	return append(dst, v.day[0], v.week, w.past.around(v.knownHour(h)), v.last)
}

// pastFeatures appends the features of the site's past at v for target hour h.
func (w *siteContext) pastFeatures(dst []float32, v *issueView, h int64) []float32 {
	before := v.knownHour(h)
	dst = append(dst, v.day[0], v.day[1], v.day[2], v.week, v.month,
		w.past.around(before), w.past.around(before-24), v.last, v.spread, w.hourMonth(before))
	var q [3]float32
	v.similar(w.past, h).quantiles(w.past, v.target(h), analogQuantiles, q[:])
	return append(dst, q[:]...)
}

// target returns the hour from which the shifts of the analogs are counted: h
// itself, or with a long lead the same hour of the last day with analogs.
func (v *issueView) target(h int64) int64 {
	if far := (h - v.issue) / 24; far > analogHorizonDays {
		return h - 24*(far-analogHorizonDays)
	}
	return h
}

// hourMonth is the mean index at one hour of the day over the 30 days to h.
func (w *siteContext) hourMonth(h int64) float32 {
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
