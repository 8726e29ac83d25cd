package detection

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/domain/finding"
	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
)

// A day's yield is what was made of what was expected where both are known;
// days that are not whole are none.
func TestYields(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	from := time.Date(2026, 6, 1, 0, 0, 0, 0, zone)
	expected := series.Series{Start: from.Add(-6 * time.Hour), Step: 15 * time.Minute}
	var f series.Frame
	var power []float64
	for i := range 4 * (6 + 3*24 + 5) { // six hours, three days, five hours
		at := expected.Time(i).In(zone)
		d := at.YearDay() - from.YearDay()
		e := []float64{100, 50, 90}[max(min(d, 2), 0)] * math.Max(0, math.Sin(float64(at.Hour()-6)/12*math.Pi))
		expected.Values = append(expected.Values, e)
		if d == 2 && at.Hour() < 12 {
			continue // half of the third day is not known
		}
		f.Times, power = append(f.Times, at.Unix()), append(power, e*[]float64{0.8, 1, 1}[max(min(d, 2), 0)])
	}
	f.Set(series.PowerKW, power)
	got := yields(detect.Unit{Frame: f}, expected, zone, expected.End())
	if len(got) != 3 {
		t.Fatalf("%d days, want the 3 whole ones: %+v", len(got), got)
	}
	for i, want := range []finding.DayYield{{Ratio: 0.8, Known: true, Clear: true}, {Ratio: 1, Known: true}, {Ratio: 1, Clear: true}} {
		y := got[i]
		if math.Abs(y.Ratio-want.Ratio) > 1e-9 || y.Known != want.Known || y.Clear != want.Clear || !y.From.Equal(from.AddDate(0, 0, i)) || !y.To.Equal(from.AddDate(0, 0, i+1)) {
			t.Errorf("day %d: %+v, want %+v", i+1, y, want)
		}
	}
	if got := yields(detect.Unit{}, expected, zone, expected.End()); got != nil {
		t.Errorf("without power: %+v", got)
	}
}
