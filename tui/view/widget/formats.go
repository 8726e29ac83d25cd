package widget

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// scales of a unit, from large to small, each a thousand times the next.
var (
	powerUnits  = []string{"GW", "MW", "kW", "W"}
	energyUnits = []string{"GWh", "MWh", "kWh", "Wh"}
)

// Spaced writes a value of the API, such as solar_inverter, with spaces.
func Spaced(value string) string { return strings.ReplaceAll(value, "_", " ") }

// isSilent reports whether findings of a family mean that there are no data, so that what
// they lose is unknown.
func isSilent(family string) bool { return family == "communication_gap" || family == "data_silence" }

// LostEnergy writes the energy that a finding lost; that of a unit without data
// is not known.
func LostEnergy(f api.Finding) string { return FamilyEnergy(f.FaultFamily, f.LostKWh) }

// FamilyEnergy writes the energy that findings of a family lost.
func FamilyEnergy(family string, kwh float64) string {
	if kwh == 0 && isSilent(family) {
		return "unknown"
	}
	return Energy(kwh)
}

// FamilyPower writes the power that a finding of a family loses.
func FamilyPower(family string, kw float64) string {
	if kw == 0 && isSilent(family) {
		return "unknown"
	}
	return Power(kw)
}

// FamilyRisk is [Risk] of a finding of a family.
func FamilyRisk(family string, kw float64) string {
	if kw == 0 && isSilent(family) {
		return "daylight loss unknown"
	}
	return Risk(kw)
}

// Power writes kW with three significant digits and the unit that fits.
func Power(kw float64) string { return scaled(kw, powerUnits) }

// Energy writes kWh with three significant digits and the unit that fits.
func Energy(kwh float64) string { return scaled(kwh, energyUnits) }

// scaled writes a value given in units[2].
func scaled(v float64, units []string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "– " + units[2]
	}
	if math.Abs(v) < 5e-7 {
		return "0 " + units[2]
	}
	i, a := 2, math.Abs(v)
	for i > 0 && a >= 999.5 {
		i, a, v = i-1, a/1000, v/1000
	}
	if a < 0.0995 && i == 2 {
		i, v = 3, v*1000
	}
	return Significant(v) + " " + units[i]
}

// SitePower writes the present power of a site, and that it is unknown if its
// units have not reported for too long.
func SitePower(s api.SiteSummary) string {
	switch {
	case s.HasPower():
		return Power(s.TotalPowerKW)
	case s.LastUpdated.IsZero():
		return "power unknown (no data)"
	}
	return "power unknown (data " + state.Age(s.ServiceTime.Sub(s.LastUpdated.Time)) + " old)"
}

// SiteEnergy writes the energy of a site's day so far, and that it is unknown if there
// are no data of the day.
func SiteEnergy(s api.SiteSummary) string {
	if !s.HasEnergy() {
		return "unknown"
	}
	return Energy(max(s.TotalKWhToday, 0))
}

// RiskTitle is the title of columns with a power at risk.
const RiskTitle = "daylight loss"

// Risk writes a power at risk with what it is: the mean power that is lost in the
// daylight of the next 24 h.
func Risk(kw float64) string { return Power(kw) + " mean daylight loss" }

// Significant writes three significant digits without an exponent.
func Significant(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	a := math.Abs(v)
	digits := 2
	switch {
	case a >= 99.95:
		digits = 0
	case a >= 9.995:
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// Percent writes a share (0..1) without digits behind the point; a dash for NaN.
func Percent(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", math.RoundToEven(share*100)+0) // +0: no "-0"
}

// Money writes an amount with its currency, whole from a hundred on.
func Money(amount float64, currency string) string {
	if currency == "" {
		return ""
	}
	if math.Abs(amount) >= 100 {
		return fmt.Sprintf("%s %.0f", currency, amount)
	}
	return fmt.Sprintf("%s %.2f", currency, amount)
}

// Family returns the technical term of a fault family.
func Family(f string) string {
	if words := families[f]; words != "" {
		return words
	}
	return strings.ReplaceAll(f, "_", " ")
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

// When returns a time in the site's words: the clock today, the date before.
func When(t, now time.Time, zone *time.Location) string {
	a, b := t.In(zone), now.In(zone)
	if a.Year() == b.Year() && a.YearDay() == b.YearDay() {
		return a.Format("15:04")
	}
	if a.Year() == b.Year() {
		return a.Format("02 Jan 15:04")
	}
	return a.Format("02 Jan 2006")
}

// Duration returns how long something has lasted, in the two units that matter.
func Duration(d time.Duration) string {
	d = d.Round(time.Minute)
	minutes, hours := int(d.Minutes()), int(d.Hours())
	switch {
	case hours == 0:
		return fmt.Sprintf("%d min", minutes)
	case hours < 48:
		return fmt.Sprintf("%d h %02d min", hours, minutes%60)
	}
	return fmt.Sprintf("%d d %d h", hours/24, hours%24)
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

// DayName writes a day of the site; now is in its zone too.
func DayName(t time.Time, now time.Time) string {
	y, d := t.Year(), t.YearDay()
	switch {
	case y == now.Year() && d == now.YearDay():
		return "today"
	case y == now.Year():
		return t.Format("Mon 02 Jan")
	}
	return t.Format("02 Jan 2006")
}

// DateTimeLayout is how dates are asked for, by the site's clock.
const DateTimeLayout = "2006-01-02 15:04"

// Verbatim writes a choice as it is.
func Verbatim(s string) string { return s }

// Bytes writes a size with the unit that fits.
func Bytes(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.0f kB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// Hours writes hours of work.
func Hours(h float64) string { return fmt.Sprintf("%.3g h", h) }

// Irradiance writes an irradiance in W/m².
func Irradiance(wm2 float64) string { return fmt.Sprintf("%.0f W/m²", wm2) }

// CountOf writes a number with its noun.
func CountOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Percentage writes percent with one digit behind the point.
func Percentage(x float64) string {
	if math.IsNaN(x) {
		return "– %"
	}
	if math.Abs(x) < 0.05 {
		x = 0 // no "-0.0"
	}
	return fmt.Sprintf("%.1f %%", x)
}

// KeyNames writes keys without arrows and shapes where only ASCII may be
// drawn.
func KeyNames(s string, ascii bool) string {
	if !ascii {
		return s
	}
	return strings.NewReplacer("↑", "up", "↓", "down", "←", "left", "→", "right", "▲", "!", "●", "*", "○", "o").Replace(s)
}

// Number writes a number as short as it can be; empty for NaN.
func Number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
