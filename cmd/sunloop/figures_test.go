package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/tui/plain"
)

// TestFiguresOfCommands: the figures that commands print, as JSON and as text, are
// those of the API, of a site with a change of the step, a counter that differs from
// power by 2 %, and a clock change.
func TestFiguresOfCommands(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 3, 28, 0, 0, 0, 0, zone)
	now := time.Date(2026, 3, 31, 15, 0, 0, 0, zone)
	service, err := backend.New(backend.Config{DataDir: t.TempDir(), Now: func() time.Time { return now }, Wall: time.Now, Tick: 5 * time.Millisecond, Settle: time.Millisecond, KeyRate: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- service.Run(context.Background()) }()
	defer func() {
		if err := errors.Join(service.Close(), <-ended); err != nil {
			t.Error(err)
		}
	}()
	key, _, err := service.Auth().CreateKey(t.Context(), auth.NewKey{Name: "figures", Customers: []string{"acme"}, Sites: []string{api.Every}, Role: api.RoleAdmin})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(service.Handler())
	defer server.Close()
	c := client.New(client.Options{Transport: client.InProcess(service.Handler()), Credential: key})
	defer c.Close()

	var file strings.Builder
	file.WriteString("timestamp,asset_id,power_kw,energy_counter_kwh\n")
	counter := 5000.0
	for at := start; at.Before(now); {
		step := 15 * time.Minute
		if !at.Before(time.Date(2026, 3, 30, 0, 0, 0, 0, zone)) {
			step = 5 * time.Minute
		}
		kW := float64(at.In(zone).Hour() % 9)
		fmt.Fprintf(&file, "%s,INV-1,%g,%.4f\n", at.UTC().Format(time.RFC3339), kW, counter)
		counter += 1.02 * kW * step.Hours()
		at = at.Add(step)
	}
	ack, err := c.UploadTrain(t.Context(), api.UploadRequest{CustomerID: "acme", SiteID: "Roof", Region: "eu", Location: "52.52,13.40", Timezone: "Europe/Berlin", CapacityKW: 10, Filename: "data.csv"}, strings.NewReader(file.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		u, err := c.Upload(t.Context(), ack.UploadID)
		if err != nil {
			t.Fatal(err)
		}
		if u.Ended() {
			if u.Error != "" {
				t.Fatalf("the upload ended with %s", u.Error)
			}
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	command := func(args ...string) string {
		t.Helper()
		var out, failed bytes.Buffer
		args = slices.Concat(args[:1], []string{"--remote", server.URL, "--token", key}, args[1:])
		if got := run(t.Context(), args, streams{out: &out, err: &failed}); got != 0 {
			t.Fatalf("%q exits with %d: %s", args, got, failed.String())
		}
		return out.String()
	}
	asJSON := func(v any) string {
		t.Helper()
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	ref := api.SiteRef{CustomerID: "acme", SiteID: "Roof"}

	// The summary of the day.
	summary, err := c.SiteSummary(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	today := summary.Summary.TotalKWhToday
	if math.Abs(today-52.02) > 0.02 { // 1.02 × 51 kWh until 15:00; after the last reading by power
		t.Errorf("today is %v kWh", today)
	}
	var status struct {
		Sites []siteStatus `json:"sites"`
	}
	if err := json.Unmarshal([]byte(command("status", "--json")), &status); err != nil || len(status.Sites) != 1 {
		t.Fatalf("%+v, %v", status, err)
	}
	if got, want := asJSON(status.Sites[0].Summary.Figures), asJSON(summary.Summary.Figures); status.Sites[0].Summary.TotalKWhToday == nil || *status.Sites[0].Summary.TotalKWhToday != today || got != want {
		t.Errorf("status has %v kWh and the figures\n%s\nwant %v kWh and\n%s", status.Sites[0].Summary.TotalKWhToday, got, today, want)
	}
	if text := command("status"); !strings.Contains(text, plain.Number(today)+" kWh today") {
		t.Errorf("status prints %q, want %s kWh", text, plain.Number(today))
	}

	// Windows: each day, all of them, and the calendar month.
	total := 0.0
	for _, w := range []struct {
		period   string
		from, to time.Time
	}{
		{"2026-03-28", start, start.AddDate(0, 0, 1)}, {"2026-03-29", start.AddDate(0, 0, 1), start.AddDate(0, 0, 2)}, {"2026-03-30", start.AddDate(0, 0, 2), start.AddDate(0, 0, 3)},
		{"3d", start, start.AddDate(0, 0, 3)}, {"2026-03", time.Date(2026, 3, 1, 0, 0, 0, 0, zone), time.Date(2026, 4, 1, 0, 0, 0, 0, zone)},
	} {
		want, err := c.KPIs(t.Context(), api.KPIQuery{CustomerID: "acme", SiteID: "Roof", From: api.At(w.from), To: api.At(w.to)})
		if err != nil {
			t.Fatal(err)
		}
		var got api.KPIs
		if err := json.Unmarshal([]byte(command("kpi", "--site", "Roof", "--period", w.period, "--json")), &got); err != nil {
			t.Fatal(err)
		}
		if is, want := asJSON(got), asJSON(want); is != want {
			t.Errorf("kpi of %s prints\n%s\nwant\n%s", w.period, is, want)
		}
		text := command("kpi", "--site", "Roof", "--period", w.period, "--details")
		for _, f := range want.Figures {
			if f.Name != "energy" || f.Value == nil {
				continue
			}
			if !strings.Contains(text, plain.Number(*f.Value)) {
				t.Errorf("kpi of %s does not print %s kWh: %s", w.period, plain.Number(*f.Value), text)
			}
			if f.Difference == nil || !f.Difference.Flagged || !strings.Contains(text, "differ from power by +2.0 %, more than 0.5 %") {
				t.Errorf("kpi of %s does not flag the counter: %+v, %s", w.period, f.Difference, text)
			}
			switch w.period {
			case "3d":
				if d := *f.Value - total; d > 0.002 || d < -0.002 {
					t.Errorf("three days have %v kWh, the sum of each is %v", *f.Value, total)
				}
			case "2026-03":
			default:
				total += *f.Value
			}
		}
	}
	if total == 0 {
		t.Error("no day has an energy")
	}
}
