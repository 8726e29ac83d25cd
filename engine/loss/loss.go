// Package loss keeps the energy that a fault prevented, by hour, so that the loss
// of a day is what was lost on that day.
package loss

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Span is the energy lost from From to before To, in Unix seconds UTC.
type Span struct {
	From, To int64
	KWh      float64
}

// Ledger is the lost energy of an event: ascending spans that do not overlap, one
// for each hour of UTC while they are recent (see [Ledger.Condensed]), from the
// first second of the hour that lost energy to the last. Hours without a loss are
// absent. The zero Ledger is empty and ready to use.
//
// A copy of a Ledger shares its spans with the original; use Clone before both
// are changed.
type Ledger struct {
	spans []Span
	total float64
}

const hour = 3600

// FromSpans returns the ledger of spans, which it sorts. Spans without a positive
// finite loss or length, and those that overlap an earlier one, are left out.
func FromSpans(spans []Span) Ledger {
	list := slices.Clone(spans)
	slices.SortStableFunc(list, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	var l Ledger
	for _, s := range list {
		if n := len(l.spans); s.To > s.From && isLoss(s.KWh) && (n == 0 || l.spans[n-1].To <= s.From) {
			l.spans = append(l.spans, s)
			l.total += s.KWh
		}
	}
	return l
}

func isLoss(kWh float64) bool { return kWh > 0 && !math.IsInf(kWh, 0) }

// Spans returns the spans, ascending; the caller must not change them.
func (l Ledger) Spans() []Span { return l.spans }

// Total returns the sum of the losses in kWh.
func (l Ledger) Total() float64 { return l.total }

// Clone returns a copy that shares nothing with l.
func (l Ledger) Clone() Ledger { return Ledger{slices.Clone(l.spans), l.total} }

// Add adds kWh that were lost evenly from from to before to, in Unix seconds. It
// ignores a value that is not a positive finite loss.
func (l *Ledger) Add(from, to int64, kWh float64) {
	if !isLoss(kWh) || to <= from {
		return
	}
	for at := from; at < to; {
		end := min(hourOf(at)+hour, to)
		l.put(Span{at, end, kWh * float64(end-at) / float64(to-from)})
		at = end
	}
}

// hourOf returns the start of the hour that holds t.
func hourOf(t int64) int64 { return t - mod(t, hour) }

func mod(a, b int64) int64 { return ((a % b) + b) % b }

// put adds a span within an hour to that hour, or to the longer span around it.
func (l *Ledger) put(s Span) {
	l.total += s.KWh
	i := len(l.spans)
	for ; i > 0; i-- {
		had := &l.spans[i-1]
		if same := hourOf(had.From) == hourOf(s.From); same || had.From <= s.From && s.To <= had.To {
			had.KWh += s.KWh
			had.From, had.To = min(had.From, s.From), max(had.To, s.To)
			return
		}
		if had.From < s.From {
			break
		}
	}
	l.spans = slices.Insert(l.spans, i, s)
}

// AddScaled adds each loss of o times factor.
func (l *Ledger) AddScaled(o Ledger, factor float64) {
	for _, s := range o.spans {
		l.Add(s.From, s.To, s.KWh*factor)
	}
}

// Scaled returns l with each loss times factor.
func (l Ledger) Scaled(factor float64) (out Ledger) {
	out.AddScaled(l, factor)
	return out
}

// Between returns the loss from from to before to in kWh. It divides a span that
// lies only partly within in proportion.
func (l Ledger) Between(from, to time.Time) float64 {
	return l.between(from.Unix(), to.Unix())
}

func (l Ledger) between(a, b int64) (sum float64) {
	i, _ := slices.BinarySearchFunc(l.spans, a, func(s Span, t int64) int { return cmp.Compare(s.To, t+1) })
	for _, s := range l.spans[i:] {
		if s.From >= b {
			break
		}
		within := min(s.To, b) - max(s.From, a)
		if within == s.To-s.From {
			sum += s.KWh
		} else if within > 0 {
			sum += s.KWh * float64(within) / float64(s.To-s.From)
		}
	}
	return sum
}

// Before returns the losses before t, Unix seconds; a span around t is divided in
// proportion and ends at t.
func (l Ledger) Before(t int64) (out Ledger) {
	for _, s := range l.spans {
		if s.From >= t {
			break
		}
		if s.To > t {
			s.KWh *= float64(t-s.From) / float64(s.To-s.From)
			s.To = t
		}
		out.spans, out.total = append(out.spans, s), out.total+s.KWh
	}
	return out
}

// Sum returns the losses of all ledgers.
func Sum(ledgers ...Ledger) (out Ledger) {
	for _, l := range ledgers {
		for _, s := range l.spans {
			out.Add(s.From, s.To, s.KWh)
		}
	}
	return out
}

// Limits of what a condensed ledger keeps, before its end.
const (
	keptHours = 35 * 24 * time.Hour  // hour by hour
	keptDays  = 400 * 24 * time.Hour // day by day
	piece     = 28 * 24 * hour       // what is older, in pieces of this length
)

// Condensed returns l with at most about 850 hours, 365 days and a piece for
// every 28 days before them: hours of the 35 days before now stay, older ones are
// summed by the day of the zone, from the day's first hour with a loss to its
// last, and those of more than 400 days ago by pieces of 28 days.
func (l Ledger) Condensed(now time.Time, zone *time.Location) (out Ledger) {
	hours, days := now.Add(-keptHours).Unix(), now.Add(-keptDays).Unix()
	group, former := int64(-1), int64(math.MinInt64)
	for _, s := range l.spans {
		now := int64(-1)
		switch {
		case s.To <= days:
			now = s.From - mod(s.From, piece)
		case s.To <= hours:
			y, m, d := time.Unix(s.From, 0).In(zone).Date()
			now = time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() + 1 // not equal to the start of a piece
		}
		if n := len(out.spans); now >= 0 && now == group && former != math.MinInt64 {
			out.spans[n-1].To = s.To
			out.spans[n-1].KWh += s.KWh
		} else {
			out.spans = append(out.spans, s)
		}
		group, former, out.total = now, s.From, out.total+s.KWh
	}
	return out
}

// Tolerance is the relative difference below which a later estimate of an hour is
// the same: the estimate of what was expected moves a little with each day that
// is learned, and a figure of the past must not move with it.
const Tolerance = 0.05

// leastChange in kWh is the difference that is ignored in any case.
const leastChange = 0.01

// Revised returns the losses of an event by its former ledger and a later
// estimate of the same event.
//
// Hours that begin before from stay: the later run did not see them. An hour that
// was over at settled stays as well, unless the estimate differs from it by more
// than [Tolerance], as it does when data arrived late; what was not over takes
// the new value. If lasting, no hour falls, so that the sum of an active event
// never does.
func Revised(former, latest Ledger, from, settled int64, lasting bool) Ledger {
	kept := map[int64]bool{} // hours that the former ledger decides
	estimate := map[int64]Span{}
	for _, s := range latest.spans {
		estimate[hourOf(s.From)] = s
	}
	var spans []Span
	for _, f := range former.spans {
		h := hourOf(f.From)
		l, ok := estimate[h]
		same := ok && h+hour <= settled && !differs(f, l)
		if f.To <= h+hour && h >= from && !same && !(lasting && !(l.KWh > f.KWh)) {
			continue // the later estimate counts
		}
		for ; h < f.To; h += hour {
			kept[h] = true
		}
		spans = append(spans, f)
	}
	for _, s := range latest.spans {
		if h := hourOf(s.From); h >= from && !kept[h] {
			spans = append(spans, s)
		}
	}
	return FromSpans(spans)
}

// differs reports whether two estimates of an hour differ by more than the
// tolerance.
func differs(a, b Span) bool {
	return math.Abs(a.KWh-b.KWh) > max(Tolerance*max(a.KWh, b.KWh), leastChange)
}
