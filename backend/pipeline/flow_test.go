package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/realdata"
	"app.sunloop/engine/simulate"
	"app.sunloop/engine/solar"
)

// austria is a real year of quarter hours of one plant.
func austria(t testing.TB) []byte {
	t.Helper()
	b, err := io.ReadAll(realdata.Open(t, "data/austria-15min/pv_kwh_15min.csv.gz"))
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
	checkForecast(t, g, now, 48, 54.6, solar.Location{LatitudeDeg: 43, LongitudeDeg: 15})
	if g.Metadata.ModelAccuracy < 0.9 || g.Metadata.TrainingDataPoints < 7000 || g.Metadata.ModelVersion != "1.0.0" {
		t.Errorf("metadata %+v", g.Metadata)
	}
	if len(g.Today) < 23 || g.TodayP50KWh <= 0 {
		t.Errorf("today holds %d hours and %v kWh", len(g.Today), g.TodayP50KWh)
	}
	if len(g.Past) != 0 {
		t.Errorf("the past was not requested, which holds %d hours", len(g.Past))
	}
	far, err := p.Generate(t.Context(), admin, api.ForecastQuery{CustomerID: "acme", HorizonHours: 720})
	if err != nil {
		t.Fatal(err)
	}
	checkForecast(t, far, now, 720, 54.6, solar.Location{LatitudeDeg: 43, LongitudeDeg: 15})
	customer, err := p.Customer(t.Context(), admin, api.ForecastQuery{CustomerID: "acme", HorizonHours: 720})
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	if err := customer.Write(func(next func([]byte) ([]byte, error)) (err error) {
		text, err = next(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var written api.GeneratedForecast
	if err := json.Unmarshal(text, &written); err != nil || len(written.Sites) != 1 || len(written.Sites[0].Forecasts) != 720 {
		t.Errorf("%d sites, %v", len(written.Sites), err)
	}
	m, err := p.Domain.Models.InProduction(t.Context(), "South", sitedata.ModelType)
	if err != nil || m.Place == nil {
		t.Fatalf("model %+v, %v", m, err)
	}
	// Its place is not known; its noon says 15° E, its days central or southern Europe.
	if math.Abs(m.Place.LongitudeDeg-15) > 6 || math.Abs(m.Place.LatitudeDeg-43) > 8 {
		t.Errorf("its place by the sun is %+v", *m.Place)
	}
	// The same bytes again are the same upload.
	if again := p.upload(req, file); again != u.UploadID {
		t.Errorf("sent again it is %s, was %s", again, u.UploadID)
	}
	p.pass(24 * time.Hour)
	next, err := p.Generate(t.Context(), admin, api.ForecastQuery{CustomerID: "acme", SiteID: "South", HorizonHours: 24, PastDays: 3})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(g.Today, next.Past); d != "" { // of the two days before nothing was issued
		t.Errorf("the day before as it was issued (-want +got):\n%s", d)
	}
}

func checkForecast(t *testing.T, g api.GeneratedForecast, now time.Time, hours int, capacityKW float64, loc solar.Location) {
	t.Helper()
	if len(g.Forecasts) != hours || g.StepMinutes != 60 || !g.Forecasts[0].Timestamp.Equal(forecast.NextHour(now)) {
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

// quickTraining makes sites train early and forecasts come at once.
func quickTraining(c *Config) { c.TrainingDays, c.DetectEvery = 60, 15*time.Minute }

func TestFilesInARowTrainOnce(t *testing.T) {
	p := newPlant(t, day0, quickTraining)
	s := fleet(70, 3)
	var ids []string
	for _, u := range s.Units {
		ids = append(ids, p.upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -70), day0, time.Hour, u.AssetID)))
	}
	p.start() // all of them wait
	for i, id := range ids {
		u := p.ended1(id)
		if u.Error != "" || len(u.AssetIDs) != 1 || u.AssetIDs[0] != s.Units[i].AssetID {
			t.Errorf("%s ended as %+v", id, u)
		}
	}
	list, _, err := p.Domain.Models.Models(t.Context(), admin, api.ListQuery{SiteID: "South"})
	if err != nil || len(list) != 1 || list[0].Status != api.ModelProduction {
		t.Errorf("models %v, %v", list, err)
	}
	// A unit's energy is its share, and the shares are the whole.
	e, err := p.Energy(t.Context(), admin, api.EnergyForecastRequest{SiteID: "South", IncludeDeviceBreakdown: true})
	if err != nil || len(e.Forecasts) != 24 || e.DeviceCount != 3 || len(e.DeviceForecasts) != 3 {
		t.Fatalf("energy %+v, %v", e, err)
	}
	for i, v := range e.Forecasts {
		sum := 0.0
		for _, d := range e.DeviceForecasts {
			sum += d.Forecasts[i].KWhForecast
		}
		if math.Abs(sum-v.KWhForecast) > 0.002 || v.HourAhead != i+1 {
			t.Errorf("hour %d: units %v kWh, site %v", v.HourAhead, sum, v.KWhForecast)
		}
	}
	if _, err := p.Energy(t.Context(), admin, api.EnergyForecastRequest{SiteID: "South", DeviceID: "unknown"}); !errors.Is(err, api.ErrAssetNotFound) {
		t.Errorf("an unknown unit: %v", err)
	}
	snapshotted(t, p)
	if got, _, err := p.Stored(t.Context(), admin, api.ListQuery{CustomerID: "acme"}); err != nil || len(got) == 0 || len(got[0].ForecastPoints) != 48 {
		t.Errorf("stored forecasts %d, %v", len(got), err)
	}
	act, _, err := p.Domain.Sites.Activities(t.Context(), admin, api.ListQuery{SiteID: "South"})
	phases := map[string]bool{}
	for _, a := range act {
		phases[a.Phase] = true
	}
	if err != nil || !phases[api.PhaseObserve] || !phases[api.PhaseOrient] || !phases[api.PhaseDecide] {
		t.Errorf("activities %v, %v", act, err)
	}
}

func TestTooLittleDataIsReported(t *testing.T) {
	p := newPlant(t, day0, nil)
	p.start()
	s := fleet(20, 1)
	u := p.ended1(p.upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -20), day0, time.Hour)))
	if u.ProcessingStatus != api.UploadCompleted && u.ProcessingStatus != api.UploadWithWarnings || !strings.Contains(strings.Join(u.Decisions, "\n"), "180 days") {
		t.Errorf("ended as %+v", u)
	}
	if _, err := p.Generate(t.Context(), admin, api.ForecastQuery{CustomerID: "acme", SiteID: "South"}); !errors.Is(err, api.ErrNoModel) {
		t.Errorf("forecast: %v", err)
	}
	if _, err := p.Generate(t.Context(), admin, api.ForecastQuery{CustomerID: "acme", SiteID: "Nowhere"}); !errors.Is(err, api.ErrSiteNotFound) {
		t.Errorf("forecast: %v", err)
	}
}

