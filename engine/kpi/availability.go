package kpi

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Category is the state of a unit by the information categories of IEC TS 63019.
// Each minute of a unit is in exactly one.
type Category string

// The categories. In service are FullPerformance and PartialPerformance; a unit
// of OutOfEnvironment, RequestedShutdown or OutOfGrid could operate, but the
// conditions do not let it.
const (
	FullPerformance        Category = "full_performance"
	PartialPerformance     Category = "partial_performance"     // in service, limited by a fault of a part or by a set point
	OutOfEnvironment       Category = "out_of_environment"      // night, too little light, snow
	RequestedShutdown      Category = "requested_shutdown"      // stopped on request from outside
	OutOfGrid              Category = "out_of_grid"             // the grid is off or outside its limits
	ScheduledMaintenance   Category = "scheduled_maintenance"   // preventive work
	PlannedCorrective      Category = "planned_corrective"      // repair that was planned before the unit failed
	ForcedOutage           Category = "forced_outage"           // failure, also while it is repaired
	Suspended              Category = "suspended"               // work on a stopped unit is interrupted
	ForceMajeure           Category = "force_majeure"           // only people assign it
	InformationUnavailable Category = "information_unavailable" // the unit reports nothing and no record explains it
)

// Categories returns all categories in the order in which they are shown.
func Categories() []Category {
	return []Category{FullPerformance, PartialPerformance, OutOfEnvironment, RequestedShutdown, OutOfGrid, ScheduledMaintenance, PlannedCorrective,
		ForcedOutage, Suspended, ForceMajeure, InformationUnavailable}
}

// precedence orders the categories of findings and of work: of two causes of one
// source that apply at the same time, the later in the list decides.
var precedence = []Category{FullPerformance, PartialPerformance, InformationUnavailable, ForcedOutage, OutOfEnvironment, RequestedShutdown, OutOfGrid,
	PlannedCorrective, ScheduledMaintenance, Suspended, ForceMajeure}

// Source is the origin of a category.
type Source string

// The sources, in rising precedence: a finding overrides the reading, work
// overrides findings, and a person overrides all. A unit that produces is in
// service, whatever findings and work say.
const (
	FromReading Source = "reading"
	FromFinding Source = "finding"
	FromWork    Source = "work_order"
	FromPerson  Source = "change"
)

var sourceRank = map[Source]int{FromReading: 0, FromFinding: 1, FromWork: 2, FromPerson: 3}

// Span is a time from From to before To, in Unix seconds.
type Span struct{ From, To int64 }

// Observed is a span of which the unit's production is known.
type Observed struct {
	Span
	Running bool // at least [DownShare] of the rating
}

// Explanation is a record that explains the state of a unit: the category while the
// unit is stopped, while it runs and while it reports nothing. Where a category
// is empty, the cause says nothing. Of several changes by people the one with the
// highest Order decides.
type Explanation struct {
	Span
	Stopped, Running, Silent Category
	Source                   Source
	ID                       string // of the record
	Order                    int64
}

func (c Explanation) category(reading reading) Category {
	return [...]Category{c.Silent, c.Stopped, c.Running}[reading]
}

type reading int

const (
	silent reading = iota
	stopped
	running
)

// History is what is known of a unit from From to before To, in which it is
// installed. Observed spans are ascending and do not overlap.
type History struct {
	Span
	Observed []Observed
	Causes   []Explanation
}

// Stretch is a time in which a unit is in one category for one reason.
type Stretch struct {
	Span
	Category Category
	Source   Source
	ID       string // of the finding, order or change
}

// Shares of a unit's rating: the sun is up while at least UsefulShare is
// expected, and a unit that makes less than DownShare is stopped.
const (
	UsefulShare = 0.05
	DownShare   = 0.01
)

// DayElevationDeg is the elevation of the sun above which loggers report.
const DayElevationDeg = 5

// Sun is the production that a healthy unit is expected to make, as a share of
// its rating, on even intervals of a site.
type Sun struct {
	start, step         int64
	share               []float64
	energy, useful, day []float64 // sums up to the start of each interval: rated hours, seconds of sun-up, seconds of daylight
}

