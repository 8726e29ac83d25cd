package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/engine/simulate"
	"app.sunloop/internal/longtest"
)

// keyMark finds the mark of a site key, as it is stored and as encoders write it.
var keyMark = regexp.MustCompile(`\x1f|\\u001f|\\x1f|\\037|%1[fF]`)

// transcript keeps all that left the service for one reader.
type transcript struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// RoundTrip keeps the head and the body of each answer.
func (s *transcript) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = r.Body.Close()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	fmt.Fprintf(s, "%s %s: %d %v\n%s\n", q.Method, q.URL.Path, r.StatusCode, r.Header, body)
	return r, err
}

// TestTwoCustomersShareASiteID takes a site of the same id, with the same unit, of
// two customers from a file to forecast, detection, work order, webhook and
// partner documents. Each customer receives its own data only, and no key of a
// site leaves the service: not in answers, webhooks, e-mails, log, metrics and the
// output of commands next to the data folder.
func TestTwoCustomersShareASiteID(t *testing.T) {
	longtest.Mark(t)
	dir := filepath.Join(t.TempDir(), "data")
	now := time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	var log transcript
	cfg := backend.Config{DataDir: dir, Now: func() time.Time { return now }, Wall: time.Now, TrainingDays: 20, KeyRate: 100_000, Metrics: true, LogRequests: true,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), WebhookAllow: []string{"127.0.0.1"}, Tick: 10 * time.Millisecond, Settle: time.Millisecond,
		Argon: &argon2id.Params{Memory: 1024, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := backend.New(cfg)
	must(err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	eventually := func(what string, so func() bool) {
		t.Helper()
		for deadline := time.Now().Add(4 * time.Minute); !so(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				text := log.String()
				t.Fatalf("there is no %s; the log ends with\n%s", what, text[max(0, len(text)-3000):])
			}
		}
	}
	reader := func(seen *transcript, customers ...string) *client.Client {
		t.Helper()
		key, _, err := s.Auth().CreateKey(ctx, auth.NewKey{Name: strings.Join(customers, " "), Role: api.RoleAdmin, Customers: customers})
		must(err)
		c := client.New(client.Options{BaseURL: server.URL, Transport: seen, Credential: key})
		t.Cleanup(c.Close)
		return c
	}

	const id = "Roof"
	customers := []string{"acme", "globex"} // the second has the key with a mark
	seen, hooks := map[string]*transcript{}, map[string]*transcript{}
	first := map[string]time.Time{}
	var globex *client.Client
	for i, customer := range customers {
		days := 72 - 4*i // enough for a model
		begin := now.AddDate(0, 0, -days)
		first[customer] = begin
		seen[customer], hooks[customer] = &transcript{}, &transcript{}
		c := reader(seen[customer], customer)
		globex = c
		place := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			fmt.Fprintf(hooks[customer], "%v %s\n", q.Header, body)
		}))
		t.Cleanup(place.Close)

		plant := simulate.Clean(1, begin.AddDate(0, 0, -5), 2).Sites[0]
		plant.SetFaults([]simulate.Fault{{ID: "f", Kind: simulate.UnitOutage, Units: []string{plant.Units[0].AssetID}, From: now.Add(-30 * time.Hour)}})
		var file bytes.Buffer
		must(plant.WriteCSV(&file, begin, now, time.Hour))
		ack, err := c.UploadTrain(ctx, api.UploadRequest{CustomerID: customer, SiteID: id, Region: "eu", Location: "Berlin", Timezone: "Europe/Berlin", Filename: "of-" + customer + ".csv"}, &file, nil)
		must(err)
		var upload *api.Upload
		eventually("end of the upload", func() bool {
			upload, err = c.Upload(ctx, ack.UploadID)
			return err == nil && upload.Ended()
		})
		if upload.Error != "" || len(upload.AssetIDs) != 2 {
			t.Fatalf("the upload of %s: %+v", customer, upload)
		}
		unit, site := plant.Units[0].AssetID, api.SiteRef{SiteID: id}
		eventually("forecast", func() bool {
			f, err := c.Forecast(ctx, api.ForecastQuery{CustomerID: customer, SiteID: id})
			return err == nil && len(f.Forecasts) > 0
		})
		_, err = c.Detect(ctx, api.AssetRef{AssetID: unit, SiteID: id}, 48)
		must(err)
		_, err = c.Diagnose(ctx, api.DiagnoseRequest{Action: api.ActionRun, AssetID: unit})
		must(err)
		eventually("finding", func() bool {
			f, err := c.Findings(ctx, api.ListQuery{CustomerID: customer, SiteID: id})
			return err == nil && f.Count > 0
		})
		_, err = c.CreateIssue(ctx, api.IssuesRequest{Site: id, Component: unit, IssueType: "dust", Description: "Dust for " + customer})
		must(err)
		bill, err := c.GenerateBOM(ctx, api.BOMRequest{AssetID: unit, MaintenanceType: api.MaintenanceCorrective})
		must(err)
		order, err := c.CreateOrder(ctx, api.OrderRequest{CustomerID: customer, BOMID: bill.BOMID})
		must(err)
		_, err = c.Subscribe(ctx, order.OrderID, place.URL)
		must(err)
		_, err = c.MoveOrder(ctx, api.OrderRequest{Action: api.ActionStart, OrderID: order.OrderID, AssignedTechnician: "grace"})
		must(err)
		_, err = c.MoveOrder(ctx, api.OrderRequest{Action: api.ActionComplete, OrderID: order.OrderID, CompletionNotes: "Done for " + customer})
		must(err)
		eventually("webhook", func() bool { return strings.Contains(hooks[customer].String(), "Done for "+customer) })
		_, err = c.CreateSchedule(ctx, api.ScheduleRequest{AssetID: unit, MaintenanceType: api.MaintenancePreventive, ScheduledDate: api.At(now.AddDate(0, 0, 9)), CustomerID: customer, Priority: api.PriorityMedium, Reason: "Service for " + customer})
		must(err)
		eventually("partner document", func() bool {
			_, err := c.KPIRollup(ctx, site)
			return err == nil
		})
		_, err = c.MaintenanceSignals(ctx, api.SignalsQuery{SiteID: id})
		must(err)
		eventually("forecast for partners", func() bool {
			_, err := c.ForecastSnapshot(ctx, site, 48)
			return err == nil
		})
		eventually("plan for partners", func() bool {
			_, err := c.MaintenanceSchedule(ctx, site)
			return err == nil && strings.Contains(seen[customer].String(), "/maintenance")
		})
	}
	all := &transcript{}
	unlimited := reader(all, api.Every)
	lists := func(c *client.Client, of api.ListQuery) {
		t.Helper()
		for name, ask := range map[string]func() error{
			"sites":      func() error { _, err := c.Sites(ctx, api.ListQuery{}); return err },
			"fleet":      func() error { _, err := c.Fleet(ctx, api.ListQuery{}); return err },
			"assets":     func() error { _, err := c.Assets(ctx, of); return err },
			"uploads":    func() error { _, err := c.Uploads(ctx, of); return err },
			"activities": func() error { _, err := c.Activities(ctx, of); return err },
			"alerts":     func() error { _, err := c.Alerts(ctx, of, ""); return err },
			"findings":   func() error { _, err := c.Findings(ctx, of); return err },
			"detections": func() error { _, err := c.Detections(ctx, of); return err },
			"diagnoses":  func() error { _, err := c.Diagnostics(ctx, of); return err },
			"issues":     func() error { _, err := c.Issues(ctx, of); return err },
			"models":     func() error { _, err := c.Models(ctx, of); return err },
			"forecasts":  func() error { _, err := c.StoredForecasts(ctx, of); return err },
			"schedules":  func() error { _, err := c.Schedules(ctx, of, ""); return err },
			"bills":      func() error { _, err := c.BOMs(ctx, of); return err },
			"orders":     func() error { _, err := c.Orders(ctx, of, api.OrderRequest{}); return err },
			"audit":      func() error { _, err := c.Audit(ctx, api.AuditRequest{}); return err },
			"summary": func() error {
				_, err := c.SiteSummary(ctx, api.SiteRef{CustomerID: of.CustomerID, SiteID: id})
				return err
			},
			"latest": func() error {
				_, err := c.Latest(ctx, api.SiteRef{CustomerID: of.CustomerID, SiteID: id})
				return err
			},
			"kpis": func() error {
				_, err := c.KPIs(ctx, api.KPIQuery{CustomerID: of.CustomerID, SiteID: id})
				return err
			},
		} {
			if err := ask(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for i, customer := range customers {
		c := reader(seen[customer], customer)
		lists(c, api.ListQuery{CustomerID: customer, SiteID: id})
		lists(unlimited, api.ListQuery{SiteID: id, CustomerID: customer})
		period, err := c.DataPeriod(ctx, api.SiteRef{SiteID: id}, "")
		must(err)
		if period.FirstRecord == nil || period.FirstRecord.Sub(first[customer]).Abs() > time.Hour {
			t.Errorf("%s has data from %v, not %v", customer, period.FirstRecord, first[customer])
		}
		other := customers[1-i]
		for from, text := range map[string]string{"answers": seen[customer].String(), "webhooks": hooks[customer].String()} {
			if !strings.Contains(text, customer) {
				t.Errorf("%s for %s do not name it", from, customer)
			}
			if at := strings.Index(text, other); at >= 0 {
				t.Errorf("%s for %s speak of %s: …%.200s", from, customer, other, text[max(0, at-100):])
			}
		}
	}
	_, err = unlimited.FreemiumVerify(ctx, "ana@example.org")
	must(err)
	// A model that cannot be read is named in the log.
	stop()
	must(<-ended)
	must(s.Close())
	damaged := 0
	must(filepath.WalkDir(filepath.Join(dir, "objects", "models", "globex"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			damaged++
			err = os.WriteFile(path, []byte("nothing"), 0o600)
		}
		return err
	}))
	if damaged == 0 {
		t.Fatal("the second customer's site has no model")
	}
	s, err = backend.New(cfg)
	must(err)
	server.Config.Handler = s.Handler()
	_, _ = globex.Forecast(t.Context(), api.ForecastQuery{CustomerID: "globex", SiteID: id, HorizonHours: api.MaxHorizonHours}) // longer than the stored forecast, which needs no model
	var metrics bytes.Buffer
	w := httptest.NewRecorder()
	s.Metrics().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	metrics.Write(w.Body.Bytes())
	_, err = unlimited.Log(t.Context(), api.LogRequest{})
	must(err)
	must(s.Close())
	if !strings.Contains(log.String(), "site="+id) {
		t.Error("the log names no site")
	}
	// A job that was given up.
	key := api.SiteKey("globex", id)
	db, err := bolt.Open(dir, bolt.Options{})
	must(err)
	must(db.Update(t.Context(), func(tx store.Tx) error {
		return tx.Enqueue(store.Job{Kind: "detect", Unique: key, RunAt: now.AddDate(-10, 0, 0), MaxAttempts: 1})
	}))
	jobs, err := db.Claim(t.Context(), time.Now().AddDate(10, 0, 0), time.Minute, 100)
	must(err)
	for _, job := range jobs {
		must(db.Settle(t.Context(), job.ID, store.JobResult{Outcome: store.Dead, Cause: fmt.Sprintf("site %s or %q", key, key)}))
	}
	must(db.Close())

	left := map[string]string{"log": log.String(), "metrics": metrics.String(), "answers for all": all.String(), "answers for acme": seen["acme"].String(), "answers for globex": seen["globex"].String(),
		"webhooks for acme": hooks["acme"].String(), "webhooks for globex": hooks["globex"].String()}
	emails, err := filepath.Glob(filepath.Join(dir, "outbox", "*.eml"))
	must(err)
	if len(emails) == 0 {
		t.Error("there is no e-mail")
	}
	for _, name := range emails {
		b, err := os.ReadFile(name)
		must(err)
		left[name] = string(b)
	}
	command := func(want int, args ...string) string {
		t.Helper()
		var out, failed bytes.Buffer
		if got := run(t.Context(), append(args, "--data", dir), streams{out: &out, err: &failed}); got != want {
			t.Errorf("sunloop %s exits with %d, not %d: %s%s", strings.Join(args, " "), got, want, out.String(), failed.String())
		}
		left["sunloop "+strings.Join(args, " ")] = out.String() + failed.String()
		return out.String() + failed.String()
	}
	contains := func(text, want string) {
		t.Helper()
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in %s", want, text)
		}
	}
	contains(command(2, "admin", "key", "create", "any", "--sites", id), "--sites Roof: several customers have a site of this id; name one with --customers (acme, globex)")
	opens := command(0, "admin", "key", "create", "one", "--sites", id, "--customers", "globex")
	contains(command(0, "admin", "key", "list"), "sites Roof; customers globex")
	contains(command(2, "admin", "audit", "--site", id), "--site Roof: several customers have a site of this id; name one with --customer (acme, globex)")
	contains(command(0, "admin", "audit", "--site", id, "--customer", "globex"), "site Roof")
	contains(command(0, "admin", "audit", "--site", id, "--customer", "acme", "--json"), `"site_id":"Roof"`)
	if text := command(0, "admin", "audit", "--site", id, "--customer", "globex", "--json"); strings.Contains(text, "acme") {
		t.Errorf("the audit records of globex speak of acme: %s", text)
	}
	command(0, "admin", "audit", "--limit", "0", "--json")
	contains(command(0, "admin", "job", "list"), "Roof of customer globex")
	command(0, "admin", "job", "list", "--json")
	contains(command(1, "admin", "check"), "of site Roof of customer globex")
	command(1, "admin", "check", "--json")
	backup := filepath.Join(t.TempDir(), "backup")
	command(1, "admin", "backup", backup) // the model is damaged
	for _, name := range []string{"status", "findings", "alerts", "orders", "forecast", "kpi"} {
		for _, more := range [][]string{nil, {"--json"}} {
			var out, failed bytes.Buffer
			run(t.Context(), append(append([]string{name}, more...), "--data", dir), streams{out: &out, err: &failed})
			left["sunloop "+name+strings.Join(more, " ")] = out.String() + failed.String()
		}
	}
	for what, text := range left {
		if at := keyMark.FindStringIndex(text); at != nil {
			t.Errorf("%s have a site key: …%.200s", what, text[max(0, at[0]-100):])
		}
	}
	// The key that was made opens the one site.
	s, err = backend.New(cfg)
	must(err)
	defer s.Close()
	c := client.New(client.Options{Transport: client.InProcess(s.Handler()), Credential: regexp.MustCompile(`opa_\S+`).FindString(opens)})
	defer c.Close()
	sites, err := c.Sites(t.Context(), api.ListQuery{})
	must(err)
	if len(sites.Sites) != 1 || sites.Sites[0].CustomerID != "globex" || sites.Sites[0].SiteID != id {
		t.Errorf("the key opens %+v", sites.Sites)
	}
}
