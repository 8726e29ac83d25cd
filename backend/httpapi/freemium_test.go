package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/freemium"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/store"
)

// mailbox is where the tests' messages go.
type mailbox struct {
	mu   sync.Mutex
	last mail.Message
	sent int
}

func (b *mailbox) Send(_ context.Context, m mail.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = m
	b.sent++
	return nil
}

// code is the six digits of the last message.
func (b *mailbox) code() string {
	for word := range strings.FieldsSeq(b.last.Text) {
		if len(word) == 6 && strings.Trim(word, "0123456789") == "" {
			return word
		}
	}
	return ""
}

// newFreemium is the real thing over the world's store.
func newFreemium(t testing.TB, records store.Records, now func() time.Time) (*freemium.Service, *mailbox) {
	t.Helper()
	box := &mailbox{}
	s, err := freemium.New(freemium.Options{Records: records, Key: []byte("key"), Mail: box, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return s, box
}

const threeDays = 72

func production(now time.Time) string {
	var b strings.Builder
	b.WriteString("timestamp,power_kw\n")
	for i := range threeDays {
		at := now.Truncate(time.Hour).Add(time.Duration(i-threeDays) * time.Hour)
		fmt.Fprintf(&b, "%s,%d\n", at.Format(time.RFC3339), []int{0, 0, 0, 0, 0, 5, 15, 30, 45, 60, 65, 66, 60, 45, 30, 15, 5}[max(at.Hour()-1, 0)%17])
	}
	return b.String()
}

func TestFreemium(t *testing.T) {
	w := newWorld(t, nil)
	verify := w.ask("POST", api.PathFreemiumVerify, `{"email": "ana@example.org"}`)
	if verify.Code != 200 || strings.TrimSpace(verify.Body.String()) != `{"status":"success","message":"Verification code sent"}` {
		t.Fatalf("%d %s", verify.Code, verify.Body)
	}
	// The parts in an odd order, the file first.
	body, contentType := formOf("file", production(w.clock.now()), "marketing_opt_in", "false", "capacity_kw", "100", "tou_accepted", "true",
		"location", "Durban", "site_name", "Roof", "verification_code", w.box.code(), "email", "ana@example.org")
	r := w.ask("POST", api.PathFreemiumForecast, body, "Content-Type", contentType)
	if r.Code != 200 {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	var got struct {
		Status   string
		Forecast map[string]json.RawMessage
	}
	if err := json.Unmarshal(r.Body.Bytes(), &got); err != nil || got.Status != "success" {
		t.Fatalf("%v %s", err, r.Body)
	}
	for field, want := range map[string]string{
		"site_name": `"Roof"`, "location": `"Durban"`, "manufacturer": `"unknown"`, "forecast_hours": "24", "generated_at": `"2025-10-02T10:00:00Z"`,
	} {
		if string(got.Forecast[field]) != want {
			t.Errorf("%s is %s", field, got.Forecast[field])
		}
	}
	var points []map[string]any
	if err := json.Unmarshal(got.Forecast["forecasts"], &points); err != nil || len(points) != 24 {
		t.Fatalf("%v %s", err, got.Forecast["forecasts"])
	}
	for _, field := range []string{"timestamp", "hour_ahead", "kWh_forecast", "confidence"} {
		if _, there := points[23][field]; !there || len(points[23]) != 4 {
			t.Errorf("point %v", points[23])
		}
	}
	var summary map[string]any
	if err := json.Unmarshal(got.Forecast["summary"], &summary); err != nil || len(summary) != 4 || summary["total_kwh_24h"] == nil || summary["peak_hour"] == nil || summary["peak_kwh"] == nil || summary["average_hourly_kwh"] == nil {
		t.Errorf("%v %v", err, summary)
	}
}

func TestFreemiumClient(t *testing.T) {
	w := newWorld(t, nil)
	c := client.New(client.Options{Transport: client.InProcess(w.handler)})
	if a, err := c.FreemiumVerify(t.Context(), "ana@example.org"); err != nil || a.Message != api.FreemiumCodeSent {
		t.Fatalf("%+v, %v", a, err)
	}
	req := api.FreemiumRequest{Email: "ana@example.org", VerificationCode: w.box.code(), SiteName: "Roof", Location: "-29.9,31", CapacityKW: 99.5, TOUAccepted: true}
	f, err := c.FreemiumForecast(t.Context(), req, strings.NewReader(production(w.clock.now())), nil)
	if err != nil || len(f.Forecasts) != 24 || f.Summary.TotalKWh24h <= 0 {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, err := c.FreemiumForecast(t.Context(), req, strings.NewReader(production(w.clock.now())), nil); !errors.Is(err, api.ErrInvalidCode) {
		t.Errorf("the code again: %v", err)
	}
}

// TestFreemiumRefusals asserts status and words, as the contract has them.
func TestFreemiumRefusals(t *testing.T) {
	good := map[string]string{"email": "ana@example.org", "verification_code": "{code}", "site_name": "Roof", "location": "Durban", "capacity_kw": "100", "tou_accepted": "true", "file": "{file}"}
	tests := []struct {
		name    string
		change  map[string]string // empty: left out
		status  int
		message string
		details map[string]any
	}{
		{"no file", map[string]string{"file": ""}, 400, "CSV file is required", nil},
		{"no code", map[string]string{"verification_code": ""}, 400, "Missing required fields: verification_code", map[string]any{"fields": []any{"verification_code"}}},
		{"nothing but a file", map[string]string{"email": "", "verification_code": "", "site_name": " ", "location": "", "capacity_kw": "", "tou_accepted": ""}, 400,
			"Missing required fields: email, verification_code, site_name, location, capacity_kw", map[string]any{"fields": []any{"email", "verification_code", "site_name", "location", "capacity_kw"}}},
		{"terms not there", map[string]string{"tou_accepted": ""}, 400, "You must accept the Terms of Use (tou_accepted=true) to use this service.", nil},
		{"terms refused", map[string]string{"tou_accepted": "false"}, 400, "You must accept the Terms of Use (tou_accepted=true) to use this service.", nil},
		{"address", map[string]string{"email": "ana@"}, 400, "Invalid email address format", nil},
		{"capacity", map[string]string{"capacity_kw": "-3"}, 400, "Invalid parameter: capacity_kw", map[string]any{"field": "capacity_kw", "reason": "a number of kW more than 0"}},
		{"capacity not a number", map[string]string{"capacity_kw": "NaN"}, 400, "Invalid parameter: capacity_kw", map[string]any{"field": "capacity_kw", "reason": "a number of kW more than 0"}},
		{"opt-in", map[string]string{"marketing_opt_in": "perhaps"}, 400, "Invalid parameter: marketing_opt_in", map[string]any{"field": "marketing_opt_in", "reason": "true or false"}},
		{"a long name", map[string]string{"site_name": strings.Repeat("x", 201)}, 400, "Invalid parameter: site_name", map[string]any{"field": "site_name", "reason": "at most 200 characters"}},
		{"code", map[string]string{"verification_code": "wrong"}, 400, "Invalid or expired verification code", nil},
		{"file", map[string]string{"file": "timestamp,colour\n2025-01-01T00:00:00Z,red\n2025-01-01T01:00:00Z,blue\n"}, 400, "Invalid CSV Format", map[string]any{"line": 1.0}},
		{"large file", map[string]string{"file": strings.Repeat("x", api.MaxUploadBytes+1)}, 413, api.ErrFileTooLarge.Message, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, nil)
			if r := w.ask("POST", api.PathFreemiumVerify, `{"email": "Ana@example.org"}`); r.Code != 200 {
				t.Fatalf("%d %s", r.Code, r.Body)
			}
			var form []string
			for name, value := range good {
				if v, changed := test.change[name]; changed {
					value = v
				}
				if value != "" {
					form = append(form, name, strings.NewReplacer("{code}", w.box.code(), "{file}", production(w.clock.now())).Replace(value))
				}
			}
			for name, value := range test.change {
				if _, there := good[name]; !there {
					form = append(form, name, value)
				}
			}
			body, contentType := formOf(form...)
			r := w.ask("POST", api.PathFreemiumForecast, body, "Content-Type", contentType)
			var got api.ErrorBody
			if err := json.Unmarshal(r.Body.Bytes(), &got); err != nil {
				t.Fatalf("%v %s", err, r.Body)
			}
			delete(got.Details, map[bool]string{true: "reason"}[test.name == "file"])
			if r.Code != test.status || got.Status != "error" || got.Error != test.message || len(test.details) > 0 && !cmp.Equal(test.details, got.Details) {
				t.Errorf("%d %+v", r.Code, got)
			}
		})
	}
	w := newWorld(t, nil)
	for body, message := range map[string]string{`{}`: "Missing required field: email", `{"email": "ana"}`: "Invalid email address format", `[]`: "Invalid JSON body"} {
		if r := w.ask("POST", api.PathFreemiumVerify, body); r.Code != 400 || !strings.Contains(r.Body.String(), `"error":"`+message+`"`) {
			t.Errorf("%s: %d %s", body, r.Code, r.Body)
		}
	}
	if r := w.ask("POST", api.PathFreemiumForecast, `{"email": "ana@example.org"}`); r.Code != 400 || !strings.Contains(r.Body.String(), "CSV file is required") {
		t.Errorf("no form: %d %s", r.Code, r.Body)
	}
	for n := range 4 {
		r := w.ask("POST", api.PathFreemiumVerify, fmt.Sprintf(`{"email": "%d@example.org"}`, n))
		if limited := n == 3; (r.Code == 429) != limited || (r.Header().Get("Retry-After") != "") != limited {
			t.Errorf("code %d of an hour: %d %s", n+1, r.Code, r.Body)
		}
	}
}

// TestFreemiumIsolatesClients over the handler: whatever other clients request and try,
// the code of a person stays valid, and no more than three e-mails reach a
// mailbox.
func TestFreemiumIsolatesClients(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} })
	verify := func(email, from string) *httptest.ResponseRecorder {
		return w.ask("POST", api.PathFreemiumVerify, `{"email": "`+email+`"}`, "X-Forwarded-For", from)
	}
	forecast := func(code, from string) *httptest.ResponseRecorder {
		body, contentType := formOf("email", "ana@example.org", "verification_code", code, "site_name", "Roof", "location", "Durban", "capacity_kw", "100", "tou_accepted", "true", "file", production(w.clock.now()))
		return w.ask("POST", api.PathFreemiumForecast, body, "Content-Type", contentType, "X-Forwarded-For", from)
	}
	want := verify("ana@example.org", "203.0.113.5")
	if want.Code != http.StatusOK {
		t.Fatalf("%d %s", want.Code, want.Body)
	}
	code := w.box.code()
	for n := range 8 {
		from := fmt.Sprintf("198.18.%d.9", n)
		if r := verify(fmt.Sprintf("ana%s@example.org", strings.Repeat("+x", n%3)), from); r.Code != want.Code || r.Body.String() != want.Body.String() {
			t.Errorf("another client's request %d: %d %s", n, r.Code, r.Body)
		}
		if r := forecast(map[bool]string{true: "000001", false: "000000"}[code == "000000"], from); r.Code != http.StatusBadRequest {
			t.Errorf("another client's guess: %d %s", r.Code, r.Body)
		}
	}
	if w.box.sent != api.FreemiumCodesPerHour {
		t.Errorf("%d e-mails to one mailbox", w.box.sent)
	}
	if r := forecast(code, "198.18.9.9"); r.Code != http.StatusBadRequest || !strings.Contains(r.Body.String(), "Invalid or expired verification code") {
		t.Errorf("another client beyond the attempts: %d %s", r.Code, r.Body)
	}
	if r := forecast(code, "203.0.113.77"); r.Code != http.StatusOK {
		t.Errorf("the person who asked: %d %s", r.Code, r.Body)
	}
	for n := w.box.sent; n < api.FreemiumCodesPerHourInAll; n++ {
		if r := verify(fmt.Sprintf("%d@example.org", n), fmt.Sprintf("10.0.%d.1", n)); r.Code != http.StatusOK {
			t.Fatalf("%d %s", r.Code, r.Body)
		}
	}
	for _, email := range []string{"ana@example.org", "new@example.org"} {
		if r := verify(email, "10.1.1.1"); r.Code != http.StatusServiceUnavailable || r.Header().Get("Retry-After") == "" {
			t.Errorf("%s beyond the limit of the service: %d %s", email, r.Code, r.Body)
		}
	}
}

// failing fails as no refusal does.
type failing struct{ httpapi.Freemium }

func (failing) Forecast(context.Context, api.FreemiumRequest, string, io.Reader) (api.FreemiumForecast, error) {
	return api.FreemiumForecast{}, errors.New("the sun went out")
}

func TestFreemiumFails(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.Freemium = failing{} })
	body, contentType := formOf("email", "ana@example.org", "verification_code", "123456", "site_name", "Roof", "location", "Durban", "capacity_kw", "1", "tou_accepted", "true", "file", "a,b\n")
	r := w.ask("POST", api.PathFreemiumForecast, body, "Content-Type", contentType)
	if r.Code != http.StatusInternalServerError || !strings.Contains(r.Body.String(), `"error":"Forecast generation failed"`) || strings.Contains(r.Body.String(), "sun") {
		t.Errorf("%d %s", r.Code, r.Body)
	}
}
