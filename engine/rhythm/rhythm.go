// Package rhythm learns from the arrivals of a site's data when further data are due, and
// reports when they have stopped. An arrival is a delivery with newer samples than any
// before it: a file, or samples of a device.
//
// A site delivers continuously, with pauses at night if its units sleep, or at longer
// intervals, as by a file each morning. Both are learned; before enough is known, a site
// is never silent. All rules use UTC: a change of the clock moves arrivals by an hour,
// which each limit allows.
package rhythm

import (
	"slices"
	"time"

	"app.sunloop/internal/display"
)

// Figures of the rules.
const (
	fresh       = 72 * time.Hour   // age of the newest sample above which a delivery is history
	together    = 5 * time.Minute  // deliveries within this time are one arrival
	maxDays     = 14               // remembered days
	maxGaps     = 48               // remembered intervals within a day
	maxLong     = 16               // remembered intervals of 6 hours and more
	longGap     = 6 * time.Hour    // an interval that a night may also cause
	leastDays   = 3                // whole days before a site counts as continuous
	leastLong   = 4                // intervals before a site counts as one that delivers at intervals
	continuous  = 3                // arrivals in the median day
	often       = 0.75             // share of days with an arrival in an hour, from which it counts
	leastSilent = 30 * time.Minute // of the hours that count
	gapFactor   = 3                // times the usual interval
	leastLate   = 2 * time.Hour    // by which a delivery at intervals is late
	irregular   = 4                // times the median interval: the longest one shows no rhythm
	repeats     = 2                // deliveries without newer samples that show a repetition
)

// Day is what is remembered of a day: its number since 1970, the hours with an arrival as
// bits, and how many arrivals there were.
type Day struct {
	Number   int    `json:"n"`
	Hours    uint32 `json:"h"`
	Arrivals int    `json:"a"`
}

// Record is what is remembered of a site's arrivals. The zero value is one without any.
type Record struct {
	Last    time.Time `json:"last,omitzero"`   // the last arrival
	Newest  time.Time `json:"newest,omitzero"` // sample
	Days    []Day     `json:"days,omitempty" limit:"14"`
	Gaps    []int     `json:"gaps,omitempty" limit:"48"` // intervals within a day, s
	Long    []int     `json:"long,omitempty" limit:"16"` // longer intervals, s
	Old     int       `json:"old,omitempty"`             // deliveries since Last that held no newer sample
	OldLast time.Time `json:"old_last,omitzero"`         // the last of them
}

// IsZero reports whether nothing is remembered.
func (r Record) IsZero() bool { return r.Last.IsZero() && r.Old == 0 }

// Add remembers a delivery whose newest sample has the time newest.
func (r *Record) Add(at, newest time.Time) {
	at, newest = at.UTC().Truncate(time.Second), newest.UTC().Truncate(time.Second)
	switch {
	case newest.IsZero() || at.Before(r.Last):
		return // the clock was set back: the next arrivals show the rhythm
	case !newest.After(r.Newest):
		if !r.Last.IsZero() && at.Sub(r.OldLast) >= together && at.Sub(r.Last) >= together {
			r.Old, r.OldLast = r.Old+1, at
		}
		return
	}
	r.Newest = newest
	if at.Sub(newest) > fresh {
		return // history
	}
	r.Old, r.OldLast = 0, time.Time{}
	gap := at.Sub(r.Last)
	switch {
	case r.Last.IsZero():
	case gap < together:
		r.Last = at // a delivery in several files ends later
		return
	case gap >= longGap:
		r.Long = keep(r.Long, int(gap/time.Second), maxLong)
	default:
		r.Gaps = keep(r.Gaps, int(gap/time.Second), maxGaps)
	}
	r.Last = at
	number := dayNumber(at)
	if n := len(r.Days); n == 0 || r.Days[n-1].Number != number {
		r.Days = keep(r.Days, Day{Number: number}, maxDays)
	}
	d := &r.Days[len(r.Days)-1]
	d.Hours |= 1 << at.Hour()
	d.Arrivals++
}