// NewSun returns a Sun from start on, in Unix seconds, on intervals of step
// seconds. A share of NaN is unknown and counts as none. day reports in which
// intervals units report even under clouds.
func NewSun(start, step int64, share []float64, day []bool) *Sun {
	s := &Sun{start: start, step: step, share: share}
	sums := make([]float64, 3*(len(share)+1))
	n := len(share) + 1
	s.energy, s.useful, s.day = sums[:n], sums[n:2*n], sums[2*n:]
	for i, v := range share {
		s.energy[i+1], s.useful[i+1], s.day[i+1] = s.energy[i], s.useful[i], s.day[i]
		if v > 0 {
			s.energy[i+1] += v * float64(step) / 3600
		}
		if v > UsefulShare {
			s.useful[i+1] += float64(step)
		}
		if day[i] {
			s.day[i+1] += float64(step)
		}
	}
	return s
}

// within returns the share of a cumulative sum that lies in a span.
func (s *Sun) within(sums []float64, span Span) float64 {
	at := func(t int64) float64 {
		i := (t - s.start) / s.step
		switch {
		case t <= s.start:
			return 0
		case i >= int64(len(sums)-1):
			return sums[len(sums)-1]
		}
		return sums[i] + (sums[i+1]-sums[i])*float64(t-s.start-i*s.step)/float64(s.step)
	}
	return max(at(span.To)-at(span.From), 0)
}

func (s *Sun) up(t int64) bool {
	i := (t - s.start) / s.step
	return t >= s.start && i < int64(len(s.share)) && s.share[i] > UsefulShare
}

// Daylight returns how many seconds of a span are daylight.
func (s *Sun) Daylight(span Span) float64 { return s.within(s.day, span) }

// changes appends the times within a span at which the sun comes up or goes down.
func (s *Sun) changes(times []int64, span Span) []int64 {
	first := max((span.From-s.start)/s.step, 1)
	for i := first; i < int64(len(s.share)) && s.start+i*s.step < span.To; i++ {
		if (s.share[i] > UsefulShare) != (s.share[i-1] > UsefulShare) {
			times = append(times, s.start+i*s.step)
		}
	}
	return append(times, s.start, s.start+int64(len(s.share))*s.step)
}

