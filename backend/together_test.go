package backend

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/longtest"
)

// TestUnitsImportedTogether reads the units and their newest samples through the handler while a
// file of several units is imported: each response has all of them as before the file, or all as
// after it.
func TestUnitsImportedTogether(t *testing.T) {
	const units, rows = 3, 30_000
	begin := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	file := func(from int) string {
		var b strings.Builder
		b.WriteString("time,INV-1 power kW,INV-2 power kW,INV-3 power kW\n")
		for i := range rows {
			minute := from + i
			kW := max(0, 50-(minute%1440-720)*(minute%1440-720)/7000)
			fmt.Fprintf(&b, "%s,%d,%d,%d\n", begin.Add(time.Duration(minute)*time.Minute).Format(api.TimeLayout), kW, kW+1, kW+2)
		}
		return b.String()
	}
	now, hold := func() time.Time { return begin.AddDate(0, 2, 0) }, func() bool { return true }
	for name, open := range map[string]func(t *testing.T) *instance{
		"file": func(t *testing.T) *instance { return open(t, Config{DataDir: t.TempDir(), Now: now, HoldJobs: hold}) },
		"database": func(t *testing.T) *instance {
			return replicas(t, 1, func(_ int, cfg *Config) { cfg.Now, cfg.HoldJobs = now, hold })[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			if r := h.ask(http.MethodPost, api.PathSites, h.key, `{"action":"add","site":{"site_id":"South","customer_id":"acme","timezone":"UTC"}}`); r.Code != http.StatusOK {
				t.Fatalf("HTTP %d %s", r.Code, r.Body)
			}
			for n := range 2 {
				ack, err := h.UploadNowcast(t.Context(), api.UploadRequest{CustomerID: "acme", SiteID: "South", Region: "r", Location: "l"}, strings.NewReader(file(n*rows)), nil)
				if err != nil {
					t.Fatal(err)
				}
				states := map[string]bool{}
				for ended := false; !ended; {
					u, err := h.Upload(t.Context(), ack.UploadID)
					if err != nil {
						t.Fatal(err)
					}
					ended = u.Ended()
					if r := h.ask(http.MethodPost, api.PathAssets, h.key, `{"action":"list","customer_id":"acme"}`); r.Code == http.StatusOK {
						var list api.AssetsResponse
						if err := json.Unmarshal(r.Body.Bytes(), &list); err != nil || list.Count != 0 && list.Count != units {
							t.Fatalf("%d units, %v", list.Count, err)
						}
					}
					r := h.ask(http.MethodGet, api.PathLatest+"?site_id=South", h.key, "")
					if r.Code != http.StatusOK {
						t.Fatalf("HTTP %d %s", r.Code, r.Body)
					}
					states[newestOf(t, r.Body.Bytes(), units)] = true
				}
				if u, err := h.Upload(t.Context(), ack.UploadID); err != nil || u.RowsStored == 0 {
					t.Fatalf("%+v, %v", u, err)
				}
				last := begin.Add(time.Duration((n+1)*rows-1) * time.Minute).Format(api.TimeLayout)
				if !states[last] || len(states) > 2 {
					t.Errorf("import %d: newest samples %v, the last at %s", n, states, last)
				}
			}
		})
	}
}

// TestUnitsOfPiecesTogether: units of a large file whose lines come unit by unit, so that no piece
// has all of them, are added together, with the share of the site's capacity that the whole file shows.
func TestUnitsOfPiecesTogether(t *testing.T) {
	longtest.Mark(t) // 11 MB into two stores
	const units, rows = 5, 70_000
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	b.WriteString("time,unit,power (kW)\n")
	for unit := range units {
		for i := range rows {
			minute := i % 1440
			fmt.Fprintf(&b, "%s,INV-%d,%.3f\n", begin.Add(time.Duration(i)*time.Minute).Format(api.TimeLayout), unit+1, max(0, 40-float64((minute-720)*(minute-720))/7000))
		}
	}
	file := b.Bytes()
	if len(file) <= api.MaxUploadBytes {
		t.Fatalf("%d bytes are not large", len(file))
	}
	now, hold := func() time.Time { return begin.AddDate(0, 6, 0) }, func() bool { return true }
	for name, open := range map[string]func(t *testing.T) *instance{
		"file": func(t *testing.T) *instance { return open(t, Config{DataDir: t.TempDir(), Now: now, HoldJobs: hold}) },
		"database": func(t *testing.T) *instance {
			return replicas(t, 1, func(_ int, cfg *Config) { cfg.Now, cfg.HoldJobs = now, hold })[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			if r := h.ask(http.MethodPost, api.PathSites, h.key, `{"action":"add","site":{"site_id":"South","customer_id":"acme","timezone":"UTC","capacity_kw":200}}`); r.Code != http.StatusOK {
				t.Fatalf("HTTP %d %s", r.Code, r.Body)
			}
			list := func() api.AssetsResponse {
				var list api.AssetsResponse
				if r := h.ask(http.MethodPost, api.PathAssets, h.key, `{"action":"list","customer_id":"acme"}`); json.Unmarshal(r.Body.Bytes(), &list) != nil || r.Code != http.StatusOK {
					t.Fatalf("HTTP %d %s", r.Code, r.Body)
				}
				return list
			}
			sum := sha256.Sum256(file)
			v, err := client.Call(t.Context(), h.Client, api.CreateUploadSession, api.UploadSessionRequest{CustomerID: "acme", SiteID: "South", Size: int64(len(file)), SHA256: hex.EncodeToString(sum[:]), Filename: "half.csv", Location: "l"})
			if err != nil {
				t.Fatal(err)
			}
			const part = 6 << 20
			for at := 0; at < len(file); at += part {
				if _, err := h.SendPart(t.Context(), v.Session.SessionID, int64(at), file[at:min(at+part, len(file))]); err != nil {
					t.Fatal(err)
				}
			}
			ack, err := client.Call(t.Context(), h.Client, api.FinishUploadSession, api.UploadSessionMoveRequest{ID: v.Session.SessionID})
			if err != nil {
				t.Fatal(err)
			}
			for {
				u, err := h.Upload(t.Context(), ack.UploadID)
				if err != nil {
					t.Fatal(err)
				}
				if n := list().Count; n != 0 && n != units {
					t.Fatalf("%d units are there during the import", n)
				}
				if u.RowsStored > 0 {
					if u.RowsStored != units*rows || !strings.Contains(fmt.Sprint(u.Decisions), "read in 2 pieces") {
						t.Errorf("%d rows stored: %v", u.RowsStored, u.Decisions)
					}
					break
				}
				if u.Error != "" {
					t.Fatal(u.Error)
				}
				time.Sleep(time.Millisecond)
			}
			for _, a := range list().Assets {
				if a.CapacityKW != 40 {
					t.Errorf("%s has %g kW", a.AssetID, a.CapacityKW)
				}
			}
		})
	}
}

// newestOf is the time of the newest sample of all units, empty without samples. It fails for units
// of which some have none or another time.
func newestOf(t *testing.T, body []byte, units int) (at string) {
	t.Helper()
	var latest api.LatestResponse
	if err := json.Unmarshal(body, &latest); err != nil {
		t.Fatal(err)
	}
	if n := len(latest.Records); n != 0 && n != units {
		t.Fatalf("%d of %d units have samples: %s", n, units, body)
	}
	for _, r := range latest.Records {
		if at != "" && r.Timestamp.String() != at {
			t.Fatalf("units have samples of different times: %s", body)
		}
		at = r.Timestamp.String()
	}
	return at
}
