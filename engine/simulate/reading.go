package simulate

import (
	"math"

	"app.sunloop/engine/series"
)

// report is what arrives from unit k for stamp t; ok is false where nothing does.
func (w *window) report(k int, t, stepS int64) (r reading, ok bool) {
	for _, f := range w.hiding[k] {
		if f.Kind != TimeShift {
			continue
		}
		shift := int64(f.Severity) * 60
		switch truly := t - shift; {
		case !f.within(t) && !f.within(truly):
		case f.within(t) && f.within(truly):
			return w.at(k, truly, stepS)
		case shift > 0 && f.within(t), shift < 0 && f.within(t):
			return reading{}, false // the clock jumped over this stamp
		}
	}
	return w.at(k, t, stepS)
}

// within reports whether the fault is active at a Unix time.
func (f *Fault) within(t int64) bool {
	return t >= f.From.Unix() && (f.To.IsZero() || t < f.To.Unix())
}

// at returns the unit's record of a time, which may be on the previous or the
// next day.
func (w *window) at(k int, t, stepS int64) (r reading, ok bool) {
	if t < w.day.startS || t >= w.endS {
		other := window{site: w.site}
		other.move(t)
		return other.readingAt(k, t, stepS)
	}
	return w.readingAt(k, t, stepS)
}

func (w *window) readingAt(k int, t, stepS int64) (r reading, ok bool) {
	for _, f := range w.hiding[k] {
		if !f.hidesRows() || !f.within(t) {
			continue
		}
		switch {
		case f.outage() || f.Gap == RowsRemoved:
			return reading{}, false
		case f.Gap == RowsEmpty:
			return emptyReading(), true
		default:
			return w.earlier(k, ceilTo(f.From.Unix(), stepS)-stepS, stepS), true
		}
	}
	r = w.reading(k, t, stepS)
	for _, f := range w.hiding[k] {
		if !f.within(t) {
			continue
		}
		switch f.Kind {
		case StuckSensor:
			r.powerKW = w.earlier(k, ceilTo(f.From.Unix(), stepS)-stepS, stepS).powerKW
		case ScaleError:
			r.powerKW = round(r.powerKW*f.Severity, 1000)
		case Spikes:
			r.powerKW = [...]float64{65535, -32768, 1e19}[mix(w.site.seed, hashString(f.ID))%3]
		case IrradianceSensor:
			r.irradiance = round(r.irradiance*(1-f.Severity), 10)
		}
	}
	return r, true
}

func emptyReading() reading {
	nan := math.NaN()
	r := reading{nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, [dcInputs]float64{}, [dcInputs]float64{}}
	for i := range dcInputs {
		r.dcVoltage[i], r.dcCurrent[i] = nan, nan
	}
	return r
}

// earlier is the reading of unit k at a stamp that may lie on a day before.
func (w *window) earlier(k int, t, stepS int64) reading {
	if t >= w.day.startS {
		return w.reading(k, t, stepS)
	}
	before := window{site: w.site}
	before.move(t)
	return before.reading(k, t, stepS)
}

// reading returns the state of unit k at time stamp t, before data faults are
// applied.
func (w *window) reading(k int, t, stepS int64) reading {
	d := w.day
	hours := float64(stepS) / 3600
	a, b := t-d.startS, t+stepS-d.startS
	energy := d.units[k].upTo(b) - d.units[k].upTo(a)
	light := d.sensor.upTo(b) - d.sensor.upTo(a)
	for at, next := w.endS, d; t+stepS > at; at = next.startS + int64(next.cells)*cellS {
		next = w.site.at(next.index + 1)
		energy += next.units[k].upTo(t + stepS - next.startS)
		light += next.sensor.upTo(t + stepS - next.startS)
	}
	node := int(a / cellS)
	r := reading{
		powerKW:    round(energy/hours, 1000),
		counterKWh: round(w.counters[k]+d.units[k].upTo(a), 100),
		irradiance: round(light/hours, 10),
		tempC:      round(d.tempC[node]+(d.tempC[node+1]-d.tempC[node])*float64(a%cellS)/float64(cellS), 10),
		state:      stateMPPT, run: 1,
	}
	w.operation(k, t, &r)
	if w.site.Portal == RichPortal {
		w.details(k, t, &r)
	}
	return r
}

// operation sets the states that the unit reports.
func (w *window) operation(k int, t int64, r *reading) {
	u := &w.site.Units[k]
	if r.powerKW > 0 {
		for i := range w.hiding[k] {
			f := &w.hiding[k][i]
			switch {
			case !f.within(t):
			case f.Kind == Curtailment || f.Kind == Derating:
				if r.powerKW >= 0.98*f.limitKW(u, r.tempC) {
					r.state, r.code = stateThrottled, float64(f.Code)
				}
			case f.Kind == StringLoss:
				r.code = float64(f.Code)
			}
		}
		return
	}
	r.state, r.run, r.powerKW = stateSleeping, 0, u.NightKW
	if r.irradiance > 2 { // by day a unit without power is not asleep
		r.state = stateStandby
		for _, f := range w.hiding[k] {
			if !f.within(t) {
				continue
			}
			switch {
			case f.outage():
				r.code, r.state = float64(f.Code), stateFault
				if f.Kind == SiteOutage {
					r.state = stateOff
				}
			case f.Kind == GroundFault || f.Kind == IntermittentTrip:
				r.code, r.state = float64(f.Code), stateFault
			}
		}
	}
}

