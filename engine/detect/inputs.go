package detect

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// inputLosses finds DC inputs of a unit that deliver no current, or less than they did,
// while its other inputs deliver. The inputs of one inverter have the same clouds and the
// same temperature, so that neither other units nor irradiance are needed.
type inputLosses struct{ units []unitInputs }

// unitInputs is the state of one unit.
type unitInputs struct {
	inputs []inputState
	peak   ring // highest level of the inputs on each day
	record *record
	levels []float64 // scratch
}

// inputState is the state of one DC input.
type inputState struct {
	usual  ring    // daily current over the median input's, of sound days
	part   float64 // their median; 0: it has no modules; 1 while it is not known
	strays ring    // how far a day strayed from that
	weak   uint64  // half hours of the day, from the lowest bit, in which it had little current on a sound day: other modules had the sun

	darkSince int64   // start of the first sample without current; 0: it delivers
	darkHours float64 // of them

	low      []float64 // losses of the last days in a row that were low
	lowSince int64
	lowLost  loss.Ledger

	lost  float64 // share of its current that is missing, while it is in the record
	since int64
	day   []float64 // scratch: current over expectation in each cell
}

// Figures of the rule.
const (
	inputDays     = 15   // for the usual current of an input
	inputKnown    = 5    // days before a part of an input's current is missed
	inputDark     = 0.1  // of what is expected from the others: no current
	inputDarkFor  = 2.0  // hours before it is announced
	inputLeast    = 0.12 // smallest part of an input's current: one of eight strings
	inputSpreads  = 5    // usual deviations of a day that the loss must exceed
	inputLowDays  = 2    // days in a row
	inputPart     = 0.6  // of the loss, that each third of the day must show
	inputLevel    = 0.2  // of the highest level of the last days: enough sun to compare
	inputAtLimit  = 0.95 // of the rating: at its limit an inverter takes less from some inputs
	inputUsed     = 0.1  // of the median input's current: less is an input without modules
	inputWeak     = 0.3  // of it: little current
	inputDayHours = 2.0  // of a day that must be comparable
	leastAmps     = 0.5
)

func newInputLosses(s *session) *inputLosses {
	return &inputLosses{make([]unitInputs, len(s.in.Units))}
}

// open reports whether a loss of an input of unit k lasts.
func (l *inputLosses) open(k int) bool { return l != nil && l.units[k].record != nil }

func (l *inputLosses) look(v *view, s *session) {
	for k := range l.units {
		if len(v.units[k].inputs) >= 2 {
			l.units[k].look(v, s, k)
		}
	}
}

func (u *unitInputs) look(v *view, s *session, k int) {
	from := &v.units[k]
	if u.inputs == nil {
		u.inputs = make([]inputState, len(from.inputs))
	}
	for n := range u.inputs {
		in := &u.inputs[n]
		fit(&in.day, v.cells)
		if in.part = in.usual.quantile(0.5, 1, 1); in.part < inputUsed {
			in.part = 0
		}
	}
	rating, top := s.rating(k), u.peak.quantile(0.9, 1, 0)
	highest, compared := 0.0, false
	for i := range v.cells {
		level := u.compare(from, i)
		if level > highest {
			highest = level
		}
		if sound := level > inputLevel*max(top, highest) && from.comparable(i, rating); !sound {
			for n := range u.inputs {
				u.inputs[n].day[i] = math.NaN()
			}
			continue
		}
		compared = true
		for n := range u.inputs {
			u.dark(v, s, k, n, i)
		}
	}
	u.miss(v, s, k)
	u.follow(v, k)
	if v.partial || !compared && highest == 0 {
		return // the rest is of whole days
	}
	for n := range u.inputs {
		u.whole(v, s, k, n)
	}
	u.peak.remember(highest, inputDays)
}

