package backend

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// TestRunningDayByThePlantsClock: the day that is running ends at the clock of the plants,
// which a simulation runs ahead of the real one or behind it: the last sample counts until
// then.
func TestRunningDayByThePlantsClock(t *testing.T) {
	day := time.Date(2026, 6, 15, 0, 0, 0, 0, time.UTC)
	for name, wall := range map[string]time.Time{"ahead": day.AddDate(0, -3, 0), "behind": day.AddDate(0, 3, 0)} {
		t.Run(name, func(t *testing.T) {
			h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return day.Add(11*time.Hour + 30*time.Minute) }, Wall: func() time.Time { return wall }})
			live := h.service.Live()
			if err := live.Register(t.Context(), api.Site{SiteID: "roof", CustomerID: "default", Timezone: "UTC"}, []api.Asset{{AssetID: "INV-1", Name: "INV-1", Type: "solar_inverter", CapacityKW: 20}}); err != nil {
				t.Fatal(err)
			}
			var times []int64
			var power, steps []float64
			for hour := 6; hour <= 11; hour++ {
				times, power, steps = append(times, day.Add(time.Duration(hour)*time.Hour).Unix()), append(power, 10), append(steps, 3600)
			}
			f := series.Frame{Times: times}
			f.Set(series.PowerKW, power)
			f.Set(series.StepS, steps)
			if err := live.Append(t.Context(), "roof", []store.AssetFrame{{AssetID: "INV-1", Frame: f}}, false); err != nil {
				t.Fatal(err)
			}
			sums, err := live.Telemetry.Daily(t.Context(), "roof", day, day.AddDate(0, 0, 1))
			if err != nil || len(sums) != 1 || math.Abs(sums[0].EnergyKWh-55) > 0.01 {
				t.Errorf("%+v, %v, want 55 kWh", sums, err)
			}
		})
	}
}
