package detect

import "time"

// Family is the kind of a fault.
type Family string

// The families that stages find, in the order of their stages.
const (
	StuckSensor      Family = "stuck_sensor"
	SiteOutage       Family = "site_outage_grid"
	InverterOutage   Family = "inverter_outage"
	CommunicationGap Family = "communication_gap"
	Curtailment      Family = "curtailment"
	StringOutage     Family = "string_outage"
	Soiling          Family = "soiling"
)

// Class says what a communication gap turned out to be.
type Class string

// The classes of a gap.
const (
	Comms   Class = "comms"   // the plant ran, its data did not arrive
	Real    Class = "real"    // energy is missing too
	Unknown Class = "unknown" // no counter says which
)

// Event is one fault of one or more units.
type Event struct {
	Family     Family
	Class      Class    // of a communication gap
	Units      []string // asset ids, in the order of the input
	Start      time.Time
	DetectedAt time.Time  // when the rule was met: nothing later was used for that
	LastSeen   time.Time  // end of the last sample that showed it
	End        *time.Time // nil while it goes on

	LossFraction   float64 // share of the units' production that is lost, 0 to 1
	LostKWh        float64 // so far: the sum of what was expected and not made
	EnergyAtRiskKW float64 // LossFraction times the mean power expected in the daylight of the next 24 h; of an ended event, what was at risk
	Confidence     float64 // 0 to 0.95, above only with an event code
	Severity       Severity

	Summary  string
	Evidence []Evidence
	Causes   []Cause // likeliest first
	Actions  []Action
}

// Evidence is one observation for or against the event.
type Evidence struct {
	Kind      string // stable name, such as "power_zero"
	Supports  bool
	Value     float64 // what was seen
	Reference float64 // what would have been normal
	Unit      string
	Text      string // the same as a sentence
}

// Cause is a root cause that would explain the event.
type Cause struct {
	Name       string
	Category   string  // hardware, electrical, grid, communication, operation, environment, unknown
	Confidence float64 // that this is the cause
	Text       string
}

// Severity is one judgement in the words of each place it is shown.
type Severity struct {
	Label    string // critical, warning or normal
	Partner  string // Critical, High, Medium, Low
	Response string // what is expected of whom
}

// Action is one thing to do.
type Action struct {
	Priority string // high, medium, low
	Text     string
	Remote   bool    // needs nobody on site
	Hours    float64 // hands-on, of the whole crew's presence
	Crew     int
}