// limitKW is the limit that a curtailment or a derating sets to a unit.
func (f *Fault) limitKW(u *Unit, ambientC float64) float64 {
	return combined([]action{{Fault: f, to: 1, array: 1}}, noFault, *u, 0, 0, ambientC).limitKW
}

// dcInputs is how many DC inputs a unit has.
const dcInputs = 2

// details sets the readings of a rich portal. Strings are lost from the first
// input; a unit that is off shows the open-circuit voltage of its array by day,
// unless the DC disconnect is open.
func (w *window) details(k int, t int64, r *reading) {
	u := &w.site.Units[k]
	load := max(r.powerKW, 0) / u.CapacityKW
	r.moduleC = round(r.tempC+0.03*r.irradiance, 10)
	r.cabinetC = r.tempC + cabinetRiseC*load
	r.voltage = round(398+6*load, 10)
	lost, open := 0.0, false
	for _, f := range w.hiding[k] {
		if !f.within(t) {
			continue
		}
		switch f.Kind {
		case StringLoss:
			lost = f.Severity
		case Derating:
			r.cabinetC += f.Severity
		case SiteOutage:
			r.voltage = 0
		case UnitOutage:
			open = f.Code == codeDCDisconnect
		}
	}
	r.cabinetC = round(r.cabinetC, 10)
	dc := max(r.powerKW, 0) / inverterEfficiency
	for i := range dcInputs {
		has := 1.0 / dcInputs // of the array
		gone := min(lost, has)
		lost -= gone
		switch {
		case r.irradiance < 5 || open:
		case r.powerKW <= 0:
			r.dcVoltage[i] = 780
		default:
			r.dcVoltage[i] = round(640-0.9*(r.moduleC-25), 10)
			r.dcCurrent[i] = round(1000*dc*(has-gone)/w.remaining(k, t)/r.dcVoltage[i], 100)
		}
	}
}

// remaining is the share of the unit's strings that feed.
func (w *window) remaining(k int, t int64) float64 {
	share := 1.0
	for _, f := range w.hiding[k] {
		if f.Kind == StringLoss && f.within(t) {
			share -= f.Severity
		}
	}
	return max(share, 0.05)
}

// codeDCDisconnect is SunSpec's Evt1 bit 3.
const codeDCDisconnect = 1 << 3

// quantities are the columns of a portal's frames.
func (p Portal) quantities() []series.Quantity {
	usual := []series.Quantity{
		series.PowerKW, series.EnergyCounterKWh, series.IrradianceWM2, series.TemperatureC,
		series.InverterState, series.RunState, series.ErrorCode,
	}
	switch p {
	case BarePortal:
		return usual[:1]
	case RichPortal:
		usual = append(usual, series.ModuleTemperatureC, series.CabinetTempC, series.VoltageV)
		for i := range dcInputs {
			usual = append(usual, series.DCVoltage(i+1), series.DCCurrent(i+1))
		}
	}
	return usual
}

// values are a reading in the order of its portal's quantities.
func (r *reading) values(buf []float64) []float64 {
	buf = append(buf[:0], r.powerKW, r.counterKWh, r.irradiance, r.tempC, r.state, r.run, r.code, r.moduleC, r.cabinetC, r.voltage)
	for i := range dcInputs {
		buf = append(buf, r.dcVoltage[i], r.dcCurrent[i])
	}
	return buf
}

// recorder collects the rows of one unit.
type recorder struct {
	times      []int64
	quantities []series.Quantity
	columns    [][]float64
	buf        []float64
}

func newRecorder(n int, quantities []series.Quantity) recorder {
	r := recorder{times: make([]int64, 0, n), quantities: quantities, columns: make([][]float64, len(quantities))}
	for i := range r.columns {
		r.columns[i] = make([]float64, 0, n)
	}
	return r
}

func (r *recorder) add(t int64, v reading) {
	r.times = append(r.times, t)
	r.buf = v.values(r.buf)
	for i := range r.columns {
		r.columns[i] = append(r.columns[i], r.buf[i])
	}
}

func (r *recorder) frame() series.Frame {
	f := series.Frame{Times: r.times}
	for i, q := range r.quantities {
		f.Set(q, r.columns[i])
	}
	return f
}

func round(v, parts float64) float64 { return math.Round(v*parts) / parts }

func ceilTo(t, step int64) int64 {
	q := t / step * step
	if q < t {
		q += step
	}
	return q
}
