package detect

import (
	"cmp"
	"math"
	"slices"
)

// Root causes by stable name.
const (
	causeHardware    = "inverter_hardware"
	causeBreaker     = "ac_breaker_open"
	causeTrip        = "grid_trip_not_reset"
	causeDCSwitch    = "dc_disconnect_open"
	causeManual      = "manual_stop"
	causeReadings    = "readings_wrong"
	causeGroundFault = "ground_fault"
	causeUtility     = "utility_outage"
	causeMainBreaker = "main_breaker_or_transformer"
	causeController  = "plant_controller"
	causeSnow        = "snow_cover"
	causeLogger      = "logger_or_modem"
	causeInternet    = "internet_access"
	causePortal      = "portal_outage"
	causeBus         = "bus_cable"
	causeInterface   = "unit_interface"
	causeUnitOff     = "unit_off"
	causeFirmware    = "logger_firmware"
	causeExportLimit = "export_limit"
	causeOperator    = "grid_operator"
	causePrice       = "price"
	causeConnector   = "connector"
	causeFuse        = "string_fuse"
	causeCable       = "cable"
	causeDiode       = "bypass_or_junction_box"
	causeInput       = "mppt_input"
	causeShade       = "new_shade"
	causeDust        = "dust"
	causePollen      = "pollen"
	causeBirds       = "birds"
	causeSensorDrift = "sensor_drift"
	causeUnknown     = "unknown"
)

// priorCause is a cause before any evidence. Priors follow what tickets and
// reports name most often; about one in eight never gets a cause.
type priorCause struct {
	name, category string
	prior          float64
	text           string
}

var priors = map[Family][]priorCause{
	InverterOutage: {
		{causeHardware, "hardware", 0.40, "A part of the inverter has failed: power stage, capacitors, control board or relay."},
		{causeBreaker, "electrical", 0.16, "The AC breaker or contactor of the unit is open."},
		{causeTrip, "grid", 0.14, "The unit tripped on a grid disturbance and has not restarted."},
		{causeDCSwitch, "electrical", 0.07, "The DC disconnect is open, or its fuses are blown."},
		{causeManual, "operation", 0.05, "Somebody switched the unit off."},
		{causeReadings, "communication", 0.05, "The unit runs and its readings are wrong."},
		{causeGroundFault, "electrical", 0.01, "The insulation monitor keeps the unit off: a ground fault."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	SiteOutage: {
		{causeUtility, "grid", 0.50, "The utility's supply was off."},
		{causeMainBreaker, "electrical", 0.24, "The main breaker, its protection relay or the transformer took the site off."},
		{causeController, "operation", 0.10, "The plant controller stopped all units."},
		{causeSnow, "environment", 0.04, "Snow covered all modules."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	CommunicationGap: {
		{causeLogger, "communication", 0.28, "The data logger or its modem is down."},
		{causeInternet, "communication", 0.14, "The site has no internet access."},
		{causePortal, "communication", 0.08, "The portal the data come from was down."},
		{causeBus, "communication", 0.20, "The bus cable to the unit is interrupted or badly terminated."},
		{causeInterface, "communication", 0.12, "The unit's communication card or its address is at fault."},
		{causeUnitOff, "electrical", 0.06, "The unit itself is off and takes its interface with it."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	StuckSensor: {
		{causeFirmware, "communication", 0.55, "The logger repeats a value it has not read anew."},
		{causeInterface, "communication", 0.25, "The unit's communication card hands out an old value."},
		{causeUnknown, "unknown", 0.20, "No evidence points to a cause."},
	},
	Curtailment: {
		{causeExportLimit, "grid", 0.40, "The site's export limit holds all units back."},
		{causeOperator, "grid", 0.30, "The grid operator has set a limit."},
		{causePrice, "operation", 0.10, "The site is held back because of the price."},
		{causeController, "operation", 0.08, "The plant controller is set too low."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	StringOutage: {
		{causeConnector, "electrical", 0.32, "A connector of a string has failed."},
		{causeFuse, "electrical", 0.24, "A string fuse has blown."},
		{causeCable, "electrical", 0.14, "A string cable is cut or gnawed."},
		{causeDiode, "hardware", 0.08, "Bypass diodes or a junction box have failed."},
		{causeInput, "hardware", 0.06, "An MPPT input of the inverter has failed."},
		{causeShade, "environment", 0.04, "Something new shades the array all day."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
	Soiling: {
		{causeDust, "environment", 0.52, "Dust has gathered on the modules."},
		{causePollen, "environment", 0.13, "Pollen has gathered on the modules."},
		{causeBirds, "environment", 0.08, "Birds have soiled the modules."},
		{causeSensorDrift, "communication", 0.15, "The irradiance sensor reads more and more too high."},
		{causeUnknown, "unknown", 0.12, "No evidence points to a cause."},
	},
}

// causes ranks what may be behind a record: the prior of each cause times how
// much likelier each piece of evidence is under it, times the confidence that
// there is a fault at all. Causes below 2 % are left out.
func (s *session) causes(r *record, evidence []observation, sure float64) []Cause {
	table := priors[r.family]
	weights := make([]float64, len(table))
	var sum float64
	for i, c := range table {
		weights[i] = c.prior
		if len(s.in.Units) == 1 && c.name == causeTrip {
			weights[i] *= 2 // on a site of one unit the grid takes the unit alone
		}
		for _, e := range evidence {
			if factor, ok := e.causes[c.name]; ok {
				weights[i] *= factor
			}
		}
		sum += weights[i]
	}
	var out []Cause
	for i, c := range table {
		p := sure * weights[i] / sum
		if p = math.Round(p*1000) / 1000; p >= 0.02 {
			out = append(out, Cause{c.name, c.category, p, c.text})
		}
	}
	slices.SortStableFunc(out, func(a, b Cause) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return out
}

// actions by family: what the trade does first. Hours and crews are estimates.
var actions = map[Family][]Action{
	InverterOutage: {
		{"high", "Read the event codes and try a remote restart.", true, 0.5, 1},
		{"high", "Isolate the unit and test its AC and DC sides.", false, 1, 2},
		{"medium", "Swap the unit, or its failed part, if the test finds one.", false, 4, 2},
	},
	SiteOutage: {
		{"high", "Ask the utility whether its supply was or is off.", true, 0.5, 1},
		{"high", "Check the main breaker and the protection relay.", false, 3, 2},
	},
	CommunicationGap: {
		{"medium", "Reach the logger over the network and restart it.", true, 0.5, 1},
		{"medium", "Check the bus cable, its termination and the unit's address.", false, 1.5, 1},
	},
	StuckSensor: {
		{"low", "Restart the logger and check its firmware.", true, 0.5, 1},
	},
	Curtailment: {
		{"low", "Confirm the limit with the grid operator or the controller's settings, and book the energy to it.", true, 0.25, 1},
	},
	StringOutage: {
		{"high", "Measure open-circuit voltage and current of every string of the unit.", false, 3, 2},
		{"medium", "Look at the array with a thermal camera in strong sun.", false, 1, 1},
	},
	Soiling: {
		{"medium", "Look at the modules and the sensor; wash the array if the energy is worth more than the washing.", false, 8, 2},
	},
}