// comparable reports whether the inputs of a unit are compared in a cell: it produces
// below its limits, and no stage explained it.
func (u *unitView) comparable(i int, rating float64) bool {
	return u.claimed[i] == "" && u.power[i] > 0 && u.power[i] <= inputAtLimit*rating && u.state[i] != stateThrottled
}

// compare sets each input's current in a cell over what is expected from the others, and returns
// the level of the inputs: the median of their currents, each over its usual part. A value
// is NaN where no other input is known to deliver.
func (u *unitInputs) compare(from *unitView, i int) float64 {
	u.levels = u.levels[:0]
	level := func(n int) float64 {
		in := &u.inputs[n]
		if in.lost > 0 || in.part == 0 {
			return math.NaN()
		}
		return from.inputs[n][i] / in.part
	}
	for n := range u.inputs {
		if x := level(n); !math.IsNaN(x) {
			u.levels = append(u.levels, x)
		}
	}
	middle := centreOf(u.levels)
	for n := range u.inputs {
		in := &u.inputs[n]
		in.day[i] = math.NaN()
		if e := in.part * middle.without(level(n)); e > 0 {
			in.day[i] = max(from.inputs[n][i], 0) / e
		}
	}
	return middle.median()
}

// dark follows an input without current, and announces it.
func (u *unitInputs) dark(v *view, s *session, k, n, i int) {
	in := &u.inputs[n]
	x := in.day[i]
	switch {
	case math.IsNaN(x) || in.lost > 0 || in.weak&(1<<(v.slot(i)/2)) != 0:
		return
	case x >= inputDark || len(in.usual.values) == 0:
		in.darkSince, in.darkHours = 0, 0
		return
	case in.darkSince == 0:
		in.darkSince = v.first + int64(i)*v.step
	}
	if in.darkHours += v.hours(); in.darkHours < inputDarkFor {
		return
	}
	u.announce(v, s, k, n, 1, in.darkSince, v.first+int64(i+1)*v.step)
	in.darkSince, in.darkHours = 0, 0
}

// whole evaluates the day of an input: its usual current, or a part of it that is missing.
func (u *unitInputs) whole(v *view, s *session, k, n int) {
	in := &u.inputs[n]
	if in.lost > 0 || in.darkSince != 0 {
		return
	}
	var cells []int
	for i, x := range in.day[:v.cells] {
		if !math.IsNaN(x) {
			cells = append(cells, i)
		}
	}
	if float64(len(cells))*v.hours() < inputDayHours || len(cells) < 6 {
		if len(in.usual.values) == 0 {
			u.learn(v, k, n)
		}
		return
	}
	of := func(some []int) float64 {
		var x []float64
		for _, i := range some {
			x = append(x, in.day[i])
		}
		return 1 - median(x)
	}
	down := of(cells)
	spread := max(in.strays.quantile(0.7, 3, 0.05), 0.01)
	if len(in.usual.values) < inputKnown || u.used() < 3 || down < max(inputLeast, inputSpreads*spread) {
		in.low = in.low[:0]
		in.strays.remember(math.Abs(down), inputDays)
		u.learn(v, k, n)
		return
	}
	third := len(cells) / 3
	for _, part := range [][]int{cells[:third], cells[third : 2*third], cells[2*third:]} {
		if of(part) < inputPart*down { // a shadow affects some hours only
			in.low = in.low[:0]
			in.strays.remember(down, inputDays)
			return
		}
	}
	if len(in.low) == 0 {
		begun := 0 // after the last two cells in a row with more than half of the loss to come
		for j := 1; j < len(cells); j++ {
			if 1-in.day[cells[j-1]] < down/2 && 1-in.day[cells[j]] < down/2 {
				begun = j + 1
			}
		}
		in.lowSince, in.lowLost = v.first+int64(cells[min(begun, len(cells)-1)])*v.step, loss.Ledger{}
	}
	u.addLoss(&in.lowLost, v, s, k, func(m int, at int64) float64 {
		if m == n && at >= in.lowSince {
			return down
		}
		return 0
	})
	if in.low = append(in.low, down); len(in.low) >= inputLowDays {
		u.announce(v, s, k, n, medianOf(in.low), in.lowSince, v.end())
		u.record.losses = loss.Sum(u.record.losses, in.lowLost)
		in.low = in.low[:0]
	}
}

