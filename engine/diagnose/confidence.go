package diagnose

import (
	_ "embed"
	"encoding/json"
	"math"

	"app.sunloop/engine/detect"
)

//go:embed calibration.json
var calibrationJSON []byte

// Calibration maps sums of evidence to confidence, as fitted on labelled
// fleets: for each family the line a + b·sum of the log odds that an event is
// of its named family, and how often it was of another.
type Calibration struct {
	Families map[detect.Family]LogOdds `json:"families"`
	// Tiers are the same by family and basis as returned by [TierKey], fitted
	// on measured plants: for events that rest on a model of the unit's own
	// past, and for those of sites of one or two units. There the noise of the
	// plant determines the confidence, which fleets of similar units do not have.
	Tiers    map[string]LogOdds                          `json:"tiers,omitempty"`
	Mistaken map[detect.Family]map[detect.Family]float64 `json:"mistaken"` // detected: what it was, share of the events that matched anything
}

// LogOdds is a straight line of log odds over the sum of evidence.
type LogOdds struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
	N int     `json:"n"` // events behind it
}

// TierKey is the key of a family and a basis in [Calibration.Tiers].
func TierKey(family detect.Family, basis string) string { return string(family) + " on " + basis }

// FewUnits is the basis, for the calibration, of events that rest on no model of a
// unit's past and are of a site of one or two units: no neighbour confirms them.
const FewUnits = "few units"

// TierOf returns the basis for [TierKey] of an event of a site with so many units. It
// is empty if the lines of fleets apply.
func TierOf(e detect.Event, units int) string {
	if e.Basis == "" && units < 3 {
		return FewUnits
	}
	return e.Basis
}

// Calibrated is the calibration in use.
func Calibrated() Calibration { return calibration }

// CalibratedTiers are the lines in use for events with a basis.
func CalibratedTiers() map[string]LogOdds { return calibration.Tiers }

var calibration = func() Calibration {
	var c Calibration
	if err := json.Unmarshal(calibrationJSON, &c); err != nil {
		panic("diagnose: calibration.json: " + err.Error()) // embedded: cannot fail after a build that passed its tests
	}
	return c
}()

// EvidenceSum is the sum of the weights of an event's evidence: what
// confidence is calibrated on.
func EvidenceSum(e detect.Event) float64 {
	sum := 0.0
	for _, v := range e.Evidence {
		sum += v.Weight
	}
	return sum
}

// Limits of a confidence: without an event code; with a single piece of
// evidence in favour, or a gap that no counter explains. The second does not apply
// to events with a line of their basis, which is the measured share of right ones. It
// does apply to events that rest on a model of a unit's past without such a line:
// the lines of fleets are of other rules, which compare equal units.
const (
	withoutCode  = 0.95
	withCode     = 0.99
	singlePiece  = 0.6
	priorLogOdds = -1
)

// most is the highest confidence that the events behind a line support: by Laplace's
// rule of succession, the next of n events that were all right is right with a
// probability of (n+1)/(n+2).
func (l LogOdds) most() float64 { return float64(l.N+1) / float64(l.N+2) }

// confidence is the calibrated product of the experts within its limits, of an event of
// a site with so many units. How long something lasts is no second piece of evidence.
func confidence(e detect.Event, units int) float64 {
	line, ok := calibration.Families[e.Family]
	tier, fitted := calibration.Tiers[TierKey(e.Family, TierOf(e, units))]
	if fitted {
		line, ok = tier, true
	} else if !ok {
		line = LogOdds{A: priorLogOdds, B: 1}
	}
	limit, favour := withoutCode, 0
	for _, v := range e.Evidence {
		if v.Supports() && !isDuration(v.Kind) {
			favour++
		}
		if v.Kind == "event_code" {
			limit = withCode
		}
	}
	if ok {
		limit = min(limit, line.most())
	}
	if (favour < 2 || e.Basis != "") && !fitted || e.Family == detect.CommunicationGap && e.Class == detect.Unknown {
		limit = min(limit, singlePiece)
	}
	return min(1/(1+math.Exp(-line.A-line.B*EvidenceSum(e))), limit)
}

func isDuration(kind string) bool {
	return kind == "duration" || kind == "duration_over_a_day" || kind == "duration_restored"
}
