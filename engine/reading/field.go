package reading

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Field is a value of a Measurement, by the name that mappings use: power_w, energy_wh,
// dc2_voltage_v, state. The end of the name is the unit.
type Field struct {
	Name  string
	input int // number of a DC input, from 1; 0: a value of the device
	value func(*Measurement) *float64
	of    func(*Input) *float64
}

var fields = map[string]func(*Measurement) *float64{
	"power_w": func(m *Measurement) *float64 { return &m.PowerW }, "energy_wh": func(m *Measurement) *float64 { return &m.EnergyWh },
	"import_wh": func(m *Measurement) *float64 { return &m.ImportWh }, "apparent_va": func(m *Measurement) *float64 { return &m.ApparentVA },
	"reactive_var": func(m *Measurement) *float64 { return &m.ReactiveVAr }, "power_factor": func(m *Measurement) *float64 { return &m.PowerFactor },
	"voltage_v": func(m *Measurement) *float64 { return &m.VoltageV }, "frequency_hz": func(m *Measurement) *float64 { return &m.FrequencyHz },
	"current_a": func(m *Measurement) *float64 { return &m.CurrentA }, "dc_power_w": func(m *Measurement) *float64 { return &m.DCPowerW },
	"cabinet_c": func(m *Measurement) *float64 { return &m.CabinetC }, "limit_pct": func(m *Measurement) *float64 { return &m.LimitPct },
	"events": func(m *Measurement) *float64 { return &m.Events }, "vendor_state": func(m *Measurement) *float64 { return &m.VendorState },
	"vendor_code": func(m *Measurement) *float64 { return &m.VendorCode }, "irradiance_w_m2": func(m *Measurement) *float64 { return &m.IrradianceWM2 },
	"ambient_c": func(m *Measurement) *float64 { return &m.AmbientC }, "module_c": func(m *Measurement) *float64 { return &m.ModuleC },
	"wind_m_s": func(m *Measurement) *float64 { return &m.WindMS }, "soc_pct": func(m *Measurement) *float64 { return &m.SoCPct },
	"soh_pct": func(m *Measurement) *float64 { return &m.SoHPct },
}

var inputFields = map[string]func(*Input) *float64{
	"voltage_v": func(i *Input) *float64 { return &i.VoltageV }, "current_a": func(i *Input) *float64 { return &i.CurrentA },
	"power_w": func(i *Input) *float64 { return &i.PowerW },
}

// stateField is the field of the operating state.
const stateField = "state"

// ParseField returns the field with a name.
func ParseField(name string) (Field, error) {
	if of, ok := fields[name]; ok {
		return Field{Name: name, value: of}, nil
	}
	if name == stateField {
		return Field{Name: name}, nil
	}
	if rest, ok := strings.CutPrefix(name, "dc"); ok {
		if number, value, ok := strings.Cut(rest, "_"); ok {
			n, err := strconv.Atoi(number)
			if of := inputFields[value]; err == nil && n >= 1 && n <= maxInputs && of != nil {
				return Field{Name: name, input: n, of: of}, nil
			}
		}
	}
	return Field{}, fmt.Errorf("unknown value %q: one of %s, or dc1_voltage_v, dc1_current_a, dc1_power_w and so on up to dc%d", name, strings.Join(FieldNames(), ", "), maxInputs)
}

// FieldNames are the names of all fields but those of DC inputs.
func FieldNames() []string {
	names := []string{stateField}
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Set sets the field. A state that is none of SunSpec's, and a value that is no number,
// are left out.
func (f Field) Set(m *Measurement, v float64) {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
	case f.input > 0:
		for len(m.Inputs) < f.input {
			m.Inputs = append(m.Inputs, Input{VoltageV: math.NaN(), CurrentA: math.NaN(), PowerW: math.NaN()})
		}
		*f.of(&m.Inputs[f.input-1]) = v
	case f.value != nil:
		*f.value(m) = v
	case v >= StateOff && v <= StateStandby && v == math.Trunc(v):
		m.State = int(v)
	}
}

// Get returns the value of the field; NaN: the measurement has none.
func (f Field) Get(m *Measurement) float64 {
	switch {
	case f.input > len(m.Inputs):
		return math.NaN()
	case f.input > 0:
		return *f.of(&m.Inputs[f.input-1])
	case f.value != nil:
		return *f.value(m)
	case m.State == 0:
		return math.NaN()
	}
	return float64(m.State)
}

