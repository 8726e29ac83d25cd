package diagnose

import (
	"slices"

	"app.sunloop/engine/detect"
)

// Action is one thing to do.
type Action struct {
	Priority string // high, medium, low
	Text     string
	Remote   bool    // requires no one on site
	Hours    float64 // hands-on, of the whole crew's presence
	Crew     int
}

// actions by family: what the trade does first. Hours and crews are estimates.
var actions = map[detect.Family][]Action{
	detect.InverterOutage: {
		{"high", "Read the event codes and try a remote restart.", true, 0.5, 1},
		{"high", "Isolate the unit and test its AC and DC sides.", false, 1, 2},
		{"medium", "Swap the unit, or its failed part, if the test finds one.", false, 4, 2},
	},
	detect.SiteOutage: {
		{"high", "Ask the utility whether its supply was or is off.", true, 0.5, 1},
		{"high", "Check the main breaker and the protection relay.", false, 3, 2},
	},
	detect.CommunicationGap: {
		{"medium", "Reach the logger over the network and restart it.", true, 0.5, 1},
		{"medium", "Check the bus cable, its termination and the unit's address.", false, 1.5, 1},
	},
	detect.DataSilence: {
		{"high", "Check the export of the portal, or the connection to the logger, and deliver what is missing.", true, 0.5, 1},
		{"medium", "Look at the site by other means until its data return: no fault can be found meanwhile.", true, 0.25, 1},
	},
	detect.RepeatedData: {
		{"medium", "Ask the portal's operator for the true readings, and revert the uploads that hold repeated ones.", true, 0.5, 1},
	},
	detect.StuckSensor: {
		{"low", "Restart the logger and check its firmware.", true, 0.5, 1},
	},
	detect.Curtailment: {
		{"low", "Confirm the limit with the grid operator or the controller's settings, and book the energy to it.", true, 0.25, 1},
	},
	detect.StringOutage: {
		{"high", "Measure open-circuit voltage and current of every string of the unit.", false, 3, 2},
		{"medium", "Look at the array with a thermal camera in strong sun.", false, 1, 1},
	},
	detect.DataQuality: {
		{"low", "Check the logger's unit and factor for this reading, and its firmware.", true, 0.5, 1},
	},
	detect.TimeShift: {
		{"low", "Set the logger's clock, zone and time server; the readings are corrected meanwhile.", true, 0.5, 1},
	},
	detect.IrradianceSensor: {
		{"medium", "Clean the sensor, check its cable and alignment, recalibrate it.", false, 1, 1},
	},
	detect.GroundFault: {
		{"high", "Keep the unit off and the array closed to people until the insulation is tested.", true, 0.5, 1},
		{"high", "Measure the insulation of every string, wet connectors first.", false, 5, 2},
	},
	detect.ArcFault: {
		{"high", "Fire risk: switch the unit off at its AC and DC disconnects, keep people away from the array, and do not reset the alarm.", true, 0.5, 1},
		{"high", "Look for burnt connectors, fuses, cables and junction boxes on every string before the unit is switched on again.", false, 5, 2},
	},
	detect.IntermittentTrip: {
		{"high", "Read the event codes and the grid voltage at the times of the stops.", true, 0.5, 1},
		{"medium", "Check contacts on the AC side; ask the utility about the voltage.", false, 2, 2},
	},
	detect.Clipping: {
		{"low", "None: the array is larger than the inverter by design.", true, 0, 0},
	},
	detect.ThermalDerating: {
		{"medium", "Clean the filters and the heat sink, check the fans.", false, 1.5, 1},
		{"low", "Shade the cabinet.", false, 2, 1},
	},
	detect.SnowCover: {
		{"low", "None: the snow slides off or melts.", true, 0, 0},
	},
	detect.TrackerFault: {
		{"medium", "Reset the tracker's controller.", true, 0.5, 1},
		{"medium", "Test the motor, its drive and the inclination sensor.", false, 3, 2},
	},
	detect.CapacityChange: {
		{"low", "Enter the new capacity if the array was changed; else check the logger's factor.", true, 0.25, 1},
	},
	detect.PartialShading: {
		{"medium", "Photograph the array at the hours named and trim what shades it.", false, 4, 1},
	},
	detect.Degradation: {
		{"medium", "Measure the current-voltage curves of the strings and compare them with the warranty.", false, 8, 2},
	},
	detect.Underperformance: {
		{"medium", "Inspect the unit's array and measure its strings.", false, 3, 2},
	},
	detect.Soiling: {
		{"medium", "Look at the modules and the sensor; wash the array if the energy is worth more than the washing.", false, 8, 2},
	},
}

// Actions returns the recommended actions for a fault of the family, in order,
// or none for an unknown family.
func Actions(f detect.Family) []Action { return slices.Clone(actions[f]) }
