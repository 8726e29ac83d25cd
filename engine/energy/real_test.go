package energy

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/realdata"
	"app.sunloop/engine/series"
)

// TestMeasuredCounters sums June 2016 of 13 measured inverters, which have power each
// 5 minutes and a lifetime counter each hour. Of each day the energy is that of the
// counter, and by power it is within 0.5 % of it, or less because power has gaps, or
// the difference is flagged.
func TestMeasuredCounters(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Madrid")
	if err != nil {
		t.Fatal(err)
	}
	const units = 13
	power := juneOf(t, "data/upm-madrid/upm_5min_2016.csv.gz", zone, "P", units, series.PowerKW, 1e-3)
	counters := juneOf(t, "data/upm-madrid/upm_hourly_energy_counters_2016.csv.gz", zone, "E", units, series.EnergyCounterKWh, 1)
	within, filled, flagged, none := 0, 0, 0, 0
	g := &Integrator{}
	for u := range units {
		both := series.Merge(StateStep(power[u]), counters[u])
		for d := range 30 {
			from := time.Date(2016, 6, 1+d, 0, 0, 0, 0, zone)
			start, end := from.Unix(), from.AddDate(0, 0, 1).Unix()
			read, day := counters[u].Slice(start, end), both.Slice(start, end)
			if read.Len() < 2 {
				none++
				continue
			}
			values := read.Values(series.EnergyCounterKWh)
			gain := 0.0
			for i := 1; i < len(values); i++ {
				if step := values[i] - values[i-1]; step >= 0 && step < 100 { // two counters were set to zero and back
					gain += step
				}
			}
			in := FrameInput(day, start, end, 0)
			s := g.Sum(in)
			// By power alone, and its parts before the first reading and after the last one.
			in.CounterKWh = nil
			samples, _ := g.Samples(nil, in)
			inside, outside, covered := 0.0, 0.0, int64(0)
			first, last := read.Times[0], read.Times[read.Len()-1]
			for i, one := range samples {
				switch {
				case math.IsNaN(one.KWh):
				case day.Times[i] < first || day.Times[i] >= last:
					outside += one.KWh
				default:
					inside, covered = inside+one.KWh, covered+one.CoveredS
				}
			}
			if math.Abs(s.ProductionKWh-gain-outside) > 0.005*gain {
				t.Errorf("unit %d on %s: %.3f kWh, its counter shows %.3f and power %.3f beyond that", u+1, from.Format(time.DateOnly), s.ProductionKWh, gain, outside)
			}
			share, ok := s.Difference()
			switch {
			case math.Abs(inside-gain) <= 0.005*gain:
				within++
			case ok && math.Abs(share) > DifferenceLimit:
				flagged++
			case covered < last-first && inside < gain:
				filled++
			default:
				t.Errorf("unit %d on %s: %.3f kWh by power, %.3f by its counter, and the difference of %.3f %% is not flagged", u+1, from.Format(time.DateOnly), inside, gain, 100*share)
			}
		}
	}
	t.Logf("%d unit-days within 0.5 %%, %d with gaps that the counter fills, %d flagged, %d without a counter", within, filled, flagged, none)
	if within < 305 || within+filled+flagged+none != 30*units {
		t.Errorf("%d unit-days are within 0.5 %% of the counter, want 305 or more", within)
	}
}

// juneOf reads June of columns PREFIX1 to PREFIXn, a frame each.
func juneOf(t *testing.T, file string, zone *time.Location, prefix string, n int, q series.Quantity, scale float64) []series.Frame {
	t.Helper()
	r := csv.NewReader(realdata.Open(t, file))
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	columns, times, values := make([]int, n), make([][]int64, n), make([][]float64, n)
	for i := range columns {
		if columns[i] = slices.Index(head, fmt.Sprintf("%s%d", prefix, i+1)); columns[i] < 0 {
			t.Fatalf("%s has no column %s%d", file, prefix, i+1)
		}
	}
	for {
		row, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		if row[0] >= "2016-07" {
			break
		}
		if row[0] < "2016-06" {
			continue
		}
		at, err := time.ParseInLocation("2006-01-02 15:04", row[0], zone)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range columns {
			if v := realdata.Number(row[c]); !math.IsNaN(v) {
				times[i], values[i] = append(times[i], at.Unix()), append(values[i], v*scale)
			}
		}
	}
	frames := make([]series.Frame, n)
	for i := range frames {
		frames[i].Times = times[i]
		frames[i].Set(q, values[i])
	}
	return frames
}
