package laws

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/engine/simulate"
)

// TestForecast holds quantiles and sums of forecasts, at moments of a day.
func TestForecast(t *testing.T) {
	v := newTally()
	for _, seed := range seeds(t, 1) {
		forecastLaws(t, v, seed)
	}
	v.report(t)
}

func forecastLaws(t *testing.T, v *tally, seed uint64) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	midnight := time.Date(2026, 6, 10+int(seed%12), 0, 0, 0, 0, zone)
	s := simulate.Clean(seed, midnight.AddDate(0, 0, -70), 1).Sites[0]
	h := open(t, midnight.Add(-time.Hour), 60)
	feed := func(kind string, from, to time.Time) {
		var b bytes.Buffer
		if err := s.WriteCSV(&b, from, to, 30*time.Minute); err != nil {
			t.Fatal(err)
		}
		if _, err := h.upload(kind, api.UploadRequest{SiteID: s.ID, Location: "52.5,13.4", Timezone: "Europe/Berlin"}, b.String()); err != nil {
			t.Fatal(err)
		}
	}
	feed(api.UploadTrain, midnight.AddDate(0, 0, -66), midnight.Add(-time.Hour))
	where := fmt.Sprintf("seed %d (SUNLOOP_TEST_LAWS_SEED=%d repeats it)", seed, seed)
	last := 0.0
	at := midnight.Add(-time.Hour)
	for _, hour := range []int{3, 9, 14, 22} {
		now := midnight.Add(time.Duration(hour) * time.Hour)
		h.set(now)
		feed(api.UploadNowcast, at, now)
		at = now
		f, err := h.Forecast(t.Context(), api.ForecastQuery{CustomerID: customer, SiteID: s.ID, HorizonHours: 48})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range append(f.Forecasts[:len(f.Forecasts):len(f.Forecasts)], f.Today...) {
			low, mid, high := x.ConfidenceInterval.Lower, x.PredictedPowerKW, x.ConfidenceInterval.Upper
			v.hold("P10 is at most P50 at most P90", 0 <= low && low <= mid && mid <= high, "%s: %v: %v, %v, %v kW", where, x.Timestamp, low, mid, high)
			if local := x.Timestamp.In(zone).Hour(); local >= 23 || local < 3 {
				v.hold("no forecast at night", high == 0, "%s: %v: P90 %v kW", where, x.Timestamp, high)
			}
		}
		sum, err := h.SiteSummary(t.Context(), api.SiteRef{CustomerID: customer, SiteID: s.ID})
		if err != nil {
			t.Fatal(err)
		}
		soFar, today := sum.Summary.ExpectedKWhSoFar, sum.Summary.ExpectedKWhToday
		if v.hold("a trained site has an expectation", soFar != nil && today != nil, "%s: at %d h: so far %v, today %v", where, hour, soFar, today); soFar == nil || today == nil {
			continue
		}
		v.hold("expected so far is at most expected today", *soFar <= *today*(1+1e-9), "%s: at %d h: so far %.3f, today %.3f kWh", where, hour, *soFar, *today)
		v.hold("expected so far never falls", *soFar >= last-1e-6, "%s: at %d h: %.3f after %.3f kWh", where, hour, *soFar, last)
		last = *soFar
		doc, err := h.ForecastSnapshot(t.Context(), api.SiteRef{CustomerID: customer, SiteID: s.ID}, 24)
		if err != nil {
			continue
		}
		total := 0.0
		for _, x := range doc.Intervals {
			total += x.P50KW
			v.hold("P10 is at most P50 at most P90", 0 <= x.P10KW && x.P10KW <= x.P50KW && x.P50KW <= x.P90KW, "%s: snapshot %v: %v, %v, %v kW", where, x.TS, x.P10KW, x.P50KW, x.P90KW)
		}
		v.hold("intervals of a snapshot sum to its total", math.Abs(total-doc.Totals.TotalKWh) <= 0.01*float64(max(len(doc.Intervals), 1)), "%s: %.3f, total %.3f kWh", where, total, doc.Totals.TotalKWh)
	}
}
