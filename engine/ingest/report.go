package ingest

import (
	"fmt"
	"slices"
)

// report collects decisions and warnings in order.
type report struct{ decisions, warnings, runnersUp []Decision }

func (r *report) decide(topic, format string, args ...any) {
	r.decisions = append(r.decisions, Decision{topic, fmt.Sprintf(format, args...)})
}

// warn adds a warning: another interpretation fits as well, or nearly.
func (r *report) warn(topic, format string, args ...any) {
	r.warnings = append(r.warnings, Decision{topic, fmt.Sprintf(format, args...)})
}

// addRunnerUp adds another interpretation that fits nearly as well as the one that is used.
func (r *report) addRunnerUp(topic, format string, args ...any) {
	d := Decision{topic, fmt.Sprintf(format, args...)}
	if !slices.Contains(r.runnersUp, d) {
		r.runnersUp = append(r.runnersUp, d)
	}
}
