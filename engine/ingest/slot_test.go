package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPartsOfDay asserts that a column that counts the time of a day is no name of units.
func TestPartsOfDay(t *testing.T) {
	for header, part := range map[string]func(minutes int) string{
		"date;seconds of day":         func(m int) string { return fmt.Sprint(m * 60) },
		"date;minute of day":          func(m int) string { return fmt.Sprint(m) },
		"date;m":                      func(m int) string { return fmt.Sprint(m) },
		"date;slot":                   func(m int) string { return fmt.Sprint(1 + m/15) },
		"date;interval":               func(m int) string { return fmt.Sprint(m / 15) },
		"date;hour of day":            func(m int) string { return fmt.Sprintf("%.2f", float64(m)/60) },
		"date;time":                   func(m int) string { return fmt.Sprintf("%.6f", float64(m)/1440) },
		"date;hour;minute":            func(m int) string { return fmt.Sprintf("%02d;%02d", m/60, m%60) },
		"Settlement date;Hour;Minute": func(m int) string { return fmt.Sprintf("%d;%d", m/60, m%60) },
	} {
		text := header + ";power (kW)\n"
		threeUnits(func(at time.Time, kW [3]float64) {
			text += fmt.Sprintf("%s;%s;%.3f\n", at.Format("2006-01-02"), part(at.Hour()*60+at.Minute()), kW[0])
		})
		res := assertEnergies(t, header, text, Options{}, energies(""), 1e-3)
		if res != nil && (res.Interval != 15*time.Minute || res.Rows.Stored != 192) {
			t.Errorf("%s: %d values every %s %v", header, res.Rows.Stored, res.Interval, res.Decisions)
		}
	}
}

// TestNumbersOfUnits asserts that numbers of units are not taken for the hours of a day.
func TestNumbersOfUnits(t *testing.T) {
	text := "date;inverter;energy (kWh)\n"
	for d := range 6 {
		for unit := range 24 {
			text += fmt.Sprintf("2026-06-%02d;%d;%.3f\n", d+1, unit+1, 30+float64(d*unit)/7)
		}
	}
	res, err := Read(strings.NewReader(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Assets) != 24 {
		t.Errorf("%d units, want 24 %v", len(res.Assets), res.Decisions)
	}
}

// TestUnreadNumbers asserts that negative numbers of accounts are read, and that numbers in an unknown form are not left out
// silently.
func TestUnreadNumbers(t *testing.T) {
	for form, warned := range map[string]bool{"(%.3f)": false, "%.3f-": false, "~%.3f": true} {
		text := "time;Power (kW)\n"
		threeUnits(func(at time.Time, kW [3]float64) {
			cell := "0"
			if kW[0] > 0 {
				cell = fmt.Sprintf(form, kW[0])
			}
			text += at.Format("2006-01-02 15:04") + ";" + cell + "\n"
		})
		res, err := Read(strings.NewReader(text), Options{})
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		said := false
		for _, w := range res.Warnings {
			said = said || strings.Contains(w.Text, "with digits but no readable number")
		}
		if said != warned {
			t.Errorf("%s: warnings %v, want one of cells %t", form, res.Warnings, warned)
		}
		if !warned {
			assertEnergies(t, form, text, Options{}, energies(""), 1e-3)
		}
	}
}
