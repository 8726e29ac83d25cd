package ingest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"app.sunloop/engine/series"
)

// TestMeanings asserts the role of columns as portals name them.
//
//nolint:misspell // other languages
func TestMeanings(t *testing.T) {
	for want, names := range map[role][]string{
		rolePower: {"power_kw", "Leistung [kW]", "Vermogen (W)", "Puissance (W)", "potencia_kW", "Potência ativa (kW)", "Potenza [W]", "AC-Leistung [W]", "PV-Leistung (kW)", "PV [kW]",
			"Active power(kW)", "Real Power (kW)", "Inverter Power (W)", "solar_power", "Current power", "Pac", "Pac(W)", "P7", "ac_power__773", "ac_power_2", "有功功率(kW)",
			"System Production (W)", "AC Output Total Power (Active)(W)", "Solar (kW)", "Total AC Power (kW)", "kW", "Wirkleistung AC [kW]", "Production (kW)", "Puissance AC en W", "P1 W", "WR2 W", "INV 12 W", "Output W", "Output (kW)", "Power (x100 W)", "Generator AC output (kW)"},
		roleEnergy: {"Energy Produced (Wh)", "kWh", "Erzeugung (kWh)", "PV(kWh)", "energia_generada_kWh", "Energia attiva prodotta [kWh]", "Energy (Wh)", "GG", "produced_energy_kWh", "E3",
			"Opbrengst [kWh]", "Production (Wh)", "发电量(kWh)", "PV Produktion [Wh]", "Energie AC [Wh]"},
		roleCounter: {"Totale opbrengst [kWh]", "total_yield_kWh", "Metering.TotWhOut", "Gesamtertrag [kWh]", "TotalEnergy_kWh", "EacTotal(kWh)", "Cumulative energy(kWh)", "Total yield(kWh)",
			"E-Total(kWh)", "Total Generation (Active)(kWh)", "累计发电量(kWh)", "Zählerstand [kWh]", "Lifetime energy (MWh)"},
		roleDaily:  {"E-Day(kWh)", "EacToday(kWh)", "Daily energy(kWh)", "Tagesertrag [kWh]", "Energia di oggi [kWh]", "DaySum", "日发电量(kWh)", "Daily Generation (Active)(kWh)", "Today's yield(kWh)"},
		roleFeedIn: {"Feed-in(kWh)", "Einspeisung [kWh]", "Export kWh", "Exported to Grid (Wh)", "Teruglevering (kWh)", "Energia immessa [kWh]"},
		roleValue:  {"Valeur", "Wert", "value", "value_normalized", "meas_val_f"},
		roleState:  {"Status", "Inverter status", "Zustand", "Working Mode"},
		roleNone: {"Eigendeckung (kWh)", "Spezifischer Ertrag [kWh/kWp]", "battery_power", "grid_power", "load_power", "Purchased Energy(kWh)", "Load(kWh)", "Metering.GridMs.TotWhIn",
			"DC Power (kW)", "Pdc1", "Ppv(W)", "Ppv1(W)", "Total input power(kW)", "MPPT 1 DC cumulative energy(kWh)", "Monthly energy(kWh)", "Annual energy(kWh)", "Maximum power (kW)",
			"PacR(VA)", "ReactPower(Var)", "ReactPower_Total(kWh)", "Output reactive power(kvar)", "Inverter efficiency(%)", "Grid frequency(Hz)", "GC", "VAR134", "ghi_clear", "Bemerkung",
			"Energy Consumed (Wh)", "Imported from Grid (Wh)", "Powerwall battery (kW)", "Grid (kW)", "Self-consumption (kWh)", "Revenue (€)", "Energia di irradiamento odierna [kWh/m²]", "H-Total(h)",
			"BC line voltage(V)", "VacRS(V)", "+BUS(V)", "Vpid1(V)", "isAgain", "nwp_humidity", "nwp_directirrad", "lmd_winddirection"},
	} {
		for _, name := range names {
			if got := meaningOf(parseHeader(name)); got.role != want {
				t.Errorf("%q has role %d (%s), want %d", name, got.role, got.quantity, want)
			}
		}
	}
}

