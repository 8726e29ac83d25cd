package forecasting

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"reflect"
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
	issue := time.Date(2026, 6, 15, 10, 20, 0, 0, time.UTC)
	now := func() time.Time { return issue }
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
			m := model.Model{Model: api.Model{SiteID: id, CustomerID: "acme", ModelName: "gbm", ModelType: sitedata.ModelType, ModelAccuracy: 0.9}, Hash: "none", Points: 1000, Sequence: 1}
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
			if err := putExtract(tx, d.Forecasts, f, m, zone, partsOf(f, zone)); err != nil {
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

// written is the forecast of a customer as it is sent.
func written(t *testing.T, fc *Forecaster, q api.ForecastQuery) (g api.GeneratedForecast, text []byte) {
	t.Helper()
	write, err := fc.GenerateCustomer(t.Context(), api.Unlimited("test"), q)
	if err != nil {
		t.Fatal(err)
	}
	err = write(func(next func([]byte) ([]byte, error)) (err error) {
		text, err = next(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	return g, text
}

// The forecast of a customer comes from the stored extracts: no model is decoded, each site is as
// on its own at each hour and horizon, also after midnight, and the JSON is that of the type.
func TestCustomerFromStored(t *testing.T) {
	fc := issued(t, 70) // more than models are cached
	issue := fc.Now()
	for _, c := range []struct {
		after time.Duration
		hours int
	}{{0, 48}, {0, 1}, {0, 24}, {40 * time.Minute, 55}, {5 * time.Hour, 48}, {12 * time.Hour, 30}, {11*time.Hour + 39*time.Minute, 12}, {30 * time.Hour, 20}} {
		fc.Data.Config.Now = func() time.Time { return issue.Add(c.after) }
		q := api.ForecastQuery{CustomerID: "acme", HorizonHours: c.hours}
		g, text := written(t, fc, q)
		if len(g.Sites) != 70 || len(g.Forecasts) != c.hours {
			t.Fatalf("after %v: %d sites, %d hours", c.after, len(g.Sites), len(g.Forecasts))
		}
		var again bytes.Buffer
		e := json.NewEncoder(&again)
		e.SetEscapeHTML(false)
		if err := e.Encode(g); err != nil || again.String() != string(text) {
			t.Fatalf("after %v: the JSON is not that of the type, %v:\n%.2000s\n%.2000s", c.after, err, text, again.String())
		}
		q.SiteID = "S0003"
		one, err := fc.Generate(t.Context(), api.Unlimited("test"), q)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := json.Marshal(one)
		for _, part := range g.Sites {
			if got, _ := json.Marshal(part); part.SiteID == "S0003" && string(got) != string(want) {
				t.Errorf("after %v, %d hours: the site differs:\n%s\n%s", c.after, c.hours, got, want)
			}
		}
		if sum := 70 * one.Forecasts[0].PredictedPowerKW; math.Abs(g.Forecasts[0].PredictedPowerKW-sum) > 1e-6*sum+1e-9 {
			t.Errorf("%v kW, want %v", g.Forecasts[0].PredictedPowerKW, sum)
		}
		if len(g.Days) != len(one.Days) || g.Days[0].Hours != one.Days[0].Hours || g.Days[0].P90KWh <= g.Days[0].P50KWh {
			t.Errorf("days %+v, of a site %+v", g.Days, one.Days)
		}
		c, err := fc.Customer(t.Context(), api.Unlimited("test"), api.ForecastQuery{CustomerID: "acme", HorizonHours: c.hours})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.parts {
			if p.extract == nil {
				t.Fatalf("after %v: site %s does not come from its extract", c.query.HorizonHours, p.site.SiteID)
			}
		}
	}
}

// An extract is not used if its model, its zone or its bytes are not the present ones.
func TestExtractOutOfDate(t *testing.T) {
	fc := issued(t, 3)
	stored := func() (n int) {
		c, err := fc.Customer(t.Context(), api.Unlimited("test"), api.ForecastQuery{CustomerID: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.parts {
			if p.extract != nil {
				n++
			}
		}
		if len(c.parts) != 3 || len(c.Sum().Forecasts) != 48 {
			t.Errorf("%d sites, %d hours", len(c.parts), len(c.Sum().Forecasts))
		}
		return n
	}
	change := func(do func(tx store.Tx) error) {
		t.Helper()
		if err := fc.Records.Update(t.Context(), do); err != nil {
			t.Fatal(err)
		}
	}
	if n := stored(); n != 3 {
		t.Errorf("%d from extracts at first", n)
	}
	change(func(tx store.Tx) error {
		return tx.Put(extractBucket, store.Key("S0000"), []byte{extractVersion, 1, 2, 3})
	})
	change(func(tx store.Tx) error { return tx.Put(extractBucket, store.Key("S0001"), []byte{extractVersion + 1}) })
	if n := stored(); n != 1 {
		t.Errorf("%d from extracts after two were damaged", n)
	}
	change(func(tx store.Tx) error {
		return tx.Delete(model.ProductionBucket, model.ProductionKey("S0002", sitedata.ModelType, 1))
	})
	c, err := fc.Customer(t.Context(), api.Unlimited("test"), api.ForecastQuery{CustomerID: "acme"})
	if err != nil || len(c.parts) != 2 {
		t.Errorf("a site without a model in production: %d sites, %v", len(c.parts), err)
	}
}

// FuzzExtract decodes any bytes as an extract.
func FuzzExtract(f *testing.F) {
	e := extract{sequence: 1, forecastID: "fc", zone: "UTC", hours: []hour{{1}, {2}}, days: []extractDay{{hours: []hour{{3}}, part: []energies{{1, 2, 3}}, partHours: 1}}}
	f.Add(e.encode())
	f.Add([]byte{extractVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again extract
		if e.decode(b) != nil {
			return
		}
		if err := again.decode(e.encode()); err != nil || !reflect.DeepEqual(again.encode(), e.encode()) {
			t.Errorf("%x is not as it was: %v", b, err)
		}
	})
}

// BenchmarkCustomer answers the forecast of all sites of a customer.
func BenchmarkCustomer(b *testing.B) {
	for _, sites := range []int{100, 1000} {
		b.Run(fmt.Sprint(sites), func(b *testing.B) {
			fc := issued(b, sites)
			b.ReportAllocs()
			for b.Loop() {
				write, err := fc.GenerateCustomer(b.Context(), api.Unlimited("test"), api.ForecastQuery{CustomerID: "acme"})
				if err != nil {
					b.Fatal(err)
				}
				size, text := 0, make([]byte, 0, 1<<17)
				err = write(func(next func([]byte) ([]byte, error)) (err error) {
					text, err = next(text[:0])
					size += len(text)
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(size))
			}
		})
	}
}
