package resilience

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/servetest"
	"app.sunloop/tui/state"
)

// loadSeconds is how long the load lasts; `make load` gives it 60.
func loadSeconds(t *testing.T) (n int, whole bool) {
	text := os.Getenv("SUNLOOP_TEST_LOAD_SECONDS")
	if text == "" {
		return 3, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n, true
}

// ledger gathers what was asked and how long it took.
type ledger struct {
	mu    sync.Mutex
	took  map[string][]time.Duration
	kept  int // answers of 304
	wrong []string
}

// note counts a response; a wrong one is reported with its kind.
func (l *ledger) note(kind string, took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.took == nil {
		l.took = map[string][]time.Duration{}
	}
	l.took[kind] = append(l.took[kind], took)
	if err != nil {
		l.wrong = append(l.wrong, kind+": "+err.Error())
	}
}

func (l *ledger) all() (n int) {
	for _, took := range l.took {
		n += len(took)
	}
	return n
}

// report logs a row for each kind of request.
func (l *ledger) report(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(l.took)) {
		took := l.took[kind]
		slices.Sort(took)
		t.Logf("%-20s %6d, p50 %7.1f ms, p99 %7.1f ms", kind, len(took), milliseconds(took[len(took)/2]), milliseconds(took[len(took)*99/100]))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// caller is one API key that asks in a steady rhythm and knows each answer.
type caller struct {
	*client.Client
	f     *fleet
	n     int // which of the keys
	order string
	moved int // version of its order
	held  bool
	sent  []string
}

// turn is the i-th request: what it was, and what is wrong with the answer.
func (c *caller) turn(ctx context.Context, i int) (kind string, err error) {
	unit := (c.n + i) % c.f.units
	switch i % 8 {
	case 0:
		return "latest", c.latest(ctx)
	case 1, 5:
		day := (c.n*7 + i) % c.f.days
		return "day of a unit", c.records(ctx, unit, day, 1)
	case 2:
		return "period", c.period(ctx, unit)
	case 3:
		return "order move", c.move(ctx)
	case 4:
		if c.n%10 == i/8%10 {
			return "days of a site", c.daily(ctx)
		}
		return "assets", c.assets(ctx)
	case 6:
		if c.n%20 == i/8%20 {
			return "year of a unit", c.records(ctx, unit, 0, c.f.days)
		}
		return "latest", c.latest(ctx)
	}
	if c.n%10 == i/8%10 {
		return "upload", c.upload(ctx, i)
	}
	return "orders", c.orders(ctx)
}

func (c *caller) latest(ctx context.Context) error {
	r, err := c.Latest(ctx, api.SiteRef{SiteID: fleetSite(0)})
	if err != nil {
		return err
	}
	last := c.f.steps() - 1
	if len(r.Records) != c.f.units {
		return fmt.Errorf("%d units", len(r.Records))
	}
	for u, got := range r.Records {
		if got.AssetID != fleetUnit(u) || got.Power != powerKW(u, last) || !got.Timestamp.Equal(c.f.at(last)) {
			return fmt.Errorf("unit %d: %+v", u, got)
		}
	}
	return nil
}

func (c *caller) records(ctx context.Context, unit, day, days int) error {
	from, to := day*stepsPerDay, (day+days)*stepsPerDay
	r, err := c.Inverter(ctx, api.RecordsQuery{AssetID: fleetUnit(unit), SiteID: fleetSite(0), Start: api.At(c.f.at(from)), End: api.At(c.f.at(to - 1))})
	if err != nil {
		return err
	}
	if len(r.Records) != to-from && len(r.Records) != to-from-1 {
		return fmt.Errorf("%d records of %d", len(r.Records), to-from)
	}
	for i, got := range r.Records {
		if got.Power != powerKW(unit, from+i) || !got.Timestamp.Equal(c.f.at(from+i)) {
			return fmt.Errorf("record %d of unit %d: %+v", i, unit, got)
		}
	}
	return nil
}

func (c *caller) daily(ctx context.Context) error {
	r, err := c.SiteRecords(ctx, api.RecordsQuery{SiteID: fleetSite(0), Start: api.At(c.f.first), End: api.At(c.f.at(c.f.steps())), Resolution: "daily"})
	if err != nil {
		return err
	}
	if len(r.Records) != c.f.units {
		return fmt.Errorf("%d units", len(r.Records))
	}
	unit, day := c.n%c.f.units, c.n%c.f.days
	got := r.Records[fleetUnit(unit)]
	if len(got) != c.f.days || math.Abs(got[day].KWh-dayKWh(unit, day)) > 0.01 {
		return fmt.Errorf("%d days, day %d of unit %d: want %v kWh", len(got), day, unit, dayKWh(unit, day))
	}
	return nil
}

func (c *caller) period(ctx context.Context, unit int) error {
	r, err := c.DataPeriod(ctx, api.SiteRef{SiteID: fleetSite(0)}, fleetUnit(unit))
	if err != nil {
		return err
	}
	if r.FirstRecord == nil || r.LastRecord == nil || !r.FirstRecord.Equal(c.f.first) || !r.LastRecord.Equal(c.f.at(c.f.steps()-1)) {
		return fmt.Errorf("from %v to %v", r.FirstRecord, r.LastRecord)
	}
	return nil
}

func (c *caller) assets(ctx context.Context) error {
	r, err := c.Assets(ctx, api.ListQuery{SiteID: fleetSite(0), Page: api.Page{Limit: api.MaxLimit}})
	if err == nil && len(r.Assets) != c.f.units {
		err = fmt.Errorf("%d units", len(r.Assets))
	}
	return err
}

// move puts its order on hold or resumes it; the first creates it.
func (c *caller) move(ctx context.Context) error {
	if c.order == "" {
		bill, err := c.GenerateBOM(ctx, api.BOMRequest{AssetID: fleetUnit(c.n % c.f.units), MaintenanceType: api.MaintenanceCorrective})
		if err != nil {
			return err
		}
		r, err := c.CreateOrder(ctx, api.OrderRequest{CustomerID: fleetCustomer, BOMID: bill.BOMID, Additional: true})
		if err != nil {
			return err
		}
		c.order = r.OrderID
		r, err = c.MoveOrder(ctx, api.OrderRequest{Action: api.ActionStart, OrderID: c.order, AssignedTechnician: "grace", Force: true, Note: "load"})
		if err != nil {
			return err
		}
		c.moved, c.held = r.Order.Version, false
		return nil
	}
	q := api.OrderRequest{Action: api.ActionHold, OrderID: c.order, HoldReason: api.HoldOther}
	want := api.OrderOnHold
	if c.held {
		q, want = api.OrderRequest{Action: api.ActionResume, OrderID: c.order}, api.OrderInProgress
	}
	r, err := c.MoveOrder(ctx, q)
	if err != nil {
		return err
	}
	if r.Order == nil || r.Order.Status != want || r.Order.Version != c.moved+1 {
		return fmt.Errorf("%+v after version %d", r.Order, c.moved)
	}
	c.moved, c.held = r.Order.Version, !c.held
	return nil
}

func (c *caller) orders(ctx context.Context) error {
	r, err := c.Orders(ctx, api.ListQuery{CustomerID: fleetCustomer, SiteID: fleetSite(0), Page: api.Page{Limit: 10}}, api.OrderRequest{OpenOnly: true})
	if err == nil && r.Count != len(r.Orders) {
		err = fmt.Errorf("count %d of %d", r.Count, len(r.Orders))
	}
	return err
}

// upload sends three rows of a separate unit.
func (c *caller) upload(ctx context.Context, i int) error {
	at := c.f.first.Add(time.Duration(i) * time.Hour)
	csv := "timestamp,power_kw\n"
	for k := range 3 {
		csv += fmt.Sprintf("%s,%d\n", at.Add(time.Duration(k)*5*time.Minute).Format(time.RFC3339), 10*k+c.n%7)
	}
	r, err := c.UploadTrain(ctx, api.UploadRequest{CustomerID: fleetCustomer, SiteID: "uploads", Region: "eu", Location: "Vienna", Filename: "a.csv", AssetID: fmt.Sprintf("UP-%03d", c.n)}, strings.NewReader(csv), nil)
	if err != nil {
		return err
	}
	if r.UploadID == "" || r.ProcessingStatus != api.UploadQueued {
		return fmt.Errorf("%+v", r)
	}
	c.sent = append(c.sent, r.UploadID)
	return nil
}

// consoleNeeds are those of the first screen of a console.
var consoleNeeds = []state.Need{
	{Query: "summary", Period: 5 * time.Second, Focused: true},
	{Query: "latest", Period: 5 * time.Second, Focused: true},
	{Query: "forecast", Period: 15 * time.Second},
	{Query: "findings", Period: 10 * time.Second},
	{Query: "alerts", Period: 10 * time.Second},
	{Query: "orders", Period: time.Minute},
	{Query: "assets", Period: 5 * time.Minute},
	{Query: "activities", Period: 15 * time.Second},
}

// console asks as the console does: what its planner says is due, once a
// second, conditional on what it knows; pace shortens its times.
func (c *caller) console(ctx context.Context, l *ledger, pace float64) {
	site := api.ListQuery{CustomerID: fleetCustomer, SiteID: fleetSite(0), Page: api.Page{Limit: api.MaxLimit}}
	ask := map[state.Query]func(context.Context) error{
		"summary": func(ctx context.Context) error {
			r, err := c.SiteSummary(ctx, api.SiteRef{SiteID: fleetSite(0)})
			if err == nil && r.TotalInverters != c.f.units {
				err = fmt.Errorf("%d units", r.TotalInverters)
			}
			return err
		},
		"latest": c.latest,
		"assets": c.assets,
		"orders": c.orders,
		"forecast": func(ctx context.Context) error {
			_, err := c.StoredForecasts(ctx, site)
			if errors.Is(err, api.ErrNoForecastResult) {
				err = nil // the site has no model
			}
			return err
		},
		"findings": func(ctx context.Context) error {
			_, err := c.Findings(ctx, site)
			if errors.Is(err, api.ErrNoSummaries) {
				err = nil // nothing was judged
			}
			return err
		},
		"alerts":     func(ctx context.Context) error { _, err := c.Alerts(ctx, site, ""); return err },
		"activities": func(ctx context.Context) error { _, err := c.Activities(ctx, site); return err },
	}
	p := state.Planner{Pace: pace}
	tick := time.NewTicker(time.Duration(pace * float64(time.Second)))
	defer tick.Stop()
	for {
		for _, q := range p.Due(time.Now(), consoleNeeds) {
			var reply client.Reply
			begin := time.Now()
			err := ask[q](client.Observe(ctx, &reply))
			if ctx.Err() != nil {
				return
			}
			l.note("console "+string(q), time.Since(begin), err)
			if err != nil {
				p.Failed(q, time.Now(), 0)
				continue
			}
			p.Succeeded(q)
			if reply.NotModified {
				l.mu.Lock()
				l.kept++
				l.mu.Unlock()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// residentBound is what the service may take under the load: the program and
// its caches (100 MiB), the two jobs that run at a time (40 MiB each, as an
// ingest of the largest file takes), and for each of 250 callers its buffers of
// connection and answer, doubled as the collector lets the heap grow to twice
// what is in use.
const residentBound = 400 // MiB

// TestLoad is the work of a day's worst minute on one service: API keys that
// read, move orders and upload, and consoles that poll. Every response is
// compared with its expected content.
func TestLoad(t *testing.T) {
	seconds, whole := loadSeconds(t)
	keys, consoles, days, pace := 20, 5, 30, 0.1
	if whole {
		keys, consoles, days, pace = 200, 50, 365, 1
	}
	f := makeFleet(t, 1, 100, days, keys+consoles)
	p := servetest.Start(t, f.dir, "--no-mfa")
	before, _ := p.Usage()

	ctx, stop := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
	defer stop()
	var l ledger
	var wait sync.WaitGroup
	callers := make([]*caller, keys+consoles)
	for n := range callers {
		c := &caller{Client: client.New(client.Options{BaseURL: p.URL, Credential: f.keys[n]}), f: f, n: n}
		callers[n] = c
		wait.Go(func() {
			defer c.Close()
			if n >= keys {
				c.console(ctx, &l, pace)
				return
			}
			// 30 requests a minute, spread; all that a key has in the short test.
			every := time.Duration(pace * float64(2*time.Second))
			pause := time.NewTimer(every * time.Duration(n) / time.Duration(keys))
			defer pause.Stop()
			for i := n; ; i++ {
				select {
				case <-ctx.Done():
					return
				case <-pause.C:
				}
				pause.Reset(every)
				begin := time.Now()
				kind, err := c.turn(context.WithoutCancel(ctx), i)
				l.note(kind, time.Since(begin), err)
			}
		})
	}
	wait.Wait()
	most := p.PeakMiB()
	l.report(t)
	t.Logf("%d requests in %d s, %.0f requests/s, %d not modified; resident %.0f MiB at most", l.all(), seconds, float64(l.all())/float64(seconds), l.kept, most)
	for i, w := range l.wrong {
		if i < 20 {
			t.Error(w)
		}
	}
	if n := len(l.wrong); n > 20 {
		t.Errorf("and %d more", n-20)
	}
	if l.kept == 0 {
		t.Error("no console got a 304")
	}
	if most > residentBound {
		t.Errorf("%.0f MiB resident, more than %d", most, residentBound)
	}
	f.uploadsArrive(t, callers[:keys])
	rests(t, p, before)
}

// uploadsArrive waits until each acknowledged upload is worked off.
func (f *fleet) uploadsArrive(t *testing.T, callers []*caller) {
	t.Helper()
	sent := 0
	for end := time.Now().Add(2 * time.Minute); ; {
		open := 0
		sent = 0
		for _, c := range callers {
			for _, id := range c.sent {
				sent++
				u, err := c.Upload(t.Context(), id)
				if err != nil {
					t.Fatalf("an acknowledged upload: %v", err)
				}
				switch u.ProcessingStatus {
				case api.UploadQueued, api.UploadValidating, api.UploadProcessing:
					open++
				case api.UploadCompleted, api.UploadWithWarnings: // its power is that of no sun
				default:
					t.Errorf("upload %s is %s: %s%s", id, u.ProcessingStatus, u.Error, strings.Join(u.Warnings, "; "))
				}
			}
		}
		if open == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d uploads are open still", open, sent)
		}
		time.Sleep(500 * time.Millisecond)
	}
	if sent == 0 {
		t.Error("nothing was uploaded")
	}
	for _, c := range callers {
		c.Close()
	}
}

// rests waits until the process has no more files and threads than before,
// except for those that a service opens a moment after it is ready: the
// administrative socket, and the client of a job.
func rests(t *testing.T, p *servetest.Process, before servetest.Usage) {
	t.Helper()
	const files, threads = 2, 8 // threads that the runtime may have made for what waits in the system
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		u, _ := p.Usage()
		if u.Files <= before.Files+files && u.Threads <= before.Threads+threads {
			return
		}
		if time.Now().After(end) {
			t.Errorf("it rests with %d files and %d threads, %d and %d before", u.Files, u.Threads, before.Files, before.Threads)
			return
		}
	}
}

// TestSixtyAMinuteOverTheWire: each key's sixtieth request within a minute is
// taken and the next refused with whole seconds to wait, after which it is
// taken. The wait itself is for `make load`.
func TestSixtyAMinuteOverTheWire(t *testing.T) {
	_, whole := loadSeconds(t)
	keys := 10
	if whole {
		keys = 100
	}
	f := makeFleet(t, 1, 1, 1, keys)
	p := servetest.Start(t, f.dir, "--no-mfa")
	var wait sync.WaitGroup
	for n, key := range f.keys {
		wait.Go(func() {
			c := &http.Client{Transport: &http.Transport{}}
			defer c.CloseIdleConnections()
			ask := func() (status int, retry string) {
				q, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+api.PathDataPeriod+"?site_id="+fleetSite(0), nil)
				q.Header.Set("Authorization", "Bearer "+key)
				resp, err := c.Do(q)
				if err != nil {
					t.Error(err)
					return 0, ""
				}
				_ = resp.Body.Close()
				return resp.StatusCode, resp.Header.Get("Retry-After")
			}
			begin := time.Now()
			for i := range api.RequestsPerMinute {
				if status, _ := ask(); status != http.StatusOK {
					t.Errorf("key %d, request %d: %d", n, i+1, status)
				}
			}
			status, retry := ask()
			if time.Since(begin) > time.Minute {
				return // a machine too slow to ask sixty times a minute
			}
			seconds, err := strconv.Atoi(retry)
			if status != http.StatusTooManyRequests || err != nil || seconds < 1 || seconds > 60 {
				t.Errorf("key %d, request 61: %d, Retry-After %q", n, status, retry)
			}
			if !whole {
				return
			}
			time.Sleep(time.Duration(seconds) * time.Second)
			if status, _ := ask(); status != http.StatusOK {
				t.Errorf("key %d after its %d s: %d", n, seconds, status)
			}
		})
	}
	wait.Wait()
}
