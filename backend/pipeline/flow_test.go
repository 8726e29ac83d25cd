package pipeline

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/engine/solar"
)

// austria is a real year of quarter hours of one plant.
func austria(t testing.TB) []byte {
	t.Helper()
	f, err := os.Open(shared(t, "data", "austria-15min", "pv_kwh_15min.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRealFileBecomesAForecast(t *testing.T) {
	file := austria(t)
	now := time.Date(2022, 4, 29, 7, 20, 0, 0, time.UTC)
	p := newPlant(t, now, nil)
	p.start()
	req := request(api.UploadTrain)
	req.Location, req.CapacityKW = "somewhere", 54.6
	_, err := p.Generate(t.Context(), admin, api.ForecastQuery{CustomerID: "acme", HorizonHours: 48})
	if !errors.Is(err, api.ErrNoModel) {
		t.Errorf("before any data: %v", err)
	}
	u := p.ended1(p.upload(req, file))
	t.Logf("%s; %s", strings.Join(u.Decisions, "; "), strings.Join(u.Warnings, "; "))
	if u.Error != "" || u.RowsStored < 30_000 || u.ValueKind != "interval_energy" || u.IntervalMinutes != 15 || u.Progress != 1 {
		t.Errorf("imported as %+v", u)
	}
	g, err := p.Generate(t.Context(), admin, api.ForecastQuery{CustomerID: "acme", SiteID: "South", HorizonHours: 48})
	if err != nil {
		t.Fatal(err)
	}
	checkForecast(t, g, now, 48, 54.6, solar.Location{LatitudeDeg: 47, LongitudeDeg: 15})
	if g.Metadata.ModelAccuracy < 0.9 || g.Metadata.TrainingDataPoints < 7000 || g.Metadata.ModelVersion != "1.0.0" {
		t.Errorf("metadata %+v", g.Metadata)
	}
	if len(g.Today) < 23 || g.TodayP50KWh <= 0 {
		t.Errorf("today holds %d hours and %v kWh", len(g.Today), g.TodayP50KWh)
	}
	far, err := p.Generate(t.Context(), admin, api.ForecastQuery{CustomerID: "acme", HorizonHours: 720})
	if err != nil {
		t.Fatal(err)
	}
	checkForecast(t, far, now, 720, 54.6, solar.Location{LatitudeDeg: 47, LongitudeDeg: 15})
	if len(far.Sites) != 1 {
		t.Errorf("%d sites", len(far.Sites))
	}
	m, err := p.Ops.ProductionModel(t.Context(), "South", modelType)
	if err != nil || m.Place == nil {
		t.Fatalf("model %+v, %v", m, err)
	}
	if d := m.Place.LatitudeDeg - 47; d < -6 || d > 6 {
		t.Errorf("latitude %v from the sun, want about 47", m.Place.LatitudeDeg)
	}
	if d := m.Place.LongitudeDeg - 15; d < -6 || d > 6 {
		t.Errorf("longitude %v from the sun, want about 15", m.Place.LongitudeDeg)
	}
	// The same bytes again are the same upload.
	if again := p.upload(req, file); again != u.UploadID {
		t.Errorf("sent again it is %s, was %s", again, u.UploadID)
	}
}

func checkForecast(t *testing.T, g api.GeneratedForecast, now time.Time, hours int, capacityKW float64, loc solar.Location) {
	t.Helper()
	if len(g.Forecasts) != hours || g.StepMinutes != 60 || !g.Forecasts[0].Timestamp.Equal(ops.NextHour(now)) {
		t.Fatalf("%d values from %v", len(g.Forecasts), g.Forecasts[0].Timestamp)
	}
	sum := 0.0
	for i, v := range g.Forecasts {
		if i > 0 && v.Timestamp.Sub(g.Forecasts[i-1].Timestamp.Time) != time.Hour {
			t.Fatalf("value %d is at %v", i, v.Timestamp)
		}
		low, mid, high := v.ConfidenceInterval.Lower, v.PredictedPowerKW, v.ConfidenceInterval.Upper
		if !(0 <= low && low <= mid && mid <= high && high <= capacityKW) {
			t.Errorf("at %v: %v <= %v <= %v <= %v does not hold", v.Timestamp, low, mid, high, capacityKW)
		}
		if sun := solar.At(v.Timestamp.Add(30*time.Minute), loc); sun.ZenithDeg > 102 && high != 0 {
			t.Errorf("at %v the sun is %.0f° below the horizon and P90 is %v kW", v.Timestamp, sun.ZenithDeg-90, high)
		}
		sum += mid
	}
	if sum < float64(hours)/24*capacityKW*0.3 {
		t.Errorf("%v kWh in %d hours from %v kW", sum, hours, capacityKW)
	}
}