func TestLiveOutageIsFoundAndEnds(t *testing.T) {
	p := newPlant(t, day0, nil)
	s := fleet(10, 3)
	victim := s.Units[1].AssetID
	s.SetFaults([]simulate.Fault{{ID: "f", Kind: simulate.UnitOutage, Units: []string{victim}, From: day0.Add(30 * time.Minute), To: day0.Add(2 * time.Hour)}})
	p.start()
	p.ended1(p.upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -10), day0, 15*time.Minute)))
	step := func(until time.Duration) {
		t.Helper()
		for p.now().Before(day0.Add(until)) {
			from := p.now()
			p.pass(15 * time.Minute)
			p.ended1(p.upload(request(api.UploadNowcast), csvOf(t, s, from, p.now(), 15*time.Minute)))
		}
	}
	active := func() (list []api.Finding) {
		all, _, err := p.Domain.Findings.Findings(t.Context(), admin, api.ListQuery{SiteID: "South"})
		if err != nil && !errors.Is(err, api.ErrNoSummaries) {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.Active {
				list = append(list, f)
			}
		}
		return list
	}
	step(100 * time.Minute)
	p.await("the outage", func() bool { return len(active()) == 1 })
	f := active()[0]
	if f.AssetID != victim || f.FaultFamily != "inverter_outage" || f.Summary == "" || len(f.RecommendedActions) == 0 {
		t.Errorf("found %+v", f)
	}
	d, err := p.Detect(t.Context(), admin, api.AssetRef{AssetID: victim}, 24)
	if err != nil || d.AnomaliesDetected != 1 || d.Status != "completed" || d.Analysis.FaultType != "inverter_outage" {
		t.Errorf("on demand %+v, %v", d, err)
	}
	if d, err = p.Detect(t.Context(), admin, api.AssetRef{AssetID: s.Units[0].AssetID}, 0); err != nil || d.AnomaliesDetected != 0 {
		t.Errorf("a sound unit %+v, %v", d, err)
	}
	step(4 * time.Hour)
	p.await("its end", func() bool { return len(active()) == 0 })
	all, _, err := p.Domain.Findings.Findings(t.Context(), admin, api.ListQuery{SiteID: "South"})
	if err != nil || len(all) != 1 || all[0].SummaryID != f.SummaryID || all[0].EndedAt.IsZero() {
		t.Errorf("afterwards %+v, %v", all, err)
	}
	if list, _, err := p.Detector.Detections(t.Context(), admin, api.ListQuery{AssetID: victim, SiteID: "South"}); err != nil || len(list) < 2 {
		t.Errorf("%d detections, %v", len(list), err)
	}
}

