package client_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler answers by a function and keeps the last request.
func handler(f func(w http.ResponseWriter, r *http.Request)) http.Handler { return http.HandlerFunc(f) }

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// both runs a test over the in-process transport and over a network.
func both(t *testing.T, h http.Handler, f func(t *testing.T, c *client.Client)) {
	t.Run("in process", func(t *testing.T) {
		c := client.New(client.Options{Transport: client.InProcess(h), Credential: "key"})
		defer c.Close()
		f(t, c)
	})
	t.Run("network", func(t *testing.T) {
		s := httptest.NewServer(h)
		defer s.Close()
		c := client.New(client.Options{BaseURL: s.URL + "/", Credential: "key", UserAgent: "sunloop/test"})
		defer c.Close()
		f(t, c)
	})
}

// TestCalls: each call sends what the contract asks for.
func TestCalls(t *testing.T) {
	ctx := context.Background()
	at := api.At(time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC))
	theirs := api.SiteRef{CustomerID: "c", SiteID: "s"}
	for _, c := range []struct {
		name string
		call func(*client.Client) error
		want string // method, URL and body
	}{
		{"forecast", func(c *client.Client) error {
			_, err := c.Forecast(ctx, api.ForecastQuery{CustomerID: "c 1", SiteID: "s", HorizonHours: 72, PastDays: 2})
			return err
		}, "GET /forecast?customer_id=c+1&horizon_hours=72&past_days=2&site_id=s "},
		{"energy forecast", func(c *client.Client) error {
			_, err := c.EnergyForecast(ctx, api.EnergyForecastRequest{SiteID: "s", ForecastHours: 3})
			return err
		}, `POST /forecast {"site_id":"s","forecast_hours":3}`},
		{"import", func(c *client.Client) error {
			_, err := c.Import(ctx, api.UploadRequest{CustomerID: "c", SiteID: "s", Region: "r", Location: "l", S3Path: "s3://b/k.csv", Kind: api.UploadNowcast})
			return err
		}, `POST /upload_nowcast {"customer_id":"c","site_id":"s","region":"r","location":"l","s3_path":"s3://b/k.csv"}`},
		{"cancel an upload", func(c *client.Client) error { _, err := c.CancelUpload(ctx, "upl_1"); return err }, `POST /uploads/upl_1 {"action":"cancel"}`},
		{"forecast snapshot", func(c *client.Client) error {
			_, err := c.ForecastSnapshot(ctx, api.SiteRef{SiteID: "s 1"}, 48)
			return err
		}, "GET /forecast-snapshot?horizon=48h&site_id=s+1 "},
		{"KPI rollup", func(c *client.Client) error { _, err := c.KPIRollup(ctx, api.SiteRef{SiteID: "s 1"}); return err }, "GET /kpi-rollup?site_id=s+1 "},
		{"signals", func(c *client.Client) error {
			_, err := c.MaintenanceSignals(ctx, api.SignalsQuery{SiteID: "s", Since: at, Severity: api.PartnerHigh})
			return err
		}, "GET /maintenance-signals?severity=High&since=2025-10-01T00%3A00%3A00Z&site_id=s "},
		{"all signals", func(c *client.Client) error {
			_, err := c.MaintenanceSignals(ctx, api.SignalsQuery{SiteID: "s"})
			return err
		}, "GET /maintenance-signals?site_id=s "},
		{"maintenance schedule", func(c *client.Client) error {
			_, err := c.MaintenanceSchedule(ctx, api.SiteRef{SiteID: "s"})
			return err
		}, "GET /maintenance-schedule?site_id=s "},
		{"snapshot", func(c *client.Client) error {
			_, err := c.Snapshot(ctx, api.SiteRef{SiteID: "s"}, api.SnapshotKPIs)
			return err
		}, "GET /snapshot?kind=kpi-rollup&site_id=s "},
		{"site of a customer", func(c *client.Client) error { _, err := c.Site(ctx, theirs); return err }, `POST /terminal/sites {"action":"get","customer_id":"c","site_id":"s"}`},
		{"summary of a customer's site", func(c *client.Client) error { _, err := c.SiteSummary(ctx, theirs); return err }, `POST /terminal/telemetry {"action":"site-summary","site_id":"s","customer_id":"c"}`},
		{"latest of a customer's site", func(c *client.Client) error { _, err := c.Latest(ctx, theirs); return err }, "GET /telemetry/latest?customer_id=c&site_id=s "},
		{"data period of a customer's site", func(c *client.Client) error { _, err := c.DataPeriod(ctx, theirs, "a"); return err }, "GET /telemetry/data-period?asset_id=a&customer_id=c&site_id=s "},
		{"alert period of a customer's site", func(c *client.Client) error { _, err := c.AlertPeriod(ctx, theirs, "T"); return err }, "GET /ooda/data-period?customer_id=c&site_id=s&terminal_device_id=T "},
		{"rollup of a customer's site", func(c *client.Client) error { _, err := c.KPIRollup(ctx, theirs); return err }, "GET /kpi-rollup?customer_id=c&site_id=s "},
		{"schedule of a customer's site", func(c *client.Client) error { _, err := c.MaintenanceSchedule(ctx, theirs); return err }, "GET /maintenance-schedule?customer_id=c&site_id=s "},
		{"snapshot of a customer's site", func(c *client.Client) error { _, err := c.Snapshot(ctx, theirs, api.SnapshotKPIs); return err }, "GET /snapshot?customer_id=c&kind=kpi-rollup&site_id=s "},
		{"forecast snapshot of a customer's site", func(c *client.Client) error { _, err := c.ForecastSnapshot(ctx, theirs, 48); return err }, "GET /forecast-snapshot?customer_id=c&horizon=48h&site_id=s "},
		{"signals of a customer's site", func(c *client.Client) error {
			_, err := c.MaintenanceSignals(ctx, api.SignalsQuery{CustomerID: "c", SiteID: "s"})
			return err
		}, "GET /maintenance-signals?customer_id=c&site_id=s "},
		{"figures of a customer's site", func(c *client.Client) error {
			_, err := c.KPIs(ctx, api.KPIQuery{CustomerID: "c", SiteID: "s"})
			return err
		}, "GET /sites/s/kpis?customer_id=c "},
		{"records of a customer's site", func(c *client.Client) error {
			_, err := c.SiteRecords(ctx, api.RecordsQuery{CustomerID: "c", SiteID: "s", Start: at, End: at})
			return err
		}, "GET /telemetry/site?customer_id=c&end=2025-10-01T00%3A00%3A00Z&limit=1000&site_id=s&start=2025-10-01T00%3A00%3A00Z "},
		{"alerts of a customer's site", func(c *client.Client) error {
			_, err := c.SiteAlerts(ctx, api.AlertsQuery{CustomerID: "c", SiteID: "s", Start: at, End: at})
			return err
		}, "GET /ooda/site?customer_id=c&end=2025-10-01T00%3A00%3A00Z&limit=1000&site_id=s&start=2025-10-01T00%3A00%3A00Z "},
		{"nowcast", func(c *client.Client) error {
			_, err := c.Nowcast(ctx, api.NowcastRequest{CustomerID: "c", TimeRange: api.Range6h, AssetFilter: []string{"a"}})
			return err
		}, `POST /terminal/nowcastUI {"action":"list","customer_id":"c","time_range":"6h","asset_filter":["a"]}`},
		{"alert health", func(c *client.Client) error {
			_, err := c.AlertHealth(ctx, api.ListQuery{SiteID: "s"})
			return err
		}, `POST /terminal/alerts {"action":"health","site_id":"s"}`},
		{"accuracy", func(c *client.Client) error {
			_, err := c.Accuracy(ctx, api.AccuracyRequest{CustomerID: "c", Days: 7})
			return err
		}, `POST /terminal/forecast {"action":"accuracy","customer_id":"c","days":7}`},
		{"gaps", func(c *client.Client) error {
			_, err := c.Gaps(ctx, api.ListQuery{CustomerID: "c"}, "int-1")
			return err
		}, `POST /terminal/interpolation {"action":"gaps","customer_id":"c","result_id":"int-1"}`},
		{"evaluate a model", func(c *client.Client) error {
			_, err := c.EvaluateModel(ctx, api.ModelsRequest{SiteID: "s"})
			return err
		}, `POST /terminal/ml-models {"action":"evaluate","site_id":"s"}`},
		{"promote a model", func(c *client.Client) error {
			_, err := c.PromoteModel(ctx, api.ModelsRequest{SiteID: "s", ModelVersion: "2.0.0", Reason: "seen to be better", Force: true})
			return err
		}, `POST /terminal/ml-models {"action":"promote","site_id":"s","model_version":"2.0.0","reason":"seen to be better","force":true}`},
		{"roll back", func(c *client.Client) error {
			_, err := c.RollbackModel(ctx, api.ModelsRequest{SiteID: "s", ModelType: "interpolation", Reason: "the new one is biased"})
			return err
		}, `POST /terminal/ml-models {"action":"rollback","site_id":"s","model_type":"interpolation","reason":"the new one is biased"}`},
		{"history of models", func(c *client.Client) error {
			_, err := c.ModelHistory(ctx, api.ModelsRequest{SiteID: "s", Page: api.Page{Limit: 5}})
			return err
		}, `POST /terminal/ml-models {"action":"history","site_id":"s","limit":5}`},
		{"data period", func(c *client.Client) error { _, err := c.DataPeriod(ctx, api.SiteRef{SiteID: "s"}, ""); return err }, "GET /telemetry/data-period?site_id=s "},
		{"inverter", func(c *client.Client) error {
			_, err := c.Inverter(ctx, api.RecordsQuery{AssetID: "a", SiteID: "s", Start: at, End: at, Resolution: "daily", Limit: 5, Cursor: "x"})
			return err
		}, "GET /telemetry/inverter?asset_id=a&cursor=x&end=2025-10-01T00%3A00%3A00Z&limit=5&resolution=daily&site_id=s&start=2025-10-01T00%3A00%3A00Z "},
		{"site records", func(c *client.Client) error {
			_, err := c.SiteRecords(ctx, api.RecordsQuery{AssetID: "ignored", SiteID: "s", Start: at, End: at})
			return err
		}, "GET /telemetry/site?end=2025-10-01T00%3A00%3A00Z&limit=1000&site_id=s&start=2025-10-01T00%3A00%3A00Z "},
		{"latest", func(c *client.Client) error { _, err := c.Latest(ctx, api.SiteRef{SiteID: "s"}); return err }, "GET /telemetry/latest?site_id=s "},
		{"sites", func(c *client.Client) error { _, err := c.Sites(ctx, api.ListQuery{CustomerID: "c"}); return err }, `POST /terminal/sites {"action":"list","customer_id":"c"}`},
		{"site", func(c *client.Client) error { _, err := c.Site(ctx, api.SiteRef{SiteID: "s"}); return err }, `POST /terminal/sites {"action":"get","site_id":"s"}`},
		{"assets", func(c *client.Client) error {
			_, err := c.Assets(ctx, api.ListQuery{SiteID: "s", Page: api.Page{Limit: 7}})
			return err
		}, `POST /terminal/assets {"action":"list","asset_id":"","name":"","type":"","capacity_kw":0,"location":"","site_id":"s","limit":7}`},
		{"stored forecasts", func(c *client.Client) error {
			_, err := c.StoredForecasts(ctx, api.ListQuery{CustomerID: "c"})
			return err
		}, `POST /terminal/forecast {"action":"list","customer_id":"c"}`},
		{"findings", func(c *client.Client) error { _, err := c.Findings(ctx, api.ListQuery{CustomerID: "c"}); return err }, `POST /terminal/ooda {"action":"list","customer_id":"c"}`},
		{"models", func(c *client.Client) error { _, err := c.Models(ctx, api.ListQuery{}); return err }, `POST /terminal/ml-models {"action":"list"}`},
		{"detect", func(c *client.Client) error { _, err := c.Detect(ctx, api.AssetRef{AssetID: "a"}, 24); return err }, `POST /terminal/detect {"action":"run","asset_id":"a","lookback_hours":24}`},
		{"detections", func(c *client.Client) error { _, err := c.Detections(ctx, api.ListQuery{AssetID: "a"}); return err }, `POST /terminal/detections {"action":"list","asset_id":"a"}`},
		{"diagnose", func(c *client.Client) error {
			_, err := c.Diagnose(ctx, api.DiagnoseRequest{AssetID: "a", DetectionID: "det_1"})
			return err
		}, `POST /terminal/diagnose {"action":"run","asset_id":"a","detection_id":"det_1"}`},
		{"diagnostics", func(c *client.Client) error {
			_, err := c.Diagnostics(ctx, api.ListQuery{AssetID: "a"})
			return err
		}, `POST /terminal/diagnostics {"action":"list","asset_id":"a"}`},
		{"issues", func(c *client.Client) error { _, err := c.Issues(ctx, api.ListQuery{SiteID: "s"}); return err }, `POST /terminal/issues {"action":"list","site_id":"s"}`},
		{"create issue", func(c *client.Client) error {
			_, err := c.CreateIssue(ctx, api.IssuesRequest{Site: "s", Component: "roof"})
			return err
		}, `POST /terminal/issues {"action":"create","site":"s","component":"roof"}`},
		{"acknowledge issue", func(c *client.Client) error { _, err := c.AcknowledgeIssue(ctx, "i", ""); return err }, `POST /terminal/issues {"action":"acknowledge","issue_id":"i"}`},
		{"resolve issue", func(c *client.Client) error { _, err := c.ResolveIssue(ctx, "i", "done"); return err }, `POST /terminal/issues {"action":"resolve","issue_id":"i","reason":"done"}`},
		{"site summary", func(c *client.Client) error { _, err := c.SiteSummary(ctx, api.SiteRef{SiteID: "s"}); return err }, `POST /terminal/telemetry {"action":"site-summary","site_id":"s"}`},
		{"activities", func(c *client.Client) error {
			_, err := c.Activities(ctx, api.ListQuery{SiteID: "s"})
			return err
		}, `POST /terminal/activities {"action":"list","site_id":"s"}`},
		{"upload state", func(c *client.Client) error { _, err := c.Upload(ctx, "upl/../1"); return err }, "GET /uploads/upl%2F..%2F1 "},
		{"uploads", func(c *client.Client) error { _, err := c.Uploads(ctx, api.ListQuery{SiteID: "s"}); return err }, "GET /uploads?site_id=s "},
		{"health", func(c *client.Client) error { return c.Health(ctx) }, "GET /healthz "},
		{"exchange", func(c *client.Client) error {
			_, err := c.Exchange(ctx, api.ExchangeRequest{Provider: "company", ExternalToken: "e.y.J"})
			return err
		}, `POST /api/auth/exchange {"external_token":"e.y.J","provider":"company"}`},
		{"key set", func(c *client.Client) error { _, err := c.KeySet(ctx); return err }, "GET /.well-known/jwks.json "},
		{"users", func(c *client.Client) error { _, err := c.Users(ctx, api.ListQuery{CustomerID: "c"}); return err }, `POST /terminal/users {"action":"list","customer_id":"c"}`},
		{"user", func(c *client.Client) error { _, err := c.User(ctx, "usr_1"); return err }, `POST /terminal/users {"action":"get","user_id":"usr_1"}`},
		{"add a user", func(c *client.Client) error {
			_, err := c.AddUser(ctx, api.UsersRequest{Username: "ana", Password: "p", RoleID: api.RoleAnalyst, CustomerIDs: []string{"c"}})
			return err
		}, `POST /terminal/users {"action":"add","username":"ana","password":"p","role_id":"role_analyst","customer_ids":["c"]}`},
		{"keep a user out", func(c *client.Client) error {
			_, err := c.SetUser(ctx, api.UsersRequest{UserID: "usr_1", Active: new(false)})
			return err
		}, `POST /terminal/users {"action":"set","user_id":"usr_1","active":false}`},
		{"reset a password", func(c *client.Client) error { _, err := c.ResetPassword(ctx, "usr_1", "p"); return err }, `POST /terminal/users {"action":"reset-password","user_id":"usr_1","password":"p"}`},
		{"reset an authenticator", func(c *client.Client) error { _, err := c.ResetMFA(ctx, "usr_1"); return err }, `POST /terminal/users {"action":"reset-mfa","user_id":"usr_1"}`},
		{"unlink a user", func(c *client.Client) error { _, err := c.UnlinkUser(ctx, "usr_1"); return err }, `POST /terminal/users {"action":"unlink","user_id":"usr_1"}`},
		{"delete a user", func(c *client.Client) error { _, err := c.DeleteUser(ctx, "usr_1"); return err }, `POST /terminal/users {"action":"delete","user_id":"usr_1"}`},
		{"keys", func(c *client.Client) error { _, err := c.Keys(ctx, api.ListQuery{}); return err }, `POST /terminal/keys {"action":"list"}`},
		{"key", func(c *client.Client) error { _, err := c.Key(ctx, "key_1"); return err }, `POST /terminal/keys {"action":"get","api_key_id":"key_1"}`},
		{"create a key", func(c *client.Client) error {
			_, err := c.CreateKey(ctx, api.KeysRequest{Name: "n", PermittedSiteIDs: []string{"s"}, ExpiresAt: at})
			return err
		}, `POST /terminal/keys {"action":"create","name":"n","permitted_site_ids":["s"],"expires_at":"2025-10-01T00:00:00Z"}`},
		{"rotate a key", func(c *client.Client) error {
			_, err := c.RotateKey(ctx, api.KeysRequest{APIKeyID: "key_1", OverlapHours: new(0)})
			return err
		}, `POST /terminal/keys {"action":"rotate","api_key_id":"key_1","overlap_hours":0}`},
		{"revoke a key", func(c *client.Client) error { _, err := c.RevokeKey(ctx, "key_1"); return err }, `POST /terminal/keys {"action":"revoke","api_key_id":"key_1"}`},
		{"audit", func(c *client.Client) error {
			_, err := c.Audit(ctx, api.AuditRequest{SiteID: "s", Actor: "ana", From: at, Page: api.Page{Limit: 5}})
			return err
		}, `POST /terminal/audit {"action":"list","site_id":"s","actor":"ana","from":"2025-10-01T00:00:00Z","limit":5}`},
		{"setup status", func(c *client.Client) error { _, err := c.SetupStatus(ctx); return err }, "GET /api/auth/setup "},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			cl := client.New(client.Options{Credential: "key", Transport: client.InProcess(handler(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				got = r.Method + " " + r.RequestURI + " " + strings.TrimSpace(string(b))
				writeJSON(w, 200, map[string]any{"success": true})
			}))})
			if err := c.call(cl); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("sent %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	both(t, handler(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("site_id") {
		case "rate":
			w.Header().Set("Retry-After", "17")
			writeJSON(w, 429, api.ErrorBody{Status: "error", Error: "Too many requests", RequestID: "req_1"})
		case "proxy":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>bad gateway</html>")
		case "moved":
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
		case "garbage":
			_, _ = io.WriteString(w, "not json")
		case "large":
			for range client.MaxResponseBytes>>20 + 1 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}
	}), func(t *testing.T, c *client.Client) {
		ctx := context.Background()
		var refused *api.Error
		_, err := c.DataPeriod(ctx, api.SiteRef{SiteID: "rate"}, "")
		if !errors.As(err, &refused) || !errors.Is(err, api.ErrTooManyRequests) || refused.RetryAfter != 17 || refused.RequestID != "req_1" {
			t.Errorf("429: %#v", err)
		}
		_, err = c.DataPeriod(ctx, api.SiteRef{SiteID: "proxy"}, "")
		if !errors.As(err, &refused) || refused.Status != 502 || refused.Message != "Bad Gateway" {
			t.Errorf("502: %v", err)
		}
		_, err = c.DataPeriod(ctx, api.SiteRef{SiteID: "moved"}, "")
		if !errors.As(err, &refused) || refused.Status != 302 {
			t.Errorf("a redirect was followed: %v", err)
		}
		for _, site := range []string{"garbage", "large"} {
			if _, err = c.DataPeriod(ctx, api.SiteRef{SiteID: site}, ""); err == nil || errors.As(err, &refused) {
				t.Errorf("%s: %v", site, err)
			}
		}
	})
}

