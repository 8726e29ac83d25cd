package series

import (
	"strings"
	"testing"
)

func TestQuantityNames(t *testing.T) {
	seen := map[string]Quantity{}
	named := 0
	for n := range 256 {
		q := Quantity(n)
		name := q.String()
		if other, ok := seen[name]; ok {
			t.Errorf("%d and %d are both %s", other, q, name)
		}
		seen[name] = q
		got, err := ParseQuantity(name)
		if strings.HasPrefix(name, "quantity_") {
			if err == nil {
				t.Errorf("%s parses as %d", name, got)
			}
			continue
		}
		named++
		if err != nil || got != q {
			t.Errorf("%s parses as %d, %v; want %d", name, got, err, q)
		}
	}
	if want := len(quantityNames) + 2*maxInput; named != want {
		t.Errorf("%d quantities have names, want %d", named, want)
	}
}

// The numbers are in stored blocks: a change here is a change of the format.
func TestQuantityNumbersStay(t *testing.T) {
	for q, n := range map[Quantity]uint8{
		PowerKW: 1, EnergyKWh: 2, EnergyCounterKWh: 3, ReactiveKVArh: 4, ApparentKVA: 5, PowerFactor: 6, IrradianceWM2: 7,
		TemperatureC: 8, ModuleTemperatureC: 9, CabinetTempC: 10, WindSpeedMS: 11, VoltageV: 12, InverterState: 13, RunState: 14,
		ErrorCode: 15, StateOfCharge: 16, StateOfHealth: 17, PredictedGHIWM2: 18, PredictedTempC: 19,
		DCVoltage(1): 65, DCVoltage(31): 95, DCCurrent(1): 97, DCCurrent(31): 127,
	} {
		if uint8(q) != n {
			t.Errorf("%s is %d, was %d", q, q, n)
		}
	}
}

func TestParseQuantityRefuses(t *testing.T) {
	for _, name := range []string{"", "power", "POWER_KW", " power_kw", "dc_voltage__v", "dc_voltage_0_v", "dc_voltage_32_v", "dc_voltage_03_v", "dc_voltage_+3_v", "dc_voltage_3_a", "dc_current_99999999999999999999_a", "quantity_200"} {
		if q, err := ParseQuantity(name); err == nil {
			t.Errorf("%q parses as %v", name, q)
		}
	}
}

func TestDCInputsOutOfRange(t *testing.T) {
	for _, n := range []int{-1, 0, 32} {
		for _, f := range []func(int) Quantity{DCVoltage, DCCurrent} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("input %d is taken", n)
					}
				}()
				f(n)
			}()
		}
	}
}

func FuzzParseQuantity(f *testing.F) {
	for _, s := range []string{"power_kw", "dc_voltage_3_v", "dc_current_31_a", "dc_voltage_+3_v", "quantity_0", "dc_voltage_\xff_v"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if q, err := ParseQuantity(name); err == nil && q.String() != name {
			t.Errorf("%q parses as %s", name, q)
		}
	})
}