// used is how many inputs have modules.
func (u *unitInputs) used() int {
	n := 0
	for i := range u.inputs {
		if u.inputs[i].part > 0 {
			n++
		}
	}
	return n
}

// learn adds a day to the usual current of an input: over the median of the inputs that
// have some.
func (u *unitInputs) learn(v *view, k, n int) {
	from, in := &v.units[k], &u.inputs[n]
	var ratios []float64
	weak := uint64(0)
	for i := range v.cells {
		if from.claimed[i] != "" || !(from.power[i] > 0) || math.IsNaN(from.inputs[n][i]) {
			continue
		}
		highest := 0.0
		for m := range u.inputs {
			if a := from.inputs[m][i]; u.inputs[m].lost == 0 && a > highest {
				highest = a
			}
		}
		some := u.levels[:0]
		for m := range u.inputs {
			if a := from.inputs[m][i]; u.inputs[m].lost == 0 && a > inputUsed*highest {
				some = append(some, a)
			}
		}
		u.levels = some
		if m := median(some); m > leastAmps {
			ratio := max(from.inputs[n][i], 0) / m
			if ratios = append(ratios, ratio); ratio < inputWeak {
				weak |= 1 << (v.slot(i) / 2)
			}
		}
	}
	if float64(len(ratios))*v.hours() < inputDayHours {
		return
	}
	usual := median(ratios)
	if in.usual.remember(usual, inputDays); usual > inputWeak {
		in.weak |= weak
	}
}

// announce opens the record of a unit, or adds an input to it.
func (u *unitInputs) announce(v *view, s *session, k, n int, lost float64, since, detected int64) {
	in := &u.inputs[n]
	in.lost, in.since = lost, since
	if u.record == nil {
		f := newFacts()
		f.rating = s.rating(k)
		r := &record{family: StringOutage, units: []int{k}, start: since, detected: detected, lastSeen: detected, seen: f}
		u.record = s.open(r)
	}
	u.record.lastSeen = max(u.record.lastSeen, detected)
	for i := 0; i < v.cells && v.first+int64(i)*v.step < detected; i++ {
		if c := v.units[k].code[i]; c > 0 {
			u.record.seen.code = c
		}
	}
	u.word(v, k, detected)
}

// word puts what is missing into words.
func (u *unitInputs) word(v *view, k int, until int64) {
	numbers := v.units[k].numbers
	u.record.observed = nil
	total := u.share(func(int) float64 { return 1 })
	u.record.fraction = u.share(func(n int) float64 { return u.inputs[n].lost }) / total
	for n := range u.inputs {
		in := &u.inputs[n]
		if in.lost == 0 {
			continue
		}
		others := 0
		for m := range u.inputs {
			if m != n && u.inputs[m].lost == 0 && u.inputs[m].part > 0 {
				others++
			}
		}
		if in.lost > 1-inputDark {
			u.record.observed = append(u.record.observed, shows("input_dead", 3, float64(numbers[n]), 0, "", "DC input %d of %d delivers no current while %s of the unit do.",
				numbers[n], len(u.inputs), display.CountOf(others, "other input", "other inputs")))
		} else {
			u.record.observed = append(u.record.observed, shows("input_low", 2, float64(numbers[n]), 100*(1-in.lost), "%", "DC input %d of %d delivers %s of what is expected from %s of the unit.",
				numbers[n], len(u.inputs), display.Percent(1-in.lost), display.CountOf(others, "other input", "other inputs")))
		}
	}
	u.record.observed = append(u.record.observed, shows("same_inverter", 1, float64(until-u.record.start)/3600, inputDarkFor, "h",
		"They have the same clouds and the same temperature, and it had its usual part before."))
	if u.record.seen.code > 0 {
		u.record.observed = append(u.record.observed, codeEvidence(u.record.seen.code))
	}
}

