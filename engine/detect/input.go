package detect

import (
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// Site describes the site. Every field is optional; what is missing is reported
// in [Report.NotEvaluated] where it matters.
type Site struct {
	ID       string
	Location *solar.Location
	Zone     *time.Location // nil means UTC
}

// Unit is one inverter.
type Unit struct {
	AssetID    string
	CapacityKW float64      // AC rating; 0 where unknown
	Plane      *solar.Plane // nil where unknown
	Tracker    bool         // the modules follow the sun
	Strings    int          // 0 where unknown
	Frame      series.Frame // power, or interval energy, or a lifetime counter; more is better
}

// Input is one question.
type Input struct {
	Site  Site
	Units []Unit
	// From and Now bound the analysis: [From, Now). A zero From means the
	// first time stamp. The normal state is learned inside the interval, so
	// a run over new data should begin at least 60 days before them. For a
	// file without a live source, Now is the end of the data; for a live
	// site it is the time up to which rows would have arrived: rows missing
	// before it count as missing.
	From, Now time.Time
	// Forecast is the site's P50 power in kW, over whatever stretch there is.
	// The next 24 h from Now give the energy at risk; the past serves where
	// neither peers nor irradiance do.
	Forecast series.Series
	// Keep is how long before Now the expected power is returned.
	Keep time.Duration
}

// Report is the answer.
type Report struct {
	Step         time.Duration      // grid of the analysis
	Events       []Event            // in order of start; open ones have no End
	NotEvaluated []string           // what could not be evaluated, and why, in sentences
	RatingKW     map[string]float64 // of each unit that could be evaluated: its capacity, or the highest power it has shown
	// Detectability states how small a lasting loss can be detected for each unit
	// with a model of its history, by asset id.
	Detectability map[string]Detectability
	// Clipped holds the times at which each unit was at its limit, a span
	// for each day on which it was, by asset id. That is normal where the
	// array is larger than the inverter; the event of the family states it
	// once for the site.
	Clipped map[string][]Span
	// Expected is the expected power of each unit in kW over the last Keep
	// before Now, by asset id. It is empty if Keep is zero.
	Expected map[string]series.Series
}

// Limits of what the rules can work with.
const (
	finest   = 5 * time.Minute // finer readings are averaged
	coarsest = 2 * time.Hour   // rarer ones show no outage
)

// The outage rule: no power is less than offShare of the rating while more
// than armedShare is expected, for half an hour and two samples. Thresholds as
// monitoring practice publishes them (outage below 1 % of nominal, armed above
// 5 % expected, 30 minutes).
const (
	offShare    = 0.01
	armedShare  = 0.05
	persistence = 30 * time.Minute
)

// mergeWithin is how soon after its end a fault that returns is the same event.
const mergeWithin = time.Hour
