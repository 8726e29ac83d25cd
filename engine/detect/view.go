package detect

import (
	"math"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// view is one day of the site on an even grid: what was read, what was to be
// expected, and what the stages have explained. Slices are reused from day to
// day. Cells belong to the day in whose [start, end) they begin.
type view struct {
	first   int64 // Unix time of cell 0
	step    int64 // seconds
	cells   int
	date    time.Time // first instant of the day
	partial bool      // it has not ended yet
	units   []unitView
	light   []float64 // irradiance, W/m², median of the units' readings; NaN unknown
	tempC   []float64 // ambient
	clear   []float64 // clear-sky power per kW of rating by the sun's position; NaN without a location
	share   []float64 // median of the units' power over their ratings; NaN of none
	sky     daySky
	day     []bool // the site's clear-sky or usual power is above armedShare
	dark    []bool // the sun is down, or the site has never produced at this time of the day
}

// unitView is one unit's part of the view.
type unitView struct {
	power    []float64 // kW; NaN where there is no credible reading
	counter  []float64 // kWh, lifetime, at the cell's start
	state    []float64
	code     []float64
	light    []float64
	temp     []float64
	dcVolts  []float64 // highest voltage of the DC inputs
	acVolts  []float64
	cabinet  []float64   // °C
	inputs   [][]float64 // current of each DC input, A
	numbers  []int       // of these inputs, from 1
	raw      []float64   // kW as read, credible or not
	heard    []bool      // something new arrived for the cell
	expected []float64   // kW; NaN where nothing is known
	even     []float64   // kW by peers, without the unit's own shape of the day; NaN without peers
	lit      []float64   // kW that the irradiance gives, whatever peers say; NaN without irradiance
	tier     []tier
	sun      []bool // expected is sure enough to arm the outage rule
	peers    []int  // producing peers behind an expectation of tierPeers
	scaled   []bool // the reading is the expectation in another unit
	claimed  []Family
	relative relative // the day against peers, if charted
	charted  bool
}

// tier is where an expectation comes from.
type tier uint8

const (
	tierNone tier = iota
	tierPeers
	tierLight
	tierForecast
	tierUsual
)

// drop takes a row that is no reading out of the view.
func (u *unitView) drop(i int) {
	nan := math.NaN()
	u.power[i], u.raw[i], u.counter[i], u.light[i], u.temp[i], u.state[i], u.code[i], u.heard[i] = nan, nan, nan, nan, nan, nan, nan, false
}

func (v *view) time(i int) time.Time { return time.Unix(v.first+int64(i)*v.step, 0).UTC() }

// end is the first second after the view.
func (v *view) end() int64 { return v.first + int64(v.cells)*v.step }

// middle is the instant in the middle of a cell.
func (v *view) middle(i int) time.Time { return time.Unix(v.first+int64(i)*v.step+v.step/2, 0).UTC() }
func (v *view) hours() float64         { return float64(v.step) / 3600 }

// slot is the cell's quarter of an hour of the day in UTC, a clock that never
// changes.
func (v *view) slot(i int) int {
	s := (v.first + int64(i)*v.step) % 86400
	return int(s / (86400 / slots))
}

const slots = 96

// grid lays frames on the view, day after day.
type grid struct {
	site    Site
	step    int64
	sources []source
	v       view
}

// source is a unit's frame and how to read power from it.
type source struct {
	times                                       []int64
	power, counter, state, run, code, light, tm []float64
	cabinet, acVolts                            []float64
	dcVolts, dcAmps                             [][]float64 // of each input that has a column
	numbers                                     []int       // of the inputs of dcAmps
	scale                                       float64     // kW for each unit of the power column
	next                                        int         // first row not yet laid
	clock                                       int64       // seconds that the stamps are late, as far as is known
}

func newSource(f series.Frame, step int64) (source, bool) {
	s := source{
		times: f.Times, counter: f.Values(series.EnergyCounterKWh), state: f.Values(series.InverterState), run: f.Values(series.RunState),
		code: eventCodes(f.Values(series.ErrorCode), f.Values(series.VendorCode)), light: f.Values(series.IrradianceWM2), tm: f.Values(series.TemperatureC), scale: 1,
	}
	s.cabinet, s.acVolts = f.Values(series.CabinetTempC), f.Values(series.VoltageV)
	for n := 1; n <= 31; n++ {
		if v := f.Values(series.DCVoltage(n)); v != nil {
			s.dcVolts = append(s.dcVolts, v)
		}
		if a := f.Values(series.DCCurrent(n)); a != nil {
			s.dcAmps, s.numbers = append(s.dcAmps, a), append(s.numbers, n)
		}
	}
	s.power = f.Values(series.PowerKW)
	if !present(s.power) {
		s.power = f.Values(series.EnergyKWh)
		s.scale = 3600 / float64(step)
	}
	if !present(s.power) && present(s.counter) {
		s.power, s.scale = differences(f.Times, s.counter, step), 1
	}
	return s, present(s.power)
}

// eventCodes returns the event codes of a unit: SunSpec's bits where a bit is set, else
// the vendor's word, moved above all codes that hasBit reads.
func eventCodes(codes, vendor []float64) []float64 {
	if !present(vendor) {
		return codes
	}
	out := make([]float64, len(vendor))
	for i, v := range vendor {
		out[i] = math.NaN()
		if codes != nil {
			out[i] = codes[i]
		}
		if v > 0 && !(out[i] > 0) {
			out[i] = vendorCodes + v
		}
	}
	return out
}

// present reports whether a column has any value.
func present(values []float64) bool {
	for _, v := range values {
		if !math.IsNaN(v) {
			return true
		}
	}
	return false
}

// differences is mean power from a lifetime counter: known for a row only once
// the next has come, which is when the row's interval ends.
func differences(times []int64, counter []float64, step int64) []float64 {
	out := make([]float64, len(counter))
	for i := range out {
		out[i] = math.NaN()
		if i+1 < len(counter) && times[i+1]-times[i] <= 2*step {
			if d := counter[i+1] - counter[i]; d >= 0 {
				out[i] = d * 3600 / float64(times[i+1]-times[i])
			}
		}
	}
	return out
}

// setClock sets how late the stamps of the days to come are taken to be.
func (g *grid) setClock(late int64) {
	for k := range g.sources {
		g.sources[k].clock = late
	}
}

// lay fills the view with the day [start, end), as far as now.
func (g *grid) lay(start, end time.Time, now int64) *view {
	v := &g.v
	ceil := func(t int64) int64 { return (t + g.step - 1) / g.step * g.step }
	v.first, v.step, v.date = ceil(start.Unix()), g.step, start
	last := min(ceil(end.Unix()), now/g.step*g.step) // the cell that now is in has not ended
	v.cells = int(max((last-v.first)/g.step, 0))
	v.partial = now < end.Unix()
	v.resize(g.sources)
	for u := range g.sources {
		g.sources[u].lay(v, &v.units[u])
	}
	g.sky(v)
	return v
}

// weather fills the site's irradiance and temperature from what its units
// report, after the rows that are no readings have been taken out.
func (v *view) weather() {
	middle := make([]float64, 0, len(v.units))
	for i := range v.cells {
		v.light[i] = across(v.units, middle, i, func(u *unitView) []float64 { return u.light })
		v.tempC[i] = across(v.units, middle, i, func(u *unitView) []float64 { return u.temp })
	}
}

// sky fills the clear-sky global irradiance in units of 1 kW/m² at the middle
// of each cell.
func (g *grid) sky(v *view) {
	if g.site.Location == nil {
		for i := range v.cells {
			v.clear[i] = math.NaN()
		}
		return
	}
	loc := *g.site.Location
	linke := solar.LinkeTurbidity(loc, v.date.Month())
	for i := range v.cells {
		t := time.Unix(v.first+int64(i)*v.step+v.step/2, 0).UTC()
		p := solar.At(t, loc)
		v.clear[i] = 0
		if p.ApparentZenithDeg < 90 {
			v.clear[i] = min(solar.ClearSky(t, p, loc, linke).GHI/1000, 1)
		}
	}
}

func (s *source) lay(v *view, u *unitView) {
	u.charted = false
	nan := math.NaN()
	for i := range v.cells {
		u.power[i], u.raw[i], u.counter[i], u.state[i], u.code[i], u.light[i], u.temp[i] = nan, nan, nan, nan, nan, nan, nan
		u.heard[i], u.claimed[i], u.scaled[i] = false, "", false
		u.dcVolts[i], u.acVolts[i], u.cabinet[i] = nan, nan, nan
	}
	for n := range u.inputs {
		for i := range v.cells {
			u.inputs[n][i] = nan
		}
	}
	for s.next < len(s.times) && s.times[s.next]-s.clock < v.first {
		s.next++
	}
	end := v.first + int64(v.cells)*v.step
	for s.next < len(s.times) && s.times[s.next]-s.clock < end {
		i := int((s.times[s.next] - s.clock - v.first) / v.step)
		from := s.next
		for s.next < len(s.times) && s.times[s.next]-s.clock < v.first+int64(i+1)*v.step {
			s.next++
		}
		rows := [2]int{from, s.next}
		u.raw[i] = s.scale * mean(s.power, rows)
		u.power[i] = between(u.raw[i], -1e9, 1e9)
		u.light[i], u.temp[i] = between(mean(s.light, rows), -100, 2000), between(mean(s.tm, rows), coldest, 80)
		u.counter[i] = between(firstOf(s.counter, rows), 0, 1e12)
		u.state[i] = state(lastOf(s.state, rows), lastOf(s.run, rows))
		u.code[i] = code(s.code, rows)
		u.heard[i] = !math.IsNaN(u.raw[i]) || !math.IsNaN(u.counter[i])
		if s.cabinet != nil {
			u.cabinet[i] = between(mean(s.cabinet, rows), -60, 150)
		}
		if s.acVolts != nil {
			u.acVolts[i] = between(mean(s.acVolts, rows), 0, 1e5)
		}
		for _, volts := range s.dcVolts {
			if x := between(mean(volts, rows), 0, 1e4); !(u.dcVolts[i] >= x) {
				u.dcVolts[i] = x
			}
		}
		for n, amps := range s.dcAmps {
			u.inputs[n][i] = between(mean(amps, rows), -10, 1e4)
		}
	}
}

// coldest is the ambient temperature, °C, below which a reading is a sensor's
// way of saying that it has none.
const coldest = -48

// between is x if it is within what can be, else missing: sentinels and
// infinities are no readings.
func between(x, low, high float64) float64 {
	if x >= low && x <= high {
		return x
	}
	return math.NaN()
}

// state returns the operating state, or without one whether the unit reports
// that it runs.
func state(operating, run float64) float64 {
	if !math.IsNaN(operating) {
		return operating
	}
	switch run {
	case 0:
		return stateOff
	case 1:
		return stateMPPT
	}
	return math.NaN()
}

func mean(values []float64, rows [2]int) float64 {
	if values == nil {
		return math.NaN()
	}
	if rows[1] == rows[0]+1 {
		return values[rows[0]]
	}
	var sum float64
	n := 0
	for _, x := range values[rows[0]:rows[1]] {
		if !math.IsNaN(x) {
			sum += x
			n++
		}
	}
	return sum / float64(n) // 0/0 is NaN
}

func firstOf(values []float64, rows [2]int) float64 {
	if values != nil {
		for _, x := range values[rows[0]:rows[1]] {
			if !math.IsNaN(x) {
				return x
			}
		}
	}
	return math.NaN()
}

func lastOf(values []float64, rows [2]int) float64 {
	out := math.NaN()
	if values != nil {
		for _, x := range values[rows[0]:rows[1]] {
			if !math.IsNaN(x) {
				out = x
			}
		}
	}
	return out
}

// code returns the last meaningful event code. Registers of bits that a device does not
// implement read 0xFFFF or 0xFFFFFFFF and are ignored. 0x8000 is bit 15 alone.
func code(values []float64, rows [2]int) float64 {
	out := math.NaN()
	if values == nil {
		return out
	}
	for _, x := range values[rows[0]:rows[1]] {
		switch x {
		case 0xFFFF, 0xFFFFFFFF:
			continue
		}
		if !math.IsNaN(x) && (x != 0 || math.IsNaN(out)) {
			out = x
		}
	}
	return out
}

// across is the median over the units of a column at cell i; middle is scratch.
func across(units []unitView, middle []float64, i int, column func(*unitView) []float64) float64 {
	middle = middle[:0]
	for u := range units {
		if x := column(&units[u])[i]; !math.IsNaN(x) {
			middle = append(middle, x)
		}
	}
	return median(middle)
}

func (v *view) resize(sources []source) {
	if v.units == nil {
		v.units = make([]unitView, len(sources))
		for k := range sources {
			v.units[k].inputs, v.units[k].numbers = make([][]float64, len(sources[k].dcAmps)), sources[k].numbers
		}
	}
	fit(&v.light, v.cells)
	fit(&v.tempC, v.cells)
	fit(&v.clear, v.cells)
	fit(&v.share, v.cells)
	fit(&v.day, v.cells)
	fit(&v.dark, v.cells)
	for k := range v.units {
		u := &v.units[k]
		for _, c := range []*[]float64{&u.power, &u.counter, &u.state, &u.code, &u.light, &u.temp, &u.expected, &u.even, &u.lit, &u.raw, &u.dcVolts, &u.acVolts, &u.cabinet} {
			fit(c, v.cells)
		}
		for n := range u.inputs {
			fit(&u.inputs[n], v.cells)
		}
		fit(&u.scaled, v.cells)
		fit(&u.heard, v.cells)
		fit(&u.sun, v.cells)
		fit(&u.peers, v.cells)
		fit(&u.tier, v.cells)
		fit(&u.claimed, v.cells)
	}
}

func fit[T any](s *[]T, n int) {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	*s = (*s)[:n]
}
