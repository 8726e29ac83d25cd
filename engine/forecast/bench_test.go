package forecast

import (
	"context"
	"fmt"
	"testing"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

var (
	benchSite  = Site{ID: "bench", Location: solar.Location{LatitudeDeg: 48, LongitudeDeg: 11, AltitudeM: 500}, CapacityKW: 100}
	benchStart = time.Date(2023, 3, 1, 0, 0, 0, 0, time.UTC)
)

func benchmarkTrain(b *testing.B, days int, step time.Duration, wx bool) {
	if testing.Short() {
		days = 120
	}
	h := synthetic(benchSite, benchStart, days, step, 1)
	if !wx {
		h.Weather = nil
	}
	for b.Loop() {
		if _, _, err := Train(context.Background(), benchSite, h, Options{Workers: 2}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTrain2YearHourly(b *testing.B)        { benchmarkTrain(b, 730, time.Hour, false) }
func BenchmarkTrain1Year15Min(b *testing.B)         { benchmarkTrain(b, 365, 15*time.Minute, false) }
func BenchmarkTrain2YearHourlyWeather(b *testing.B) { benchmarkTrain(b, 730, time.Hour, true) }

// BenchmarkTrainInFleet trains a site with six peer sites of two years: with 30
// days of history, and with a year.
func BenchmarkTrainInFleet(b *testing.B) {
	for _, wx := range []bool{false, true} {
		end := benchStart.AddDate(2, 0, 0)
		var siblings []Sibling
		peers := 6
		if testing.Short() {
			peers = 2
		}
		for i := range peers {
			s := benchSite
			s.ID, s.Location.LatitudeDeg = fmt.Sprint("sibling-", i), s.Location.LatitudeDeg+float64(i)/10
			h := synthetic(s, benchStart, 731, time.Hour, uint64(2+i))
			if !wx {
				h.Weather = nil
			}
			siblings = append(siblings, Sibling{s, h})
		}
		for _, days := range []int{30, 365} {
			h := synthetic(benchSite, end.AddDate(0, 0, -days), days, time.Hour, 1)
			if h.Siblings = siblings; !wx {
				h.Weather = nil
			}
			train := Train
			if days < MinimumDays {
				train = TrainPooled
			}
			b.Run(fmt.Sprintf("%d_days_weather_%v", days, wx), func(b *testing.B) {
				for b.Loop() {
					if _, _, err := train(context.Background(), benchSite, h, Options{Workers: 2}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkForecast48h(b *testing.B) {
	for _, c := range []struct {
		name string
		step time.Duration
	}{{"hourly", time.Hour}, {"15min", 15 * time.Minute}} {
		b.Run(c.name, func(b *testing.B) {
			h := synthetic(benchSite, benchStart, 365, c.step, 1)
			h.Weather = nil
			m, _, err := Train(context.Background(), benchSite, h, Options{Workers: 2, Origins: -1})
			if err != nil {
				b.Fatal(err)
			}
			recent := h.Power.Slice(h.Power.End().AddDate(0, 0, -7), h.Power.End())
			for b.Loop() {
				if _, err := m.Forecast(h.Power.End(), recent, weather.Forecast{}, 48*time.Hour); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSay48 is the learners' part of a forecast: 48 hours, features ready.
func BenchmarkSay48(b *testing.B) {
	h := synthetic(benchSite, benchStart, 365, time.Hour, 1)
	h.Weather = nil
	m, _, err := Train(context.Background(), benchSite, h, Options{Workers: 2, Origins: -1})
	if err != nil {
		b.Fatal(err)
	}
	end := h.Power.End()
	w := m.world(end, series.Series{}, tickOf(end), tickOf(end)+2*ticksPerDay)
	v := w.view(end.Unix() / 3600)
	var rows []float32
	scale, analog := make([]float32, 48), make([]float32, 48*3)
	for i := range scale {
		rows, scale[i] = w.row(rows, m.plain.spec, v, tickOf(end)+int64(i*ticksPerHour), ticksPerHour)
	}
	b.ResetTimer()
	for b.Loop() {
		m.plain.forecast(rows, scale, analog)
	}
}
