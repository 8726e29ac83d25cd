package detect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// SunSpec operating states (models 101-103).
const (
	stateOff       = 1
	stateSleeping  = 2
	stateMPPT      = 4
	stateThrottled = 5
	stateFault     = 7
	stateStandby   = 8
)

// stage looks for one fault family in a day. Stages see the days in order, each
// exactly once, and keep their state from one day to the next. A stage claims
// the samples it explains; it must not use cells after the one on which it
// decides.
type stage interface {
	look(v *view, s *session)
}

// order returns the stages in the order in which they examine a day: data
// quality first, then constant readings, then limits, then slow losses. Each
// ignores what earlier stages have explained. The first two of all, credible
// values and a credible sensor, run before there is an expectation (see [Run]).
var order = []struct {
	finds string
	whole bool // evaluates whole days: a day that has not ended is left to a later run
	begin func(*session) stage
}{
	{"readings in another unit, sentinels", false, func(s *session) stage { return newScales(s) }},
	{"wrong clocks", true, func(s *session) stage { return newClocks(s) }},
	{"readings of former days", false, func(s *session) stage { return newRepeats(s) }},
	{"constant readings", false, func(s *session) stage { return newStuck(s) }},
	{"snow, which resembles an outage of the site", false, func(s *session) stage { return newSnow(s) }},
	{"outages of the site", false, func(s *session) stage { return newSiteOutages(s) }},
	{"outages and ground faults of units", false, func(s *session) stage { return newUnitOutages(s) }},
	{"gaps", false, func(s *session) stage { return newGaps(s) }},
	{"short stops", false, func(s *session) stage { return newTrips(s) }},
	{"clipping", true, func(s *session) stage { return newClipping(s) }},
	{"curtailment", false, func(s *session) stage { return newCurtailment(s) }},
	{"limits and constant readings of single units", false, func(s *session) stage { return newPlateaus(s) }},
	{"thermal derating", true, func(s *session) stage { return newDerating(s) }},
	{"DC inputs of units", false, func(s *session) stage { return s.inputs }},
	{"the day of each unit against its peers", true, func(*session) stage { return relate{} }},
	{"trackers", true, func(s *session) stage { return newTrackers(s) }},
	{"partial shading", true, func(s *session) stage { return newShading(s) }},
	{"strings", true, func(s *session) stage { return newStringOutages(s) }},
	{"losses against the unit's own past", true, func(s *session) stage { return s.losses }},
	{"added capacity", true, func(s *session) stage { return newCapacity(s) }},
	{"the energy that soiling and degradation reduce", true, func(*session) stage { return produced{} }},
	{"soiling", true, func(s *session) stage { return newSoiling(s) }},
	{"degradation over years", true, func(s *session) stage { return newDegradation(s) }},
	{"losses that no other stage explains", true, func(s *session) stage { return newUnexplained(s) }},
}

// session is one run: its input, memory and results.
type session struct {
	in       Input
	step     int64 // seconds of the grid
	memory   *memory
	records  []*record
	lastOn   []int64             // end of the last cell in which each unit produced
	stopped  []bool              // units in an outage that was announced on a day before
	notes    map[string][]string // sentence to the units that it is about
	modules  modules             // orientation of the site's modules
	points   []point             // the site's yield per irradiation, by day
	clipped  [][]Span            // by unit and day
	clock    int64               // seconds by which the stamps are late, as far as is known
	losses   *losses             // the units' models of their own past
	inputs   *inputLosses        // the DC inputs of the units against each other
	quanta   []float64           // by unit: in what steps its readings come, kW; 0 if these are fine or not known
	oddLight bool                // the sensor may have missed light on the current day
	produced []producedDay       // what the site produced without another fault, by day
}

// note records what could not be evaluated for a unit, or for the site if the
// asset id is empty.
func (s *session) note(assetID, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(s.notes[text], assetID) {
		s.notes[text] = append(s.notes[text], assetID)
	}
}

func (s *session) rating(k int) float64 { return s.memory.units[k].rating() }

func (s *session) siteRating() float64 {
	var sum float64
	for k := range s.in.Units {
		sum += s.rating(k)
	}
	return sum
}

