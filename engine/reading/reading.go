// Package reading has what a device of a plant reports at one time, whatever its
// protocol, and the checks that a reading passes before it is stored.
package reading

import (
	"math"
	"time"

	"app.sunloop/engine/series"
)

// Kind is what a device measures.
type Kind string

// The kinds of devices.
const (
	Inverter Kind = "inverter"
	Meter    Kind = "meter"
	Weather  Kind = "weather"
	Battery  Kind = "battery"
	Other    Kind = "other"
)

// Measurement are the values of a device at one time. NaN is a value that the device
// does not report; production is positive.
type Measurement struct {
	PowerW      float64 // AC active power
	EnergyWh    float64 // lifetime counter of production, or of energy fed in
	CoarseWh    bool    // the counter is a float32, whose steps grow with it
	ImportWh    float64 // lifetime counter of energy drawn; meters
	ApparentVA  float64
	ReactiveVAr float64
	PowerFactor float64 // -1..1
	VoltageV    float64 // AC
	FrequencyHz float64
	CurrentA    float64 // AC
	DCPowerW    float64
	CabinetC    float64
	LimitPct    float64 // active power limit that is in force, percent of the rating

	Inputs []Input // DC inputs of PV, in the order of the device

	State       int     // operating state by SunSpec's models 101-103, 1 to 8; 0: not reported
	Events      float64 // event bits by SunSpec's Evt1
	VendorState float64 // operating state by the vendor's own numbers
	VendorCode  float64 // event words by the vendor; see [VendorCode]

	IrradianceWM2, AmbientC, ModuleC, WindMS float64
	SoCPct, SoHPct                           float64
}

// Input is a DC input.
type Input struct {
	Name                       string
	VoltageV, CurrentA, PowerW float64
	State                      int     // as of Measurement
	Events                     float64 // event bits of the input, by SunSpec's models 160 and 714
}

// None returns a measurement without values.
func None() Measurement {
	nan := math.NaN()
	return Measurement{PowerW: nan, EnergyWh: nan, ImportWh: nan, ApparentVA: nan, ReactiveVAr: nan, PowerFactor: nan, VoltageV: nan, FrequencyHz: nan, CurrentA: nan,
		DCPowerW: nan, CabinetC: nan, LimitPct: nan, Events: nan, VendorState: nan, VendorCode: nan,
		IrradianceWM2: nan, AmbientC: nan, ModuleC: nan, WindMS: nan, SoCPct: nan, SoHPct: nan}
}

// VendorCode combines a vendor's event words of 32 bits into one number: the first
// word that is not zero, with its position above it. 0 means that no word is set.
func VendorCode(words ...uint32) float64 {
	for i, w := range words {
		if w != 0 {
			return float64(uint64(i)<<32 | uint64(w))
		}
	}
	return 0
}

// Operating states of models 101-103.
const (
	StateOff = 1 + iota
	StateSleeping
	StateStarting
	StateMPPT
	StateThrottled
	StateShuttingDown
	StateFault
	StateStandby
)

// Running reports whether a unit feeds in, by its state; known is false without one.
func (m *Measurement) Running() (running, known bool) {
	return m.State == StateMPPT || m.State == StateThrottled, m.State != 0
}

// Sample is a measurement with its time and device.
type Sample struct {
	Device string // asset id
	At     time.Time
	Measurement
}

// Frame returns samples of one device, ascending in time, as a frame. Two samples of
// one second are one: the later one.
func Frame(samples []Sample) series.Frame {
	var f series.Frame
	last := make([]Sample, 0, len(samples))
	for _, s := range samples {
		if n := len(last); n > 0 && last[n-1].At.Unix() == s.At.Unix() {
			last[n-1] = s
			continue
		}
		last = append(last, s)
	}
	columns := map[series.Quantity][]float64{}
	set := func(i int, q series.Quantity, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		if columns[q] == nil {
			columns[q] = make([]float64, len(last))
			for k := range columns[q] {
				columns[q][k] = math.NaN()
			}
		}
		columns[q][i] = v
	}
	for i, s := range last {
		f.Times = append(f.Times, s.At.Unix())
		set(i, series.PowerKW, s.PowerW/1000)
		set(i, series.EnergyCounterKWh, s.EnergyWh/1000)
		set(i, series.ApparentKVA, s.ApparentVA/1000)
		set(i, series.PowerFactor, s.PowerFactor)
		set(i, series.VoltageV, s.VoltageV)
		set(i, series.CabinetTempC, s.CabinetC)
		set(i, series.IrradianceWM2, s.IrradianceWM2)
		set(i, series.TemperatureC, s.AmbientC)
		set(i, series.ModuleTemperatureC, s.ModuleC)
		set(i, series.WindSpeedMS, s.WindMS)
		set(i, series.StateOfCharge, s.SoCPct)
		set(i, series.StateOfHealth, s.SoHPct)
		set(i, series.ErrorCode, s.Events)
		set(i, series.VendorState, s.VendorState)
		set(i, series.VendorCode, s.VendorCode)
		if running, known := s.Running(); known {
			set(i, series.InverterState, float64(s.State))
			set(i, series.RunState, map[bool]float64{true: 1}[running])
		}
		for k, in := range s.Inputs {
			if k >= maxInputs {
				break
			}
			set(i, series.DCVoltage(k+1), in.VoltageV)
			set(i, series.DCCurrent(k+1), in.CurrentA)
		}
	}
	for q, values := range columns {
		f.Set(q, values)
	}
	return f
}

// maxInputs is the highest number of a DC input that a quantity can have.
const maxInputs = 31
