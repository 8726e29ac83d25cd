package state

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// Units' days are added up by the site's days; a day of silence has no energy,
// which is not zero.
func TestDailyOf(t *testing.T) {
	zone := time.FixedZone("UTC+2", 2*3600)
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, zone) }
	rec := func(d int, kwh float64) api.Record { return api.Record{Timestamp: api.At(day(d)), KWh: kwh} }
	got := dailyOf(map[string][]api.Record{"a": {rec(1, 5), rec(3, 0)}, "b": {rec(1, 7), rec(9, 100)}}, day(1), day(4), zone)
	if len(got) != 3 || got[0].KWh != 12 || got[0].Units != 2 || !math.IsNaN(got[1].KWh) || got[1].Units != 0 || got[2].KWh != 0 || got[2].Units != 1 {
		t.Errorf("%+v", got)
	}
}