// Run looks for faults in [in.From, in.Now). Missing input reduces what can be
// evaluated and is never an error; the only error is that of ctx.
func Run(ctx context.Context, in Input) (Report, error) {
	if in.Site.Zone == nil {
		in.Site.Zone = time.UTC
	}
	s := &session{in: in, notes: map[string][]string{}}
	report := Report{}
	step, first := s.choose()
	s.step, report.Step = step, time.Duration(step)*time.Second
	if len(s.in.Units) == 0 {
		report.NotEvaluated = s.sentences()
		return report, nil
	}

	g := grid{site: in.Site, step: step}
	for k, u := range s.in.Units {
		src, _ := newSource(u.Frame, step)
		g.sources = append(g.sources, src)
		if u.CapacityKW <= 0 {
			s.note(s.in.Units[k].AssetID, "no capacity is given, so the highest power so far is used instead; the first day is not evaluated")
		}
	}
	s.memory = newMemory(s.in.Units)
	s.modules, s.clipped = newModules(s.in), make([][]Span, len(s.in.Units))
	s.lastOn, s.stopped, s.quanta = make([]int64, len(s.in.Units)), make([]bool, len(s.in.Units)), make([]float64, len(s.in.Units))
	quality, sensor := newQuality(len(s.in.Units)), newSensor(s)
	s.losses, s.inputs = newLosses(s), newInputLosses(s)
	stages := make([]stage, len(order))
	for i, row := range order {
		stages[i] = row.begin(s)
	}
	keep := newKeeper(s.in, step)

	now := in.Now.Unix()
	for start, end := range series.Days(time.Unix(first, 0), in.Now, in.Site.Zone) {
		if err := ctx.Err(); err != nil {
			return Report{}, fmt.Errorf("look for faults of site %s: %w", in.Site.ID, err)
		}
		v := g.lay(start, end, now)
		quality.look(v, s)
		v.weather()
		sensor.look(v, s)
		expect(v, s.memory, s.in.Units, in.Forecast)
		judgeSky(v, s)
		s.losses.prepare(v, s)
		s.modules.learn(v, s)
		for i, st := range stages {
			if !v.partial || !order[i].whole {
				st.look(v, s)
			}
		}
		keep.day(v)
		g.setClock(s.clock)
		s.memory.learn(v, s.in.Units)
	}
	report.Detectability = s.detectability()
	s.limits(report.Detectability)
	report.Events = s.events()
	report.RatingKW, report.Clipped = s.ratings(), s.clippedSpans()
	report.NotEvaluated = s.sentences()
	report.Expected = keep.series
	return report, nil
}

// choose determines the grid and drops units that cannot be evaluated, with a
// note.
func (s *session) choose() (step, first int64) {
	units := s.in.Units
	s.in.Units = nil
	for _, u := range units {
		u.Frame = within(u.Frame, s.in.From, s.in.Now)
		interval := int64(nominal(u.Frame.Times) / time.Second)
		_, readable := newSource(u.Frame, max(interval, 1))
		switch {
		case u.Frame.Len() == 0:
			s.note(u.AssetID, "the period has no data of it")
			continue
		case !readable:
			s.note(u.AssetID, "it has no reading of power or energy")
			continue
		case interval == 0:
			s.note(u.AssetID, "a single row is not enough to detect a fault")
			continue
		case interval > int64(coarsest/time.Second):
			s.note(u.AssetID, "outages and gaps are detected in readings up to two hours apart; its readings are %s apart", formatMinutes(float64(interval)/3600*60))
			continue
		}
		step = max(step, interval, int64(finest/time.Second))
		if first == 0 || u.Frame.Times[0] < first {
			first = u.Frame.Times[0]
		}
		s.in.Units = append(s.in.Units, u)
	}
	return step, first
}

func within(f series.Frame, from, to time.Time) series.Frame {
	if f.Len() == 0 {
		return f
	}
	if from.IsZero() {
		from = time.Unix(f.Times[0], 0)
	}
	return f.Slice(from.Unix(), to.Unix())
}

// nominal is the commonest interval of the first stamps, or of the last ones
// if that is longer: a logger may have been set to another rate.
func nominal(times []int64) time.Duration {
	const enough = 2000
	head := series.Interval(times[:min(len(times), enough)])
	tail := series.Interval(times[max(len(times)-enough, 0):])
	return max(head, tail)
}

