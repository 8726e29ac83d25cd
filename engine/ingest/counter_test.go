package ingest

import (
	"math"
	"testing"
	"time"

	"app.sunloop/engine/series"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var missing = math.NaN()

// hourly are n stamps an hour apart, from the start of a day in UTC.
func hourly(n int) []int64 {
	times := make([]int64, n)
	for i := range times {
		times[i] = 1_717_200_000 + int64(i)*hour
	}
	return times
}

func same(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("%s: want -, got +:\n%s", what, diff)
	}
}

func TestCounterPower(t *testing.T) {
	for what, c := range map[string]struct {
		kWh, want []float64
		hold      float64
		notes     counterNotes
	}{
		"gap":      {[]float64{100, 102, missing, 106}, []float64{missing, 2, missing, 2}, 0, counterNotes{}},
		"glitch":   {[]float64{15250, 15250, 0, 0, 15251, 15252}, []float64{missing, 0, missing, missing, 1. / 3, 1}, 0, counterNotes{glitches: 2}},
		"spike":    {[]float64{100, 101, 9000, 103, 104}, []float64{missing, 1, missing, 1, 1}, 0, counterNotes{glitches: 1}},
		"rollover": {[]float64{65533, 65535, 1, 4}, []float64{missing, 2, 2, 3}, 15, counterNotes{rollovers: 1}},
		"reset":    {[]float64{5000, 5002, 1, 3, 5}, []float64{missing, 2, missing, 2, 2}, 0, counterNotes{resets: 1}},
		"capacity": {[]float64{100, 102, 500, 503}, []float64{missing, 2, missing, 3}, 15, counterNotes{outside: 1}},
		"slip":     {[]float64{26629.53, 26629.52, 26630.52}, []float64{missing, -0.01, 1}, 0, counterNotes{}},
	} {
		got, notes := counterPower(hourly(len(c.kWh)), c.kWh, c.hold)
		same(t, what, got, c.want)
		if notes != c.notes {
			t.Errorf("%s: %+v, want %+v", what, notes, c.notes)
		}
	}
}

func TestDayCounterPower(t *testing.T) {
	got, _ := dayCounterPower(hourly(6), []float64{19, 20, 20, 0, 1.5, 4}, 0)
	same(t, "late reset", got, []float64{missing, 1, 0, 0, 1.5, 2.5})
	times := []int64{0, 30 * hour, 31 * hour}
	got, _ = dayCounterPower(times, []float64{3, 6, 8}, 0)
	same(t, "a day without readings", got, []float64{missing, 0.2, 2})
}

func TestIntervalPower(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "half hours", intervalPower([]int64{0, 1800, 3600}, []float64{1, 2, 3}, 30*time.Minute, time.UTC), []float64{2, 4, 6})
	// The logger is set from 30 to 60 minutes on the way.
	times := []int64{0, 1800, 3600, 5400, 7200, 10800, 14400, 18000}
	same(t, "changing step", intervalPower(times, []float64{1, 1, 1, 1, 1, 2, 2, 2}, 30*time.Minute, time.UTC), []float64{2, 2, 2, 2, 2, 2, 2, 2})
	var days []int64
	for d := 30; d <= 32; d++ {
		days = append(days, time.Date(2024, 3, d, 0, 0, 0, 0, berlin).Unix())
	}
	same(t, "the day of 23 hours", intervalPower(days, []float64{24, 23, 24}, 24*time.Hour, berlin), []float64{1, 1, 1})
	months := []int64{time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(2023, 2, 1, 0, 0, 0, 0, time.UTC).Unix()}
	same(t, "months", intervalPower(months, []float64{744, 672}, 31*24*time.Hour, time.UTC), []float64{1, 1})
}

// TestInferUnit asserts units that are not written.
func TestInferUnit(t *testing.T) {
	for what, c := range map[string]struct {
		load
		want string
		sure bool
	}{
		"W by capacity":           {load{peakKW: 4704, capacityKW: 5}, "W", true},
		"kW by capacity":          {load{peakKW: 4.7, capacityKW: 5}, "kW", true},
		"MW by capacity":          {load{peakKW: 5.5, capacityKW: 6600}, "MW", true},
		"kW of a large plant":     {load{peakKW: 5500, capacityKW: 6600}, "kW", true},
		"share of the capacity":   {load{peakKW: 0.97, capacityKW: 1560, fine: true}, "fraction", true},
		"MW of a small winter":    {load{peakKW: 0.97, capacityKW: 6600}, "MW", true},
		"too little for anything": {load{peakKW: 0.05, capacityKW: 100}, "kW", false},
		"unknown capacity, kW":    {load{peakKW: 12}, "kW", false},
		"unknown capacity, W":     {load{peakKW: 3358}, "W", false},
		"share, unknown capacity": {load{peakKW: 0.97, fine: true}, "kW", false},
		"energy in Wh":            {load{peakKW: 4700, capacityKW: 5, energy: true}, "Wh", true},
		"Solar-Log":               {load{peakKW: 4, capacityKW: 5, maker: "Solar-Log"}, "W", true},
		"all zero":                {load{capacityKW: 5}, "kW", false},
	} {
		if g := inferUnit(c.load); g.name != c.want || (g.doubt == "") != c.sure || g.why == "" {
			t.Errorf("%s: %+v, want %s", what, g, c.want)
		}
	}
}

// TestEnergyAfterAGap asserts that a capacity does not remove the energy that a
// logger added up over a gap, and removes what the gap cannot have had.
func TestEnergyAfterAGap(t *testing.T) {
	const head = "time,energy kWh\n2026-06-01 09:00,2.4\n2026-06-01 09:15,2.5\n2026-06-01 09:30,2.4\n2026-06-01 09:45,2.5\n2026-06-01 10:00,2.5\n"
	for last, want := range map[string]float64{"2026-06-01 12:00,20\n": 20, "2026-06-01 12:00,90\n": math.NaN(), "2026-06-01 10:15,20\n": math.NaN()} {
		res := read(t, head+last+"2026-06-01 12:15,2.5\n2026-06-01 12:30,2.4\n", Options{Zone: time.UTC, CapacityKW: 12, Now: now})
		values := res.Assets[0].Frame.Values(series.EnergyKWh)
		if got := values[5]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%q is stored as %g kWh, want %g", last, got, want)
		}
		if power := res.Assets[0].Frame.Values(series.PowerKW)[5]; want == 20 && power != 10 {
			t.Errorf("the mean power over the gap is %g kW, want 10", power)
		}
	}
}
