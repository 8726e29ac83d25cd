package ingest

import (
	"fmt"
	"slices"
)

// report collects decisions and doubts in the order they arise.
type report struct{ decisions, warnings, runnersUp []Decision }

func (r *report) decide(topic, format string, args ...any) {
	r.decisions = append(r.decisions, Decision{topic, fmt.Sprintf(format, args...)})
}

// warn is for what another reading explains as well, or nearly.
func (r *report) warn(topic, format string, args ...any) {
	r.warnings = append(r.warnings, Decision{topic, fmt.Sprintf(format, args...)})
}

// nearly is for another reading that fits nearly as well as the one that is used.
func (r *report) nearly(topic, format string, args ...any) {
	d := Decision{topic, fmt.Sprintf(format, args...)}
	if !slices.Contains(r.runnersUp, d) {
		r.runnersUp = append(r.runnersUp, d)
	}
}
