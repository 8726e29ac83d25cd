package finding

import (
	"math"
	"slices"
	"time"

	"app.sunloop/backend/domain/record"
	"app.sunloop/engine/loss"
)

// Period is a time in which a fault was there: From to before To.
type Period struct{ From, To time.Time }

// LossRun is a stretch of losses without a gap: hour by hour of UTC from From to To,
// or one value for all of it where the losses are condensed.
type LossRun struct {
	From, To time.Time
	KWh      []float64
}

// keptOccasions bounds the occasions of a finding.
const keptOccasions = 500

// Until is the end of the finding, or when it was last seen.
func (f Finding) Until() time.Time {
	if f.Active {
		return f.LastDetectionAt.Time
	}
	return f.EndedAt.Time
}

// Periods returns the times at which the fault was there, ascending: the
// occasions of a fault that comes and goes, otherwise from its start to its end.
// The last period of an active finding ends when it was last seen.
func (f Finding) Periods() []Period {
	if len(f.Occasions) > 0 {
		return f.Occasions
	}
	return []Period{{f.StartedAt.Time, f.Until()}}
}

// Lasted is the sum of the periods.
func (f Finding) Lasted() (sum time.Duration) {
	for _, p := range f.Periods() {
		sum += max(p.To.Sub(p.From), 0)
	}
	return sum
}

func (f Finding) lastedHours() float64 { return record.Known(f.Lasted().Hours()) }

// Ledger returns the losses by hour. For a finding that was stored with its sum
// only, the sum is divided over the daylight of its time as a bell from six to
// eighteen of the zone.
func (f Finding) Ledger(zone *time.Location) loss.Ledger {
	if len(f.Losses) > 0 {
		return ledgerOf(f.Losses)
	}
	return spreadLoss(f.StartedAt.Time, f.Until(), f.LostKWh, zone)
}

// spreadLoss divides a loss over the daylight within from..to; evenly where that
// holds none.
func spreadLoss(from, to time.Time, kWh float64, zone *time.Location) loss.Ledger {
	const step = 15 * time.Minute
	if !to.After(from) {
		to = from.Add(time.Second)
	}
	if to.Sub(from) > 4*366*24*time.Hour { // a clock that was wrong
		from = to.AddDate(-4, 0, 0)
	}
	light := func(t time.Time) float64 {
		t = t.In(zone)
		return max(math.Sin(math.Pi*(float64(t.Hour())+float64(t.Minute())/60-6)/12), 0)
	}
	sum := 0.0
	for t := from; t.Before(to); t = t.Add(step) {
		end := record.Earlier(t.Add(step), to)
		sum += light(t) * end.Sub(t).Hours()
	}
	var out loss.Ledger
	if sum == 0 {
		out.Add(from.Unix(), to.Unix(), kWh)
		return out
	}
	for t := from; t.Before(to); t = t.Add(step) {
		end := record.Earlier(t.Add(step), to)
		out.Add(t.Unix(), max(end.Unix(), t.Unix()+1), kWh*light(t)*end.Sub(t).Hours()/sum)
	}
	return out
}

// addLosses updates the losses and occasions of f, which was former, by the events
// of a run that continue it. No hour of a finding that stays active falls; a
// finding that is over loses nothing after its end.
func (f *Finding) addLosses(former Finding, events []Event, run Run) {
	zone := record.Zone(run.Site.Timezone)
	losses, asOf := loss.Ledger{}, time.Time{}
	if former.SummaryID != "" {
		losses, asOf = former.Ledger(zone), former.LossesAsOf
	}
	if asOf.IsZero() {
		asOf = former.LastDetectionAt.Time
	}
	if len(events) > 0 {
		var latest []loss.Ledger
		first := events[0].Start
		for _, e := range events {
			first = record.Earlier(first, e.Start)
			if one := e.Losses; len(one.Spans()) > 0 {
				latest = append(latest, one)
			} else {
				latest = append(latest, spreadLoss(e.Start, e.LastPresent(), e.LostKWh, zone))
			}
		}
		seen := first.Unix() - first.Unix()%hourLength
		revised := loss.Revised(losses, loss.Sum(latest...), seen, asOf.Unix(), f.Active)
		if run.Past {
			// What the finding lost later is not in the run's window.
			end := run.Now.Unix()
			later := slices.DeleteFunc(slices.Clone(losses.Spans()), func(s loss.Span) bool { return s.From < end })
			revised = loss.FromSpans(append(slices.Clone(revised.Before(end).Spans()), later...))
		}
		losses = revised
		f.addOccasions(former, events, first)
	}
	if !f.Active {
		losses = losses.Before(f.EndedAt.Unix())
		f.Occasions = slices.DeleteFunc(f.Occasions, func(p Period) bool { return !p.From.Before(f.EndedAt.Time) })
	}
	f.Losses, f.LossesAsOf = lossRuns(losses.Condensed(run.Now, zone)), run.Now
	f.LostKWh, f.LastedHours = record.Known(ledgerOf(f.Losses).Total()), f.lastedHours()
}

// addOccasions updates the occasions: those that ended before the first event of a run,
// and those of its events. One that is all of the finding is left out.
func (f *Finding) addOccasions(former Finding, events []Event, first time.Time) {
	var all []Period
	if former.SummaryID != "" {
		for _, p := range former.Periods() {
			if p.From.Before(first) {
				p.To = record.Earlier(p.To, first)
				all = append(all, p)
			}
		}
	}
	for _, e := range events {
		if len(e.Occasions) > 0 {
			all = append(all, e.Occasions...)
		} else {
			all = append(all, Period{e.Start, e.LastPresent()})
		}
	}
	slices.SortFunc(all, func(a, b Period) int { return a.From.Compare(b.From) })
	joined := all[:0]
	for _, p := range all {
		if n := len(joined); n > 0 && !p.From.After(joined[n-1].To) {
			joined[n-1].To = record.Later(joined[n-1].To, p.To)
		} else {
			joined = append(joined, p)
		}
	}
	if f.Occasions = nil; len(joined) > 1 {
		f.Occasions = slices.Clone(joined[max(len(joined)-keptOccasions, 0):])
	}
}

// hourLength is an hour in seconds.
const hourLength = 3600

func lossRuns(l loss.Ledger) []LossRun {
	var out []LossRun
	long, last := false, int64(0)
	for _, s := range l.Spans() {
		kWh := math.Round(1e4*s.KWh) / 1e4
		whole := s.To > s.From-s.From%hourLength+hourLength
		if n := len(out); n > 0 && !whole && !long && last == s.From && s.From%hourLength == 0 {
			out[n-1].KWh, out[n-1].To = append(out[n-1].KWh, kWh), time.Unix(s.To, 0).UTC()
		} else {
			out = append(out, LossRun{time.Unix(s.From, 0).UTC(), time.Unix(s.To, 0).UTC(), []float64{kWh}})
		}
		long, last = whole, s.To
	}
	return out
}

func ledgerOf(list []LossRun) loss.Ledger {
	var spans []loss.Span
	for _, r := range list {
		if len(r.KWh) == 1 {
			spans = append(spans, loss.Span{From: r.From.Unix(), To: r.To.Unix(), KWh: r.KWh[0]})
			continue
		}
		at := r.From.Unix()
		for _, kWh := range r.KWh {
			to := min(at-at%hourLength+hourLength, r.To.Unix())
			spans = append(spans, loss.Span{From: at, To: to, KWh: kWh})
			at = to
		}
	}
	return loss.FromSpans(spans)
}