// share is the sum over the inputs of their usual current times a factor.
func (u *unitInputs) share(factor func(n int) float64) float64 {
	sum := 0.0
	for n := range u.inputs {
		sum += u.inputs[n].part * factor(n)
	}
	return sum
}

// miss adds what the inputs of the record would have delivered on the day.
func (u *unitInputs) miss(v *view, s *session, k int) {
	if u.record == nil {
		return
	}
	var day loss.Ledger
	u.addLoss(&day, v, s, k, func(n int, at int64) float64 {
		if u.inputs[n].lost > 0 && at >= u.inputs[n].since {
			return u.inputs[n].lost
		}
		return 0
	})
	u.record.losses = loss.Sum(u.record.losses, day)
}

// addLoss adds what the unit would have made more on the day if no part of its inputs had
// been lost.
func (u *unitInputs) addLoss(to *loss.Ledger, v *view, s *session, k int, lost func(n int, at int64) float64) {
	from, rating := &v.units[k], s.rating(k)
	total := u.share(func(int) float64 { return 1 })
	for i := range v.cells {
		if !from.comparable(i, rating) {
			continue
		}
		at := v.first + int64(i)*v.step
		if x := u.share(func(n int) float64 { return lost(n, at) }) / total; x > 0 && x < 1 {
			v.addLoss(to, i, min(from.power[i]*x/(1-x), rating-from.power[i]))
		}
	}
}

// follow says until when the inputs of the record were seen to be lost. On a whole day it
// takes those that deliver again out of it, and ends it after the last one.
func (u *unitInputs) follow(v *view, k int) {
	if u.record == nil {
		return
	}
	lasts, back := false, int64(0)
	for n := range u.inputs {
		in := &u.inputs[n]
		if in.lost == 0 {
			continue
		}
		hours, since := 0.0, int64(0)
		for i, x := range in.day[:v.cells] {
			switch at := v.first + int64(i)*v.step; {
			case math.IsNaN(x) || at < in.since:
			case 1-x > in.lost/2:
				hours, since = 0, 0
				u.record.lastSeen = max(u.record.lastSeen, at+v.step)
			default:
				if since == 0 {
					since = at
				}
				hours += v.hours()
			}
		}
		if hours >= inputDayHours && !v.partial {
			in.lost, in.since, back = 0, 0, max(back, since)
		} else {
			lasts = true
		}
	}
	if lasts && back > 0 {
		u.word(v, k, u.record.lastSeen)
	}
	if !lasts {
		u.record.end = max(back, u.record.start+1)
		u.record.lastSeen = min(u.record.lastSeen, u.record.end)
		u.record = nil
	}
}

// inputNumbers are the DC inputs that the evidence of a kind is of.
func (e Event) inputNumbers(kind string) (list []int) {
	for _, v := range e.Evidence {
		if v.Kind == kind {
			list = append(list, int(v.Value))
		}
	}
	slices.Sort(list)
	return list
}

// Inputs says which DC inputs an event is of, such as "DC input 7" or "DC inputs 3 and 7";
// dead reports that they deliver no current. It is empty if the event is of no input.
func (e Event) Inputs() (text string, dead bool) {
	list := e.inputNumbers("input_dead")
	if dead = len(list) > 0; !dead {
		list = e.inputNumbers("input_low")
	}
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = fmt.Sprint(n)
	}
	switch n := len(words); n {
	case 0:
		return "", false
	case 1:
		return "DC input " + words[0], dead
	default:
		return "DC inputs " + strings.Join(words[:n-1], ", ") + " and " + words[n-1], dead
	}
}
