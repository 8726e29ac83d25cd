package backend

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"go.uber.org/goleak"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/s3test"
	"app.sunloop/engine/realdata"
	"app.sunloop/engine/simulate"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(s3test.Main(pgtest.Main(m)))
}

// instance is a running Service with a client of it.
type instance struct {
	*client.Client
	t       testing.TB
	service *Service
	cfg     Config
	key     string
	ended   chan error
}

func open(t testing.TB, cfg Config) *instance {
	t.Helper()
	cfg.Argon = &argon2id.Params{Memory: 1024, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	if cfg.Wall == nil {
		cfg.Wall = time.Now
	}
	cfg.Tick, cfg.Settle, cfg.Quiet, cfg.KeyRate = 10*time.Millisecond, time.Millisecond, 20*time.Millisecond, cmp.Or(cfg.KeyRate, 100_000)
	h := &instance{t: t, cfg: cfg}
	h.up()
	t.Cleanup(h.down)
	var err error
	h.key, _, err = h.service.Auth().CreateKey(t.Context(), auth.NewKey{Name: "test", Role: api.RoleAdmin, Customers: []string{api.Every}})
	if err != nil {
		t.Fatal(err)
	}
	h.connect()
	return h
}

func (h *instance) up() {
	h.t.Helper()
	var err error
	if h.service, err = New(h.cfg); err != nil {
		h.t.Fatal(err)
	}
	h.ended = make(chan error, 1)
	go func() { h.ended <- h.service.Run(context.Background()) }()
}

func (h *instance) down() {
	if h.Client != nil {
		h.Client.Close()
	}
	if err := errors.Join(h.service.Close(), <-h.ended); err != nil {
		h.t.Error(err)
	}
}

func (h *instance) connect() {
	h.Client = client.New(client.Options{Transport: client.InProcess(h.service.Handler()), Credential: h.key, Now: time.Now})
}

func (h *instance) restart() {
	h.t.Helper()
	h.down()
	h.up()
	h.connect()
}

// follow waits for an upload's end.
func (h *instance) follow(id string) api.Upload {
	h.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		u, err := h.Upload(h.t.Context(), id)
		if err != nil {
			h.t.Fatal(err)
		}
		if u.Ended() {
			return *u
		}
	}
	h.t.Fatalf("upload %s does not end", id)
	return api.Upload{}
}

// austria is a real year of quarter hours of one plant.
func austria(t *testing.T) []byte {
	t.Helper()
	b, err := io.ReadAll(realdata.Open(t, "data/austria-15min/pv_kwh_15min.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFromFileToForecastOverTheWire(t *testing.T) {
	now := time.Date(2022, 4, 29, 7, 20, 0, 0, time.UTC)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }})
	req := api.UploadRequest{CustomerID: "acme", SiteID: "Graz", Region: "eu", Location: "47.07,15.44", Timezone: "Europe/Vienna", CapacityKW: 54.6, Filename: "pv.csv"}

	_, err := h.Forecast(t.Context(), api.ForecastQuery{CustomerID: "acme"})
	if !errors.Is(err, api.ErrNoModel) {
		t.Errorf("before any file: %v", err)
	}
	_, err = h.UploadTrain(t.Context(), req, strings.NewReader("to whom it may concern\n"), nil)
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Status != 400 || refusal.Message != "Invalid CSV format" || refusal.Details["reason"] == nil {
		t.Errorf("no table: %v", err)
	}
	if list, err := h.Sites(t.Context(), api.ListQuery{}); err != nil || len(list.Sites) != 0 {
		t.Errorf("a refused file left sites %v, %v", list, err)
	}

	ack, err := h.UploadTrain(t.Context(), req, bytes.NewReader(austria(t)), nil)
	if err != nil || ack.ProcessingStatus != api.UploadQueued || !strings.Contains(ack.S3Path, "/historical/") && !strings.Contains(ack.S3Path, "historical/") {
		t.Fatalf("acknowledged as %+v, %v", ack, err)
	}
	h.restart() // an acknowledged file survives that
	u := h.follow(ack.UploadID)
	if u.Error != "" || u.RowsStored < 30_000 || u.Timezone != "Europe/Vienna" {
		t.Errorf("imported as %+v", u)
	}

	g, err := h.Forecast(t.Context(), api.ForecastQuery{CustomerID: "acme", SiteID: "Graz"})
	if err != nil || len(g.Forecasts) != 48 || g.HorizonHours != 48 || len(g.Today) != 24 {
		t.Fatalf("forecast %+v, %v", g, err)
	}
	day := 0.0
	for _, v := range g.Forecasts {
		low, mid, high := v.ConfidenceInterval.Lower, v.PredictedPowerKW, v.ConfidenceInterval.Upper
		if !(0 <= low && low <= mid && mid <= high && high <= 54.6) {
			t.Errorf("%v: %v, %v, %v", v.Timestamp, low, mid, high)
		}
		if hour := v.Timestamp.Hour(); hour >= 21 || hour < 2 {
			if high != 0 {
				t.Errorf("%v: P90 of %v kW by night", v.Timestamp, high)
			}
		}
		day += mid
	}
	if day < 100 || day > 1000 {
		t.Errorf("%v kWh in two days of April", day)
	}
	period, err := h.DataPeriod(t.Context(), api.SiteRef{SiteID: "Graz"}, "")
	if err != nil || period.FirstRecord == nil || period.FirstRecord.Year() != 2021 {
		t.Errorf("period %+v, %v", period, err)
	}
	records, err := h.Inverter(t.Context(), api.RecordsQuery{SiteID: "Graz", AssetID: u.AssetIDs[0], Start: api.At(now.AddDate(0, 0, -2)), End: api.At(now)})
	if err != nil || len(records.Records) < 40 {
		t.Errorf("%d records, %v", len(records.Records), err)
	}
	stored, err := h.StoredForecasts(t.Context(), api.ListQuery{CustomerID: "acme"})
	if err != nil || stored.Count == 0 || len(stored.ForecastResults[0].ForecastPoints) != 48 {
		t.Errorf("stored %+v, %v", stored, err)
	}
	models, err := h.Models(t.Context(), api.ListQuery{})
	if err != nil || models.Count != 1 || models.ModelMetrics[0].Status != api.ModelProduction || models.ModelMetrics[0].ArtifactLocations.Model == "" {
		t.Errorf("models %+v, %v", models, err)
	}
	summary, err := h.SiteSummary(t.Context(), api.SiteRef{SiteID: "Graz"})
	if err != nil || summary.ExpectedKWhToday == nil || summary.TotalInverters != 1 {
		t.Errorf("summary %+v, %v", summary, err)
	}
	activities, err := h.Activities(t.Context(), api.ListQuery{CustomerID: "acme"})
	if err != nil || activities.Count < 3 {
		t.Errorf("activities %+v, %v", activities, err)
	}
	h.restart()
	after, err := h.Forecast(t.Context(), api.ForecastQuery{CustomerID: "acme", SiteID: "Graz"})
	if err != nil || len(after.Forecasts) != 48 || after.Forecasts[5] != g.Forecasts[5] {
		t.Errorf("after a restart %v, %v", after, err)
	}
}

