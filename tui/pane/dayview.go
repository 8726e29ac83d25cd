package pane

import (
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/state"
)

// dayData is a day cut and compared, ready to draw. Index i is unit i.
type dayData struct {
	start time.Time
	step  time.Duration
	units []api.Asset
	slots [][]float64 // kW in each slot, NaN where nothing was reported
	total []float64   // kW of all units
	// ratios are each unit's power per capacity against the median of all, NaN
	// where the sun gives too little to compare.
	ratios [][]float64

	last     []time.Time // newest record, zero without one
	power    []float64   // kW then; of a former day its highest
	relative []float64   // power per capacity, of a former day energy, against the median of all
	energy   []float64   // kWh of the day, NaN without a record
	expected []float64   // what the median of all gives for the unit's capacity: kW, of a former day kWh; NaN where little can be compared
	errors   []string    // error type of the newest record
	highest  float64     // power per capacity of any unit in any slot
}

// Memo keeps what was computed from a day while the data behind it stay the
// same. The panes of a console share one.
type Memo struct {
	shown, span memo
}

// memo is what was computed from data of an age.
type memo struct {
	key  memoKey
	data *dayData
}

type memoKey struct {
	site                   *state.Site
	date                   time.Time
	dayAt, spanAt, assetAt time.Time
	of                     string
}

// get computes anew only when what is behind it changed.
func (m *memo) get(key memoKey, compute func() *dayData) *dayData {
	if m.data == nil || m.key != key {
		m.key, m.data = key, compute()
	}
	return m.data
}

// shownDay is the day on screen.
func shownDay(v View) state.Day {
	if v.Site.PastDate.IsZero() {
		return v.Site.Day.Data
	}
	return v.Site.Past.Data
}

// memo is where computed data are kept.
func (v View) memo() *Memo {
	if v.Memo == nil {
		return &Memo{}
	}
	return v.Memo
}

// day is the day on screen, computed anew only when its data changed.
func (v View) day() *dayData {
	at := v.Site.Day.At
	if !v.Site.PastDate.IsZero() {
		at = v.Site.Past.At
	}
	return v.memo().shown.get(memoKey{site: v.Site, date: v.Site.PastDate, dayAt: at, assetAt: v.Site.Assets.At}, func() *dayData {
		day := shownDay(v)
		return newDayData(v, day, max(day.Step(), 5*time.Minute))
	})
}

// spanOf are the whole days that a span touches: the records of former ones, and today's.
func (v View) spanOf(from, to time.Time) *dayData {
	id := state.SpanOf(from, to, v.Site.Zone)
	key := memoKey{site: v.Site, dayAt: v.Site.Day.At, spanAt: v.Site.Span.At, assetAt: v.Site.Assets.At, of: id}
	return v.memo().span.get(key, func() *dayData {
		day := state.Day{Start: midnightOf(from.In(v.Site.Zone)), End: midnightOf(to.Add(-time.Second).In(v.Site.Zone)).AddDate(0, 0, 1)}
		step, _ := state.SpanStep(day.End.Sub(day.Start))
		records := map[string][]api.Record{}
		for _, part := range []state.Day{v.Site.Span.Data, v.Site.Day.Data} {
			for _, u := range part.Units {
				records[u.AssetID] = append(records[u.AssetID], u.Records...)
			}
		}
		return newDayData(v, day.With(records), max(step, v.Site.Day.Data.Step()))
	})
}

