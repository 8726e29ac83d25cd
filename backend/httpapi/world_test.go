package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"app.sunloop/backend/api"
	"app.sunloop/backend/audit"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/detection"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/maintenance"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/notification"
	"app.sunloop/backend/domain/run"
	"app.sunloop/backend/domain/subscription"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/partner"
	"app.sunloop/backend/pipeline/livedata"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/stream"
	"app.sunloop/engine/series"
)

// clock is a clock that a test turns.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// cheap hashes fast: what a hash costs is tested in auth.
var cheap = argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

const password = "correct horse battery"

// world is the service over a real store, with the records of the domain and
// small stand-ins for what trains, forecasts and detects.
type world struct {
	t             testing.TB
	clock         *clock
	dir           string // of the store
	store         *bolt.Store
	auth          *auth.Service
	changes       *stream.Log
	hub           *stream.Hub
	domain        *domain.Services
	partner       *partner.Service
	work          *maintenance.Service
	uploads       *uploads
	detects       *detector
	box           *mailbox // of the forecasts without an account
	deps          httpapi.Deps
	handler       http.Handler
	keys          map[string]string // name → key in plain
	notifications *notification.Service
	messages      *messages
	events        *subscription.Service
	hooks         *hooks // receives test events
}

// The plants of the tests: two customers who must not see each other.
const (
	ownCustomer, ownSite, ownAsset             = "customer123", "Sibaya", "INV-1000000054495190"
	secondSite, secondAsset                    = "Second Site", "INV-2"
	foreignCustomer, foreignSite, foreignAsset = "other-customer", "Elsewhere", "INV-9"
)

// newCollectors stores points over the records of a world.
func newCollectors(w *world) *livedata.Live {
	return livedata.New(&sitedata.Data{Config: sitedata.Config{Records: w.store, Telemetry: w.store, Domain: w.domain, Now: w.clock.now, Wall: w.clock.now, Logger: slog.New(slog.DiscardHandler)}})
}

func newWorld(t testing.TB, edit func(*httpapi.Deps)) *world {
	t.Helper()
	return newWorldOf(t, edit, ownCustomer, foreignCustomer)
}

