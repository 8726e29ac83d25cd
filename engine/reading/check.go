package reading

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"time"
)

// Mark is the reason why a value of a reading is not stored.
type Mark string

// The marks.
const (
	MarkFrozen      Mark = "frozen"         // the whole response has been the same for FrozenAfter while the unit claims to produce
	MarkZeros       Mark = "zeros"          // power, voltage and frequency are zero at once, as from a data manager that lost its inverter
	MarkFrequency   Mark = "frequency"      // not between 45 and 65 Hz
	MarkVoltage     Mark = "voltage"        // far above the nominal voltage
	MarkPower       Mark = "power"          // above 1.3 of the rating
	MarkCounterFell Mark = "counter_fell"   // the energy counter fell and it is not yet known why
	MarkCounterJump Mark = "counter_jump"   // the energy counter rose by more than the unit can produce
	MarkCounterHeld Mark = "counter_frozen" // the counter is fixed while power is reported
	MarkTemperature Mark = "temperature"    // not between -60 and 150 °C
	MarkLate        Mark = "late"           // its interval was stored ten minutes before or earlier
	MarkIrradiance  Mark = "irradiance"     // not between -20 and 1800 W/m²
)

// Limits of the checks.
const (
	FrozenAfter   = 10 * time.Minute
	counterHeld   = 15 * time.Minute
	maxFrequency  = 65.0
	minFrequency  = 45.0
	powerMargin   = 1.3
	confirmations = 3 // readings that confirm a counter after an exchange
)

// Checker checks the readings of one device in the order of their times. It is not
// safe for concurrent use.
type Checker struct {
	RatingW  float64 // 0: not known
	NominalV float64 // AC, 0: not known

	print     uint64
	since     time.Time // of the first reading with this print
	repeats   []Sample  // readings with this print while the unit claims to produce, not yet believed
	counter   counter
	heldWh    float64
	heldSince time.Time
}

// counter follows a lifetime counter.
type counter struct {
	wh        float64 // last one that was believed
	at        time.Time
	candidate float64 // after a fall: the lower reading
	seen      int     // readings that agree with the candidate
	since     time.Time
	known     bool
}

// Result is the outcome of a check.
type Result struct {
	Store []Sample // what to store, in the order of time: the reading, after those that were held back
	Marks []Mark   // of what was removed
	Held  bool     // the reading repeats the one before and is held back
}

// Check removes values that are not measurements from a reading. words are the
// registers that it was decoded from. A reading that repeats the one before it
// register by register, although the unit claims to produce, is held back: it is
// returned with the next different one, or never, if that takes FrozenAfter.
func (c *Checker) Check(kind Kind, s Sample, words []uint16) Result {
	var out Result
	if kind == Inverter && isZeroFrame(&s.Measurement) {
		return Result{Marks: []Mark{MarkZeros}}
	}
	repeated := c.isRepeated(words, s.At) && kind == Inverter && s.PowerW > 0
	if !repeated {
		out.Store, c.repeats = c.repeats, nil
	}
	if repeated && s.At.Sub(c.since) >= FrozenAfter {
		c.repeats = nil
		return Result{Marks: []Mark{MarkFrozen}}
	}
	out.Marks = c.removeImplausible(kind, &s.Measurement, s.At)
	switch {
	case !hasValue(&s.Measurement):
	case repeated:
		c.repeats, out.Held = append(c.repeats, s), true
	default:
		out.Store = append(out.Store, s)
	}
	return out
}

// CheckPast removes values outside of their limits from a reading that is older than the
// last one: one that came late. It is not compared with the readings before it.
func (c *Checker) CheckPast(kind Kind, s Sample) Result {
	past := Checker{RatingW: c.RatingW, NominalV: c.NominalV}
	out := Result{Marks: past.removeImplausible(kind, &s.Measurement, s.At)}
	if c.counter.known && s.EnergyWh > c.counter.wh {
		s.EnergyWh = math.NaN() // it was exchanged since
		out.Marks = append(out.Marks, MarkCounterFell)
	}
	if hasValue(&s.Measurement) {
		out.Store = []Sample{s}
	}
	return out
}

