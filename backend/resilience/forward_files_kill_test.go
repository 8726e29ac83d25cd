//go:build !windows

package resilience

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway"
	"app.sunloop/backend/servetest"
	"app.sunloop/internal/longtest"
)

// TestForwardedSourcesOverKills: however often a gateway with a watched folder, the service
// that it joined and the link between them are killed, each file is one upload at the
// service, in order, with all its rows, and a file that cannot be read one that was refused.
func TestForwardedSourcesOverKills(t *testing.T) {
	longtest.Mark(t)
	kills := fromEnv(t, sourceKills, 6)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dice, link := rand.New(rand.NewPCG(seed, 0)), startLink(t)
	base := t.TempDir()
	dir, site, folder := filepath.Join(base, "s"), filepath.Join(base, "g"), exports(t, base)
	service, root := startJoined(t, link, dir, site, 80)
	e := &exporter{leave: intoFolder(folder), powers: map[int64]float64{}}
	e.began = time.Now().UTC().Truncate(time.Hour).Add(-time.Duration(100+40*kills) * time.Hour)
	sources := filepath.Join(base, "sources.toml")
	text := fmt.Sprintf("[site]\nid = \"roof\"\ntimezone = \"UTC\"\n[[folder]]\npath = %q\npattern = [\"*.csv\"]\nsettle = \"1s\"\nname = \"exports\"\npoll = \"1s\"\nasset = \"INV-1\"\n", folder)
	if err := os.WriteFile(sources, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	process := runGateway(t, site, sources)
	var bad []string
	put := func() {
		for range 1 + dice.IntN(3) {
			if err := e.put(dice); err != nil {
				t.Fatal(err)
			}
		}
		name := fmt.Sprintf("export-%05d-bad.csv", len(e.names))
		bad = append(bad, name)
		if err := e.leave(dice, name, fmt.Sprintf("to whom it may concern: %s\n", name)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range kills {
		put()
		time.Sleep(time.Duration(500+dice.IntN(3000)) * time.Millisecond)
		switch n % 3 {
		case 0:
			process.end(os.Kill)
			process.start()
		case 1:
			service.Kill()
			service = servetest.Start(t, dir)
			link.to(addressOf(service))
		case 2:
			link.to("")
			time.Sleep(time.Duration(dice.IntN(2000)) * time.Millisecond)
			link.to(addressOf(service))
		}
	}
	put()
	var s gateway.Status
	for late := time.Now().Add(10 * servetest.ReadyWithin); ; time.Sleep(time.Second) {
		left, err := filepath.Glob(filepath.Join(folder, "*.csv"))
		if err != nil {
			t.Fatal(err)
		}
		if s, err = gateway.AskStatus(t.Context(), site); err == nil && len(left) == 0 && s.Sending != nil && s.Sending.Waiting == 0 && s.Sending.Open == 0 {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("%d files are in the folder, and %+v: %v\n%s\n%s", len(left), s.Sending, err, &process.logs, service.Log())
		}
	}
	process.end(os.Interrupt)
	c := service.Client(root)
	defer c.Close()
	uploads := uploadsOf(t, c)
	slices.Reverse(uploads) // oldest first
	var good, refused []string
	for _, u := range uploads {
		switch {
		case u.Source != "exports":
			t.Errorf("%s has the source %q", u.Filename, u.Source)
		case u.ProcessingStatus == api.UploadRejected:
			refused = append(refused, u.Filename)
		case u.ProcessingStatus != api.UploadCompleted && u.ProcessingStatus != api.UploadWithWarnings || u.RowsStored != 4:
			t.Errorf("%s: %s, %d rows stored: %s", u.Filename, u.ProcessingStatus, u.RowsStored, u.Error)
		default:
			good = append(good, u.Filename)
		}
	}
	slices.Sort(good) // files that settle in one second have no order
	slices.Sort(refused)
	if !slices.Equal(good, e.names) || !slices.Equal(refused, bad) {
		t.Errorf("imported %q\nof %q;\nrefused %q\nof %q", good, e.names, refused, bad)
	}
	reported := map[string]int{}
	text = process.logs.String()
	for line := range strings.Lines(text) {
		for _, name := range bad {
			if strings.Contains(line, "file not forwarded") && strings.Contains(line, name) {
				reported[name]++
			}
		}
	}
	for _, name := range bad {
		if reported[name] != 1 {
			t.Errorf("%s was reported %d times", name, reported[name])
		}
	}
	right, stored := 0, 0
	for from := e.began; from.Before(time.Now()); from = from.Add(10 * 24 * time.Hour) {
		r, err := c.Inverter(t.Context(), api.RecordsQuery{CustomerID: "default", SiteID: "roof", AssetID: "INV-1", Start: api.At(from), End: api.LastBefore(from.Add(10 * 24 * time.Hour))})
		if err != nil {
			t.Fatal(err)
		}
		stored += len(r.Records)
		for _, rec := range r.Records {
			if e.powers[rec.Timestamp.Unix()] == rec.Power {
				right++
			}
		}
	}
	t.Logf("killed %d times; %d files, %d uploads, %d refused; %d rows of %d", kills, len(e.names)+len(bad), len(uploads), len(refused), right, len(e.powers))
	if right != len(e.powers) || stored != right {
		t.Errorf("%d records of %d, %d right\n%s", stored, len(e.powers), right, text)
	}
}
