package detect_test

import (
	"math"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// On a site of one unit, cold and no power show snow only in light that would have given
// power: in less than 100 W/m² a dark sky looks the same.
func TestSnowNeedsLight(t *testing.T) {
	for _, c := range []struct {
		most float64 // W/m²
		want int
	}{{99, 0}, {150, 1}} {
		in := roof(true, func(day, minute int, power, light float64) (float64, float64) {
			if day == 100 {
				return min(power, 0.02), min(light, c.most*(0.96+0.04*math.Sin(float64(minute))))
			}
			return power, light
		})
		temp := in.Units[0].Frame.Values(series.TemperatureC)
		for i := range temp {
			if i/96 == 100 {
				temp[i] = -3
			}
		}
		if _, events := judged(t, in); len(events[detect.SnowCover]) != c.want {
			t.Errorf("a day of at most %.0f W/m²: %d events of snow, want %d: %v", c.most, len(events[detect.SnowCover]), c.want, events)
		}
	}
}

// A shadow that costs less than 2 % of a typical day is not announced, a wider one at noon is.
func TestSmallShadowIsNotAnnounced(t *testing.T) {
	loc := solar.Location{LatitudeDeg: 48, LongitudeDeg: 11, AltitudeM: 500}
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to float64 // azimuth
		want     int
	}{{276, 284, 0}, {188, 228, 1}} {
		in := roof(true, func(day, minute int, power, light float64) (float64, float64) {
			if day < 100 {
				return power, light
			}
			at := begin.AddDate(0, 0, day).Add(time.Duration(minute)*time.Minute + 450*time.Second)
			if a := solar.At(at, loc).AzimuthDeg; a >= c.from && a < c.to {
				power *= 0.74
			}
			return power, light
		})
		if _, events := judged(t, in); len(events[detect.PartialShading]) != c.want {
			t.Errorf("a quarter from %.0f° to %.0f°: %d events of shade, want %d: %v", c.from, c.to, len(events[detect.PartialShading]), c.want, events)
		}
	}
}

// A decline without a wash is dirt only if the model knows 45 days from before it.
func TestDeclineNeedsHistory(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     int
	}{{28, 58, 0}, {90, 120, 1}} {
		in := roof(true, func(day, _ int, power, light float64) (float64, float64) {
			if day >= c.from {
				power *= 1 - min(0.0045*float64(day-c.from), 0.3)
			}
			return power, light
		})
		in.Now = time.Unix(in.Units[0].Frame.Times[0], 0).UTC().AddDate(0, 0, c.to)
		if _, events := judged(t, in); len(events[detect.Soiling]) != c.want {
			t.Errorf("a decline from day %d to %d: %d events, want %d: %v", c.from, c.to, len(events[detect.Soiling]), c.want, events)
		}
	}
}

// A sudden gain is a wash only if the plant has no other gain as large: one whose level
// changes by itself shows nothing by a further change.
func TestWashAmongOtherGains(t *testing.T) {
	for _, c := range []struct {
		before float64 // of the power until day 60
		want   int
	}{{1, 1}, {0.905, 0}} {
		_, events := judged(t, roof(true, func(day, _ int, power, light float64) (float64, float64) {
			switch {
			case day < 60:
				power *= c.before
			case day >= 95 && day < 120:
				power *= 1 - 0.004*float64(day-94)
			}
			return power, light
		}))
		n := 0
		for _, e := range events[detect.Soiling] {
			if e.End != nil && math.Abs(float64(dayOf(roof(true, nil), *e.End)-120)) <= 3 {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%.2f of the power before: %d washes, want %d: %v", c.before, n, c.want, events)
		}
	}
}
