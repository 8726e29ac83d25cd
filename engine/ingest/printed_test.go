package ingest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/series"
)

// threeUnits calls f with the quarters of an hour of two days and the power in kW of three units.
func threeUnits(f func(at time.Time, kW [3]float64)) {
	for q := range 2 * 96 {
		at := time.Date(2026, 6, 10, 0, 15*q, 0, 0, time.UTC)
		sun := max(0, math.Sin(math.Pi*(float64(q%96)/4-4)/17))
		f(at, [3]float64{8 * sun, 11 * sun, 20 * sun})
	}
}

// energies returns the kWh of each unit that [threeUnits] gives.
func energies(units ...string) map[string]float64 {
	out := map[string]float64{}
	threeUnits(func(_ time.Time, kW [3]float64) {
		for i, u := range units {
			out[u] += kW[i] / 4
		}
	})
	return out
}

// assertEnergies asserts the units of a file and their energy in kWh.
func assertEnergies(t *testing.T, what, text string, o Options, want map[string]float64, tolerance float64) *Result {
	t.Helper()
	res, err := Read(strings.NewReader(text), o)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return nil
	}
	var names []string
	for _, a := range res.Assets {
		names = append(names, a.Name)
		sum := 0.0
		for _, v := range a.Frame.Values(series.PowerKW) {
			if !math.IsNaN(v) {
				sum += v / 4
			}
		}
		if math.Abs(sum-want[a.Name]) > tolerance*want[a.Name] {
			t.Errorf("%s: %s has %.2f kWh, want %.2f %v", what, a.Name, sum, want[a.Name], res.Decisions)
		}
	}
	if len(names) != len(want) {
		t.Errorf("%s: units %q, want %d", what, names, len(want))
	}
	return res
}

// TestPrintedTables asserts that tables as databases and Markdown print them, with lines of dashes, are read.
func TestPrintedTables(t *testing.T) {
	var psql, mysql, markdown, logger strings.Builder
	psql.WriteString("         ts          | inverter | power_kw \n---------------------+----------+----------\n")
	rule := "+---------------------+--------+--------+--------+\n"
	mysql.WriteString(rule + "| ts                  | INV-1  | INV-2  | INV-3  |\n" + rule)
	markdown.WriteString("| Time | INV-1 (kW) | INV-2 (kW) | INV-3 (kW) |\n|:---|---:|---:|---:|\n")
	logger.WriteString("\"TOA5\",\"PV\",\"CR1000X\",\"123\",\"CR1000X.Std.05\",\"CPU:pv.CR1X\",\"4711\",\"T15\"\n\"TIMESTAMP\",\"RECORD\",\"Pac_Avg(1)\",\"Pac_Avg(2)\",\"Pac_Avg(3)\"\n\"TS\",\"RN\",\"kW\",\"kW\",\"kW\"\n\"\",\"\",\"Avg\",\"Avg\",\"Avg\"\n")
	rows := 0
	threeUnits(func(at time.Time, kW [3]float64) {
		stamp := at.Format("2006-01-02 15:04:05")
		for i, v := range kW {
			fmt.Fprintf(&psql, " %s | INV-%d    | %8.3f\n", stamp, i+1, v)
		}
		fmt.Fprintf(&mysql, "| %s | %6.3f | %6.3f | %6.3f |\n", stamp, kW[0], kW[1], kW[2])
		fmt.Fprintf(&markdown, "| %s | %.3f | %.3f | %.3f |\n", stamp, kW[0], kW[1], kW[2])
		fmt.Fprintf(&logger, "%q,%d,%.3f,%.3f,%.3f\n", stamp, rows, kW[0], kW[1], kW[2])
		rows++
	})
	fmt.Fprintf(&psql, "(%d rows)\n\n", 3*rows)
	fmt.Fprintf(&mysql, "%s%d rows in set (0.01 sec)\n", rule, rows)
	o, want := Options{CapacityKW: 39}, energies("INV-1", "INV-2", "INV-3")
	assertEnergies(t, "psql", psql.String(), o, want, 1e-3)
	assertEnergies(t, "mysql", mysql.String(), o, want, 1e-3)
	assertEnergies(t, "Markdown", markdown.String(), o, want, 1e-3)
	assertEnergies(t, "TOA5", logger.String(), o, energies("Pac_Avg(1)", "Pac_Avg(2)", "Pac_Avg(3)"), 1e-3)
}

