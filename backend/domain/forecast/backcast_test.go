package forecast_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// A backcast is stored again as it was, never replaces what was issued, and is replaced
// by it; its score is apart from those of issued forecasts.
func TestBackcastsGiveWay(t *testing.T) {
	d := domaintest.New(t)
	zone := record.Zone(d.AddSite("South", "acme").Timezone) // Vienna: UTC+2
	midnight := time.Date(2026, 6, 13, 22, 0, 0, 0, time.UTC)
	issue := func(at time.Time, kw float64) {
		t.Helper()
		d.Update(func(tx store.Tx) error {
			return d.Forecasts.Add(tx, domaintest.Hours(at, at, 24, kw), zone)
		})
	}
	backcast := func(from time.Time, kw float64) int {
		t.Helper()
		var n int
		b := forecast.Backcast{ComputedAt: d.Clock, TrainedTo: from.AddDate(0, 0, -7)}
		b.Score.Add(kw, kw, kw, kw+1, 10)
		day := forecast.NewBackcast(domaintest.Hours(from, from, 24, kw), from, from.AddDate(0, 0, 1), zone, b)
		d.Update(func(tx store.Tx) (err error) {
			n, err = d.Forecasts.AddBackcasts(tx, []forecast.Day{day})
			return err
		})
		return n
	}
	read := func(from time.Time) forecast.Day {
		t.Helper()
		day, err := d.Forecasts.Day(t.Context(), "South", from.Add(12*time.Hour), zone)
		if err != nil {
			t.Fatal(err)
		}
		return day
	}
	if n := backcast(midnight, 5); n != 1 {
		t.Fatalf("%d days are stored", n)
	}
	first := read(midnight)
	if first.Backcast == nil || first.TrainedOn() || first.P50KW[12] != 5 || !first.FirstIssuedAt.IsZero() {
		t.Errorf("stored as %+v of %+v", first, first.Backcast)
	}
	backcast(midnight, 5)
	if diff := cmp.Diff(first, read(midnight)); diff != "" {
		t.Errorf("again (-was +is):\n%s", diff)
	}
	if a, err := d.Forecasts.Accuracy(t.Context(), domaintest.Acme, api.AccuracyRequest{CustomerID: "acme", SiteID: "South"}); err != nil || a.Overall.Samples != 0 || a.Backcast == nil || a.Backcast.Samples != 1 || a.Backcast.NMAEPercent != 10 {
		t.Errorf("accuracy %+v with %+v, %v", a, a.Backcast, err)
	}

	issue(midnight.AddDate(0, 0, 1), 7)
	if n := backcast(midnight.AddDate(0, 0, 1), 9); n != 0 {
		t.Errorf("%d issued days were replaced", n)
	}
	if day := read(midnight.AddDate(0, 0, 1)); day.Backcast != nil || day.P50KW[12] != 7 {
		t.Errorf("the issued day is %+v", day)
	}
	issue(midnight, 8)
	if day := read(midnight); day.Backcast != nil || day.P50KW[12] != 8 {
		t.Errorf("issued later, the day is %+v", day)
	}
	if a, err := d.Forecasts.Accuracy(t.Context(), domaintest.Acme, api.AccuracyRequest{CustomerID: "acme", SiteID: "South"}); err != nil || a.Backcast != nil {
		t.Errorf("accuracy %+v with %+v, %v", a, a.Backcast, err)
	}
}
