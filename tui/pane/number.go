package pane

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
)

// scales of a unit, from large to small, each a thousand times the next.
var (
	powerUnits  = []string{"GW", "MW", "kW", "W"}
	energyUnits = []string{"GWh", "MWh", "kWh", "Wh"}
)

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
	return fmt.Sprintf("%.0f %%", share*100)
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

// Family writes a fault family in the trade's words.
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
	"string_outage":              "string outage",
	"partial_shading":            "partial shading",
	"thermal_derating":           "thermal derating",
	"stuck_sensor":               "stuck reading",
	"ground_or_insulation_fault": "ground fault",
}

// alarm is how a severity is shown: shape and letter stand beside the colour.
type alarm struct {
	shape, ascii rune
	letter       string
	word         string
	rank         int
}

var alarms = map[string]alarm{
	api.SeverityCritical: {'▲', '!', "C", "critical", 0},
	api.SeverityWarning:  {'●', '*', "W", "warning", 1},
	api.SeverityNormal:   {'○', 'o', "N", "notice", 2},
}
