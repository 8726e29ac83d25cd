package detect_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

// The further families on fleets with one kind of fault each: what is found is
// right, most of what shows is found, and faults of kinds that no stage knows
// are seldom taken for others.
func TestFurtherFamilies(t *testing.T) {
	if testing.Short() {
		t.Skip("long fleets")
	}
	for _, c := range []struct {
		kind              simulate.Kind
		seeds             uint64
		days              int
		recall, precision float64
		others            int // events of other families, at most
	}{
		{simulate.StringLoss, 2, 120, 0.7, 0.9, 0},
		{simulate.Curtailment, 2, 60, 0.7, 0.95, 0},
		{simulate.StuckSensor, 1, 60, 0.95, 0.95, 0},
		{simulate.Derating, 1, 90, 0, 0, 2},
		{simulate.PartialShade, 1, 90, 0, 0, 1},
		{simulate.Soiling, 1, 90, 0, 0, 2},
		{simulate.Degradation, 1, 90, 0, 0, 0},
	} {
		family := detect.Family(c.kind)
		total, others := &score{}, 0
		for seed := uint64(20); seed < 20+c.seeds; seed++ {
			fleet := remember(simulate.Labelled(seed, start, 6, c.days, c.kind))
			for _, s := range fleet.Sites {
				now := s.Start.AddDate(0, 0, c.days)
				report := look(t, s, s.Start, now, 15*time.Minute)
				total.add(judge(t, s, report, now, family)[family])
				for _, e := range report.Events {
					if e.Family != family {
						others++
						t.Logf("in place of %s: %s", c.kind, e.Summary)
					}
				}
			}
		}
		t.Logf("%-16s truths %3d recall %.3f precision %.3f lost error %.3f delay median %v P90 %v; %d of other families",
			family, total.truths, total.recall(), total.precision(), total.lostError/max(total.caught, 1), total.delay(0.5), total.delay(0.9), others)
		if c.recall > 0 && (total.recall() < c.recall || total.precision() < c.precision) {
			t.Errorf("%s: recall %.3f, precision %.3f", family, total.recall(), total.precision())
		}
		if others > c.others {
			t.Errorf("%s: %d events of other families", c.kind, others)
		}
	}
}

// Dirt on a whole site is found, about as heavy as it is, and gone after rain.
func TestSoiling(t *testing.T) {
	for seed := uint64(30); seed < 33; seed++ {
		fleet := simulate.Clean(seed, start, 4)
		for _, s := range fleet.Sites[1:] { // in Berlin it rains too often in winter
			from, now := s.Start.AddDate(0, 0, 50), s.Start.AddDate(0, 0, 150)
			s.SetFaults([]simulate.Fault{{Kind: simulate.Soiling, From: from, Severity: 0.003}})
			var found []detect.Event
			for _, e := range look(t, s, s.Start, now, 15*time.Minute).Events {
				if e.Family != detect.Soiling {
					t.Errorf("seed %d %s: %s", seed, s.ID, e.Summary)
					continue
				}
				found = append(found, e)
			}
			var lost float64
			for _, e := range found {
				if e.Start.Before(from.AddDate(0, 0, -15)) {
					t.Errorf("seed %d %s: begins %v before the dirt", seed, s.ID, from.Sub(e.Start))
				}
				lost += e.LostKWh
				t.Logf("seed %d %s: %s", seed, s.ID, e.Summary)
			}
			truth := s.LostKWh(s.Faults[0], from, now)
			t.Logf("seed %d %s: %d events, %.0f kWh of %.0f kWh lost", seed, s.ID, len(found), lost, truth)
			if s.ID == "Phoenix" && (len(found) == 0 || lost > 1.3*truth) {
				t.Errorf("seed %d %s: %d events with %.0f kWh, truth %.0f kWh", seed, s.ID, len(found), lost, truth)
			}
		}
	}
}

// Whatever a file holds, the report keeps its promises.
func TestAnythingGoesIn(t *testing.T) {
	values := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 0.4, 5, 5, 40, 50, 65535, -32768, 1e19, 0x8000}
	quantities := []series.Quantity{series.PowerKW, series.EnergyKWh, series.EnergyCounterKWh, series.IrradianceWM2, series.TemperatureC, series.InverterState, series.RunState, series.ErrorCode}
	rapid.Check(t, func(t *rapid.T) {
		in := plantOf(rapid.IntRange(1, 5).Draw(t, "units"), rapid.IntRange(1, 6).Draw(t, "days"), rapid.SampledFrom([]time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour}).Draw(t, "step"))
		for k := range in.Units {
			f := &in.Units[k].Frame
			in.Units[k].CapacityKW = rapid.SampledFrom([]float64{0, 50}).Draw(t, "capacity")
			for _, q := range quantities {
				switch rapid.IntRange(0, 3).Draw(t, "column") {
				case 0:
					column := make([]float64, f.Len())
					for i := range column {
						column[i] = values[(i*7+int(q)*k)%len(values)]
					}
					f.Set(q, column)
				case 1:
					column := f.Values(q)
					for i := range column {
						if i%11 == 3 {
							column[i] = values[i%len(values)]
						}
					}
				}
			}
			a := rapid.IntRange(0, f.Len()).Draw(t, "from")
			b := rapid.IntRange(a, f.Len()).Draw(t, "to")
			*f = f.Slice(first(f.Times, a), first(f.Times, b))
		}
		in.Keep = 24 * time.Hour
		r, err := detect.Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Events {
			if e.Start.After(e.DetectedAt) || e.DetectedAt.After(in.Now) || e.LastSeen.After(in.Now) || e.End != nil && (e.End.Before(e.Start) || e.End.After(in.Now)) {
				t.Fatalf("times of %+v", e)
			}
			for _, v := range []float64{e.LossFraction, e.LostKWh, e.EnergyAtRiskKW, e.Confidence} {
				if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
					t.Fatalf("figures of %+v", e)
				}
			}
			if e.Confidence > 0.99 || e.LossFraction > 1 || len(e.Units) == 0 || e.Summary == "" || e.Severity.Label == "" {
				t.Fatalf("%+v", e)
			}
		}
		if !slices.IsSortedFunc(r.Events, func(a, b detect.Event) int { return a.Start.Compare(b.Start) }) {
			t.Fatal("events are not in order")
		}
	})
}

func first(times []int64, i int) int64 {
	if i < len(times) {
		return times[i]
	}
	return math.MaxInt64
}