func TestLiveSamplesAndFindingsOverTheWire(t *testing.T) {
	start := time.Date(2026, 6, 15, 9, 0, 0, 0, time.UTC)
	s := simulate.Clean(1, start.AddDate(0, 0, -12), 3).Sites[0]
	s.SetFaults([]simulate.Fault{{ID: "f", Kind: simulate.UnitOutage, Units: []string{s.Units[0].AssetID}, From: start.Add(-3 * time.Hour)}})
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return start }})
	var body bytes.Buffer
	if err := s.WriteCSV(&body, start.AddDate(0, 0, -10), start, 15*time.Minute); err != nil {
		t.Fatal(err)
	}
	ack, err := h.UploadNowcast(t.Context(), api.UploadRequest{CustomerID: "acme", SiteID: s.ID, Region: "eu", Location: "Berlin", Timezone: "Europe/Berlin"}, &body, nil)
	if err != nil {
		t.Fatal(err)
	}
	if u := h.follow(ack.UploadID); u.Error != "" || len(u.AssetIDs) != 3 {
		t.Errorf("imported as %+v", u)
	}
	run, err := h.Detect(t.Context(), api.AssetRef{AssetID: s.Units[0].AssetID}, 24)
	if err != nil || run.AnomaliesDetected == nil || *run.AnomaliesDetected != 1 || run.Analysis.FaultType != "inverter_outage" {
		t.Errorf("detected %+v, %v", run, err)
	}
	found, err := h.Findings(t.Context(), api.ListQuery{CustomerID: "acme"})
	if err != nil || found.Count != 1 || !found.MLEnhancedActivities[0].Active {
		t.Errorf("findings %+v, %v", found, err)
	}
	list, err := h.Detections(t.Context(), api.ListQuery{AssetID: s.Units[0].AssetID})
	if err != nil || list.Count == 0 {
		t.Errorf("detections %+v, %v", list, err)
	}
	latest, err := h.Latest(t.Context(), api.SiteRef{SiteID: s.ID})
	if err != nil || len(latest.Records) != 3 {
		t.Errorf("latest %+v, %v", latest, err)
	}
}

func TestOneOwnerOfAFolder(t *testing.T) {
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now})
	if _, err := New(h.cfg); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
	for name, cfg := range map[string]Config{"folder": {Now: time.Now}, "clock": {DataDir: t.TempDir()}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("it opens without a %s", name)
		}
	}
}

// A service that is closed before it has begun to run ends all the same, and
// does not touch the data folder any more.
func TestClosedBeforeItRuns(t *testing.T) {
	s, err := New(Config{DataDir: t.TempDir(), Now: time.Now, Wall: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Errorf("it ran: %v", err)
	}
}
