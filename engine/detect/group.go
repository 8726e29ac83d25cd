package detect

import (
	"cmp"
	"math"
	"slices"
	"time"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// sameCause reports, by family, whether records of two units have one cause, by what was
// known when they were announced. Units whose records have one are one event: see
// [Event.Members]. Families that are not listed are found for the site, or have causes
// within a unit.
var sameCause = map[Family]func(a, b *record, step int64) bool{
	CommunicationGap: sameMoment,
	DataSilence:      sameMoment,
	SiteOutage:       sameMoment,
	InverterOutage:   sameMoment,
	IntermittentTrip: sameMoment,
	StuckSensor:      sameMoment,
	DataQuality:      func(a, b *record, step int64) bool { return a.class == b.class && sameMoment(a, b, step) },
	Curtailment:      sameMoment,
	ThermalDerating:  sameDay,
	TrackerFault:     sameDay,
	CapacityChange:   sameDay,
	StringOutage:     sameStep,
	Soiling:          sameDecline,
	PartialShading:   sameWindow,
}

// How far apart the beginnings of what has one cause lie.
const (
	togetherDays  = 2  // of steps, between the days on which the units lost their part
	togetherSeen  = 20 // days between the announcements of these
	togetherRatio = 1.6
	togetherSlow  = 20 // days: of shades, and of declines by dirt, which are dated no better
)

func apart(a, b int64) int64 { return max(a-b, b-a) }

// sameMoment reports whether records begin within one step of the data.
func sameMoment(a, b *record, step int64) bool { return apart(a.start, b.start) <= step }

func sameDay(a, b *record, _ int64) bool { return apart(a.start, b.start) < 86400/2 }

// sameStep reports whether units lost about the same part at the same time.
func sameStep(a, b *record, _ int64) bool {
	if a.step == nil || b.step == nil {
		return false
	}
	ratio := a.step.size / b.step.size
	return apart(a.step.from, b.step.from) <= togetherDays && apart(a.step.seen, b.step.seen) <= togetherSeen && ratio < togetherRatio && ratio > 1/togetherRatio
}

func sameDecline(a, b *record, _ int64) bool {
	return a.basis != "" && apart(a.start, b.start) <= togetherSlow*86400
}

// sameWindow reports whether units lack power in the same or adjacent directions of the
// sun: of one obstacle.
func sameWindow(a, b *record, _ int64) bool {
	return apart(a.start, b.start) <= togetherSlow*86400 && a.window[0] <= b.window[1] && b.window[0] <= a.window[1]
}

// grouped divides the sorted records into those with one cause. The first of a group
// determines it, and each unit has one record in it.
func (s *session) grouped() [][]*record {
	var groups [][]*record
	const longest = togetherSlow * 86400
	first := 0 // of the groups that a record can still be part of
	for _, r := range s.records {
		for first < len(groups) && r.start-groups[first][0].start > longest {
			first++
		}
		same := sameCause[r.family]
		at := -1
		if same != nil && len(r.units) == 1 {
			at = slices.IndexFunc(groups[first:], func(g []*record) bool {
				return g[0].family == r.family && g[0].basis == r.basis && len(g[0].units) == 1 && same(g[0], r, s.step) &&
					!slices.ContainsFunc(g, func(o *record) bool { return o.units[0] == r.units[0] })
			})
		}
		if at < 0 {
			groups = append(groups, []*record{r})
		} else {
			groups[first+at] = append(groups[first+at], r)
		}
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b *record) int { return cmp.Compare(a.units[0], b.units[0]) })
	}
	return groups
}

// joined is a group as one event.
func (s *session) joined(g []*record) Event {
	if len(g) == 1 {
		return s.event(g[0])
	}
	lead := g[0] // its figures are those of the evidence
	parts := make([]Event, 0, len(g))
	for _, r := range g {
		if r.detected < lead.detected {
			lead = r
		}
		parts = append(parts, s.event(r))
	}
	e := join(parts, func(unit int) float64 { return s.rating(g[unit].units[0]) })
	all := *lead
	all.units, all.class = nil, e.Class
	for _, r := range g {
		all.units = append(all.units, r.units[0])
		all.start, all.lastSeen = min(all.start, r.start), max(all.lastSeen, r.lastSeen)
	}
	if all.end = 0; e.End != nil {
		all.end = e.End.Unix()
	}
	switch all.family {
	case InverterOutage, SiteOutage, CommunicationGap:
		all.seen = joinedFacts(g, lead)
	}
	e.Evidence = s.evidence(&all)
	if same, ok := commonCause(e.Family, len(g)); ok {
		e.Evidence = append(slices.Clone(e.Evidence), same)
	}
	return e
}