func TestConditionalReads(t *testing.T) {
	var version atomic.Int32
	var full atomic.Int32
	both(t, handler(func(w http.ResponseWriter, r *http.Request) {
		tag := fmt.Sprintf(`"%d"`, version.Load())
		w.Header().Set("ETag", tag)
		w.Header().Set(api.HeaderRatePolicy, `"key";q=60;w=60`)
		w.Header().Set(api.HeaderRateLimit, `"key";r=41;t=3`)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		full.Add(1)
		writeJSON(w, 200, api.SiteSummaryResponse{Success: true, SiteSummary: api.SiteSummary{ActiveInverters: int(version.Load())}})
	}), func(t *testing.T, c *client.Client) {
		full.Store(0)
		var reply client.Reply
		ctx := client.Observe(context.Background(), &reply)
		first, err := c.SiteSummary(ctx, api.SiteRef{SiteID: "s"})
		if err != nil || reply.NotModified || reply.Status != 200 || reply.Remaining != 41 || reply.Quota != 60 {
			t.Fatalf("%+v, %v", reply, err)
		}
		again, err := c.SiteSummary(ctx, api.SiteRef{SiteID: "s"})
		if err != nil || again != first || !reply.NotModified {
			t.Errorf("unchanged: another value %v, %+v, %v", again != first, reply, err)
		}
		if other, err := c.SiteSummary(ctx, api.SiteRef{SiteID: "other"}); err != nil || other == first || reply.NotModified {
			t.Errorf("another site shares the value, %v", err)
		}
		version.Add(1)
		if changed, err := c.SiteSummary(ctx, api.SiteRef{SiteID: "s"}); err != nil || changed == first || changed.ActiveInverters != int(version.Load()) {
			t.Errorf("changed: %+v, %v", changed, err)
		}
		c.SetCredential("another")
		if fresh, err := c.SiteSummary(ctx, api.SiteRef{SiteID: "s"}); err != nil || fresh == first || reply.NotModified {
			t.Errorf("another caller got a remembered value, %v", err)
		}
		if full.Load() != 4 {
			t.Errorf("%d full answers", full.Load())
		}
	})
}

