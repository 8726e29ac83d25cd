package interpolate

import (
	"context"
	"testing"
	"time"

	"app.sunloop/engine/series"
)

// Three years by the hour, learners and measurements included, on two cores.
func BenchmarkTrainHourly(b *testing.B) {
	site, power := madrid(b, time.Hour)
	for b.Loop() {
		if _, _, err := Train(context.Background(), site, power, Weather{}, Options{Workers: 2}); err != nil {
			b.Fatal(err)
		}
	}
}

// The same by five minutes.
func BenchmarkTrainFiveMinutes(b *testing.B) {
	site, power := madrid(b, 5*time.Minute)
	for b.Loop() {
		if _, _, err := Train(context.Background(), site, power, Weather{}, Options{Workers: 2}); err != nil {
			b.Fatal(err)
		}
	}
}

// A unit of the same site with its siblings: methods are chosen and measured on
// its own samples.
func BenchmarkForUnits(b *testing.B) {
	f := trainedOnce(b)
	wx := Weather{Siblings: siblingPower(f.power)}
	for b.Loop() {
		if _, _, err := f.model.ForUnits(context.Background(), []Unit{{f.power, wx}}, Options{Workers: 1}); err != nil {
			b.Fatal(err)
		}
	}
}

// One gap of a day, including the clear sky and the levels of the weeks around
// it.
func BenchmarkFillDay(b *testing.B) {
	f := trainedOnce(b)
	gap := series.Gap{From: f.power.Time(24 * 40), To: f.power.Time(24 * 41)}
	for b.Loop() {
		if _, err := f.model.Fill(f.power, gap, f.wx); err != nil {
			b.Fatal(err)
		}
	}
}

// All gaps of eighty days, eighty of them.
func BenchmarkComplete(b *testing.B) {
	f := trainedOnce(b)
	power := hidden(f.power, 0, 0)
	for d := range 80 {
		for h := range 1 + d%7 {
			power.Values[24*d+9+h] = nan
		}
	}
	for b.Loop() {
		if _, err := f.model.Complete(context.Background(), power, f.wx, 2); err != nil {
			b.Fatal(err)
		}
	}
}
