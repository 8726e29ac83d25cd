package metric

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"app.sunloop/engine/forecast"
)

// Interval is what a forecast is filed under.
type Interval struct {
	Issue  time.Time // of the forecast
	Day    string    // the site's day, 2006-01-02
	Bright bool      // the sun is up: coverage and width are counted
	At     time.Time // start of the interval
	Step   time.Duration
	Clear  float64 // clear-sky power, a share of the capacity
}

// Tally adds up forecasts and what came true. The zero Tally is empty.
type Tally struct {
	all    sums
	months map[string]*sums
	days   map[day]*energy
}

type day struct {
	issue int64
	date  string
}

// energy is of one day of an issue, in shares of the capacity times intervals.
type energy struct {
	forecast, actual float64
	points           []forecast.Point // with the sun up
	bright           float64          // what was measured in them, times their hours
}

// sums are over n intervals, of which bright have the sun up.
type sums struct {
	n, bright                                   int
	pinball, deciles, absolute, squared, signed float64
	covered, width                              float64
}

func (s *sums) add(o *sums) {
	s.n, s.bright = s.n+o.n, s.bright+o.bright
	s.pinball, s.deciles = s.pinball+o.pinball, s.deciles+o.deciles
	s.absolute, s.squared, s.signed = s.absolute+o.absolute, s.squared+o.squared, s.signed+o.signed
	s.covered, s.width = s.covered+o.covered, s.width+o.width
}

// Add files one interval. The actual must have been measured.
func (t *Tally) Add(at Interval, d *Distribution, actual float64) {
	if t.months == nil {
		t.months, t.days = map[string]*sums{}, map[day]*energy{}
	}
	mean := d.Mean()
	one := sums{n: 1, absolute: math.Abs(d.Median() - actual), squared: (mean - actual) * (mean - actual), signed: mean - actual}
	one.pinball, one.deciles = d.Pinball(actual)
	if at.Bright {
		one.bright, one.width = 1, d[high]-d[low]
		if actual >= d[low] && actual <= d[high] {
			one.covered = 1
		}
	}
	t.all.add(&one)
	monthOf(t.months, at.Day[:len("2006-01")]).add(&one)
	k := day{at.Issue.Unix(), at.Day}
	e := t.days[k]
	if e == nil {
		e = &energy{}
		t.days[k] = e
	}
	e.forecast += mean
	e.actual += actual
	if at.Bright && d[high] > d[low] {
		e.points = append(e.points, forecast.Point{Time: at.At, Step: at.Step, P10KW: d[low], P50KW: d.Median(), P90KW: d[high], ClearSkyKW: at.Clear})
		e.bright += actual * at.Step.Hours()
	}
}

func monthOf(months map[string]*sums, name string) *sums {
	m := months[name]
	if m == nil {
		m = &sums{}
		months[name] = m
	}
	return m
}

// Merge adds what another tally holds, which must be of other issues.
func (t *Tally) Merge(o *Tally) {
	if t.months == nil {
		t.months, t.days = map[string]*sums{}, map[day]*energy{}
	}
	t.all.add(&o.all)
	for name, s := range o.months {
		monthOf(t.months, name).add(s)
	}
	maps.Copy(t.days, o.days)
}

// Len is how many intervals were added.
func (t *Tally) Len() int { return t.all.n }

// Scores are the figures of all intervals; zero where there are none.
func (t *Tally) Scores() Scores {
	s := t.all.scores()
	s.DailyEnergyError = energyError(t.days, "")
	s.Coverage80Day, s.Width80Day, s.Uncalibrated80Day = dayBands(t.days)
	return s
}

// Months are the figures by month of the site's calendar, ascending.
func (t *Tally) Months() []Month {
	var out []Month
	for _, name := range slices.Sorted(maps.Keys(t.months)) {
		s := t.months[name].scores()
		s.DailyEnergyError = energyError(t.days, name)
		out = append(out, Month{name, s})
	}
	return out
}

// energyError is over the days of a month, of all for none. The days are taken
// in order: sums must not depend on that of a map.
func energyError(days map[day]*energy, month string) float64 {
	keys := slices.SortedFunc(maps.Keys(days), func(a, b day) int {
		return cmp.Or(cmp.Compare(a.issue, b.issue), cmp.Compare(a.date, b.date))
	})
	off, total := 0.0, 0.0
	for _, k := range keys {
		if month == "" || k.date[:len(month)] == month {
			off += math.Abs(days[k].forecast - days[k].actual)
			total += days[k].actual
		}
	}
	if total <= 0 {
		return 0
	}
	return off / total
}

// leastOfDay is the time with the sun up that a day must have to count as one.
const leastOfDay = 4 * time.Hour

// dayBands returns the share of days whose energy lies within P10 … P90 of the day,
// and the mean width of that band over the mean energy of a day. The band of a day
// is fitted to the site by the days before it; uncalibrated is the share without.
func dayBands(days map[day]*energy) (coverage, width, uncalibrated float64) {
	var fitted forecast.DayBand
	keys := slices.SortedFunc(maps.Keys(days), func(a, b day) int {
		return cmp.Or(cmp.Compare(a.issue, b.issue), cmp.Compare(a.date, b.date))
	})
	n, actual := 0.0, 0.0
	for _, k := range keys {
		d := days[k]
		if len(d.points) == 0 || time.Duration(len(d.points))*d.points[0].Step < leastOfDay {
			continue
		}
		raw := forecast.EnergyOf(d.points)
		band := fitted.Apply(raw)
		fitted = fitted.Observe(raw, d.bright)
		n, actual, width = n+1, actual+d.bright, width+band.P90-band.P10
		if band.P10 <= d.bright && d.bright <= band.P90 {
			coverage++
		}
		if raw.P10 <= d.bright && d.bright <= raw.P90 {
			uncalibrated++
		}
	}
	if n == 0 || actual <= 0 {
		return 0, 0, 0
	}
	return coverage / n, width / actual, uncalibrated / n
}

func (s *sums) scores() Scores {
	if s.n == 0 {
		return Scores{}
	}
	n := float64(s.n)
	out := Scores{N: s.n, Pinball: s.pinball / n, PinballDeciles: s.deciles / n, CRPS: 2 * s.pinball / n,
		NMAE: s.absolute / n, NRMSE: math.Sqrt(s.squared / n), NMBE: s.signed / n}
	if s.bright > 0 {
		out.Coverage80, out.Width80 = s.covered/float64(s.bright), s.width/float64(s.bright)
	}
	return out
}
