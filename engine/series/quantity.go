package series

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Quantity names what a column measures; the unit belongs to the quantity.
// The numbers are written into stored blocks: never renumber, only add.
type Quantity uint8

// The quantities a plant reports. Signs: production is positive.
const (
	PowerKW            Quantity = 1  // AC active power of production, kW
	EnergyKWh          Quantity = 2  // AC energy of the interval that the stamp labels, kWh
	EnergyCounterKWh   Quantity = 3  // lifetime energy counter, kWh
	ReactiveKVArh      Quantity = 4  // reactive energy of the interval, kVArh
	ApparentKVA        Quantity = 5  // apparent power, kVA
	PowerFactor        Quantity = 6  // -1..1
	IrradianceWM2      Quantity = 7  // plane-of-array or global irradiance as the site measures it, W/m²
	TemperatureC       Quantity = 8  // ambient temperature, °C
	ModuleTemperatureC Quantity = 9  // back of module, °C
	CabinetTempC       Quantity = 10 // inside the inverter, °C
	WindSpeedMS        Quantity = 11 // m/s
	VoltageV           Quantity = 12 // AC voltage, V
	InverterState      Quantity = 13 // SunSpec operating state (models 101-103)
	RunState           Quantity = 14 // 1 while the unit feeds in
	ErrorCode          Quantity = 15 // event code; see [EventBits]
	StateOfCharge      Quantity = 16 // battery, percent
	StateOfHealth      Quantity = 17 // battery, percent
	PredictedGHIWM2    Quantity = 18 // a forecast of global horizontal irradiance in the customer's file, W/m²
	PredictedTempC     Quantity = 19 // a forecast of air temperature in the customer's file, °C
	CoveredS           Quantity = 20 // seconds that the sample covers by its source, where its neighbours do not show it
	DayCounterKWh      Quantity = 21 // energy counter that starts at zero each day, kWh
	StepS              Quantity = 22 // step of the file that the power comes from, seconds; see Span.Steps
	VendorState        Quantity = 23 // operating state by the vendor's own numbers
	VendorCode         Quantity = 24 // event word by the vendor, which is never read as event bits of SunSpec

	dcVoltageBase Quantity = 64 // DC voltage of input n is dcVoltageBase+n, n from 1 to 31
	dcCurrentBase Quantity = 96 // DC current of input n is dcCurrentBase+n, n from 1 to 31
)

// maxInput is the highest DC input number a Quantity can name.
const maxInput = 31

// DCVoltage is the voltage of DC input n (1..31) in V. It panics on another n.
func DCVoltage(n int) Quantity { return input(dcVoltageBase, n) }

// DCCurrent is the current of DC input n (1..31) in A. It panics on another n.
func DCCurrent(n int) Quantity { return input(dcCurrentBase, n) }

func input(base Quantity, n int) Quantity {
	if n < 1 || n > maxInput {
		panic(fmt.Sprintf("series: DC input %d is not in 1..%d", n, maxInput))
	}
	return base + Quantity(n)
}

var quantityNames = map[Quantity]string{
	PowerKW: "power_kw", EnergyKWh: "energy_kwh", EnergyCounterKWh: "energy_counter_kwh",
	ReactiveKVArh: "reactive_kvarh", ApparentKVA: "apparent_kva", PowerFactor: "power_factor",
	IrradianceWM2: "irradiance_wm2", TemperatureC: "temperature_c", ModuleTemperatureC: "module_temperature_c",
	CabinetTempC: "cabinet_temperature_c", WindSpeedMS: "wind_speed_ms", VoltageV: "voltage_v",
	InverterState: "inverter_state", RunState: "run_state", ErrorCode: "error_code",
	StateOfCharge: "soc_percent", StateOfHealth: "soh_percent",
	PredictedGHIWM2: "predicted_ghi_wm2", PredictedTempC: "predicted_temperature_c",
	CoveredS: "covered_s", DayCounterKWh: "day_counter_kwh", StepS: "step_s",
	VendorState: "vendor_state", VendorCode: "vendor_code",
}

// String is the quantity's name with its unit, such as "power_kw" or
// "dc_voltage_3_v".
func (q Quantity) String() string {
	switch {
	case quantityNames[q] != "":
		return quantityNames[q]
	case q > dcVoltageBase && q <= dcVoltageBase+maxInput:
		return "dc_voltage_" + strconv.Itoa(int(q-dcVoltageBase)) + "_v"
	case q > dcCurrentBase && q <= dcCurrentBase+maxInput:
		return "dc_current_" + strconv.Itoa(int(q-dcCurrentBase)) + "_a"
	}
	return "quantity_" + strconv.Itoa(int(q))
}

// ParseQuantity is the inverse of [Quantity.String] for the quantities that
// have a name. Another spelling of a name is not taken.
func ParseQuantity(name string) (Quantity, error) {
	for q, n := range quantityNames {
		if n == name {
			return q, nil
		}
	}
	for _, f := range []struct {
		base           Quantity
		prefix, suffix string
	}{{dcVoltageBase, "dc_voltage_", "_v"}, {dcCurrentBase, "dc_current_", "_a"}} {
		if rest, ok := strings.CutPrefix(name, f.prefix); ok {
			if digits, ok := strings.CutSuffix(rest, f.suffix); ok {
				n, err := strconv.Atoi(digits)
				if err == nil && n >= 1 && n <= maxInput && strconv.Itoa(n) == digits {
					return f.base + Quantity(n), nil
				}
			}
		}
	}
	return 0, fmt.Errorf("unknown quantity %q", name)
}

// Missing is the value of a sample that was not measured.
func Missing() float64 { return math.NaN() }

// ArcDetected is the bit of an event code that says that a unit has detected an arc in its
// DC circuit. SunSpec has it as bit 15 of DC inputs, which is another fault in Evt1. It is
// above the 32-bit words of vendors, so that none of them is taken for it.
const ArcDetected = 1 << 32

// EventBits returns the bits of an event code: a whole number below 65536 has those of
// SunSpec's Evt1 (models 101-103), with or without [ArcDetected]. ok is false for another
// number, which is the vendor's.
func EventBits(code float64) (bits uint64, ok bool) {
	if !(code >= 0 && code < 2*ArcDetected) || code != math.Trunc(code) {
		return 0, false
	}
	bits = uint64(code)
	return bits, bits&^uint64(ArcDetected) < 1<<16
}
