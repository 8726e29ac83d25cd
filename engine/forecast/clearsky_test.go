package forecast

import (
	"math"
	"testing"
	"time"
)

// The clear sky that is learned separately equals the one with which a model
// forecasts.
func TestLearnedClearSkyIsTheModels(t *testing.T) {
	learned := trainedOnce(t)
	share, peak, _, err := Plausible(testSite, learned.history.Power)
	if err != nil {
		t.Fatal(err)
	}
	c := LearnClearSky(testSite, share, 2)
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	start := testStart.AddDate(0, 0, 40)
	for _, step := range []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour} {
		n := int(48 * time.Hour / step)
		light := c.Over(start, step, n, 1)
		var sum, worst float64
		for i := range n {
			var want float64
			const parts = 12
			for p := range parts {
				want += learned.model.ClearSkyKW(start.Add(time.Duration(i)*step+step*time.Duration(p)/parts)) / parts
			}
			got := float64(light.Share[i]) * peak
			sum, worst = sum+got, math.Max(worst, math.Abs(got-want))
		}
		if tolerance := map[bool]float64{true: 0.05, false: 0.002}[step < tick] * testSite.CapacityKW; worst > tolerance || sum == 0 {
			t.Errorf("step %v: off by up to %.3f kW of %.3f", step, worst, sum)
		}
	}
	c.Ratios[3] = float32(math.NaN())
	if c.Check() == nil {
		t.Error("a level that is no number passes the check")
	}
}
