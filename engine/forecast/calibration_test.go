package forecast

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/engine/learn/artifact"
	"app.sunloop/engine/series"
)

// TestCalibrationGoesOn: a model that is loaded again with its calibration
// gives the same forecasts as the model that learned it.
func TestCalibrationGoesOn(t *testing.T) {
	_, a := encoded(t)
	read := func() *Model {
		t.Helper()
		m, err := Decode(a)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	h := trainedOnce(t).history
	issue := testStart.AddDate(0, 0, testDays)
	say := func(m *Model) []Point {
		t.Helper()
		p, err := m.Forecast(issue, series.Series{}, cloudy(h, issue, 48*time.Hour), 48*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	learned, fresh := read(), read()
	low := series.Series{Start: issue, Step: time.Hour, Values: make([]float64, 48)}
	for range 10 {
		if n, err := learned.Observe(issue, series.Series{}, cloudy(h, issue, 48*time.Hour), 48*time.Hour, low); err != nil || n == 0 {
			t.Fatalf("%d intervals, %v", n, err)
		}
	}
	before := say(fresh)
	if cmp.Equal(before, say(learned), cmp.Comparer(func(a, b Point) bool { return a.P10KW == b.P10KW })) {
		t.Fatal("nothing was learned")
	}
	state := learned.Calibration()
	if err := fresh.Calibrate(state); err != nil {
		t.Fatal(err)
	}
	for i, p := range say(fresh) {
		if w := say(learned)[i]; p.P10KW != w.P10KW || p.P90KW != w.P90KW {
			t.Fatalf("point %d is %v..%v, want %v..%v", i, p.P10KW, p.P90KW, w.P10KW, w.P90KW)
		}
	}
	if !bytes.Equal(fresh.Calibration(), state) {
		t.Error("the calibration changes on the way")
	}
	untouched := read()
	for at := range state {
		spoiled := bytes.Clone(state)
		spoiled[at] ^= 0x10
		if at%97 != 0 && at > 64 {
			continue // each byte is under the same checksum
		}
		if err := untouched.Calibrate(spoiled); !errors.Is(err, artifact.ErrMalformed) {
			t.Fatalf("byte %d is spoiled: %v", at, err)
		}
	}
	if err := untouched.Calibrate(nil); !errors.Is(err, artifact.ErrMalformed) {
		t.Errorf("no calibration: %v", err)
	}
	for i, p := range say(untouched) {
		if p.P10KW != before[i].P10KW {
			t.Fatal("a refused calibration changed the model")
		}
	}
}
