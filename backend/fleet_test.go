package backend

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/engine/series"
)

// fleetSites adds sites of which some have samples, forecasts and findings, and some have
// nothing.
func fleetSites(t *testing.T, storage interface {
	store.Records
	store.Telemetry
}, s *domain.Services, at time.Time, from, to int) {
	t.Helper()
	all := api.Unlimited("test")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := from; i < to; i++ {
		id := fmt.Sprintf("S%03d", i)
		site := api.Site{SiteID: id, CustomerID: "acme", Timezone: "Europe/Vienna", CapacityKW: 100}
		_, err := s.Sites.SetSite(t.Context(), all, site)
		check(err)
		zone, err := store.Zone(site.Timezone)
		check(err)
		midnight := series.Midnight(at, zone)
		if i%5 == 1 {
			continue
		}
		begin := midnight.Add(-time.Duration(i%3) * 30 * time.Hour)
		var frames []store.AssetFrame
		for u := range 1 + i%3 {
			unit := fmt.Sprintf("%s-%d", id, u)
			_, err := s.Sites.AddAsset(t.Context(), all, api.Asset{AssetID: unit, SiteID: id, CustomerID: "acme", Name: unit, Type: "inverter", CapacityKW: 50, Location: "roof"})
			check(err)
			var f series.Frame
			var power []float64
			for t := begin; t.Before(at.Add(-time.Duration(i%7) * time.Hour)); t = t.Add(15 * time.Minute) {
				f.Times, power = append(f.Times, t.Unix()), append(power, float64((t.Unix()/900+int64(i))%40))
			}
			f.Set(series.PowerKW, power)
			frames = append(frames, store.AssetFrame{AssetID: unit, Frame: f})
		}
		check(storage.Append(t.Context(), store.SiteKey{ID: id, Zone: zone}, frames))
		check(storage.Update(t.Context(), func(tx store.Tx) error {
			f := domaintest.Hours(midnight, midnight, 48, 60)
			f.ForecastID, f.SiteID = "fc-"+id, id
			if err := s.Forecasts.Add(tx, f, zone); err != nil || i%2 == 1 {
				return err
			}
			e := domaintest.Outage(id+"-0", at.Add(-2*time.Hour), at)
			_, err := s.Detections.RecordRun(tx, finding.Run{Site: site, ModelVersion: "rules", From: midnight, Now: at, Units: []string{id + "-0"}, Events: []finding.Event{e},
				DayKWh: func([]string) float64 { return 300 }})
			return err
		}))
	}
}

// TestFleetQueries: the fleet list over a database has the values of the list over a file,
// and its number of queries does not grow with the sites.
func TestFleetQueries(t *testing.T) {
	at := time.Date(2026, 6, 15, 10, 7, 0, 0, time.UTC)
	now := func() time.Time { return at }
	address, statements := countStatements(t, pgtest.Database(t))
	database, err := postgres.Open(t.Context(), address, postgres.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	file, err := bolt.Open(t.TempDir(), bolt.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	inDatabase, inFile := domain.New(database, database, now), domain.New(file, file, now)
	list := func(s *domain.Services) []api.FleetSite {
		t.Helper()
		list, _, err := s.KPIs.Fleet(t.Context(), api.Unlimited("test"), api.ListQuery{CustomerID: "acme", Page: api.Page{Limit: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	text := func(list []api.FleetSite) string {
		b, err := json.MarshalIndent(list, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var took []int64
	size := 0
	for _, n := range []int{6, 30} {
		fleetSites(t, database, inDatabase, at, size, n)
		fleetSites(t, file, inFile, at, size, n)
		size = n
		before := statements.Load()
		got := list(inDatabase)
		took = append(took, statements.Load()-before)
		if len(got) != n {
			t.Fatalf("%d sites of %d", len(got), n)
		}
		if diff := cmp.Diff(text(list(inFile)), text(got)); diff != "" {
			t.Fatalf("the list over a database is another one than over a file: %s", diff)
		}
	}
	t.Logf("%d statements for 6 sites, %d for 30", took[0], took[1])
	// A few more, as reads may be made before all goroutines wait.
	if took[0] == 0 || took[1] > 2*took[0] {
		t.Errorf("%d statements for 6 sites, %d for 30", took[0], took[1])
	}
}

// countStatements returns the URL of a proxy of a database, and how many statements have
// passed it.
func countStatements(t *testing.T, database string) (address string, statements *atomic.Int64) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	statements = new(atomic.Int64)
	var all sync.WaitGroup
	to := u.Host
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				return
			}
			all.Go(func() {
				_, _ = io.Copy(client, server)
				_ = client.Close()
			})
			all.Go(func() {
				_ = copyMessages(server, bufio.NewReader(client), statements)
				_ = server.Close()
			})
		}
	})
	t.Cleanup(func() { // after the store is closed
		_ = l.Close()
		all.Wait()
	})
	u.Host = l.Addr().String()
	return u.String(), statements
}

// copyMessages copies the messages of a client of PostgreSQL and counts those that run a
// statement: Execute and Query.
func copyMessages(to io.Writer, from *bufio.Reader, statements *atomic.Int64) error {
	for started := false; ; {
		head := 1 // type
		if !started {
			head = 0
		}
		b := make([]byte, head+4)
		if _, err := io.ReadFull(from, b); err != nil {
			return err
		}
		body := make([]byte, binary.BigEndian.Uint32(b[head:])-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return err
		}
		const protocol = 3 // the major version; a request of TLS has a larger number
		started = started || binary.BigEndian.Uint16(body) == protocol
		if head == 1 && (b[0] == 'E' || b[0] == 'Q') {
			statements.Add(1)
		}
		if _, err := to.Write(append(b, body...)); err != nil {
			return err
		}
	}
}