// A large answer is remembered by its body: unchanged, it gives an equal value, of which the client
// keeps no second copy.
func TestLargeAnswersAreRemembered(t *testing.T) {
	c := client.New(client.Options{Transport: client.InProcess(handler(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"x"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		records := make([]api.Record, 500)
		for i := range records {
			records[i] = api.Record{AssetID: "INV-01", Timestamp: api.At(time.Unix(int64(300*i), 0)), Power: float64(i)}
		}
		writeJSON(w, 200, api.SiteRecordsResponse{Records: map[string][]api.Record{"INV-01": records}})
	}))})
	var reply client.Reply
	ctx := client.Observe(context.Background(), &reply)
	first, err := c.SiteRecords(ctx, api.RecordsQuery{SiteID: "s"})
	if err != nil || len(first.Records["INV-01"]) != 500 || reply.NotModified {
		t.Fatal(err)
	}
	want := first.Records["INV-01"][499]
	first.Records["INV-01"][499].Power = -1 // the caller's own
	again, err := c.SiteRecords(ctx, api.RecordsQuery{SiteID: "s"})
	if err != nil || !reply.NotModified || len(again.Records["INV-01"]) != 500 || again.Records["INV-01"][499] != want {
		t.Errorf("unchanged: %v, %v", reply, err)
	}
}

