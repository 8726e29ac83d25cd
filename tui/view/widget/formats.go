package widget

import (
	"slices"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Spaced writes a value of the API, such as solar_inverter, with spaces.
func Spaced(value string) string { return strings.ReplaceAll(value, "_", " ") }

// isSilent reports whether findings of a family mean that there are no data, so that what
// they lose is unknown.
func isSilent(family string) bool { return family == "communication_gap" || family == "data_silence" }

// LostEnergy writes the energy that a finding lost. That of a unit without data is not
// known, and that of a finding that has just begun is not known yet.
func LostEnergy(f api.Finding) string {
	if f.LostKWh == 0 && f.Active && f.EnergyAtRiskKW > 0 {
		return unknownEnergy
	}
	return FamilyEnergy(f.FaultFamily, f.LostKWh)
}

// LostWords writes the energy that a finding lost as part of a sentence.
func LostWords(f api.Finding) string {
	if lost := LostEnergy(f); lost != unknownEnergy {
		return lost + " lost"
	}
	return "energy lost unknown"
}

// unknownEnergy is an energy that is not known.
const unknownEnergy = "unknown"

// FamilyEnergy writes the energy that findings of a family lost.
func FamilyEnergy(family string, kwh float64) string {
	if kwh == 0 && isSilent(family) {
		return unknownEnergy
	}
	return display.Energy(kwh)
}

// FamilyPower writes the power that a finding of a family loses.
func FamilyPower(family string, kw float64) string {
	if kw == 0 && isSilent(family) {
		return "unknown"
	}
	return display.Power(kw)
}

// FamilyRisk is [Risk] of a finding of a family.
func FamilyRisk(family string, kw float64) string {
	if kw == 0 && isSilent(family) {
		return "daylight loss unknown"
	}
	return Risk(kw)
}

// SitePower writes the present power of a site, and that it is unknown if its
// units have not reported for too long.
func SitePower(s api.SiteSummary) string {
	switch {
	case s.HasPower():
		return display.Power(s.TotalPowerKW)
	case s.LastUpdated.IsZero():
		return "power unknown (no data)"
	}
	return "power unknown (data " + display.Age(s.ServiceTime.Sub(s.LastUpdated.Time)) + " old)"
}

// SiteEnergy writes the energy of a site's day so far, and that it is unknown if there
// are no data of the day.
func SiteEnergy(s api.SiteSummary) string {
	if !s.HasEnergy() {
		return "unknown"
	}
	return display.Energy(max(s.TotalKWhToday, 0))
}

// RiskTitle is the title of columns with a power at risk.
const RiskTitle = "daylight loss"

// Risk writes a power at risk with what it is: the mean power that is lost in the
// daylight of the next 24 h.
func Risk(kw float64) string { return display.Power(kw) + " mean daylight loss" }

// Family returns the technical term of a fault family.
func Family(f string) string {
	if words := families[f]; words != "" {
		return words
	}
	return strings.ReplaceAll(f, "_", " ")
}

// EventCode writes the event code of a unit: its number after a word, and an arc that was detected
// in words.
func EventCode(code int64, word string) string {
	rest := code &^ api.ArcDetected
	switch {
	case code < 0 || code == rest || rest >= 1<<16:
		return word + strconv.FormatInt(code, 10)
	case rest == 0:
		return "arc detected"
	}
	return "arc detected, " + word + strconv.FormatInt(rest, 10)
}

var families = map[string]string{
	"inverter_outage":            "inverter outage",
	"site_outage_grid":           "site outage",
	"communication_gap":          "no data",
	"data_silence":               "site silent",
	"repeated_data":              "repeated data",
	"string_outage":              "string outage",
	"partial_shading":            "partial shading",
	"thermal_derating":           "thermal derating",
	"stuck_sensor":               "stuck reading",
	"ground_or_insulation_fault": "ground fault",
	"arc_fault":                  "arc fault",
}

// priorityLook is how a priority is shown: shape, letter and word say what the colour
// says. Letters differ without regard to case.
type priorityLook struct {
	shape, ascii rune
	letter, word string
	role         themes.Role
}

// priorityLooks are the priorities after ISA-18.2, by the severity that the API has.
var priorityLooks = map[string]priorityLook{
	api.AlertCritical: {'▲', '!', "C", "critical", themes.Critical},
	api.AlertMajor:    {'▲', '!', "H", "high", themes.Critical},
	api.AlertModerate: {'●', '*', "M", "medium", themes.Warning},
	api.AlertMinor:    {'○', 'o', "L", "low", themes.Notice},
	api.AlertNormal:   {'○', 'o', "J", "journal", themes.Dim},
}

// AlarmPriority writes the priority of an alarm.
func AlarmPriority(severity string) string {
	if look, ok := priorityLooks[severity]; ok {
		return look.word
	}
	return severity
}

// PriorityRank orders the severities of alarms: 0 is the worst.
func PriorityRank(severity string) int {
	if i := slices.Index(api.AlertSeverities(), severity); i >= 0 {
		return i
	}
	return len(api.AlertSeverities())
}

// PriorityRole returns the colour of a priority.
func PriorityRole(severity string) themes.Role {
	if look, ok := priorityLooks[severity]; ok {
		return look.role
	}
	return themes.Dim
}

// PriorityMark returns the shape and the letter of a priority; an unknown one is as that of the journal.
func PriorityMark(severity string, ascii bool) (shape rune, letter string) {
	look, ok := priorityLooks[severity]
	if !ok {
		look = priorityLooks[api.AlertNormal]
	}
	if ascii {
		return look.ascii, look.letter
	}
	return look.shape, look.letter
}

// DrawPriorityMark draws shape and letter of a priority and returns the x after.
func DrawPriorityMark(v view.Context, r terminal.Region, x, y int, severity string) int {
	shape, letter := PriorityMark(severity, v.ASCII)
	style := v.Style(PriorityRole(severity))
	r.PutRune(x, y, shape, style)
	return r.Put(x+1, y, letter, style)
}

// ofLabel is the severity of an alarm by the coarser label of a finding.
var ofLabel = map[string]string{api.SeverityCritical: api.AlertCritical, api.SeverityWarning: api.AlertModerate, api.SeverityNormal: api.AlertMinor}

// FindingSeverity returns the severity of a finding as that of its alarm; by its label if the
// service does not state it.
func FindingSeverity(f api.Finding) string {
	if f.AlertSeverity != "" {
		return f.AlertSeverity
	}
	return ofLabel[f.SeverityLabel]
}

// FindingPriority writes the priority of a finding: that of its alarm.
func FindingPriority(f api.Finding) string { return AlarmPriority(FindingSeverity(f)) }

// FindingRole returns the colour of a finding's priority.
func FindingRole(f api.Finding) themes.Role { return PriorityRole(FindingSeverity(f)) }

// Priorities returns the numbers of findings of a site by the severity of their alarms; by
// their labels if the service does not state it.
func Priorities(f api.FleetSite) map[string]int {
	if len(f.AlertSeverities) > 0 || len(f.Findings) == 0 {
		return f.AlertSeverities
	}
	out := map[string]int{}
	for label, n := range f.Findings {
		out[ofLabel[label]] += n
	}
	return out
}

// SortedKeys returns the keys of a map, in order.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Verbatim writes a choice as it is.
func Verbatim(s string) string { return s }

// KeyNames writes keys without arrows and shapes where only ASCII may be
// drawn.
func KeyNames(s string, ascii bool) string {
	if !ascii {
		return s
	}
	return strings.NewReplacer("↑", "up", "↓", "down", "←", "left", "→", "right", "▲", "!", "●", "*", "○", "o").Replace(s)
}