// Categorise divides the history of a unit into stretches that cover it exactly.
//
// A unit that produces is in full performance, one that is stopped with the sun
// up in a forced outage, one that reports nothing with the sun up in information
// unavailable; with the sun down both are out of their environment. Findings,
// work and changes by people override that in this order.
func Categorise(h History, sun *Sun) []Stretch {
	if h.To <= h.From {
		return nil
	}
	causes := make([]Explanation, 0, len(h.Causes))
	times := sun.changes([]int64{h.From, h.To}, h.Span)
	for _, o := range h.Observed {
		times = append(times, o.From, o.To)
	}
	for _, c := range h.Causes {
		if c.To > h.From && c.From < h.To {
			causes, times = append(causes, c), append(times, c.From, c.To)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	slices.SortFunc(causes, func(a, b Explanation) int { return cmp.Compare(a.From, b.From) })
	var out []Stretch
	var active []Explanation
	for i := range times[:len(times)-1] {
		span := Span{times[i], times[i+1]}
		if span.From < h.From || span.From >= h.To {
			continue
		}
		for len(causes) > 0 && causes[0].From <= span.From {
			active, causes = append(active, causes[0]), causes[1:]
		}
		active = slices.DeleteFunc(active, func(c Explanation) bool { return c.To <= span.From })
		next := explain(readingAt(&h.Observed, span.From), sun.up(span.From), active)
		if n := len(out); n > 0 && out[n-1].Category == next.Category && out[n-1].Source == next.Source && out[n-1].ID == next.ID {
			out[n-1].To = span.To
			continue
		}
		next.Span = span
		out = append(out, next)
	}
	return out
}

// readingAt returns the reading at a time and drops the spans before it.
func readingAt(observed *[]Observed, at int64) reading {
	for len(*observed) > 0 && (*observed)[0].To <= at {
		*observed = (*observed)[1:]
	}
	switch list := *observed; {
	case len(list) == 0 || list[0].From > at:
		return silent
	case list[0].Running:
		return running
	}
	return stopped
}

// explain returns the category of a moment.
func explain(r reading, sunUp bool, causes []Explanation) Stretch {
	out := Stretch{Category: FullPerformance, Source: FromReading}
	switch {
	case r == running:
	case !sunUp:
		out.Category = OutOfEnvironment
	case r == stopped:
		out.Category = ForcedOutage
	default:
		out.Category = InformationUnavailable
	}
	order := int64(math.MinInt64)
	for _, c := range causes {
		category := c.category(r)
		if category == "" {
			continue
		}
		by := cmp.Or(cmp.Compare(sourceRank[c.Source], sourceRank[out.Source]), cmp.Compare(c.Order, order),
			cmp.Compare(slices.Index(precedence, category), slices.Index(precedence, out.Category)), cmp.Compare(out.ID, c.ID))
		if by > 0 {
			out, order = Stretch{Category: category, Source: c.Source, ID: c.ID}, c.Order
		}
	}
	return out
}

// Amount is the extent of a category: hours of the clock, hours with the sun up,
// and the energy that was expected in them, in kWh.
type Amount struct{ Hours, SunUpHours, ExpectedKWh float64 }

// Amounts are the extents of all categories.
type Amounts map[Category]Amount

// Sum returns the extents of stretches of a unit by its rating.
func (s *Sun) Sum(stretches []Stretch, ratedKW float64) Amounts {
	out := Amounts{}
	for _, x := range stretches {
		sum, one := out[x.Category], s.Extent(x.Span, ratedKW)
		out[x.Category] = Amount{sum.Hours + one.Hours, sum.SunUpHours + one.SunUpHours, sum.ExpectedKWh + one.ExpectedKWh}
	}
	return out
}

// Extent returns the extent of one span.
func (s *Sun) Extent(span Span, ratedKW float64) Amount {
	return Amount{Hours: float64(span.To-span.From) / 3600, SunUpHours: s.within(s.useful, span) / 3600, ExpectedKWh: ratedKW * s.within(s.energy, span)}
}

// DataAvailability returns the share of the daylight of a history of which the
// production is known, by the time that samples cover, so that one sample of a
// quarter of an hour counts as much as three of five minutes. It is NaN without
// daylight.
func (s *Sun) DataAvailability(h History) float64 {
	due, covered := s.within(s.day, h.Span), 0.0
	i := sort.Search(len(h.Observed), func(i int) bool { return h.Observed[i].To > h.From })
	for _, o := range h.Observed[i:] {
		if o.From >= h.To {
			break
		}
		covered += s.within(s.day, Span{max(o.From, h.From), min(o.To, h.To)})
	}
	return covered / due // 0/0 is NaN
}

// Treatment is how a category counts in an availability.
type Treatment string

// The treatments. Excluded time is neither available nor unavailable.
const (
	TreatAvailable   Treatment = "available"
	TreatExcluded    Treatment = "excluded"
	TreatUnavailable Treatment = "unavailable"
)

// Rules say how each category counts; a category without a rule is unavailable.
type Rules map[Category]Treatment

// OperationalRules are those of the operational availability: only a unit in
// service is available. Time outside its environment is excluded.
func OperationalRules() Rules {
	return Rules{FullPerformance: TreatAvailable, PartialPerformance: TreatAvailable, RequestedShutdown: TreatAvailable, OutOfEnvironment: TreatExcluded}
}

// ContractRules are those of a contract that says nothing else: what the operator
// cannot influence and planned maintenance are excluded. Information that is
// unavailable counts against the operator.
func ContractRules() Rules {
	return Rules{FullPerformance: TreatAvailable, PartialPerformance: TreatAvailable, RequestedShutdown: TreatExcluded, OutOfEnvironment: TreatExcluded, OutOfGrid: TreatExcluded,
		ScheduledMaintenance: TreatExcluded, ForceMajeure: TreatExcluded, PlannedCorrective: TreatUnavailable, ForcedOutage: TreatUnavailable, Suspended: TreatUnavailable,
		InformationUnavailable: TreatUnavailable}
}

// Share returns the available part of what is available or unavailable, by one
// extent of each category. It is NaN if both are 0.
func (r Rules) Share(a Amounts, extent func(Amount) float64) float64 {
	up, all := 0.0, 0.0
	for _, c := range Categories() { // in order: a sum over a map differs in its last bits
		v := extent(a[c])
		switch r[c] {
		case TreatExcluded:
		case TreatAvailable:
			up, all = up+v, all+v
		default:
			all += v
		}
	}
	return up / all // 0/0 is NaN
}

// Hours returns the hours of the clock of an amount, for [Rules.Share].
func Hours(a Amount) float64 { return a.Hours }

// SunUpHours returns the hours with the sun up of an amount, for [Rules.Share].
func SunUpHours(a Amount) float64 { return a.SunUpHours }

// ExpectedKWh returns the expected energy of an amount, for [Rules.Share].
func ExpectedKWh(a Amount) float64 { return a.ExpectedKWh }
