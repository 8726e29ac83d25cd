package view

import (
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/state"
)

// DayTable is a day in slots with the comparison of its units. Index i is unit i.
type DayTable struct {
	Start time.Time
	Step  time.Duration
	Units []api.Asset
	Slots [][]float64 // kW in each slot, NaN where nothing was reported
	Total []float64   // kW of all units
	// ratios are each unit's power per capacity against the median of all, NaN
	// where the sun gives too little to compare.
	Ratios [][]float64
	// Abnormal are the ratios of deficits that last, or of units that stopped, and
	// 1 where a unit is normal: a passing cloud and a surplus are no fault.
	Abnormal [][]float64
	// Missing is the power that abnormal units lack in each slot against the median of all, in kW.
	Missing []float64
	medians []float64 // power per capacity, NaN where too little can be compared

	Last     []time.Time // newest record, zero without one
	Power    []float64   // kW then; of a former day its highest
	Relative []float64   // power per capacity, of a former day energy, against the median of all
	Energy   []float64   // kWh of the day, NaN without a record
	Expected []float64   // what the median of all gives for the unit's capacity: kW, of a former day kWh; NaN where little can be compared
	Errors   []string    // error type of the newest record
	Highest  float64     // power per capacity of any unit in any slot
}

// Memo keeps what was computed from a day while the data behind it stay the
// same. The panes of a console share one.
type Memo struct {
	shown, span DayMemo
}

// DayMemo is what was computed from data of an age.
type DayMemo struct {
	key  DayKey
	data *DayTable
}

// DayKey identifies the data that a DayTable was computed from.
type DayKey struct {
	Site                   *state.Site
	date                   time.Time
	dayAt, SpanAt, AssetAt time.Time
	Of                     string
}

// Get computes again only when its inputs changed.
func (m *DayMemo) Get(key DayKey, compute func() *DayTable) *DayTable {
	if m.data == nil || m.key != key {
		m.key, m.data = key, compute()
	}
	return m.data
}

// ShownDay returns the day on screen.
func ShownDay(v Context) state.Day {
	if !v.Site.PastDate.IsZero() {
		return v.Site.Past.Data
	}
	if !v.Site.Day.Data.Start.Equal(MidnightOf(v.SiteNow)) {
		return state.Day{} // of another day: the clock passed midnight, or was wrong
	}
	return v.Site.Day.Data
}

// memoOrNew returns where computed data are kept.
func (v Context) memoOrNew() *Memo {
	if v.Memo == nil {
		return &Memo{}
	}
	return v.Memo
}

// Day returns the day on screen, computed again only when its data changed.
func (v Context) Day() *DayTable {
	at, date := v.Site.Day.At, MidnightOf(v.SiteNow)
	if !v.Site.PastDate.IsZero() {
		at, date = v.Site.Past.At, v.Site.PastDate
	}
	return v.memoOrNew().shown.Get(DayKey{Site: v.Site, date: date, dayAt: at, AssetAt: v.Site.Assets.At}, func() *DayTable {
		day := ShownDay(v)
		return NewDayData(v, day, max(day.Step(), 5*time.Minute))
	})
}

// Span returns the whole days that a span touches: the records of former ones, and today's.
func (v Context) Span(from, to time.Time) *DayTable {
	id := state.SpanOf(from, to, v.Site.Zone)
	key := DayKey{Site: v.Site, dayAt: v.Site.Day.At, SpanAt: v.Site.Span.At, AssetAt: v.Site.Assets.At, Of: id}
	return v.memoOrNew().span.Get(key, func() *DayTable {
		day := state.Day{Start: MidnightOf(from.In(v.Site.Zone)), End: MidnightOf(to.Add(-time.Second).In(v.Site.Zone)).AddDate(0, 0, 1)}
		step, _ := state.SpanStep(day.End.Sub(day.Start))
		records := map[string][]api.Record{}
		for _, part := range []state.Day{v.Site.Span.Data, v.Site.Day.Data} {
			for _, u := range part.Units {
				records[u.AssetID] = append(records[u.AssetID], u.Records...)
			}
		}
		return NewDayData(v, day.With(records), max(step, v.Site.Day.Data.Step()))
	})
}

