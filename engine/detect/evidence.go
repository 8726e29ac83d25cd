package detect

import (
	"fmt"
	"strings"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// shows returns an observation as numbers and as a sentence. The weight is an
// estimate of its strength; the confidence in an event follows from the sum of
// the weights by a calibration on labelled fleets (engine/diagnose).
func shows(kind string, weight, value, reference float64, unit, sentence string, args ...any) Evidence {
	return Evidence{Kind: kind, Weight: weight, Value: value, Reference: reference, Unit: unit, Text: fmt.Sprintf(sentence, args...)}
}

// evidence lists the evidence for and against a record.
func (s *session) evidence(r *record) []Evidence {
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
	case InverterOutage, SiteOutage, GroundFault, ArcFault:
		return append(outageEvidence(r), r.observed...)
	}
	return r.observed
}

// eventBits are the names of SunSpec's Evt1 bits (models 101-103).
var eventBits = [16]string{
	"GROUND_FAULT", "DC_OVER_VOLT", "AC_DISCONNECT", "DC_DISCONNECT", "GRID_DISCONNECT", "CABINET_OPEN", "MANUAL_SHUTDOWN", "OVER_TEMP",
	"OVER_FREQUENCY", "UNDER_FREQUENCY", "AC_OVER_VOLT", "AC_UNDER_VOLT", "BLOWN_STRING_FUSE", "UNDER_TEMP", "MEMORY_LOSS", "HW_TEST_FAILURE",
}

// hasBit reports whether an event code has a bit of SunSpec's Evt1 set.
func hasBit(code float64, bit int) bool {
	bits, ok := series.EventBits(code)
	return ok && bits&(1<<bit) != 0
}

// hasArc reports whether an event code says that an arc was detected.
func hasArc(code float64) bool {
	bits, ok := series.EventBits(code)
	return ok && bits&series.ArcDetected != 0
}

// The bits that name a family by themselves.
const (
	bitGroundFault = 0
	bitOverTemp    = 7
)

// vendorCodes is added to a vendor's event words, which SunSpec's bits are not read
// from.
const vendorCodes = 1 << 48

func codeEvidence(code float64) Evidence {
	if code >= vendorCodes {
		word := uint64(code - vendorCodes)
		return shows("event_code", 1, code-vendorCodes, 0, "", "The unit reports the vendor's event code %d in word %d.", word&0xFFFFFFFF, word>>32+1)
	}
	var names []string
	for b, name := range eventBits {
		if hasBit(code, b) {
			names = append(names, name)
		}
	}
	if hasArc(code) {
		return shows("event_code", 2, code, 0, "", "The arc detection of the unit's DC circuit has responded: in SunSpec's reading %s.", strings.Join(append([]string{"ARC_DETECTED"}, names...), ", "))
	}
	if len(names) == 0 {
		return shows("event_code", 1, code, 0, "", "The unit reports event code %.0f.", code)
	}
	return shows("event_code", 1.5, code, 0, "", "The unit reports event code %.0f, in SunSpec's reading %s.", code, strings.Join(names, ", "))
}

// formatMinutes writes a length of time.
func formatMinutes(length float64) string {
	return display.Duration(time.Duration(length * float64(time.Minute)))
}
