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
)

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
			for _, v := range []float64{e.LossFraction, e.LostKWh} {
				if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
					t.Fatalf("figures of %+v", e)
				}
			}
			if e.LossFraction > 1 || len(e.Units) == 0 || len(e.Evidence) == 0 {
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
