package pipeline

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// BenchmarkLiveHour is an hour of a live site after four days of a forecast an
// hour: a nowcast arrives, former forecasts are compared with it by lead time,
// bands learn once a day, and the next forecast is made and stored.
func BenchmarkLiveHour(b *testing.B) {
	p := newPlant(b, day0, func(c *Config) { quickTraining(c); c.RetrainEvery = 1000 * day })
	s := fleet(70, 1)
	p.importNow(request(api.UploadTrain), csvOf(b, s, day0.AddDate(0, 0, -70), day0, time.Hour))
	hour := func() {
		from := p.now()
		p.pass(time.Hour)
		p.importNow(request(api.UploadNowcast), csvOf(b, s, from, p.now(), 15*time.Minute))
		if err := p.Issue(b.Context(), "South"); err != nil {
			b.Fatal(err)
		}
	}
	for range 4 * 24 {
		hour()
	}
	for b.Loop() {
		hour()
	}
}