func TestManyQueriesAreForgotten(t *testing.T) {
	c := client.New(client.Options{Transport: client.InProcess(handler(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"x"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		writeJSON(w, 200, api.DataPeriod{SiteID: r.URL.Query().Get("site_id")})
	}))})
	var reply client.Reply
	ctx := client.Observe(context.Background(), &reply)
	for i := range 1000 {
		if p, err := c.DataPeriod(ctx, api.SiteRef{SiteID: fmt.Sprint(i)}, ""); err != nil || p.SiteID != fmt.Sprint(i) {
			t.Fatal(p, err)
		}
	}
	if _, err := c.DataPeriod(ctx, api.SiteRef{SiteID: "0"}, ""); err != nil || reply.NotModified {
		t.Error("the oldest of a thousand answers is still remembered")
	}
	if _, err := c.DataPeriod(ctx, api.SiteRef{SiteID: "999"}, ""); err != nil || !reply.NotModified {
		t.Error("the newest answer is not remembered")
	}
}

func TestUploadStreams(t *testing.T) {
	both(t, handler(func(w http.ResponseWriter, r *http.Request) {
		m, err := r.MultipartReader()
		if err != nil {
			writeJSON(w, 400, api.ErrorBody{Error: err.Error()})
			return
		}
		got := ""
		for {
			p, err := m.NextPart()
			if err != nil {
				break
			}
			b, _ := io.ReadAll(p)
			got += p.FormName() + "=" + fmt.Sprint(len(b)) + ";"
		}
		writeJSON(w, 200, api.UploadAck{Status: "success", Message: got})
	}), func(t *testing.T, c *client.Client) {
		var sent []int64
		file := strings.NewReader(strings.Repeat("x", 300_000))
		ack, err := c.UploadTrain(context.Background(), api.UploadRequest{CustomerID: "c", SiteID: "site", Region: "r", Location: "l", CapacityKW: 2.5}, file, func(n int64) { sent = append(sent, n) })
		if err != nil {
			t.Fatal(err)
		}
		if ack.Message != "customer_id=1;site_id=4;region=1;location=1;capacity_kw=3;file=300000;" {
			t.Errorf("form %s", ack.Message)
		}
		if len(sent) < 2 || sent[len(sent)-1] != 300_000 {
			t.Errorf("progress %v", sent)
		}
	})
}