// join returns events of one unit each, which have one cause, as one event: from the first
// start to the last end, with the sum of the losses. It lasts while one of the units is affected. The
// evidence is that of the first part. rating is that of the unit of a part.
func join(parts []Event, rating func(part int) float64) Event {
	e := parts[0]
	e.Units, e.Members, e.Occasions, e.Class = nil, nil, nil, joinedClass(parts)
	open, occasions := false, false
	ledgers := make([]loss.Ledger, 0, len(parts))
	for _, p := range parts {
		e.Units = append(e.Units, p.Units[0])
		e.Members = append(e.Members, p.Member(p.Units[0]))
		e.UsableDays = min(e.UsableDays, p.UsableDays)
		e.Start, e.DetectedAt, e.LastSeen = earlier(e.Start, p.Start), earlier(e.DetectedAt, p.DetectedAt), later(e.LastSeen, p.LastSeen)
		if p.End == nil {
			open = true
		} else if e.End == nil || p.End.After(*e.End) {
			e.End = p.End
		}
		occasions = occasions || len(p.Occasions) > 0
		ledgers = append(ledgers, p.Losses)
	}
	if open {
		e.End = nil
	}
	e.Losses = loss.Sum(ledgers...)
	e.LostKWh = e.Losses.Total()
	fraction, whole := 0.0, 0.0
	for i, p := range parts {
		if kw := rating(i); p.End == nil || !open {
			fraction, whole = fraction+kw*p.LossFraction, whole+kw
		}
	}
	if whole > 0 {
		e.LossFraction = fraction / whole
	}
	if occasions {
		e.Occasions = joinedSpans(parts)
	}
	return e
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Together joins the events of one unit each that are of a family and begin at the same time, to
// within a time: units that have no samples in common report it, such as those of one
// logger that is silent. It keeps the order otherwise.
func Together(events []Event, within time.Duration, rating map[string]float64) []Event {
	var groups [][]Event
	for _, e := range events {
		at := slices.IndexFunc(groups, func(g []Event) bool {
			return sameCause[e.Family] != nil && g[0].Family == e.Family && len(g[0].Units) == 1 && len(e.Units) == 1 && g[0].Start.Sub(e.Start).Abs() <= within
		})
		if at < 0 {
			groups = append(groups, []Event{e})
		} else {
			groups[at] = append(groups[at], e)
		}
	}
	out := make([]Event, 0, len(groups))
	for _, g := range groups {
		if len(g) == 1 {
			out = append(out, g[0])
			continue
		}
		e := join(g, func(part int) float64 { return rating[g[part].Units[0]] })
		e.Evidence = append(slices.Clone(e.Evidence), shows("same_time", 0.3, float64(len(g)), 1, "units", "%s show it from the same time on: one cause.", display.CountOf(len(g), "unit", "units")))
		out = append(out, e)
	}
	return out
}

// joinedClass is that of all; of gaps of several classes, energy is missing if it is missing of one.
func joinedClass(parts []Event) Class {
	class := parts[0].Class
	for _, p := range parts[1:] {
		switch {
		case p.Class == class:
		case p.Class == Real || class == Real:
			class = Real
		default:
			class = Unknown
		}
	}
	return class
}

// joinedSpans are the times at which any of the units was affected, in order.
func joinedSpans(parts []Event) []Span {
	var all []Span
	for _, p := range parts {
		switch {
		case len(p.Occasions) > 0:
			all = append(all, p.Occasions...)
		case p.End != nil:
			all = append(all, Span{p.Start, *p.End})
		default:
			all = append(all, Span{p.Start, p.LastSeen})
		}
	}
	slices.SortStableFunc(all, func(a, b Span) int { return a.From.Compare(b.From) })
	out := all[:1]
	for _, p := range all[1:] {
		if last := &out[len(out)-1]; p.From.After(last.To) {
			out = append(out, p)
		} else {
			last.To = later(last.To, p.To)
		}
	}
	return out
}

// joinedFacts are the sums of power and energy of the units, and what the lead observed of the rest.
func joinedFacts(g []*record, lead *record) facts {
	f := lead.seen
	f.rating, f.maxKW, f.expectedKWh = 0, 0, 0
	gained, due := math.NaN(), 0.0
	for _, r := range g {
		o := &r.seen
		f.rating, f.maxKW = f.rating+o.rating, f.maxKW+o.maxKW
		if o.armedHours > 0 {
			f.expectedKWh += o.expectedKWh / o.armedHours * f.armedHours
		}
		if d := o.counterTo - o.counterFrom; !math.IsNaN(d) {
			gained, due = zeroIfMissing(gained)+d, due+o.counterKWh
		}
		if o.code > 0 && !(f.code > 0) {
			f.code = o.code
		}
	}
	f.counterFrom, f.counterTo, f.counterKWh = 0, gained, due
	return f
}

// commonCause is the evidence that n units have one cause; outages and gaps word theirs.
func commonCause(family Family, n int) (e Evidence, ok bool) {
	units := display.CountOf(n, "unit", "units")
	since := func(days int) string { return display.CountOf(days, "day", "days") }
	switch family {
	case StringOutage:
		return shows("same_day", 0.5, float64(n), 1, "units", "%s lost about the same part within %s: one cause.", units, since(togetherDays)), true
	case PartialShading:
		return shows("same_directions", 0.5, float64(n), 1, "units", "%s power in about the same directions of the sun, since within %s: one cause.", display.CountOf(n, "unit lacks", "units lack"), since(togetherSlow)), true
	case Soiling, ThermalDerating, TrackerFault, CapacityChange:
		return shows("same_days", 0.3, float64(n), 1, "units", "%s show it since the same days: one cause.", units), true
	case StuckSensor, DataQuality, Curtailment, IntermittentTrip:
		return shows("same_sample", 0.3, float64(n), 1, "units", "%s show it from the same sample on: one cause.", units), true
	}
	return Evidence{}, false
}

// Affected are the units that are affected still, of an event that lasts; all of one that
// is over.
func (e Event) Affected() []string {
	if e.End != nil || len(e.Members) == 0 {
		return e.Units
	}
	var out []string
	for _, m := range e.Members {
		if m.End == nil {
			out = append(out, m.Unit)
		}
	}
	return out
}

// Member returns the part of a unit in the event: all of it, if it is the only one or the parts are not
// known.
func (e Event) Member(unit string) Member {
	for _, m := range e.Members {
		if m.Unit == unit {
			return m
		}
	}
	return Member{unit, e.Start, e.DetectedAt, e.LastSeen, e.End, e.LossFraction, e.LostKWh}
}
