package forecasting

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
)

// issued is a customer with sites whose forecasts are stored. Their models have no artefact,
// so that a request that decodes one fails.
func issued(t testing.TB, sites int) *Forecaster {
	now := func() time.Time { return time.Date(2026, 6, 15, 10, 20, 0, 0, time.UTC) }
	db, err := bolt.Open(t.TempDir(), bolt.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	d := domain.New(db, db, now)
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for i := range sites {
		lat, lon := 48+float64(i%40)/10, 8+float64(i/40)/10
		site := api.Site{SiteID: fmt.Sprintf("S%04d", i), CustomerID: "acme", Name: fmt.Sprintf("Site %d", i), Timezone: "Europe/Berlin", CapacityKW: 100, Latitude: &lat, Longitude: &lon}
		if _, err := d.Sites.SetSite(context.Background(), api.Unlimited("test"), site); err != nil {
			t.Fatal(err)
		}
	}
	err = db.Update(context.Background(), func(tx store.Tx) error {
		for i := range sites {
			id := fmt.Sprintf("S%04d", i)
			m := model.Model{Model: api.Model{SiteID: id, CustomerID: "acme", ModelName: "gbm", ModelType: sitedata.ModelType, ModelAccuracy: 0.9}, Hash: "none", Points: 1000}
			m, err := d.Models.Register(tx, m, nil)
			if err != nil {
				return err
			}
			f := forecast.Forecast{ForecastID: record.NewID("fc", now()), CustomerID: "acme", SiteID: id, IssuedAt: now().Add(-10 * time.Minute), ModelName: m.ModelName, ModelVersion: m.ModelVersion,
				HorizonHours: 48, Start: time.Date(2026, 6, 14, 22, 0, 0, 0, time.UTC), StepMinutes: 60, Source: "offline"}
			for h := range 68 {
				kW := math.Round(1e5*max(0, math.Sin(float64(h-4)/24*2*math.Pi))) / 1e3
				f.P10KW, f.P50KW, f.P90KW = append(f.P10KW, kW*0.8), append(f.P50KW, kW), append(f.P90KW, kW*1.1)
				f.ClearSkyKW, f.TemperatureC, f.GHIWM2, f.WindMS = append(f.ClearSkyKW, kW*1.2), append(f.TemperatureC, 20.125), append(f.GHIWM2, kW*10), append(f.WindMS, 3.4)
			}
			if err := d.Forecasts.Add(tx, f, zone); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	data := sitedata.New(sitedata.Config{Records: db, Telemetry: db, Domain: d, Now: now, Wall: now, Logger: slog.New(slog.DiscardHandler)})
	return &Forecaster{Data: data, HorizonHours: 48}
}

// The forecast of a customer comes from the stored forecasts: no model is decoded, and each
// site is as on its own.
func TestCustomerFromStored(t *testing.T) {
	fc := issued(t, 70) // more than models are cached
	g, err := fc.Generate(t.Context(), api.Unlimited("test"), api.ForecastQuery{CustomerID: "acme"})
	if err != nil || len(g.Sites) != 70 || len(g.Forecasts) != 48 {
		t.Fatalf("%d sites, %d hours, %v", len(g.Sites), len(g.Forecasts), err)
	}
	one, err := fc.Generate(t.Context(), api.Unlimited("test"), api.ForecastQuery{CustomerID: "acme", SiteID: "S0003"})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(one)
	for _, part := range g.Sites {
		if part.SiteID != "S0003" {
			continue
		}
		if got, _ := json.Marshal(part); string(got) != string(want) {
			t.Errorf("the site differs:\n%s\n%s", got, want)
		}
	}
	if sum := 70 * one.Forecasts[2].PredictedPowerKW; math.Abs(g.Forecasts[2].PredictedPowerKW-sum) > 1e-6*sum {
		t.Errorf("%v kW, want %v", g.Forecasts[2].PredictedPowerKW, sum)
	}
}

// BenchmarkCustomer answers the forecast of all sites of a customer.
func BenchmarkCustomer(b *testing.B) {
	for _, sites := range []int{100, 1000} {
		b.Run(fmt.Sprint(sites), func(b *testing.B) {
			fc := issued(b, sites)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := fc.Generate(b.Context(), api.Unlimited("test"), api.ForecastQuery{CustomerID: "acme"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
