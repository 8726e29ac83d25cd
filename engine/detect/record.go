package detect

import (
	"math"
	"slices"
	"time"

	"app.sunloop/engine/loss"
)

// record is an event of one unit, or of the site, under construction: what was
// observed, before it is put into words.
type record struct {
	final    bool // it has ended for good: nothing continues it
	family   Family
	class    Class
	units    []int
	start    int64
	detected int64
	lastSeen int64
	end      int64 // 0 while open
	losses   loss.Ledger
	fraction float64
	seen     facts
	observed []Evidence // of families whose stage words it
	spans    []Span     // occasions
	basis    string     // see Event.Basis
	step     *step      // of a loss that came at once
	window   [2]float64 // degrees from and to which the sun was in a shade when it was found
}

// facts are the observations behind an event's evidence. NaN is not observed.
type facts struct {
	tier        tier
	peers       int     // producing peers when the event was announced
	armedHours  float64 // of samples that showed it under sun
	maxKW       float64 // highest power in them
	brightest   float64 // highest expectation in them, kW
	expectedKWh float64 // in them
	lightSum    float64 // irradiance × hours of the hours with a reading
	lightHours  float64
	coldest     float64
	counterFrom float64 // lifetime counter before and after
	counterTo   float64
	counterKWh  float64 // expected between the two
	band        float64 // least share of counterKWh that is still normal
	code        float64 // first event code other than 0
	state       float64 // last operating state by day
	running     float64 // hours in which the unit reported that it runs
	together    int     // units of the site in the same state at the announcement
	heard       int     // units of the site with readings then
	dark        bool    // began before the sun was up
	rating      float64
	level       float64 // power over rating at which something holds
	days        int     // days that showed it
	spread      float64 // usual deviation of a day
	samples     int
	source      string  // of the figure, as text
	dcVolts     float64 // highest DC voltage, and the hours in which there was one to read
	dcHours     float64
	acVolts     float64 // highest AC voltage as above
	acHours     float64
}

func newFacts() facts {
	nan := math.NaN()
	return facts{coldest: nan, counterFrom: nan, counterTo: nan, code: nan, state: nan}
}

// observe adds what unit k showed at cell i under sun.
func (f *facts) observe(v *view, k, i int) {
	u, h := &v.units[k], v.hours()
	f.armedHours += h
	f.maxKW = max(f.maxKW, u.power[i])
	f.expectedKWh += u.expected[i] * h
	f.brightest = max(f.brightest, u.expected[i])
	if g := v.light[i]; !math.IsNaN(g) {
		f.lightSum, f.lightHours = f.lightSum+g*h, f.lightHours+h
	}
	if t := v.tempC[i]; !math.IsNaN(t) && !(f.coldest < t) {
		f.coldest = t
	}
	if d := u.dcVolts[i]; !math.IsNaN(d) {
		f.dcVolts, f.dcHours = max(f.dcVolts, d), f.dcHours+h
	}
	if a := u.acVolts[i]; !math.IsNaN(a) {
		f.acVolts, f.acHours = max(f.acVolts, a), f.acHours+h
	}
	if c := u.code[i]; c > 0 && math.IsNaN(f.code) {
		f.code = c
	}
	if s := u.state[i]; !math.IsNaN(s) {
		f.state = s
		if s == stateMPPT || s == stateThrottled {
			f.running += h
		}
	}
}

// count follows the lifetime counter.
func (f *facts) count(counter float64) {
	if math.IsNaN(counter) {
		return
	}
	if math.IsNaN(f.counterFrom) {
		f.counterFrom = counter
	}
	f.counterTo = counter
}

// open adds a record, or takes up again one of the same units that ended so
// shortly before start, or without any production since, that it is the same.
func (s *session) open(r *record) *record {
	if old := s.lately(r); old != nil {
		old.end = 0
		old.losses = loss.Sum(old.losses, r.losses)
		old.lastSeen = r.lastSeen
		old.seen.armedHours += r.seen.armedHours
		old.seen.expectedKWh += r.seen.expectedKWh
		old.seen.counterTo = r.seen.counterTo
		return old
	}
	s.records = append(s.records, r)
	return r
}

// lately returns the record that r continues, or nil.
func (s *session) lately(r *record) *record {
	within := int64(mergeWithin.Seconds())
	if longer, ok := returnsWithin[r.family]; ok {
		within = int64(longer.Seconds())
	}
	if r.family == CommunicationGap {
		if old := s.flaky(r); old != nil {
			return old
		}
	}
	for i := len(s.records) - 1; i >= 0; i-- {
		old := s.records[i]
		if old.family != r.family || old.class != r.class || old.end == 0 || old.final || !slices.Equal(old.units, r.units) {
			continue
		}
		stopped := r.family == InverterOutage || r.family == SiteOutage
		for _, k := range r.units {
			stopped = stopped && s.lastOn[k] <= old.end
		}
		if r.start-old.end <= within || stopped {
			if r.family == SnowCover {
				old.again(r)
			}
			return old
		}
		return nil
	}
	return nil
}

// again adds the start of r as an occasion: in between, the plant produced.
func (r *record) again(next *record) {
	if len(r.spans) == 0 {
		r.spans = []Span{stretch{r.start, r.end}.span()}
	}
	r.spans = append(r.spans, stretch{next.start, next.lastSeen}.span())
}

// A logger that fails again and again is one finding with its occasions: from
// the third gap within so many seconds on.
const (
	flakyGaps   = 3
	flakyWithin = 7 * 86400
)

// flaky returns the gap of the same units that r continues because they stop
// reporting repeatedly, or nil.
func (s *session) flaky(r *record) *record {
	gaps, from := 0, r.start-flakyWithin
	var last *record
	for i := len(s.records) - 1; i >= 0; i-- {
		old := s.records[i]
		if old.family != CommunicationGap || old.end == 0 || !slices.Equal(old.units, r.units) {
			continue
		}
		if last == nil {
			last = old
		}
		if old.end < from {
			break
		}
		gaps += max(len(old.spans), 1)
	}
	if last == nil || gaps < flakyGaps || last.end < from {
		return nil
	}
	if len(last.spans) == 0 {
		last.spans = []Span{stretch{last.start, last.end}.span()}
	}
	last.spans = append(last.spans, stretch{r.start, r.start}.span())
	last.class = Unknown
	return last
}

// returnsWithin is how soon a fault that comes and goes by its nature is the
// same event when it returns.
var returnsWithin = map[Family]time.Duration{
	GroundFault: 12 * 24 * time.Hour, ArcFault: 24 * time.Hour, IntermittentTrip: 4 * 24 * time.Hour, Clipping: 45 * 24 * time.Hour, ThermalDerating: 20 * 24 * time.Hour,
	DataQuality: 24 * time.Hour, PartialShading: 30 * 24 * time.Hour, SnowCover: 3 * 24 * time.Hour, Curtailment: 6 * time.Hour, Soiling: 12 * 24 * time.Hour,
}