// TestDaysAsColumns asserts that a table with a row for each time of day and a column for each day is read.
func TestDaysAsColumns(t *testing.T) {
	rows := map[string][]string{}
	var times []string
	threeUnits(func(at time.Time, kW [3]float64) {
		clock := at.Format("15:04")
		if !slices.Contains(times, clock) {
			times = append(times, clock)
		}
		rows[clock] = append(rows[clock], fmt.Sprintf("%.3f", kW[0]))
	})
	text := "Time;10.06.2026;11.06.2026\n"
	for _, clock := range times {
		text += clock + ";" + strings.Join(rows[clock], ";") + "\n"
	}
	assertEnergies(t, "days as columns", text, Options{CapacityKW: 8}, energies(""), 1e-3)
}

// TestUnitsInCells asserts that units that change from cell to cell say neither that a dot separates thousands nor that a
// column of numbers holds names.
func TestUnitsInCells(t *testing.T) {
	cell := func(kW float64) string {
		if kW < 1 {
			return fmt.Sprintf("%.0f W", kW*1000)
		}
		return fmt.Sprintf("%.3f kW", kW)
	}
	one, three := "time;Power\n", "Time;INV-1;INV-2;INV-3\n"
	threeUnits(func(at time.Time, kW [3]float64) {
		one += at.Format("2006-01-02 15:04") + ";" + cell(kW[0]) + "\n"
		three += at.Format("2006-01-02 15:04") + ";" + cell(kW[0]) + ";" + cell(kW[1]) + ";" + cell(kW[2]) + "\n"
	})
	assertEnergies(t, "one column", one, Options{}, energies(""), 1e-3)
	assertEnergies(t, "three columns", three, Options{CapacityKW: 39}, energies("INV-1", "INV-2", "INV-3"), 1e-3)
}

// TestSignedRegisters asserts that counters in registers of 16 and 32 bit with a sign lose at most the intervals at their end.
func TestSignedRegisters(t *testing.T) {
	for _, c := range []struct {
		name  string
		bits  float64
		start float64
	}{{"16 bit", 1 << 16, 1000}, {"32 bit", 1 << 32, 1<<31 - 20_000}} {
		text, at32 := "time;Total energy (Wh)\n", c.start
		threeUnits(func(at time.Time, kW [3]float64) {
			v := math.Mod(math.Floor(at32), c.bits)
			if v >= c.bits/2 {
				v -= c.bits
			}
			text += fmt.Sprintf("%s;%.0f\n", at.Format("2006-01-02 15:04"), v)
			at32 += kW[0] * 250
		})
		assertEnergies(t, c.name, text, Options{CapacityKW: 8}, energies(""), 0.01)
	}
}

// TestLettersOfPower asserts that P with a word of how it was measured is power, so that neither the capacity of all
// units nor a forecast next to it changes that.
func TestLettersOfPower(t *testing.T) {
	many, next := "time;dev;P_act\n", "time;P act;P fc;P_theo;Verbrauch\n"
	sole := "time,P_act\n"
	threeUnits(func(at time.Time, kW [3]float64) {
		stamp := at.Format("2006-01-02 15:04")
		for i, v := range kW {
			many += fmt.Sprintf("%s;INV-%d;%.3f\n", stamp, i+1, v)
		}
		next += fmt.Sprintf("%s;%.3f;%.3f;%.3f;1.2\n", stamp, kW[0], kW[0]*1.1, kW[0]*1.2)
		sole += fmt.Sprintf("%s,%.3f\n", stamp, kW[0])
	})
	assertEnergies(t, "long", many, Options{CapacityKW: 39}, energies("INV-1", "INV-2", "INV-3"), 1e-3)
	assertEnergies(t, "next to a forecast", next, Options{}, energies(""), 1e-3)
	assertEnergies(t, "the only column", sole, Options{CapacityKW: 39}, energies(""), 1e-3)
}

// TestPowerBeyondAnyPlant asserts a warning where the unit that is written cannot be right.
func TestPowerBeyondAnyPlant(t *testing.T) {
	text := "time;power GW\n"
	threeUnits(func(at time.Time, kW [3]float64) {
		text += fmt.Sprintf("%s;%.3f\n", at.Format("2006-01-02 15:04"), kW[0]*1000)
	})
	res, err := Read(strings.NewReader(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(res.Warnings, func(d Decision) bool { return strings.Contains(d.Text, "more than any plant has") }) {
		t.Errorf("no warning of the unit: %v", res.Warnings)
	}
}