func TestUploadRefusedEarly(t *testing.T) {
	both(t, handler(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		writeJSON(w, 413, api.ErrorBody{Status: "error", Error: api.ErrFileTooLarge.Message})
	}), func(t *testing.T, c *client.Client) {
		file := &endless{}
		_, err := c.UploadNowcast(context.Background(), api.UploadRequest{SiteID: "s"}, file, nil)
		if err == nil {
			t.Error("no error")
		}
		n := file.n.Load()
		if again := file.n.Load(); again != n {
			t.Error("the file is still read after the call")
		}
	})
}

type endless struct{ n atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) { e.n.Add(int64(len(p))); return len(p), nil }

func TestCancelEndsTheHandler(t *testing.T) {
	for _, c := range []struct {
		name  string
		first func(w http.ResponseWriter)
	}{
		{"before the header", func(http.ResponseWriter) {}},
		{"in the body", func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"records":[`) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			entered, ended := make(chan struct{}), make(chan struct{})
			cl := client.New(client.Options{Transport: client.InProcess(handler(func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				c.first(w)
				close(entered)
				<-r.Context().Done()
			}))})
			ctx, cancel := context.WithCancel(context.Background())
			go func() { <-entered; cancel() }()
			if _, err := cl.Latest(ctx, api.SiteRef{SiteID: "s"}); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			<-ended
		})
	}
}

func TestInProcessPanics(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"at once": handler(func(http.ResponseWriter, *http.Request) { panic("boom") }),
		"in the body": handler(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "{")
			panic(http.ErrAbortHandler)
		}),
	} {
		c := client.New(client.Options{Transport: client.InProcess(h)})
		if err := c.Health(context.Background()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestInProcessStreams(t *testing.T) {
	step := make(chan struct{})
	rt := client.InProcess(handler(func(w http.ResponseWriter, r *http.Request) {
		if r.RemoteAddr != api.InProcess || r.Header.Get("X") != "y" || r.RequestURI != "/p?q=1" {
			t.Errorf("request %s %v %s", r.RemoteAddr, r.Header, r.RequestURI)
		}
		_, _ = io.WriteString(w, "one")
		<-step
		_, _ = io.WriteString(w, "two")
	}))
	q, err := http.NewRequest(http.MethodGet, "http://sunloop/p?q=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("X", "y")
	r, err := rt.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 3)
	if _, err := io.ReadFull(r.Body, b); err != nil || string(b) != "one" {
		t.Fatalf("%q, %v: the first part must come before the second is written", b, err)
	}
	close(step)
	rest, err := io.ReadAll(r.Body)
	if err != nil || string(rest) != "two" {
		t.Errorf("%q, %v", rest, err)
	}
	if err := r.Body.Close(); err != nil {
		t.Error(err)
	}
}

// token is a token as the client reads it: its times alone.
func token(name string, issued, expires time.Time) string {
	payload, _ := json.Marshal(map[string]any{"iat": issued.Unix(), "exp": expires.Unix(), "n": name})
	return "h." + base64.RawURLEncoding.EncodeToString(payload) + ".s"
}

func TestTokenIsRenewed(t *testing.T) {
	start := time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	now := start
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	good := token("first", start, start.Add(24*time.Hour))
	second := token("second", start.Add(20*time.Hour), start.Add(44*time.Hour))
	refreshes := 0
	var kept string
	h := handler(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+good {
			writeJSON(w, 401, api.ErrorBody{Error: "Invalid token"})
			return
		}
		if r.URL.Path == api.PathRefresh {
			refreshes++
			good = second
			writeJSON(w, 200, api.RefreshResponse{Success: true, Token: second})
			return
		}
		writeJSON(w, 200, api.DataPeriod{})
	})
	c := client.New(client.Options{Transport: client.InProcess(h), Credential: good, Now: clock, OnToken: func(t string) { kept = t }})
	ctx := context.Background()
	if _, err := c.DataPeriod(ctx, api.SiteRef{SiteID: "s"}, ""); err != nil || refreshes != 0 {
		t.Fatalf("%d refreshes of a fresh token, %v", refreshes, err)
	}
	mu.Lock()
	now = start.Add(19 * time.Hour)
	mu.Unlock()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := c.DataPeriod(ctx, api.SiteRef{SiteID: "s"}, ""); err != nil {
				t.Errorf("during the renewal: %v", err)
			}
		})
	}
	wg.Wait()
	if refreshes != 1 || kept != second || c.Credential() != second {
		t.Errorf("%d refreshes, kept %q", refreshes, kept)
	}
}

// TestRenewalReadsTheStoredToken: another process that shares the session file
// may have renewed the token, and a second renewal of it would end the session.
func TestRenewalReadsTheStoredToken(t *testing.T) {
	start := time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)
	of := func(session string, issued time.Time) string {
		payload, _ := json.Marshal(map[string]any{"iat": issued.Unix(), "exp": issued.Add(24 * time.Hour).Unix(), "sid": session})
		return "h." + base64.RawURLEncoding.EncodeToString(payload) + ".s"
	}
	own, later, other := of("ses_1", start), of("ses_1", start.Add(19*time.Hour)), of("ses_2", start.Add(19*time.Hour))
	for _, c := range []struct {
		name, kept, used string
		refreshed        bool
	}{
		{"renewed elsewhere", later, later, false},
		{"not renewed", own, "fresh", true},
		{"none is kept", "", "fresh", true},
		{"another session is kept", other, "fresh", true},
		{"no token is kept", "nonsense", "fresh", true},
	} {
		refreshed, used := false, ""
		h := handler(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == api.PathRefresh {
				refreshed = true
				writeJSON(w, 200, api.RefreshResponse{Success: true, Token: "fresh"})
				return
			}
			used = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			writeJSON(w, 200, api.DataPeriod{})
		})
		cl := client.New(client.Options{Transport: client.InProcess(h), Credential: own, Now: func() time.Time { return start.Add(20 * time.Hour) }, StoredToken: func() string { return c.kept }})
		if _, err := cl.DataPeriod(t.Context(), api.SiteRef{SiteID: "s"}, ""); err != nil || refreshed != c.refreshed || used != c.used {
			t.Errorf("%s: refreshed %v, used %q, %v", c.name, refreshed, used, err)
		}
	}
}

// TestLostRenewalIsNotRepeated over a connection: the service renews a token and the
// answer is lost. The client does not send the token for renewal again, which would
// end the session as a reuse.
func TestLostRenewalIsNotRepeated(t *testing.T) {
	start := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	payload, _ := json.Marshal(map[string]any{"iat": start.Unix(), "exp": start.Add(24 * time.Hour).Unix(), "sid": "ses_1"})
	var refreshes, reads atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == api.PathRefresh {
			refreshes.Add(1)
			panic(http.ErrAbortHandler)
		}
		reads.Add(1)
		writeJSON(w, 200, api.DataPeriod{})
	}))
	defer server.Close()
	c := client.New(client.Options{BaseURL: server.URL, Credential: "h." + base64.RawURLEncoding.EncodeToString(payload) + ".s", MaxRetryWait: time.Minute,
		Now: func() time.Time { return start.Add(20 * time.Hour) }})
	defer c.Close()
	for range 3 {
		if _, err := c.DataPeriod(t.Context(), api.SiteRef{SiteID: "s"}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if refreshes.Load() != 1 || reads.Load() != 3 {
		t.Errorf("%d renewals and %d reads, want 1 and 3", refreshes.Load(), reads.Load())
	}
}

func TestSignInKeepsTheToken(t *testing.T) {
	h := handler(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" && r.URL.Path != api.PathLogout {
			t.Errorf("%s carries a credential", r.URL.Path)
		}
		switch r.URL.Path {
		case api.PathLogin:
			writeJSON(w, 200, api.LoginResponse{Success: true, MFARequired: true, MFAToken: "m"})
		case api.PathVerifyMFA:
			writeJSON(w, 200, api.LoginResponse{Success: true, Token: "t.t.t"})
		default:
			writeJSON(w, 200, api.Done{Success: true})
		}
	})
	c := client.New(client.Options{Transport: client.InProcess(h)})
	ctx := context.Background()
	if r, err := c.Login(ctx, "u", "p"); err != nil || !r.MFARequired || c.Credential() != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := c.VerifyMFA(ctx, "m", "000000"); err != nil || c.Credential() != "t.t.t" {
		t.Fatalf("credential %q, %v", c.Credential(), err)
	}
	if err := c.Logout(ctx); err != nil || c.Credential() != "" {
		t.Errorf("credential %q, %v", c.Credential(), err)
	}
}

func TestIdempotencyKeyOnlyOnCreates(t *testing.T) {
	got := map[string]string{}
	c := client.New(client.Options{Transport: client.InProcess(handler(func(w http.ResponseWriter, r *http.Request) {
		got[r.URL.Path] = r.Header.Get("Idempotency-Key")
		writeJSON(w, 200, api.Done{Success: true})
	}))})
	ctx := client.WithIdempotencyKey(context.Background(), "k")
	if _, err := c.Detect(ctx, api.AssetRef{AssetID: "a"}, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Latest(ctx, api.SiteRef{SiteID: "s"}); err != nil {
		t.Fatal(err)
	}
	if got[api.PathDetect] != "k" || got[api.PathLatest] != "" {
		t.Errorf("keys %v", got)
	}
}

// A span of records is read page by page, of one list or of several; a second read of
// unchanged pages gives the same.
func TestSpansAreReadPageByPage(t *testing.T) {
	both(t, handler(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if q.Get("limit") != "1000" {
			t.Errorf("a page of %s", q.Get("limit"))
		}
		second := q.Get("cursor") == "next"
		alert := func(id, cursor string) api.Alert { return api.Alert{AlertID: id, Cursor: cursor} }
		switch {
		case r.URL.Path == "/ooda/terminal" && !second:
			writeJSON(w, 200, api.AlertRecordsResponse{Alerts: []api.Alert{alert("1", ""), alert("2", "next")}})
		case r.URL.Path == "/ooda/terminal":
			writeJSON(w, 200, api.AlertRecordsResponse{Alerts: []api.Alert{alert("3", "")}})
		case !second:
			writeJSON(w, 200, api.SiteAlertsResponse{Alerts: map[string][]api.Alert{"a": {alert("1", "")}, "b": {alert("2", "next")}}})
		default:
			writeJSON(w, 200, api.SiteAlertsResponse{Alerts: map[string][]api.Alert{"b": {alert("3", "")}, "c": {alert("4", "")}}})
		}
	}), func(t *testing.T, c *client.Client) {
		ids := func(list []api.Alert) (s string) {
			for _, a := range list {
				s += a.AlertID
			}
			return s
		}
		at := api.At(time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC))
		for range 2 {
			one, err := c.TerminalAlerts(t.Context(), api.AlertsQuery{TerminalDeviceID: "t", SiteID: "s", Start: at, End: at})
			if err != nil || ids(one.Alerts) != "123" {
				t.Errorf("one device: %+v, %v", one, err)
			}
			all, err := c.SiteAlerts(t.Context(), api.AlertsQuery{SiteID: "s", Start: at, End: at})
			if err != nil || len(all.Alerts) != 3 || ids(all.Alerts["a"])+ids(all.Alerts["b"])+ids(all.Alerts["c"]) != "1234" {
				t.Errorf("site: %+v, %v", all, err)
			}
		}
	})
}