func newDayData(v View, day state.Day, step time.Duration) *dayData {
	d := &dayData{start: day.Start, step: step, units: unitsOf(v, day)}
	if day.Start.IsZero() { // nothing came yet: the axis is today's
		d.start = midnightOf(v.SiteNow)
		d.units = nil
		return d
	}
	row := map[string]int{}
	for i, u := range day.Units {
		row[u.AssetID] = i
	}
	slots := day.Slots(d.step)
	d.total = state.Total(slots)
	n := len(d.units)
	d.slots, d.ratios = make([][]float64, n), make([][]float64, n)
	d.last, d.errors = make([]time.Time, n), make([]string, n)
	d.power, d.relative, d.energy, d.expected = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i, a := range d.units {
		d.power[i], d.relative[i], d.energy[i], d.expected[i] = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		k, ok := row[a.AssetID]
		if !ok {
			continue
		}
		d.slots[i] = slots[k]
		records := day.Units[k].Records
		if len(records) == 0 {
			continue
		}
		newest := records[len(records)-1]
		d.last[i], d.power[i], d.errors[i] = newest.Timestamp.Time, newest.Power, newest.ErrorType
		d.energy[i] = 0
		peak := math.Inf(-1)
		for _, rec := range records {
			d.energy[i] += rec.KWh
			peak = max(peak, rec.Power)
		}
		if !v.Site.PastDate.IsZero() {
			d.power[i] = peak
		}
		for _, kw := range d.slots[i] {
			if s := kw / a.CapacityKW; a.CapacityKW > 0 && s > d.highest {
				d.highest = s
			}
		}
	}
	d.compare()
	if v.Site.PastDate.IsZero() {
		d.relate(d.power, leastSpecific)
	} else {
		d.relate(d.energy, 0.1)
	}
	return d
}

// leastSpecific is the power per capacity of the peers below which units are
// not compared: a low sun and shadows of rows make the ratio meaningless.
const leastSpecific = 0.08

// leastPeers is the number of units from which a median says something.
const leastPeers = 3

// compare fills the ratios in.
func (d *dayData) compare() {
	specific := make([]float64, len(d.units))
	for i := range d.units {
		d.ratios[i] = make([]float64, len(d.total))
	}
	scratch := make([]float64, 0, len(d.units))
	for t := range d.total {
		scratch = scratch[:0]
		for i, a := range d.units {
			specific[i] = math.NaN()
			if d.slots[i] != nil && a.CapacityKW > 0 {
				specific[i] = d.slots[i][t] / a.CapacityKW
			}
			if !math.IsNaN(specific[i]) {
				scratch = append(scratch, specific[i])
			}
		}
		n, m := len(scratch), median(scratch)
		for i := range d.units {
			d.ratios[i][t] = math.NaN()
			if m >= leastSpecific && n >= leastPeers {
				d.ratios[i][t] = specific[i] / m
			}
		}
	}
}

// relate fills relative in: each unit's value per capacity against the median,
// if that is at least least.
func (d *dayData) relate(values []float64, least float64) {
	var specific []float64
	for i, a := range d.units {
		if a.CapacityKW > 0 && !math.IsNaN(values[i]) {
			specific = append(specific, values[i]/a.CapacityKW)
		}
	}
	n, m := len(specific), median(specific)
	for i, a := range d.units {
		if m >= least && n >= leastPeers && a.CapacityKW > 0 {
			d.expected[i] = m * a.CapacityKW
			d.relative[i] = values[i] / d.expected[i]
		}
	}
}

// lost is what a unit that is below normal lacks: kW, of a former day kWh. NaN where that is not known, 0 where it is normal.
func (d *dayData) lost(i int) float64 {
	switch {
	case math.IsNaN(d.relative[i]):
		return math.NaN()
	case d.relative[i] >= chart.NormalRatio.Low:
		return 0
	}
	return d.expected[i] * (1 - d.relative[i])
}

// unitsOf are the site's units: the registered ones, else those that reported.
func unitsOf(v View, day state.Day) []api.Asset {
	if assets := v.Site.Assets.Data; len(assets) > 0 {
		return assets
	}
	var out []api.Asset
	for _, u := range day.Units {
		out = append(out, api.Asset{AssetID: u.AssetID})
	}
	return out
}

// peersOf is the median of the other units' power per capacity, scaled to unit
// i, slot by slot.
func (d *dayData) peersOf(i int) []float64 {
	out := make([]float64, len(d.total))
	specific := make([]float64, 0, len(d.units))
	for t := range out {
		specific = specific[:0]
		for k, a := range d.units {
			if k != i && d.slots[k] != nil && a.CapacityKW > 0 && !math.IsNaN(d.slots[k][t]) {
				specific = append(specific, d.slots[k][t]/a.CapacityKW)
			}
		}
		out[t] = median(specific) * d.units[i].CapacityKW
	}
	return out
}