// NewDayData cuts a day into slots of a step and compares its units.
func NewDayData(v Context, day state.Day, step time.Duration) *DayTable {
	d := &DayTable{Start: day.Start, Step: step, Units: unitsOf(v, day)}
	if day.Start.IsZero() { // no data yet: the axis is today's
		d.Start = MidnightOf(v.SiteNow)
		d.Units = nil
		return d
	}
	row := map[string]int{}
	for i, u := range day.Units {
		row[u.AssetID] = i
	}
	slots := day.Slots(d.Step)
	d.Total = state.Total(slots)
	n := len(d.Units)
	d.Slots, d.Ratios = make([][]float64, n), make([][]float64, n)
	d.Last, d.Errors = make([]time.Time, n), make([]string, n)
	d.Power, d.Relative, d.Energy, d.Expected = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i, a := range d.Units {
		d.Power[i], d.Relative[i], d.Energy[i], d.Expected[i] = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		k, ok := row[a.AssetID]
		if !ok {
			continue
		}
		d.Slots[i] = slots[k]
		records := day.Units[k].Records
		if len(records) == 0 {
			continue
		}
		newest := records[len(records)-1]
		d.Last[i], d.Power[i], d.Errors[i] = newest.Timestamp.Time, newest.Power, newest.ErrorType
		d.Energy[i] = 0
		peak := math.Inf(-1)
		for _, rec := range records {
			d.Energy[i] += max(rec.KWh, 0) // consumption at night is not production
			peak = max(peak, rec.Power)
		}
		if !v.Site.PastDate.IsZero() {
			d.Power[i] = peak
		}
		for _, kw := range d.Slots[i] {
			if s := kw / a.CapacityKW; a.CapacityKW > 0 && s > d.Highest {
				d.Highest = s
			}
		}
	}
	d.compare()
	d.sustain()
	if v.Site.PastDate.IsZero() {
		d.relate(d.Power, leastSpecific)
	} else {
		d.relate(d.Energy, 0.1)
	}
	return d
}

// leastSpecific is the power per capacity of the peers below which units are
// not compared: a low sun and shadows of rows make the ratio meaningless.
const leastSpecific = 0.08

// leastPeers is the number of units from which a median says something.
const leastPeers = 3

// compare fills the ratios in.
func (d *DayTable) compare() {
	specific := make([]float64, len(d.Units))
	for i := range d.Units {
		d.Ratios[i] = make([]float64, len(d.Total))
	}
	scratch := make([]float64, 0, len(d.Units))
	d.medians = make([]float64, len(d.Total))
	for t := range d.Total {
		scratch = scratch[:0]
		for i, a := range d.Units {
			specific[i] = math.NaN()
			if d.Slots[i] != nil && a.CapacityKW > 0 {
				specific[i] = d.Slots[i][t] / a.CapacityKW
			}
			if !math.IsNaN(specific[i]) {
				scratch = append(scratch, specific[i])
			}
		}
		n, m := len(scratch), Median(scratch)
		if d.medians[t] = m; m < leastSpecific || n < leastPeers {
			d.medians[t] = math.NaN()
		}
		for i := range d.Units {
			d.Ratios[i][t] = math.NaN()
			if m >= leastSpecific && n >= leastPeers {
				d.Ratios[i][t] = specific[i] / m
			}
		}
	}
}

// Limits of what counts as a deficit at once or after a while.
const (
	sustained    = 30 * time.Minute
	stoppedRatio = 0.05 // of the peers, below which a unit is stopped
)

// sustain fills the abnormal ratios in.
func (d *DayTable) sustain() {
	d.Abnormal = make([][]float64, len(d.Ratios))
	least := max(int(sustained/max(d.Step, time.Minute)), 1)
	for i, ratios := range d.Ratios {
		out := make([]float64, len(ratios))
		for t := 0; t < len(ratios); {
			end := t
			for end < len(ratios) && ratios[end] < chart.NormalRatio.Low {
				end++
			}
			if end == t {
				out[t] = min(ratios[t], 1)
				t++
				continue
			}
			for k := t; k < end; k++ {
				out[k] = 1
				if end-t >= least || ratios[k] < stoppedRatio {
					out[k] = ratios[k]
				}
			}
			t = end
		}
		d.Abnormal[i] = out
	}
	d.Missing = make([]float64, len(d.Total))
	for i, a := range d.Units {
		for t, ratio := range d.Abnormal[i] {
			if ratio < chart.NormalRatio.Low && !math.IsNaN(d.medians[t]) {
				d.Missing[t] += d.medians[t] * a.CapacityKW * (1 - ratio)
			}
		}
	}
}

// LossOf is the band from the measured power of unit i to that of its peers, while the
// unit is abnormal.
func (d *DayTable) LossOf(i int, peers []float64) *chart.Band {
	loss := d.lossBand()
	for t, ratio := range d.Abnormal[i] {
		if ratio < chart.NormalRatio.Low && peers[t] > d.Slots[i][t] {
			loss.Low[t], loss.High[t] = d.Slots[i][t], peers[t]
		}
	}
	return loss
}