// newWorldOf is a world of some of the customers.
func newWorldOf(t testing.TB, edit func(*httpapi.Deps), customers ...string) *world {
	t.Helper()
	w := &world{t: t, clock: &clock{t: time.Date(2025, 10, 2, 10, 0, 0, 0, time.UTC)}, keys: map[string]string{}}
	var err error
	w.dir = t.TempDir()
	if w.store, err = bolt.Open(w.dir, bolt.Options{Now: w.clock.now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	w.auth, err = auth.New(context.Background(), auth.Options{Records: w.store, Key: auth.Key{1}, Now: w.clock.now, Argon: &cheap})
	if err != nil {
		t.Fatal(err)
	}
	w.changes = stream.Watch(w.store, w.store, w.clock.now, func(tx store.Tx, siteID string) (string, error) {
		site, err := w.domain.Sites.SiteIn(tx, api.Unlimited("test"), siteID)
		return site.CustomerID, err
	}, slog.New(slog.DiscardHandler))
	w.hub = stream.NewHub(w.changes, slog.New(slog.DiscardHandler))
	w.domain = domain.New(w.changes, w.changes, w.clock.now)
	if w.partner, err = partner.New(partner.Config{Records: w.store, Domain: w.domain, Now: w.clock.now}); err != nil {
		t.Fatal(err)
	}
	w.uploads = &uploads{now: w.clock.now}
	w.detects = &detector{Service: w.domain.Detections}
	without, box := newFreemium(t, w.store, w.clock.now)
	w.box = box
	w.deps = httpapi.Deps{
		Auth: w.auth, Sites: w.domain.Sites, SiteChanges: siteChanges{w.domain}, Assets: w.domain.Sites, Uploads: w.uploads, Forecasts: forecasts{w.domain.Forecasts}, Findings: w.domain.Findings, Activities: w.domain.Sites,
		Detector: w.detects, Diagnoser: w.domain.Detections, Issues: w.domain.Issues, Alerts: w.domain.Alerts, Models: registry{w.domain.Models, w.store}, Runs: manualRuns{w.domain.Runs, w.store}, Interpolations: fills{w.domain.Models}, Summaries: w.domain.KPIs, KPIs: w.domain.KPIs, Availability: w.domain.Availability, Shifts: w.domain.Shifts, Nowcasts: w.domain.KPIs, Snapshots: w.partner, Freemium: without, Telemetry: w.changes, Streams: w.hub, Collectors: newCollectors(w), Audit: audit.New(w.store, w.clock.now), Records: w.store, Now: w.clock.now, SpoolDir: t.TempDir(),
	}
	w.workDeps()
	if edit != nil {
		edit(&w.deps)
	}
	w.handler = httpapi.New(w.deps)
	w.plants(customers)
	w.key("admin", auth.NewKey{Role: api.RoleAdmin, Sites: []string{"*"}})
	w.key("own", auth.NewKey{Sites: []string{ownSite}})
	w.key("customer", auth.NewKey{Customers: []string{ownCustomer}})
	return w
}

func (w *world) plants(customers []string) {
	ctx, all := context.Background(), api.Unlimited("test")
	for _, s := range []api.Site{
		{SiteID: ownSite, CustomerID: ownCustomer, Name: "Sibaya", Timezone: "Africa/Johannesburg", CapacityKW: 100},
		{SiteID: secondSite, CustomerID: ownCustomer, Name: "Second", Timezone: "Africa/Johannesburg", CapacityKW: 50},
		{SiteID: foreignSite, CustomerID: foreignCustomer, Name: "Secret name", Timezone: "Europe/Berlin", CapacityKW: 70},
	} {
		if !slices.Contains(customers, s.CustomerID) {
			continue
		}
		if _, err := w.domain.Sites.SetSite(ctx, all, s); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, a := range []api.Asset{
		{AssetID: ownAsset, SiteID: ownSite, CustomerID: ownCustomer, Name: "Inverter 1", Type: "inverter", CapacityKW: 50, Location: "roof"},
		{AssetID: secondAsset, SiteID: secondSite, CustomerID: ownCustomer, Name: "Inverter 2", Type: "inverter", CapacityKW: 50, Location: "roof"},
		{AssetID: foreignAsset, SiteID: foreignSite, CustomerID: foreignCustomer, Name: "Secret name", Type: "inverter", CapacityKW: 50, Location: "roof"},
	} {
		if !slices.Contains(customers, a.CustomerID) {
			continue
		}
		if _, err := w.domain.Sites.AddAsset(ctx, all, a); err != nil {
			w.t.Fatal(err)
		}
	}
}

// measure stores a day of 5-minute telemetry from 00:00 of the site's zone.
func (w *world) measure(siteID, assetID, zone string, day time.Time, n int) {
	w.t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		w.t.Fatal(err)
	}
	f := series.Frame{}
	var power, temp, code []float64
	for i := range n {
		f.Times = append(f.Times, day.Unix()+int64(i)*300)
		power = append(power, math.Round(1000*40*math.Max(0, math.Sin(float64(i)/288*2*math.Pi-math.Pi/2)))/1000)
		temp = append(temp, 20+float64(i%7)/10)
		code = append(code, 0)
	}
	f.Set(series.PowerKW, power)
	f.Set(series.TemperatureC, temp)
	f.Set(series.ErrorCode, code)
	err = w.store.Append(context.Background(), store.SiteKey{ID: siteID, Zone: loc}, []store.AssetFrame{{AssetID: assetID, Frame: f}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) key(name string, n auth.NewKey) string {
	w.t.Helper()
	n.Name = name
	plain, _, err := w.auth.CreateKey(context.Background(), n)
	if err != nil {
		w.t.Fatal(err)
	}
	w.keys[name] = plain
	return plain
}

// user makes a user and answers a token.
func (w *world) user(name, role string, customers ...string) string {
	w.t.Helper()
	ctx := context.Background()
	if _, err := w.auth.CreateUser(ctx, auth.NewUser{Username: name, Password: password, Role: role, Customers: customers}); err != nil {
		w.t.Fatal(err)
	}
	r, err := w.auth.Login(ctx, name, password, "192.0.2.1")
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Token
}

// ask sends a request straight to the handler, and holds the answer against
// the OpenAPI document. Headers are names and values in turn.
func (w *world) ask(method, url, body string, headers ...string) *httptest.ResponseRecorder {
	q := httptest.NewRequest(method, url, strings.NewReader(body))
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	r := httptest.NewRecorder()
	w.handler.ServeHTTP(r, q)
	if err := document().conforms(q, body, r); err != nil {
		w.t.Errorf("%s %s: HTTP %d is not as the OpenAPI document has it: %v", method, url, r.Code, err)
	}
	return r
}

func (w *world) as(key, method, url, body string, headers ...string) *httptest.ResponseRecorder {
	return w.ask(method, url, body, append([]string{"Authorization", "Bearer " + w.keys[key]}, headers...)...)
}

// formOf writes a form in the order of names and values; the field file is a
// file.
func formOf(namesAndValues ...string) (body, contentType string) {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		var part io.Writer
		var err error
		if namesAndValues[i] == "file" {
			part, err = m.CreateFormFile("file", "data.csv")
		} else {
			part, err = m.CreateFormField(namesAndValues[i])
		}
		if err == nil {
			_, err = io.WriteString(part, namesAndValues[i+1])
		}
		if err != nil {
			panic(err)
		}
	}
	if err := m.Close(); err != nil {
		panic(err)
	}
	return b.String(), m.FormDataContentType()
}

// siteChanges archives sites; other changes it only acknowledges.
type siteChanges struct{ domain *domain.Services }

func (c siteChanges) Archive(ctx context.Context, scope api.Scope, siteID string) (before, after api.Site, err error) {
	return c.domain.Sites.ArchiveSite(ctx, scope, siteID, func(tx store.Tx, siteID string) (bool, error) {
		open, err := c.domain.Uploads.Open(tx, siteID)
		return len(open) > 0, err
	})
}

func (c siteChanges) EffectsOfRemoval(context.Context, api.Scope, string) (api.SiteEffects, error) {
	return api.SiteEffects{}, nil
}

func (c siteChanges) Remove(ctx context.Context, scope api.Scope, siteID string) (api.Site, error) {
	return c.domain.Sites.Site(ctx, scope, siteID)
}

func (c siteChanges) EffectsOfZone(context.Context, api.Scope, string, string) (api.SiteEffects, error) {
	return api.SiteEffects{}, nil
}

func (c siteChanges) Zone(ctx context.Context, scope api.Scope, siteID, _ string) (api.Site, error) {
	return c.domain.Sites.Site(ctx, scope, siteID)
}

func (c siteChanges) EffectsOfMerge(context.Context, api.Scope, string, string, string) (api.SiteEffects, error) {
	return api.SiteEffects{}, nil
}

func (c siteChanges) Merge(ctx context.Context, scope api.Scope, siteID, _, _ string) (api.Site, error) {
	return c.domain.Sites.Site(ctx, scope, siteID)
}

// uploads keeps what came in, in memory.
type uploads struct {
	now  func() time.Time
	mu   sync.Mutex
	list []api.Upload
	file []byte
	reqs []api.UploadRequest

	refused []api.UploadRequest
	senders map[string]string // by upload
}

func (u *uploads) Upload(_ context.Context, scope api.Scope, req api.UploadRequest, file io.Reader) (api.UploadAck, error) {
	b, err := io.ReadAll(file)
	if err != nil {
		return api.UploadAck{}, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.file = b
	return u.add(scope, req)
}

func (u *uploads) CreateSession(_ context.Context, scope api.Scope, r api.UploadSessionRequest) (api.UploadSession, error) {
	return api.UploadSession{SessionID: "ups_1", CustomerID: r.CustomerID, SiteID: r.SiteID, Size: r.Size}, scope.Check(r.CustomerID, r.SiteID)
}

func (u *uploads) Session(context.Context, api.Scope, string) (api.UploadSession, error) {
	return api.UploadSession{}, api.ErrSessionNotFound
}

func (u *uploads) AddPart(context.Context, api.Scope, string, int64, int64, []byte, io.Reader) (api.UploadSession, error) {
	return api.UploadSession{}, api.ErrSessionNotFound
}

func (u *uploads) FinishSession(context.Context, api.Scope, string, string) (api.UploadAck, error) {
	return api.UploadAck{}, api.ErrSessionNotFound
}

func (u *uploads) CancelSession(context.Context, api.Scope, string) (api.UploadAck, error) {
	return api.UploadAck{}, api.ErrSessionNotFound
}

func (u *uploads) add(scope api.Scope, req api.UploadRequest) (api.UploadAck, error) {
	if err := scope.Check(req.CustomerID, req.SiteID); err != nil {
		return api.UploadAck{}, err
	}
	u.reqs = append(u.reqs, req)
	up := api.Upload{UploadID: fmt.Sprintf("upl_%d", len(u.list)+1), Kind: req.Kind, CustomerID: req.CustomerID, SiteID: req.SiteID, ProcessingStatus: api.UploadQueued}
	u.list = append(u.list, up)
	if u.senders == nil {
		u.senders = map[string]string{}
	}
	u.senders[up.UploadID] = scope.Sender()
	return api.UploadAck{Status: "success", Message: "Upload accepted", S3Path: "file:///" + req.SiteID, ProcessingStatus: api.UploadQueued, UploadID: up.UploadID}, nil
}

func (u *uploads) Import(_ context.Context, scope api.Scope, req api.UploadRequest) (api.UploadAck, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.add(scope, req)
}

func (u *uploads) Refuse(_ context.Context, scope api.Scope, req api.UploadRequest, refusal *api.Error) error {
	if err := scope.Check(req.CustomerID, req.SiteID); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refused = append(u.refused, req)
	return refusal.With("upload_id", fmt.Sprintf("upl_r%d", len(u.refused)))
}

func (u *uploads) Find(_ context.Context, scope api.Scope, id string) (api.Upload, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, up := range u.list {
		if up.UploadID == id {
			if scope.OwnUploads && u.senders[id] != scope.Sender() {
				return api.Upload{}, api.ErrForbidden
			}
			return up, scope.Check(up.CustomerID, up.SiteID)
		}
	}
	return api.Upload{}, api.ErrUploadNotFound
}

func (u *uploads) Cancel(ctx context.Context, scope api.Scope, id string) (api.Upload, error) {
	up, err := u.Find(ctx, scope, id)
	up.ProcessingStatus = api.UploadFailed
	return up, err
}

func (u *uploads) Revert(ctx context.Context, scope api.Scope, id string) (api.Upload, error) {
	up, err := u.Find(ctx, scope, id)
	up.ProcessingStatus = api.UploadReverted
	return up, err
}

func (u *uploads) Inspect(_ context.Context, scope api.Scope, req api.UploadRequest, _ io.Reader) (api.Inspection, error) {
	return api.Inspection{Accept: true, Mapping: req.Mapping}, scope.Check(req.CustomerID, req.SiteID)
}

func (u *uploads) Uploads(_ context.Context, scope api.Scope, q api.ListQuery) ([]api.Upload, string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	var list []api.Upload
	for _, up := range u.list {
		if scope.Allows(up.CustomerID, up.SiteID) && (q.SiteID == "" || q.SiteID == up.SiteID) {
			list = append(list, up)
		}
	}
	return list, "", nil
}

// forecasts answers with what it was asked.
type forecasts struct{ *forecast.Service }

func (forecasts) Generate(_ context.Context, _ api.Scope, q api.ForecastQuery) (api.GeneratedForecast, error) {
	if q.SiteID == secondSite {
		return api.GeneratedForecast{}, api.ErrNoModel
	}
	return api.GeneratedForecast{ForecastID: "fc_1", CustomerID: q.CustomerID, SiteID: q.SiteID, HorizonHours: q.HorizonHours, Forecasts: []api.ForecastValue{}}, nil
}

func (f forecasts) GenerateCustomer(ctx context.Context, scope api.Scope, q api.ForecastQuery) (func(func(func([]byte) ([]byte, error)) error) error, error) {
	g, err := f.Generate(ctx, scope, q)
	return func(piece func(func([]byte) ([]byte, error)) error) error {
		return piece(func(b []byte) ([]byte, error) {
			text, err := json.Marshal(g)
			return append(append(b, text...), '\n'), err
		})
	}, err
}

func (forecasts) Energy(_ context.Context, _ api.Scope, r api.EnergyForecastRequest) (api.EnergyForecast, error) {
	if r.SiteID == "boom" {
		panic("boom")
	}
	return api.EnergyForecast{Success: true, SiteID: r.SiteID, Forecasts: []api.EnergyForecastValue{{HourAhead: r.ForecastHours}}}, nil
}

func (forecasts) ForecastSnapshot(_ context.Context, _ api.Scope, siteID string, hours int) (api.ForecastSnapshot, error) {
	if siteID == secondSite {
		return api.ForecastSnapshot{}, api.ErrNotFound
	}
	return api.ForecastSnapshot{SiteID: siteID, HorizonHours: hours, Intervals: []api.SnapshotInterval{}}, nil
}

// detector counts its runs.
type detector struct {
	*detection.Service
	mu   sync.Mutex
	runs int
	hold chan struct{} // when set, a run waits for it
	fail error
}

func (d *detector) Detect(_ context.Context, _ api.Scope, ref api.AssetRef, _ int) (api.Detection, error) {
	if d.hold != nil {
		<-d.hold
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return api.Detection{}, d.fail
	}
	d.runs++
	return api.Detection{DetectionID: fmt.Sprintf("det_%d", d.runs), AssetID: ref.AssetID, Status: "completed"}, nil
}

// registry moves models without a look at their artefacts.
// fills are runs without values.
type fills struct{ *model.Service }

func (f fills) Gaps(ctx context.Context, scope api.Scope, resultID string, q api.ListQuery) (api.GapsResponse, error) {
	runs, _, err := f.Interpolations(ctx, scope, q)
	if err != nil {
		return api.GapsResponse{}, err
	}
	return api.GapsResponse{Success: true, ResultID: runs[0].ResultID, SiteID: runs[0].SiteID, Gaps: []api.FilledGap{}}, nil
}

type registry struct {
	*model.Service
	records store.Records
}

// manualRuns does no work: each run ends at once.
type manualRuns struct {
	*run.Service
	records store.Records
}

func (m manualRuns) StartRun(ctx context.Context, scope api.Scope, r api.RunsRequest) (out api.ManualRun, err error) {
	err = m.records.Update(ctx, func(tx store.Tx) error {
		is, err := m.Add(tx, scope, run.Run{SiteID: r.SiteID, Kind: r.Kind, From: r.From.Time, To: r.To.Time})
		if err != nil {
			return err
		}
		out = is.Wire()
		return m.End(tx, is, api.RunCompleted, "Nothing was done.")
	})
	return out, err
}

func (m manualRuns) ManualRuns(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.ManualRun, string, error) {
	return m.List(ctx, scope, q)
}

func (r registry) EvaluateModel(ctx context.Context, scope api.Scope, q api.ModelsRequest) (api.Model, error) {
	m, err := r.Find(ctx, scope, q.SiteID, api.ModelForecasting, q.ModelVersion)
	if err != nil {
		return api.Model{}, err
	}
	err = r.records.Update(ctx, func(tx store.Tx) error {
		m, err = r.Service.SetEvaluation(tx, m, api.ModelEvaluation{Against: "1.0.0", Verdict: "its loss is higher"})
		return err
	})
	return m.Model, err
}

func (r registry) PromoteModel(ctx context.Context, scope api.Scope, q api.ModelsRequest) (api.Model, string, error) {
	if err := model.CheckReason(q.Reason); err != nil {
		return api.Model{}, "", err
	}
	m, err := r.Find(ctx, scope, q.SiteID, api.ModelForecasting, q.ModelVersion)
	if err != nil {
		return api.Model{}, "", err
	}
	former := ""
	err = r.records.Update(ctx, func(tx store.Tx) error {
		done, err := r.Service.Promote(tx, m, scope.Actor, q.Reason, q.Force)
		if m = done.Model; done.Former != nil {
			former = done.Former.ModelVersion
		}
		return err
	})
	return m.Model, former, err
}

func (r registry) RollbackModel(ctx context.Context, scope api.Scope, q api.ModelsRequest) (api.Model, string, error) {
	var done model.Promotion
	err := r.records.Update(ctx, func(tx store.Tx) error {
		var err error
		done, err = r.Service.Rollback(tx, q.SiteID, api.ModelForecasting, q.ModelVersion, scope.Actor, q.Reason)
		return err
	})
	if err != nil {
		return api.Model{}, "", err
	}
	return done.Model.Model, done.Former.ModelVersion, nil
}

func (r registry) ModelHistory(ctx context.Context, scope api.Scope, q api.ModelsRequest) ([]api.ModelMove, string, error) {
	return r.Service.History(ctx, scope, q.SiteID, api.ModelForecasting, q.ModelVersion, q.Page)
}