// TestQuantityNames asserts the quantity of columns other than production.
func TestQuantityNames(t *testing.T) {
	for name, want := range map[string]series.Quantity{
		"kVArh": series.ReactiveKVArh, "PF": series.PowerFactor, "Power factor": series.PowerFactor, "kVA": series.ApparentKVA,
		"Irradiance (W/m2)": series.IrradianceWM2, "POA [W/m²]": series.IrradianceWM2, "Intensità di irradiamento [W/m²]": series.IrradianceWM2, "lmd_totalirrad": series.IrradianceWM2, "G_M2": series.IrradianceWM2,
		"poa_irradiance__771": series.IrradianceWM2, "irradiance_wm2": series.IrradianceWM2, "nwp_globalirrad": series.PredictedGHIWM2, "nwp_temperature": series.PredictedTempC,
		"Module temperature (C)": series.ModuleTemperatureC, "module_temp_1__781": series.ModuleTemperatureC, "T_M3": series.ModuleTemperatureC, "Module Temp [C]": series.ModuleTemperatureC,
		"Außentemperatur (°C)": series.TemperatureC, "ambient_temp__780": series.TemperatureC, "T_U0": series.TemperatureC, "temperature_c": series.TemperatureC, "lmd_temperature": series.TemperatureC, "Temperature(℃)": series.TemperatureC,
		"Inverter temperature [°C]": series.CabinetTempC, "INVTemp(℃)": series.CabinetTempC, "Internal temperature(℃)": series.CabinetTempC,
		"wind_ms": series.WindSpeedMS, "Wind speed (km/h)": series.WindSpeedMS, "lmd_windspeed": series.WindSpeedMS,
		"Uac": series.VoltageV, "VacR(V)": series.VoltageV, "Phase A voltage(V)": series.VoltageV, "ac_volts__778": series.VoltageV, "Vac1(V)": series.VoltageV,
		"PV12 input voltage(V)": series.DCVoltage(12), "Vpv3(V)": series.DCVoltage(3), "Udc1": series.DCVoltage(1), "dc_pos_voltage__774": series.DCVoltage(1), "inv2_dc_voltage__1048": series.DCVoltage(1), "DC Voltage PV2(V)": series.DCVoltage(2),
		"PV12 input current(A)": series.DCCurrent(12), "Ipv3(A)": series.DCCurrent(3), "inv2_dc_current__1049": series.DCCurrent(1),
		"Error": series.ErrorCode, "FaultCode": series.ErrorCode, "Fehlercode": series.ErrorCode, "SOC(%)": series.StateOfCharge, "Battery SoC [%]": series.StateOfCharge, "SOH (%)": series.StateOfHealth,
	} {
		if got := meaningOf(parseHeader(name)); got.role != roleQuantity || got.quantity != want {
			t.Errorf("%q is %d %s, want %s", name, got.role, got.quantity, want)
		}
	}
}

// TestUnits asserts spellings of units in names.
func TestUnits(t *testing.T) {
	for name, want := range map[string]string{
		"Leistung [kW]": "kW", "Valeur (en kW)": "kW", "power_kW": "kW", "ac_power_w": "W", "Import kWh": "kWh", "kWh Import": "kWh", "Energie (kW·h)": "kWh", "Temp (℃)": "°C",
		"Einstrahlung [W/m²]": "W/m²", "Ertrag [kWh/kWp]": "kWh/kWp", "Phase A": "", "Roof W": "", "WR1 W": "W", "P12 W": "W", "Sensor 3 W": "W", "Grid phase A current(A)": "A", "Time": "", "Total power": "", "Power (AC)": "", "MWh": "MWh",
		"inv2_ac_power_w__1047": "W", "ac_power_kw_1137": "kW", "Q [kvar]": "kvar", "wind_ms": "m/s", "module_temp_c": "°C", "Pv": "", "PV": "",
	} {
		if got := parseHeader(name).unit.name; got != want {
			t.Errorf("%q has unit %q, want %q", name, got, want)
		}
	}
}

// TestResidue asserts what of a name is a device.
func TestResidue(t *testing.T) {
	for name, want := range map[string]string{
		"INV-01": "INV-01", "Inverter 2 Power": "Inverter 2", "P7": "P7", "AC Power": "", "WR 3 Leistung": "WR 3", "North roof": "North roof", "Power INV1": "INV1", "solar_power": "",
	} {
		if got := residue(name); got != want {
			t.Errorf("%q leaves %q, want %q", name, got, want)
		}
	}
}

// TestOwnRecords reads what this service writes itself: states are SunSpec's
// numbers.
func TestOwnRecords(t *testing.T) {
	file := "timestamp,asset_id,power_kw,inverter_state,run_state,error_code\n" +
		"2026-06-01T08:00:00Z,A,50,5,1,0\n2026-06-01T08:15:00Z,A,0,7,0,16\n2026-06-01T08:30:00Z,A,50,4,1,0\n"
	res, err := Read(strings.NewReader(file), Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := res.Assets[0].Frame
	for q, want := range map[series.Quantity][]float64{series.InverterState: {5, 7, 4}, series.RunState: {1, 0, 1}, series.ErrorCode: {0, 16, 0}} {
		if d := cmp.Diff(want, f.Values(q)); d != "" {
			t.Errorf("%s: %s", q, d)
		}
	}
}

// TestEventCodes: codes that are limits of registers are codes, such as 0x8000, which is bit
// 15 alone, and an arc; all bits of 16 or 32 are those of a register that is not there.
func TestEventCodes(t *testing.T) {
	codes := []string{"0", "32768", "0", "0x8000", "65535", "9999", "4294967295", "0", "4294967296", "2147483648", "0xFFFF", "65534"}
	want := []float64{0, 32768, 0, 32768, math.NaN(), 9999, math.NaN(), 0, 4294967296, 2147483648, math.NaN(), 65534}
	file := "timestamp,asset_id,power_kw,error_code\n"
	for i, code := range codes {
		file += fmt.Sprintf("2026-06-01T%02d:00:00Z,A,50,%s\n", 8+i, code)
	}
	res, err := Read(strings.NewReader(file), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, res.Assets[0].Frame.Values(series.ErrorCode), cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
}