// Loss is the band from the measured power of the site to what it would be without its
// abnormal units. Where the measured power has been below low for a while it reaches to
// expected; both have a value for each slot, NaN where nothing is known, or are nil.
func (d *DayTable) Loss(low, expected []float64) *chart.Band {
	loss := d.lossBand()
	least := max(int(sustained/max(d.Step, time.Minute)), 1)
	for t, kw := range d.Total {
		if d.Missing[t] > 0 && !math.IsNaN(kw) {
			loss.Low[t], loss.High[t] = max(kw, 0), max(kw, 0)+d.Missing[t]
		}
	}
	for t := 0; low != nil && t < len(d.Total); {
		end := t
		for end < len(d.Total) && d.Total[end] < low[end] {
			end++
		}
		for k := t; k < end && end-t >= least; k++ {
			if kw := max(d.Total[k], 0); expected[k] > kw && !(loss.High[k] > expected[k]) {
				loss.Low[k], loss.High[k] = kw, expected[k]
			}
		}
		t = max(end, t+1)
	}
	return loss
}

// lossBand is a band over all slots without limits.
func (d *DayTable) lossBand() *chart.Band {
	n := len(d.Total)
	b := &chart.Band{At: make([]int64, n), Low: make([]float64, n), High: make([]float64, n), Step: d.Step}
	for t := range n {
		b.At[t], b.Low[t], b.High[t] = d.Start.Add(time.Duration(t)*d.Step).Unix(), math.NaN(), math.NaN()
	}
	return b
}

// Stopped reports whether a unit produces nothing while its peers do, by its
// newest record.
func (d *DayTable) Stopped(i int) bool { return d.Relative[i] < stoppedRatio }

// Deficient reports whether a unit has been below normal for a while, up to its
// newest record, or is stopped.
func (d *DayTable) Deficient(i int) bool {
	if d.Stopped(i) {
		return true
	}
	for t := len(d.Abnormal[i]) - 1; t >= 0; t-- {
		if q := d.Abnormal[i][t]; !math.IsNaN(q) {
			return q < chart.NormalRatio.Low
		}
	}
	return false
}

// relate fills relative in: each unit's value per capacity against the median,
// if that is at least least.
func (d *DayTable) relate(values []float64, least float64) {
	var specific []float64
	for i, a := range d.Units {
		if a.CapacityKW > 0 && !math.IsNaN(values[i]) {
			specific = append(specific, values[i]/a.CapacityKW)
		}
	}
	n, m := len(specific), Median(specific)
	for i, a := range d.Units {
		if m >= least && n >= leastPeers && a.CapacityKW > 0 {
			d.Expected[i] = m * a.CapacityKW
			d.Relative[i] = values[i] / d.Expected[i]
		}
	}
}

// Lost returns the deficit of a unit that is below normal: kW, of a former day kWh. NaN where that is not known, 0 where it is normal.
func (d *DayTable) Lost(i int) float64 {
	switch {
	case math.IsNaN(d.Relative[i]):
		return math.NaN()
	case d.Relative[i] >= chart.NormalRatio.Low:
		return 0
	}
	return d.Expected[i] * (1 - d.Relative[i])
}

// unitsOf returns the site's units: the registered ones, else those that reported.
func unitsOf(v Context, day state.Day) []api.Asset {
	if assets := v.Site.Assets.Data; len(assets) > 0 {
		return assets
	}
	var out []api.Asset
	for _, u := range day.Units {
		out = append(out, api.Asset{AssetID: u.AssetID})
	}
	return out
}

// PeersOf returns the median of the other units' power per capacity, scaled to unit
// i, slot by slot.
func (d *DayTable) PeersOf(i int) []float64 {
	out := make([]float64, len(d.Total))
	specific := make([]float64, 0, len(d.Units))
	for t := range out {
		specific = specific[:0]
		for k, a := range d.Units {
			if k != i && d.Slots[k] != nil && a.CapacityKW > 0 && !math.IsNaN(d.Slots[k][t]) {
				specific = append(specific, d.Slots[k][t]/a.CapacityKW)
			}
		}
		out[t] = Median(specific) * d.Units[i].CapacityKW
	}
	return out
}

// PeersEnergy returns the median of the other units' energy of the day per capacity,
// scaled to unit i; NaN without any.
func (d *DayTable) PeersEnergy(i int) float64 {
	specific := make([]float64, 0, len(d.Units))
	for k, a := range d.Units {
		if k != i && a.CapacityKW > 0 && !math.IsNaN(d.Energy[k]) {
			specific = append(specific, d.Energy[k]/a.CapacityKW)
		}
	}
	return Median(specific) * d.Units[i].CapacityKW
}

// Median of values without NaN; they are put in order. NaN without any.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// MidnightOf returns the midnight before a time, in its zone.
func MidnightOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}
