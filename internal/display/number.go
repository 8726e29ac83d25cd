// Package display writes quantities, counts, durations and times as people read
// them in the console, in the output of commands and in messages, so that the
// same figure has the same format everywhere. It does not write for programs:
// JSON and CSV have formats of their own.
//
// Times are written in the zone that the time.Time has; the caller sets the
// zone of the site with In.
package display

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
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

// Significant writes three significant digits without an exponent; a dash for NaN.
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

// Number writes a number as short as it can be, rounded to twelve significant digits so
// that it has none of the rounding of sums; empty for NaN.
func Number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	if r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64); err == nil {
		v = r
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Percent writes a share (0..1) without digits behind the point; a dash for NaN.
func Percent(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", math.RoundToEven(share*100)+0) // +0: no "-0"
}

// Percentage writes percent with one digit behind the point.
func Percentage(x float64) string {
	return percent(x, "%.1f %%", 0.05)
}

// FinePercentage writes percent with two digits behind the point, for values that are small
// as a rule, such as a loss in a day.
func FinePercentage(x float64) string {
	return percent(x, "%.2f %%", 0.005)
}

// Change writes a change in percent with its sign and one digit behind the point.
func Change(x float64) string {
	return percent(x, "%+.1f %%", 0.05)
}

// percent writes percent in a format; what is nearer to zero than half of its last digit is
// zero without a sign.
func percent(x float64, format string, half float64) string {
	if math.IsNaN(x) {
		return "– %"
	}
	if math.Abs(x) < half {
		x = 0
	}
	return fmt.Sprintf(format, x)
}

// Money writes an amount with its currency, whole from a hundred on; empty without
// a currency.
func Money(amount float64, currency string) string {
	if currency == "" {
		return ""
	}
	if math.Abs(amount) >= 100 {
		return fmt.Sprintf("%s %.0f", currency, amount)
	}
	return fmt.Sprintf("%s %.2f", currency, amount)
}

// Bytes writes a size with the unit that fits. A unit is 1024 times the one before, as in
// the limits that the service states.
func Bytes[N ~int | ~int64 | ~uint64](n N) string {
	unit, suffix := N(1), " B"
	switch {
	case n >= 1<<30:
		unit, suffix = 1<<30, " GB"
	case n >= 1<<20:
		unit, suffix = 1<<20, " MB"
	case n >= 1<<10:
		return fmt.Sprintf("%.0f kB", float64(n)/(1<<10))
	}
	if n%unit == 0 {
		return fmt.Sprint(n/unit) + suffix
	}
	return fmt.Sprintf("%.1f%s", float64(n)/float64(unit), suffix)
}

// ByteRate writes bytes a second with the unit that fits.
func ByteRate(perSecond float64) string { return Bytes(int64(perSecond)) + "/s" }

// Irradiance writes an irradiance in W/m².
func Irradiance(wm2 float64) string { return fmt.Sprintf("%.0f W/m²", wm2) }

// SpecificYield writes energy for each kW of capacity.
func SpecificYield(kWhPerKWp float64) string { return fmt.Sprintf("%.2f kWh/kWp", kWhPerKWp) }

// Wind writes a speed of the wind in m/s.
func Wind(ms float64) string { return fmt.Sprintf("%.1f m/s", ms) }

// Rain writes an amount of rain in mm.
func Rain(mm float64) string { return fmt.Sprintf("%.1f mm", mm) }

// CountOf writes a number with its noun.
func CountOf[N ~int | ~int32 | ~int64 | ~uint32 | ~uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Format is how a reader's country writes numbers: what separates groups of three digits,
// and the decimal mark. The zero Format separates no groups and has a point.
type Format struct{ Group, Mark string }

// Energy writes an energy as [Energy] does.
func (f Format) Energy(kwh float64) string { return f.of(Energy(kwh)) }

// Percentage writes percent as [Percentage] does.
func (f Format) Percentage(x float64) string { return f.of(Percentage(x)) }

// CountOf writes a number with its noun as [CountOf] does.
func (f Format) CountOf(n int, one, many string) string { return f.of(CountOf(n, one, many)) }

// of writes the number that begins a text in the format.
func (f Format) of(text string) string {
	number, rest, _ := strings.Cut(text, " ")
	whole, fraction, _ := strings.Cut(number, ".")
	sign := ""
	if digits, negative := strings.CutPrefix(whole, "-"); negative {
		sign, whole = "-", digits
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + f.Group + whole[i:]
	}
	if fraction != "" {
		whole += cmp.Or(f.Mark, ".") + fraction
	}
	return sign + whole + " " + rest
}
