package detect

import (
	"time"

	"app.sunloop/engine/loss"
)

// Family is the kind of a fault.
type Family string

// The families that stages find.
const (
	DataQuality      Family = "data_quality"
	TimeShift        Family = "time_shift"
	StuckSensor      Family = "stuck_sensor"
	IrradianceSensor Family = "irradiance_sensor"
	SiteOutage       Family = "site_outage_grid"
	InverterOutage   Family = "inverter_outage"
	CommunicationGap Family = "communication_gap"
	GroundFault      Family = "ground_or_insulation_fault"
	ArcFault         Family = "arc_fault" // an arc that the unit has detected in its DC circuit
	IntermittentTrip Family = "intermittent_trip"
	Clipping         Family = "clipping"
	Curtailment      Family = "curtailment"
	ThermalDerating  Family = "thermal_derating"
	SnowCover        Family = "snow_cover"
	TrackerFault     Family = "tracker_fault"
	StringOutage     Family = "string_outage"
	CapacityChange   Family = "capacity_change"
	PartialShading   Family = "partial_shading"
	Soiling          Family = "soiling"
	Degradation      Family = "degradation"
	Underperformance Family = "underperformance"
	RepeatedData     Family = "repeated_data" // readings of former days under new times
	DataSilence      Family = "data_silence"  // a site whose data stop; found by the rhythm of its arrivals, not by a stage
)

// Class subdivides the events of some families.
type Class string

// The classes of a communication gap and of wrong readings.
const (
	Comms    Class = "comms"    // the plant ran, its data did not arrive
	Real     Class = "real"     // energy is missing too
	Unknown  Class = "unknown"  // no counter shows which
	Sentinel Class = "sentinel" // values that no unit can give
	Scale    Class = "scale"    // readings in another unit
)

// Event is one fault of one or more units.
type Event struct {
	Family     Family
	Class      Class    // of some families
	Units      []string // asset ids, in the order of the input
	Start      time.Time
	DetectedAt time.Time  // when the rule was met: nothing later was used for that
	LastSeen   time.Time  // end of the last sample that showed it
	End        *time.Time // nil while it lasts

	// Basis is the reference of the model on which the event rests, if it
	// is a model of the unit's own past: peers, irradiance or clear sky. It
	// is empty for other events.
	Basis string
	// UsableDays is how many usable days of the unit showed a step when it
	// was announced. It is 0 of other events.
	UsableDays int

	LossFraction float64 // share of the units' production that is lost while it shows, 0 to 1
	LostKWh      float64 // so far: the sum of what was expected and not made
	// Losses is LostKWh by hour: none before the event, after its end or at
	// night, and never more than was expected.
	Losses   loss.Ledger
	Evidence []Evidence
	// Occasions are the times at which an intermittent fault was visible,
	// in order. It is empty for a fault that lasts from Start to LastSeen.
	Occasions []Span
	// Members are the parts of the units in an event of several units with one
	// cause, in the order of Units. It is empty for an event of one unit, and for
	// one of the site that is not found unit by unit, such as snow.
	Members []Member
}

// Member is the part of one unit in an event of several. Their losses add up to those
// of the event, which lasts from the first start to the last end.
type Member struct {
	Unit              string // asset id
	Start, DetectedAt time.Time
	LastSeen          time.Time
	End               *time.Time // nil while the unit is affected
	LossFraction      float64    // of the unit's production
	LostKWh           float64
}

// Span is a stretch of time, from From to before To.
type Span struct{ From, To time.Time }

// Find is the event's evidence of a kind; ok is false without.
func (e Event) Find(kind string) (v Evidence, ok bool) {
	for _, v := range e.Evidence {
		if v.Kind == kind {
			return v, true
		}
	}
	return Evidence{}, false
}

// Evidence is one observation for or against an event.
type Evidence struct {
	Kind      string  // stable name, such as "power_zero"
	Weight    float64 // natural logarithm of how much likelier it is with the fault than without: above zero it supports the event
	Value     float64 // what was seen
	Reference float64 // what would have been normal
	Unit      string
	Text      string // the same as a sentence
}

// Supports reports whether the evidence supports the event.
func (e Evidence) Supports() bool { return e.Weight > 0 }