func TestDamagedModelIsRefusedAndTrainedAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains for seconds")
	}
	files := &leaving{}
	p := newPlant(t, day0, func(c *Config) {
		quickTraining(c)
		files.Objects, c.Objects = c.Objects, files
	})
	p.start()
	s := fleet(70, 1)
	p.ended1(p.upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -70), day0, time.Hour)))
	m, err := p.Domain.Models.InProduction(t.Context(), "South", sitedata.ModelType)
	if err != nil {
		t.Fatal(err)
	}
	longer := api.ForecastQuery{CustomerID: "acme", HorizonHours: 240} // than the stored forecast, which needs no model
	p.halt()
	p.reopen() // nothing is cached any more
	if _, err := p.Generate(t.Context(), admin, longer); err != nil {
		t.Errorf("read back: %v", err)
	}
	p.reopen()
	// While the objects are unavailable, nothing is known of the model.
	files.away.Store(true)
	if _, err := p.Generate(t.Context(), admin, longer); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("objects unavailable: %v", err)
	}
	promote := func() error {
		_, _, err := p.PromoteModel(t.Context(), admin, api.ModelsRequest{SiteID: "South", ModelVersion: m.ModelVersion, Reason: "it is the best"})
		return err
	}
	if err := promote(); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a model that is to be promoted: %v", err)
	}
	if err := p.PutPart(t.Context(), m.Artefacts.Model, []byte("another")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a part that may be whole: %v", err)
	}
	files.away.Store(false)
	if _, err := p.Generate(t.Context(), admin, longer); err != nil {
		t.Errorf("once they are back: %v", err)
	}
	p.reopen()
	file := filepath.Join(p.dir, "objects", filepath.FromSlash(m.Artefacts.Model))
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 0x40
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Generate(t.Context(), admin, longer); !errors.Is(err, api.ErrNoModel) {
		t.Errorf("with a damaged model: %v", err)
	}
	p.start()
	var again model.Model
	p.await("another model", func() bool {
		again, err = p.Domain.Models.InProduction(t.Context(), "South", sitedata.ModelType)
		return err == nil
	})
	p.reopen()
	if _, err := p.Generate(t.Context(), admin, longer); err != nil || again.Hash != m.Hash || again.ModelVersion == m.ModelVersion {
		t.Errorf("the same data gave %s %s after %s %s, %v", again.ModelVersion, again.Hash, m.ModelVersion, m.Hash, err)
	}
}

// leaving are objects that cannot be read while they are unavailable.
type leaving struct {
	store.Objects
	away atomic.Bool
}

func (l *leaving) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if l.away.Load() {
		return nil, store.ErrUnavailable
	}
	return l.Objects.Open(ctx, key)
}

// snapshotted looks at the partner's view of site South: the forecast's own
// figures, priced.
func snapshotted(t *testing.T, p *plant) {
	t.Helper()
	if _, err := p.Domain.Sites.SetSite(t.Context(), admin, api.Site{SiteID: "South", Currency: "ZAR", TariffPerKWh: 2}); err != nil {
		t.Fatal(err)
	}
	s, err := p.ForecastSnapshot(t.Context(), admin, "South", 48)
	if err != nil || len(s.Intervals) != 48 || s.ModelID != "sunloop-blend-1.0.0" || s.Currency != "ZAR" || s.Totals.TotalRevenueZAR == nil {
		t.Fatalf("snapshot %+v, %v", s, err)
	}
	g, err := p.Generate(t.Context(), admin, api.ForecastQuery{SiteID: "South", HorizonHours: 48})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, v := range s.Intervals {
		w := g.Forecasts[i]
		if !v.TS.Equal(w.Timestamp.Time) || v.P10KW != w.ConfidenceInterval.Lower || v.P50KW != w.PredictedPowerKW || v.P90KW != w.ConfidenceInterval.Upper || math.Abs(*v.RevenueZAR-2*v.P50KW) > 1e-9 {
			t.Errorf("interval %d is %+v, of %+v", i, v, w)
		}
		sum += v.P50KW
	}
	if math.Abs(s.Totals.TotalKWh-sum) > 0.01 || math.Abs(*s.Totals.TotalRevenue-2*sum) > 0.05 {
		t.Errorf("totals %+v, want %v kWh", s.Totals, sum)
	}
	if _, err := p.ForecastSnapshot(t.Context(), admin, "Nowhere", 24); !errors.Is(err, api.ErrSiteNotFound) {
		t.Errorf("of no site: %v", err)
	}
}
