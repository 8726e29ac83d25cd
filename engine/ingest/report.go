package ingest

import "fmt"

// report collects decisions and doubts in the order they arise.
type report struct{ decisions, warnings []Decision }

func (r *report) decide(topic, format string, args ...any) {
	r.decisions = append(r.decisions, Decision{topic, fmt.Sprintf(format, args...)})
}

// warn is for what another reading explains as well, or nearly.
func (r *report) warn(topic, format string, args ...any) {
	r.warnings = append(r.warnings, Decision{topic, fmt.Sprintf(format, args...)})
}
