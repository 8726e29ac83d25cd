package simulate

import (
	"slices"
	"strings"
	"time"
)

// Kind is what happens; [Kind.Family] is what detection calls it.
type Kind string

// The faults that can be injected, and what Severity means for each.
const (
	UnitOutage       Kind = "inverter_outage"            // no power, counter flat; Severity unused
	SiteOutage       Kind = "site_outage_grid"           // every unit; Severity unused
	CommunicationGap Kind = "communication_gap"          // the plant runs, its data do not arrive; see Gap
	StringLoss       Kind = "string_outage"              // Severity is the share of the strings lost
	Soiling          Kind = "soiling"                    // Severity is the loss a dry day adds, 0.003 for 0.3 %; rain washes it off
	Curtailment      Kind = "curtailment"                // Severity is the limit as a share of the rating
	Derating         Kind = "thermal_derating"           // Severity is how much hotter the cabinet is than it should be, °C
	PartialShade     Kind = "partial_shading"            // Severity is the share of the beam lost while the sun is in the window
	StuckSensor      Kind = "stuck_sensor"               // the power reading holds; Severity unused
	Degradation      Kind = "degradation"                // Severity is the loss in a year, 0.01 for 1 %
	TimeShift        Kind = "time_shift"                 // Severity is how many minutes the stamps are late; negative: early
	ScaleError       Kind = "scale_error"                // Severity is the factor on the power reading
	Spikes           Kind = "spikes"                     // the power reading is a sentinel: 65535, -32768 or 1e19; Severity unused
	Snow             Kind = "snow_cover"                 // Severity is the share of the light that the snow keeps off; it slides in the last hours
	GroundFault      Kind = "ground_or_insulation_fault" // the unit starts late on wet mornings; Severity unused
	IntermittentTrip Kind = "intermittent_trip"          // the unit stops several times a day for less than half an hour; Severity unused
	TrackerFault     Kind = "tracker_fault"              // the tracker is frozen; Severity is its angle from flat, east negative
	IrradianceSensor Kind = "irradiance_sensor"          // Severity is the share of the light that the sensor does not see
	CapacityChange   Kind = "capacity_change"            // Severity is the share of array added
	Underperformance Kind = "underperformance"           // Severity is the share lost once it has crept in
)

// Family is the kind under its name in detection.
func (k Kind) Family() string {
	switch k {
	case ScaleError, Spikes:
		return "data_quality"
	}
	return string(k)
}

// Gap is what a communication gap leaves in the data.
type Gap int

// The three shapes of a gap.
const (
	RowsRemoved Gap = iota // no rows
	RowsEmpty              // rows without a reading
	RowsHeld               // the last reading again and again
)

// Fault is one event that affects a plant, and thus the truth with which
// detection is compared.
type Fault struct {
	ID, SiteID string
	Kind       Kind
	Units      []string // asset ids
	From, To   time.Time
	Severity   float64
	Gap        Gap
	RowsAbsent bool    // of an outage: the logger is without power too, so no rows arrive
	AzimuthDeg float64 // of PartialShade: where the window begins, from north clockwise
	WidthDeg   float64 // of PartialShade: how wide it is
	Code       int     // event code reported, SunSpec Evt1 bits; 0 for none
	Cause      string  // reason, as a sentence
}

// Open reports whether the fault has not ended at t.
func (f Fault) Open(t time.Time) bool {
	return !t.Before(f.From) && (f.To.IsZero() || t.Before(f.To))
}

// Overlaps reports whether the fault is active anywhere in [from, to).
func (f Fault) Overlaps(from, to time.Time) bool {
	return f.From.Before(to) && (f.To.IsZero() || f.To.After(from))
}

// Concerns reports whether the fault affects the asset.
func (f Fault) Concerns(assetID string) bool { return slices.Contains(f.Units, assetID) }

// outage reports whether the unit produces no power.
func (f Fault) outage() bool { return f.Kind == UnitOutage || f.Kind == SiteOutage }

// hidesRows reports whether the fault changes the reported data and not the
// plant.
func (f Fault) hidesRows() bool { return f.Kind == CommunicationGap || f.outage() && f.RowsAbsent }

func sortFaults(fs []Fault) {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		if c := a.From.Compare(b.From); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
}