// limits notes what could not be evaluated because of the data as a whole.
func (s *session) limits(detectable map[string]Detectability) {
	if len(s.in.Units) == 1 {
		s.note(s.in.Units[0].AssetID, "it is the only unit that can be evaluated, so an outage of the unit and one of the site look the same")
	}
	if s.in.Site.Location == nil {
		s.note("", "without coordinates day and night are distinguished by the site's own history: the first three days are evaluated by peers and irradiance only")
	}
	if s.modules.source() == noLight {
		s.note("", "soiling and degradation require the irradiance on the modules: coordinates, and a plane that is given or known from clear days; they are not evaluated here")
	}
	light, warmth := false, false
	for _, u := range s.in.Units {
		light = light || present(u.Frame.Values(series.IrradianceWM2))
		warmth = warmth || present(u.Frame.Values(series.TemperatureC))
	}
	if !light {
		s.note("", "no irradiance is measured, so a site without power is distinguished from a dark one by its history: outages are announced after an hour and a quarter, and soiling only if it is heavy")
	}
	if !warmth {
		s.note("", "no temperature is measured, so snow is not evaluated and may be reported as an outage")
	}
	if s.memory.days < enoughDays {
		s.note("", "the history has %s with production: slow losses, shading, soiling and clock shifts are evaluated from %s on", display.CountOf(s.memory.days, "day", "days"), display.CountOf(enoughDays, "day", "days"))
	}
	for k, u := range s.in.Units {
		if s.rating(k) <= 0 {
			s.note(u.AssetID, "it has never produced, and no capacity is given")
		}
		alone := !s.memory.units[k].alike || len(s.in.Units) < 3
		switch d, ok := detectable[u.AssetID]; {
		case ok:
			s.note(u.AssetID, "%s", d.Text())
		case alone && s.in.Site.Location == nil:
			s.note(u.AssetID, "its orientation is not known to equal that of two other units, and without coordinates it has no model of its history, so losses of strings and shading are not evaluated")
		case alone:
			s.note(u.AssetID, "too few clear days are known to compare it with its own history, so losses of strings and shading are not evaluated yet")
		}
		if !present(u.Frame.Values(series.EnergyCounterKWh)) {
			s.note(u.AssetID, "no lifetime counter, so a gap in its data cannot be distinguished from an outage")
		}
	}
}

// enoughDays is the number of days after which the stages for slow losses know
// the normal state.
const enoughDays = max(enoughHistory, clockHistory, shadeLearned)

// sentences are the notes, each with the units it concerns.
func (s *session) sentences() []string {
	out := make([]string, 0, len(s.notes))
	for text, units := range s.notes {
		switch {
		case units[0] == "":
			out = append(out, strings.ToUpper(text[:1])+text[1:]+".")
		case len(units) <= 3:
			out = append(out, strings.Join(units, ", ")+": "+text+".")
		default:
			out = append(out, fmt.Sprintf("%s, %s and %s: %s", units[0], units[1], display.CountOf(len(units)-2, "more unit", "more units"), text+"."))
		}
	}
	slices.Sort(out)
	return out
}

// keeper gathers the expected power of the last stretch for the report.
type keeper struct {
	from   int64
	ids    []string
	series map[string]series.Series
}

func newKeeper(in Input, step int64) *keeper {
	k := &keeper{from: in.Now.Add(-in.Keep).Unix()}
	if in.Keep <= 0 {
		return k
	}
	k.series = map[string]series.Series{}
	for _, u := range in.Units {
		k.ids = append(k.ids, u.AssetID)
		k.series[u.AssetID] = series.Series{Step: time.Duration(step) * time.Second}
	}
	return k
}

func (k *keeper) day(v *view) {
	if k.series == nil || v.first+int64(v.cells)*v.step <= k.from {
		return
	}
	from := int(max((k.from-v.first+v.step-1)/v.step, 0))
	for u, id := range k.ids {
		s := k.series[id]
		if s.Len() == 0 {
			s.Start = v.time(from)
		}
		s.Values = append(s.Values, v.units[u].expected[from:v.cells]...)
		k.series[id] = s
	}
}
