package reading

import (
	"math"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/series"
)

var start = time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)

// sample is a reading of an inverter that feeds in.
func sample(at time.Time, watts, wh float64) Sample {
	m := None()
	m.PowerW, m.EnergyWh, m.VoltageV, m.FrequencyHz, m.State = watts, wh, 230, 50, StateMPPT
	return Sample{Device: "a", At: at, Measurement: m}
}

// stored counts the samples with power and with a counter of a sequence of checks.
type stored struct{ power, counter, samples int }

func (s *stored) add(r Result) {
	for _, v := range r.Store {
		s.samples++
		if !math.IsNaN(v.PowerW) {
			s.power++
		}
		if !math.IsNaN(v.EnergyWh) {
			s.counter++
		}
	}
}

// TestFrozen: repeated registers of a unit that claims to produce are stored when they
// change within ten minutes, and dropped otherwise.
func TestFrozen(t *testing.T) {
	for _, tt := range []struct {
		name    string
		watts   float64
		repeats int // of 10 s
		stored  int // after a different reading
		marks   int
	}{
		{"slow device", 5000, 5, 7, 0},
		{"frozen", 5000, 70, 2, 11},
		{"asleep", 0, 70, 72, 0},
	} {
		var c Checker
		var s stored
		marks := 0
		for i := range tt.repeats + 2 {
			words := []uint16{1, 2}
			if i == tt.repeats+1 {
				words = []uint16{1, 3}
			}
			r := c.Check(Inverter, sample(start.Add(time.Duration(i)*10*time.Second), tt.watts, math.NaN()), words)
			if slices.Contains(r.Marks, MarkFrozen) {
				marks++
			}
			s.add(r)
		}
		if s.samples != tt.stored || marks != tt.marks {
			t.Errorf("%s: %d samples and %d marks, want %d and %d", tt.name, s.samples, marks, tt.stored, tt.marks)
		}
	}
}

// TestZeroFrame: a data manager without its inverter makes no reading, a sleeping
// inverter does.
func TestZeroFrame(t *testing.T) {
	var c Checker
	zero := sample(start, 0, math.NaN())
	zero.VoltageV, zero.FrequencyHz, zero.State = 0, 0, StateFault
	if r := c.Check(Inverter, zero, []uint16{0}); len(r.Store) != 0 || !slices.Equal(r.Marks, []Mark{MarkZeros}) {
		t.Errorf("%+v", r)
	}
	asleep, tripped := zero, zero
	asleep.State = StateSleeping
	tripped.EnergyWh = 5000 // its scale factors and its counter are there
	for i, s := range []Sample{sample(start, 0, 5000), asleep, tripped} {
		if r := c.Check(Inverter, s, []uint16{uint16(i + 1)}); len(r.Store) != 1 {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

// TestCounter follows counters through falls, jumps and an exchange.
func TestCounter(t *testing.T) {
	for _, tt := range []struct {
		name     string
		readings []float64
		stored   []bool
	}{
		{"rises", []float64{1e6, 1e6 + 10, 1e6 + 20}, []bool{true, true, true}},
		{"bad reading", []float64{1e6, 3, 1e6 + 20, 1e6 + 30}, []bool{true, false, true, true}},
		{"exchange", []float64{1e6, 5, 15, 25, 35}, []bool{true, false, false, true, true}},
		{"wrap", []float64{math.MaxUint32 - 5, 3, 13, 23, 33}, []bool{true, false, false, true, true}},
		{"jump", []float64{1e6, 9e8, 1e6 + 20, 1e6 + 30}, []bool{true, false, true, true}},
		{"two bad readings", []float64{1e6, 3, 7e8, 1e6 + 40}, []bool{true, false, false, true}},
	} {
		c := Checker{RatingW: 10000}
		for i, wh := range tt.readings {
			r := c.Check(Inverter, sample(start.Add(time.Duration(i)*10*time.Second), 5000+float64(i), wh), []uint16{uint16(i)})
			if got := !math.IsNaN(r.Store[0].EnergyWh); got != tt.stored[i] {
				t.Errorf("%s: reading %d of %v stored: %t", tt.name, i, wh, got)
			}
			if math.IsNaN(r.Store[0].PowerW) {
				t.Errorf("%s: reading %d lost its power", tt.name, i)
			}
		}
	}
}

// TestHeldCounter: power without energy is no measurement.
func TestHeldCounter(t *testing.T) {
	var c Checker
	var s stored
	for i := range 240 { // 40 min
		s.add(c.Check(Inverter, sample(start.Add(time.Duration(i)*10*time.Second), 50000+float64(i%7), 1e6), []uint16{uint16(i)}))
	}
	if s.power != s.counter || s.power != 90 {
		t.Errorf("%d readings of power and %d of the counter, want the first 15 minutes", s.power, s.counter)
	}
}

func TestImplausible(t *testing.T) {
	c := Checker{RatingW: 10000, NominalV: 230}
	bad := sample(start, 13001, math.NaN())
	bad.FrequencyHz, bad.VoltageV, bad.CabinetC, bad.IrradianceWM2 = 500, 400, 3276.7, 32767
	r := c.Check(Inverter, bad, []uint16{1})
	if len(r.Marks) != 5 || len(r.Store) != 1 {
		t.Fatalf("%+v", r)
	}
	if m := r.Store[0]; !math.IsNaN(m.PowerW) || !math.IsNaN(m.VoltageV) || !math.IsNaN(m.CabinetC) || m.State != StateMPPT {
		t.Errorf("%+v", m)
	}
	if r := c.Check(Inverter, Sample{At: start, Measurement: None()}, []uint16{2}); len(r.Store) != 0 {
		t.Errorf("stored without a value: %+v", r)
	}
}

func TestFrame(t *testing.T) {
	a, b := sample(start, 1500, 2e6), sample(start.Add(10*time.Second), 1600, math.NaN())
	a.Inputs = []Input{{VoltageV: 600, CurrentA: 2}, {VoltageV: math.NaN(), CurrentA: 1}}
	b.State, b.Events, b.VendorCode = StateFault, 128, VendorCode(0, 9)
	f := Frame([]Sample{sample(start, 1, 1), a, b})
	if f.Len() != 2 || f.At(series.PowerKW, 0) != 1.5 || f.At(series.EnergyCounterKWh, 0) != 2000 || f.At(series.DCCurrent(2), 0) != 1 || f.Values(series.DCVoltage(2)) != nil {
		t.Errorf("%+v", f)
	}
	if f.At(series.RunState, 0) != 1 || f.At(series.RunState, 1) != 0 || f.At(series.InverterState, 1) != 7 || f.At(series.ErrorCode, 1) != 128 || f.At(series.VendorCode, 1) != 1<<32+9 {
		t.Errorf("%+v", f)
	}
}
