package telemetry

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"app.sunloop/engine/series"
)

func sampleWith(values map[series.Quantity]float64) sample {
	f := series.Frame{Times: []int64{0}}
	for q, v := range values {
		f.Set(q, []float64{v})
	}
	return sampleOf(f, 0)
}

// TestSampleMerge: a sample merges as the frame of one stamp does.
func TestSampleMerge(t *testing.T) {
	values := rapid.MapOfN(rapid.Map(rapid.IntRange(1, 6), func(i int) series.Quantity { return series.Quantity(i) }),
		rapid.SampledFrom([]float64{0, 1, 2.5, math.NaN()}), 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		older, newer := values.Draw(t, "older"), values.Draw(t, "newer")
		want := map[series.Quantity]float64{}
		for _, m := range []map[series.Quantity]float64{older, newer} {
			for q, v := range m {
				if !math.IsNaN(v) {
					want[q] = v
				}
			}
		}
		got := sampleWith(older).merge(sampleWith(newer))
		if !bytes.Equal(got, sampleWith(want)) {
			t.Fatalf("%v and %v make %v, want %v", older, newer, got.frame(0), want)
		}
	})
}

// TestRow: a row returns, by unit and as a whole, what was set.
func TestRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[uint32]float64{}
		var r row
		for _, ref := range rapid.SliceOfN(rapid.Uint32Range(0, 20), 0, 30).Draw(t, "refs") {
			v := rapid.Float64().Draw(t, "value")
			want[ref] = v
			r = r.set(ref, sampleWith(map[series.Quantity]float64{series.PowerKW: v}))
		}
		stored := storedRow(r.append(nil))
		for ref := range uint32(22) {
			s, err := stored.find(ref)
			v, there := want[ref]
			if err != nil || there != (s != nil) {
				t.Fatalf("unit %d: %v, %v", ref, s, err)
			}
			if there {
				if q, got := s.value(0); q != series.PowerKW || got != v {
					t.Fatalf("unit %d: %v %v, want %v", ref, q, got, v)
				}
			}
		}
		again, err := stored.row()
		if err != nil || len(again) != len(want) || !slices.IsSortedFunc(again, func(a, b unitSample) int { return int(a.ref) - int(b.ref) }) {
			t.Fatalf("row %v, %v", again, err)
		}
	})
}

// FuzzStored reads damaged rows and rosters: an error, or something that is
// written as it was read.
func FuzzStored(f *testing.F) {
	s := sampleWith(map[series.Quantity]float64{series.PowerKW: 1.5, series.TemperatureC: 20})
	f.Add(row{{0, s}, {7, s}}.append(nil))
	f.Add(assetIndex{{id: "INV-1", first: 1, last: 2, step: 300, newest: s}, {id: "b", newest: sample{0}}}.append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := storedRow(b).row(); err == nil {
			for _, u := range r {
				_ = u.values.frame(0)
			}
		}
		_, _ = storedRow(b).find(7)
		r, err := readAssetIndex(b)
		if err != nil {
			return
		}
		again, err := readAssetIndex(r.append(nil))
		if err != nil || len(again) != len(r) {
			t.Fatalf("%v became %v, %v", r, again, err)
		}
	})
}

// find returns the sample of one unit; nil if the row has none.
func (b storedRow) find(ref uint32) (sample, error) {
	s, _, err := b.seek(ref, 0)
	return s, err
}

// TestStaleStepOfRows: a sample of the open day without a step that replaces one with a
// step loses it, as in blocks; one with a step, and one without production, do not.
func TestStaleStepOfRows(t *testing.T) {
	one := func(q series.Quantity, v float64, more ...float64) sample {
		f := series.Frame{Times: []int64{0}}
		f.Set(q, []float64{v})
		if len(more) > 0 {
			f.Set(series.StepS, more)
		}
		return sampleOf(f, 0)
	}
	stored := one(series.PowerKW, 5, 900)
	for name, c := range map[string]struct {
		newer sample
		step  float64
	}{
		"another step": {one(series.PowerKW, 6, 300), 300}, "no step": {one(series.PowerKW, 6), 0}, "energy": {one(series.EnergyKWh, 1), 0}, "weather": {one(series.TemperatureC, 20), 900},
	} {
		got := stored.merge(c.newer)
		step := 0.0
		for i := range got.count() {
			if q, v := got.value(i); q == series.StepS {
				step = v
			}
		}
		if step != c.step || got.has(series.StepS) != (c.step > 0) {
			t.Errorf("%s: the step is %v, want %v", name, step, c.step)
		}
	}
}