// Values returns the values that a measurement has, by the names of their fields.
func (m *Measurement) Values() map[string]float64 {
	out := map[string]float64{}
	for name, of := range fields {
		if v := *of(m); !math.IsNaN(v) {
			out[name] = v
		}
	}
	if m.State != 0 {
		out[stateField] = float64(m.State)
	}
	for k := range m.Inputs {
		for name, of := range inputFields {
			if v := *of(&m.Inputs[k]); !math.IsNaN(v) {
				out[fmt.Sprintf("dc%d_%s", k+1, name)] = v
			}
		}
	}
	return out
}

// Merge sets the values that another measurement has.
func (m *Measurement) Merge(from *Measurement) {
	for _, of := range fields {
		if v := *of(from); !math.IsNaN(v) {
			*of(m) = v
		}
	}
	if from.State != 0 {
		m.State = from.State
	}
	inputs := slices.Clone(m.Inputs)
	for k := range from.Inputs {
		if k >= len(inputs) {
			inputs = append(inputs, from.Inputs[k])
			continue
		}
		for _, of := range inputFields {
			if v := *of(&from.Inputs[k]); !math.IsNaN(v) {
				*of(&inputs[k]) = v
			}
		}
	}
	m.Inputs = inputs
}

// units are the factors from units of measure to those of the fields, by the end of a
// field's name.
var units = map[string]map[string]float64{
	"_w":    {"W": 1, "kW": 1e3, "MW": 1e6, "mW": 1e-3},
	"_wh":   {"Wh": 1, "kWh": 1e3, "MWh": 1e6, "J": 1.0 / 3600},
	"_va":   {"VA": 1, "kVA": 1e3, "W": 1, "kW": 1e3},
	"_var":  {"var": 1, "kvar": 1e3, "VAr": 1, "kVAr": 1e3, "Var": 1, "VAR": 1},
	"_v":    {"V": 1, "kV": 1e3, "mV": 1e-3},
	"_a":    {"A": 1, "mA": 1e-3},
	"_hz":   {"Hz": 1, "mHz": 1e-3},
	"_c":    {"°C": 1, "C": 1, "degC": 1},
	"_pct":  {"%": 1, "ratio": 100},
	"_m2":   {"W/m²": 1, "W/m2": 1, "W/m^2": 1, "kW/m²": 1e3},
	"_s":    {"m/s": 1, "km/h": 1 / 3.6},
	"actor": {"ratio": 1, "%": 0.01},
}

// Factor returns the factor from a unit of measure to the unit of the field; an empty
// unit is the field's own.
func (f Field) Factor(unit string) (float64, error) {
	if unit == "" {
		return 1, nil
	}
	end := f.Name[strings.LastIndexByte(f.Name, '_')+1:]
	table := units["_"+end]
	if f.Name == "power_factor" {
		table = units["actor"]
	}
	v, ok := table[unit]
	if !ok {
		return 0, fmt.Errorf("%s has no unit %q", f.Name, unit)
	}
	return v, nil
}

// States translates a vendor's operating states to those of SunSpec.
type States []stateRange

type stateRange struct {
	first, last float64
	state       int // 0: none
}

// ParseStates reads ranges of numbers, decimal or hexadecimal, with their states: 0-6:3
// 0x200:4. State 0 is none.
func ParseStates(words []string) (States, error) {
	var out States
	for _, word := range words {
		numbers, state, ok := strings.Cut(word, ":")
		from, to, isRange := strings.Cut(numbers, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 0, 32)
		last, err2 := strconv.ParseUint(to, 0, 32)
		s, err3 := strconv.Atoi(state)
		if !ok || err1 != nil || err2 != nil || err3 != nil || last < first || s < 0 || s > StateStandby {
			return nil, fmt.Errorf("invalid state %q: NUMBER:STATE or FIRST-LAST:STATE with a state from 0 to %d", word, StateStandby)
		}
		out = append(out, stateRange{float64(first), float64(last), s})
	}
	return out, nil
}

// Of returns SunSpec's state for a number; NaN if there is none.
func (s States) Of(v float64) float64 {
	for _, r := range s {
		if v >= r.first && v <= r.last && r.state > 0 {
			return float64(r.state)
		}
	}
	return math.NaN()
}
