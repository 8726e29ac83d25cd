package finding

import (
	"slices"

	"app.sunloop/backend/api"
)

// scale is the one scale of severities, from the worst, as each surface names it.
// Where the detector's grade is not known, the label decides: the first row with it.
var scale = []struct{ grade, label, alert string }{
	{api.PartnerCritical, api.SeverityCritical, api.AlertCritical},
	{api.PartnerHigh, api.SeverityCritical, api.AlertMajor},
	{api.PartnerMedium, api.SeverityWarning, api.AlertModerate},
	{api.PartnerLow, api.SeverityNormal, api.AlertMinor},
}

// grade is the finding's place on the scale.
func (f Finding) grade() int {
	for i, s := range scale {
		if f.Grade == s.grade || f.Grade == "" && f.SeverityLabel == s.label {
			return i
		}
	}
	return len(scale) - 1
}

// AlertSeverity of a finding is that of its alert. What costs nothing and only
// informs is normal.
func AlertSeverity(f Finding) string {
	severity := scale[f.grade()].alert
	if severity == api.AlertMinor && f.LossFraction == 0 {
		return api.AlertNormal
	}
	return severity
}

// UrgencyRank orders severities: 0 is the worst.
func UrgencyRank(severity string) int { return slices.Index(api.AlertSeverities(), severity) }

// NeedsAction reports whether the severity is an alarm; an event requires no acknowledgement.
func NeedsAction(severity string) bool {
	return UrgencyRank(severity) <= UrgencyRank(api.AlertModerate)
}

// Severity is the finding's on the partners' scale.
func (f Finding) Severity() string { return scale[f.grade()].grade }

// Informational says that the finding costs nothing and only informs.
func (f Finding) Informational() bool { return AlertSeverity(f) == api.AlertNormal }

// Rank orders severities: -1 for an unknown one, 0 for none, 3 for critical.
func Rank(severity string) int {
	return slices.Index([]string{"", api.SeverityNormal, api.SeverityWarning, api.SeverityCritical}, severity)
}