func keep[T any](list []T, v T, most int) []T {
	list = append(list, v)
	return slices.Clone(list[max(len(list)-most, 0):])
}

func dayNumber(t time.Time) int { return int(t.Unix() / 86400) }

// Evaluation is what the rhythm of a site says at a time.
type Evaluation struct {
	Known     bool          // there is a rhythm
	Silent    bool          // further data were due
	Since     time.Time     // of the last arrival
	Usual     time.Duration // the usual interval between arrivals, while the site delivers
	Daily     bool          // it delivers at intervals of hours or days
	Repeating bool          // deliveries arrived since, without newer samples
}

// Describe is the rhythm as words, such as "every 15 minutes".
func (v Evaluation) Describe() string {
	minutes := int(v.Usual.Round(time.Minute) / time.Minute)
	switch {
	case !v.Known:
		return "unknown"
	case minutes >= 22*60 && minutes <= 26*60:
		return "each day"
	case minutes >= 48*60:
		return "every " + display.CountOf((minutes+12*60)/(24*60), "day", "days")
	case minutes >= 120:
		return "every " + display.CountOf((minutes+30)/60, "hour", "hours")
	case minutes <= 1:
		return "every minute"
	}
	return "every " + display.CountOf(minutes, "minute", "minutes")
}

// Judge reports whether the data of a site have stopped.
func (r Record) Judge(now time.Time) Evaluation {
	v := Evaluation{Since: r.Last}
	if r.Last.IsZero() || now.Before(r.Last) {
		return v
	}
	if hours, ok := r.usualHours(now); ok && len(r.Gaps) >= continuous {
		v.Known, v.Usual = true, quantile(r.Gaps, 0.5)
		limit := max(leastSilent, gapFactor*quantile(r.Gaps, 0.95))
		v.Silent = counted(r.Last, now, hours, limit) > limit
	} else if len(r.Long) >= leastLong && !ok {
		v.Usual = quantile(r.Long, 0.5)
		longest := quantile(r.Long, 0.95)
		v.Known = longest <= irregular*v.Usual
		v.Daily = v.Known
		v.Silent = v.Known && now.Sub(r.Last) > longest+max(leastLate, longest/10)
	}
	v.Repeating = v.Silent && r.Old >= repeats
	return v
}

// usualHours returns the hours of the day in which the site usually delivers, without the
// first and the last of a stretch, in which it may begin late and end early. ok is false
// if it does not deliver continuously, or too few days are known.
func (r Record) usualHours(now time.Time) (hours uint32, ok bool) {
	var counts []int
	var with [24]int
	for _, d := range r.Days {
		if d.Number == dayNumber(now) || d.Number == dayNumber(r.Last) {
			continue // a day that has not ended, or on which it stopped
		}
		counts = append(counts, d.Arrivals)
		for h := range 24 {
			with[h] += int(d.Hours >> h & 1)
		}
	}
	if len(counts) < leastDays {
		return 0, false
	}
	slices.Sort(counts)
	if counts[len(counts)/2] < continuous {
		return 0, false
	}
	var usual uint32
	for h, n := range with {
		if float64(n) >= often*float64(len(counts)) {
			usual |= 1 << h
		}
	}
	for h := range 24 {
		if usual>>h&1 == 1 && usual>>((h+1)%24)&1 == 1 && usual>>((h+23)%24)&1 == 1 {
			hours |= 1 << h
		}
	}
	return hours, hours != 0
}

// counted is the time of the given hours of the day between two times; it stops counting
// above enough.
func counted(from, to time.Time, hours uint32, enough time.Duration) time.Duration {
	var sum time.Duration
	for t := from.UTC(); t.Before(to) && sum <= enough; {
		next := t.Truncate(time.Hour).Add(time.Hour)
		if next.After(to) {
			next = to
		}
		if hours>>t.Hour()&1 == 1 {
			sum += next.Sub(t)
		}
		t = next
	}
	return sum
}

// quantile is a quantile of intervals in seconds, which must not be empty.
func quantile(list []int, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return time.Duration(sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]) * time.Second
}
