package detect

import (
	"fmt"
	"math"
	"strings"
)

// observation is a piece of evidence and what follows from it.
type observation struct {
	Evidence
	weight float64            // natural logarithm of how much likelier it is with the fault than without
	causes map[string]float64 // how much likelier each cause is with it
}

// shows is an observation as a sentence and as numbers.
func shows(kind string, value, reference float64, unit, sentence string, args ...any) observation {
	return observation{Evidence: Evidence{Kind: kind, Value: value, Reference: reference, Unit: unit, Text: fmt.Sprintf(sentence, args...)}}
}

// weigh says what follows: a weight above zero supports the event.
func (o observation) weigh(weight float64, causes map[string]float64) observation {
	o.Supports, o.weight, o.causes = weight > 0, weight, causes
	return o
}

// evidence lists what speaks for a record and what against it. The weights
// are estimates, to be calibrated on labelled fleets.
func (s *session) evidence(r *record) []observation {
	switch r.family {
	case CommunicationGap:
		return gapEvidence(r)
	case StuckSensor:
		return stuckEvidence(r)
	case Curtailment:
		return curtailmentEvidence(r)
	case StringOutage:
		return s.stringEvidence(r)
	case Soiling:
		return soilingEvidence(r)
	default:
		return outageEvidence(r)
	}
}

// confidence multiplies the experts: the odds of the prior and of each piece
// of evidence. It stays at or below 0.95 without an event code, and at or
// below 0.6 with a single piece in favour (how long something lasts is no
// second one) or, for a gap, without a counter that confirms it.
func confidence(r *record, evidence []observation) float64 {
	const prior = -1
	odds, favour, limit := float64(prior), 0, 0.95
	for _, e := range evidence {
		odds += e.weight
		if e.Supports && e.Kind != "duration" {
			favour++
		}
		if e.Kind == "event_code" {
			limit = 0.99
		}
	}
	if favour < 2 || r.family == CommunicationGap && r.class == Unknown {
		limit = 0.6
	}
	return min(logistic(odds), limit)
}

// eventBits are the names of SunSpec's Evt1 bits (models 101-103) and the
// causes that a set bit makes likelier, with the factor.
var eventBits = [16]struct {
	name   string
	causes map[string]float64
}{
	0:  {"GROUND_FAULT", map[string]float64{causeGroundFault: 200}},
	1:  {"DC_OVER_VOLT", map[string]float64{causeHardware: 1.5}},
	2:  {"AC_DISCONNECT", map[string]float64{causeBreaker: 10, causeTrip: 2, causeMainBreaker: 4}},
	3:  {"DC_DISCONNECT", map[string]float64{causeDCSwitch: 20}},
	4:  {"GRID_DISCONNECT", map[string]float64{causeTrip: 10, causeUtility: 5}},
	5:  {"CABINET_OPEN", map[string]float64{causeManual: 10}},
	6:  {"MANUAL_SHUTDOWN", map[string]float64{causeManual: 20}},
	7:  {"OVER_TEMP", map[string]float64{causeHardware: 2}},
	8:  {"OVER_FREQUENCY", map[string]float64{causeTrip: 10, causeUtility: 5}},
	9:  {"UNDER_FREQUENCY", map[string]float64{causeTrip: 10, causeUtility: 5}},
	10: {"AC_OVER_VOLT", map[string]float64{causeTrip: 10, causeUtility: 3}},
	11: {"AC_UNDER_VOLT", map[string]float64{causeTrip: 10, causeUtility: 5}},
	12: {"BLOWN_STRING_FUSE", map[string]float64{causeDCSwitch: 3, causeFuse: 10}},
	13: {"UNDER_TEMP", nil},
	14: {"MEMORY_LOSS", map[string]float64{causeHardware: 15}},
	15: {"HW_TEST_FAILURE", map[string]float64{causeHardware: 15}},
}

func codeEvidence(code float64) observation {
	var names []string
	causes := map[string]float64{}
	if bits := uint64(code); code == math.Trunc(code) && bits < 1<<16 {
		for b, bit := range eventBits {
			if bits&(1<<b) == 0 {
				continue
			}
			names = append(names, bit.name)
			for c, factor := range bit.causes {
				causes[c] = max(causes[c], factor)
			}
		}
	}
	if len(names) == 0 {
		return shows("event_code", code, 0, "", "The unit reports event code %.0f.", code).weigh(1, nil)
	}
	return shows("event_code", code, 0, "", "The unit reports event code %.0f, in SunSpec's reading %s.", code, strings.Join(names, ", ")).weigh(1.5, causes)
}
