package finding

import (
	"cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
)

// severityScore maps severities to the range from 0 to 1.
var severityScore = map[string]float64{api.SeverityNormal: 0.2, api.SeverityWarning: 0.6, api.SeverityCritical: 1}

// Conclude sets the status, severity, fault and summary of an analysis by its
// anomalies, so that they agree: the status is normal if and only if there is no
// anomaly. The fault is the most severe one that lasts; if all have ended, the most severe of
// these, whose severity is at most warning.
func Conclude(a *api.Analysis) {
	a.SeverityLabel, a.SeverityScore, a.Status = api.SeverityNormal, 0, api.AnomalyNone
	a.FaultType, a.Summary = "none", "No abnormality was detected."
	if len(a.Anomalies) == 0 {
		return
	}
	worst := a.Anomalies[0]
	for _, n := range a.Anomalies[1:] {
		if cmp.Or(record.CompareBool(n.EndedAt.IsZero(), worst.EndedAt.IsZero()), cmp.Compare(Rank(n.SeverityLabel), Rank(worst.SeverityLabel)),
			n.LastSeenAt.Compare(worst.LastSeenAt.Time)) > 0 {
			worst = n
		}
	}
	a.Status, a.FaultType, a.Summary = api.AnomalyDetected, worst.FaultFamily, worst.Summary
	a.SeverityLabel = cmp.Or(worst.SeverityLabel, api.SeverityNormal)
	if !worst.EndedAt.IsZero() {
		a.SeverityLabel = EndedSeverity(a.SeverityLabel)
	}
	a.SeverityScore = severityScore[a.SeverityLabel]
}

// EndedSeverity returns the severity that is reported for a fault that has ended:
// it is never critical.
func EndedSeverity(severity string) string {
	if severity == api.SeverityCritical {
		return api.SeverityWarning
	}
	return severity
}
