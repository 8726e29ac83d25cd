package finding

import (
	"cmp"
	"slices"

	"app.sunloop/backend/api"
)

// AlertSeverity of a finding: the detector's grade where it is known. What
// costs nothing and only informs is normal.
func AlertSeverity(f Finding) string {
	severity := map[string]string{"Critical": api.AlertCritical, "High": api.AlertMajor, "Medium": api.AlertModerate, "Low": api.AlertMinor}[f.Grade]
	if severity == "" {
		severity = map[string]string{api.SeverityCritical: api.AlertCritical, api.SeverityWarning: api.AlertModerate}[f.SeverityLabel]
	}
	if (severity == "" || severity == api.AlertMinor) && f.LossFraction == 0 {
		return api.AlertNormal
	}
	return cmp.Or(severity, api.AlertMinor)
}

// UrgencyRank orders severities: 0 is the worst.
func UrgencyRank(severity string) int { return slices.Index(api.AlertSeverities(), severity) }

// NeedsAction reports whether the severity is an alarm; an event requires no acknowledgement.
func NeedsAction(severity string) bool {
	return UrgencyRank(severity) <= UrgencyRank(api.AlertModerate)
}

// Severity is the finding's on the partners' scale.
func (f Finding) Severity() string {
	if f.Grade != "" {
		return f.Grade
	}
	switch f.SeverityLabel {
	case api.SeverityCritical:
		return api.PartnerCritical
	case api.SeverityWarning:
		return api.PartnerMedium
	}
	return api.PartnerLow
}

// Informational says that the finding costs nothing and only informs.
func (f Finding) Informational() bool { return AlertSeverity(f) == api.AlertNormal }

// Rank orders severities: -1 for an unknown one, 0 for none, 3 for critical.
func Rank(severity string) int {
	return slices.Index([]string{"", api.SeverityNormal, api.SeverityWarning, api.SeverityCritical}, severity)
}
