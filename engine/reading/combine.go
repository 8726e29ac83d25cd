package reading

import (
	"math"
	"time"
)

// Combine returns the sample of an interval that begins at a time from the readings
// within it, in the order of time, of which there is at least one: means of powers,
// voltages, currents and temperatures, the last state and counter, and all event
// bits that were set.
func Combine(samples []Sample, at time.Time) Sample {
	out := samples[len(samples)-1]
	out.At = at
	if len(samples) == 1 {
		return out
	}
	for _, field := range []func(*Measurement) *float64{
		func(m *Measurement) *float64 { return &m.PowerW }, func(m *Measurement) *float64 { return &m.ApparentVA },
		func(m *Measurement) *float64 { return &m.ReactiveVAr }, func(m *Measurement) *float64 { return &m.PowerFactor },
		func(m *Measurement) *float64 { return &m.VoltageV }, func(m *Measurement) *float64 { return &m.FrequencyHz },
		func(m *Measurement) *float64 { return &m.CurrentA }, func(m *Measurement) *float64 { return &m.DCPowerW },
		func(m *Measurement) *float64 { return &m.CabinetC }, func(m *Measurement) *float64 { return &m.IrradianceWM2 },
		func(m *Measurement) *float64 { return &m.AmbientC }, func(m *Measurement) *float64 { return &m.ModuleC },
		func(m *Measurement) *float64 { return &m.WindMS },
	} {
		*field(&out.Measurement) = meanOf(samples, func(s *Sample) float64 { return *field(&s.Measurement) })
	}
	for _, field := range []func(*Measurement) *float64{
		func(m *Measurement) *float64 { return &m.EnergyWh }, func(m *Measurement) *float64 { return &m.ImportWh },
		func(m *Measurement) *float64 { return &m.LimitPct }, func(m *Measurement) *float64 { return &m.VendorState },
		func(m *Measurement) *float64 { return &m.SoCPct }, func(m *Measurement) *float64 { return &m.SoHPct },
	} {
		for i := range samples {
			if v := *field(&samples[i].Measurement); !math.IsNaN(v) {
				*field(&out.Measurement) = v
			}
		}
	}
	for i := range samples {
		m := &samples[i].Measurement
		if m.State != 0 {
			out.State = m.State
		}
		if !math.IsNaN(m.Events) {
			if math.IsNaN(out.Events) {
				out.Events = 0
			}
			out.Events = float64(uint64(out.Events) | uint64(m.Events))
		}
		if m.VendorCode > 0 || math.IsNaN(out.VendorCode) {
			out.VendorCode = m.VendorCode
		}
		if len(m.Inputs) > len(out.Inputs) {
			out.Inputs = m.Inputs
		}
	}
	inputs := make([]Input, len(out.Inputs))
	copy(inputs, out.Inputs)
	for k := range inputs {
		of := func(value func(Input) float64) float64 {
			return meanOf(samples, func(s *Sample) float64 {
				if k >= len(s.Inputs) {
					return math.NaN()
				}
				return value(s.Inputs[k])
			})
		}
		inputs[k].VoltageV, inputs[k].CurrentA, inputs[k].PowerW = of(func(i Input) float64 { return i.VoltageV }), of(func(i Input) float64 { return i.CurrentA }), of(func(i Input) float64 { return i.PowerW })
	}
	out.Inputs = inputs
	return out
}

// meanOf is the mean of the known values; NaN without one.
func meanOf(samples []Sample, value func(*Sample) float64) float64 {
	sum, n := 0.0, 0
	for i := range samples {
		if v := value(&samples[i]); !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}