// removeImplausible removes values outside of their limits.
func (c *Checker) removeImplausible(kind Kind, m *Measurement, at time.Time) (marks []Mark) {
	nan := math.NaN()
	drop := func(mark Mark, v *float64) {
		*v = nan
		marks = append(marks, mark)
	}
	if f := m.FrequencyHz; f != 0 && (f < minFrequency || f > maxFrequency) {
		drop(MarkFrequency, &m.FrequencyHz)
	}
	if c.NominalV > 0 && math.Abs(m.VoltageV) > 1.5*c.NominalV {
		drop(MarkVoltage, &m.VoltageV)
	}
	if kind == Inverter && c.RatingW > 0 && math.Abs(m.PowerW) > powerMargin*c.RatingW {
		drop(MarkPower, &m.PowerW)
	}
	for _, v := range []*float64{&m.CabinetC, &m.AmbientC, &m.ModuleC} {
		if *v < -60 || *v > 150 {
			drop(MarkTemperature, v)
		}
	}
	if m.IrradianceWM2 < -20 || m.IrradianceWM2 > 1800 {
		drop(MarkIrradiance, &m.IrradianceWM2)
	}
	if math.IsNaN(m.EnergyWh) {
		return marks
	}
	if mark := c.checkCounter(m.EnergyWh, at); mark != "" {
		drop(mark, &m.EnergyWh)
	} else if c.isHeld(m, at) {
		drop(MarkCounterHeld, &m.EnergyWh)
		if kind == Inverter {
			m.PowerW = nan // one of the two is not a measurement
		}
	}
	return marks
}

// isZeroFrame reports whether all electrical values and the counter are zero although
// the unit does not say that it is off or asleep: with a grid there is a voltage.
func isZeroFrame(m *Measurement) bool {
	off := m.State == StateOff || m.State == StateSleeping || m.State == StateStandby
	return !off && m.PowerW == 0 && m.VoltageV == 0 && m.FrequencyHz == 0 && !(m.EnergyWh > 0)
}

// isRepeated reports whether the device returned the registers of the reading before:
// while it produces, voltages and frequency always move. Without registers nothing is
// known.
func (c *Checker) isRepeated(words []uint16, at time.Time) bool {
	if len(words) == 0 {
		return false
	}
	h := fnv.New64a()
	var b [2]byte
	for _, w := range words {
		binary.BigEndian.PutUint16(b[:], w)
		h.Write(b[:])
	}
	if p := h.Sum64(); p != c.print || c.since.IsZero() || at.Before(c.since) {
		c.print, c.since = p, at
		return false
	}
	return true
}

// checkCounter follows a counter. A counter that fell is a bad reading if it comes
// back, and an exchange or a wrap if it stays: then it is believed from the
// third reading on, and the step is no energy because the store sees a fall.
func (c *Checker) checkCounter(wh float64, at time.Time) Mark {
	k := &c.counter
	switch {
	case wh < 0:
		return MarkCounterFell
	case !k.known:
		k.wh, k.at, k.known = wh, at, true
		return ""
	case wh >= k.wh:
		if c.exceeds(wh-k.wh, at.Sub(k.at)) {
			return c.confirm(wh, at, MarkCounterJump)
		}
		k.wh, k.at, k.seen = wh, at, 0
		return ""
	}
	return c.confirm(wh, at, MarkCounterFell)
}

// confirm counts readings that agree with a counter's new level, and accepts it after
// some of them.
func (c *Checker) confirm(wh float64, at time.Time, mark Mark) Mark {
	k := &c.counter
	if k.seen == 0 || wh < k.candidate || c.exceeds(wh-k.candidate, at.Sub(k.since)) {
		k.candidate, k.since, k.seen = wh, at, 1
		return mark
	}
	if k.candidate, k.since, k.seen = wh, at, k.seen+1; k.seen < confirmations {
		return mark
	}
	k.wh, k.at, k.seen = wh, at, 0
	return ""
}

// exceeds reports whether energy over a time is more than the unit can produce, with
// room for counters with coarse steps.
func (c *Checker) exceeds(wh float64, over time.Duration) bool {
	return c.RatingW > 0 && wh > 1000+2*c.RatingW*(over.Hours()+1.0/60)
}

// isHeld reports whether the counter has not moved for counterHeld in which at least
// two of its steps of 1 kWh would have passed.
func (c *Checker) isHeld(m *Measurement, at time.Time) bool {
	if m.EnergyWh != c.heldWh || c.heldSince.IsZero() || at.Before(c.heldSince) || !(m.PowerW > 0) {
		c.heldWh, c.heldSince = m.EnergyWh, at
		return false
	}
	held := at.Sub(c.heldSince)
	return !m.CoarseWh && held >= counterHeld && m.PowerW*held.Hours() > 2000
}

// hasValue reports whether a reading has anything to store.
func hasValue(m *Measurement) bool {
	if m.State != 0 || len(m.Inputs) > 0 {
		return true
	}
	for _, v := range []float64{m.PowerW, m.EnergyWh, m.ImportWh, m.ApparentVA, m.PowerFactor, m.VoltageV, m.CabinetC, m.Events, m.VendorState, m.VendorCode,
		m.IrradianceWM2, m.AmbientC, m.ModuleC, m.WindMS, m.SoCPct, m.SoHPct} {
		if !math.IsNaN(v) {
			return true
		}
	}
	return false
}
