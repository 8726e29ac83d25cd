package resilience

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/servetest"
	"app.sunloop/internal/longtest"
)

// visitor is a client that can also call as another, from the same place.
type visitor struct {
	*client.Client
	options client.Options
}

func (c visitor) as(credential string) *client.Client {
	c.options.Credential = credential
	return client.New(c.options)
}

// visitorAt calls over the network, as a client behind a proxy: each from a
// separate address, as the service counts requests by address.
func visitorAt(url, credential string) visitor {
	n := rand.Uint32()
	o := client.Options{BaseURL: url, Credential: credential, Transport: forwarded{
		&http.Transport{MaxIdleConnsPerHost: 4}, fmt.Sprintf("203.%d.%d.%d", n>>16&255, n>>8&255, n&255),
	}}
	return visitor{client.New(o), o}
}

type forwarded struct {
	*http.Transport
	address string
}

// RoundTrip says on whose behalf it asks.
func (f forwarded) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("X-Forwarded-For", f.address)
	return f.Transport.RoundTrip(q)
}

// killRounds is how often the service is killed; `make kills` does it 500 times.
func killRounds(t *testing.T) int {
	text := os.Getenv("SUNLOOP_TEST_KILLS")
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// killFlags are the service of the crash test: models are trained from few
// days, and webhooks may go to this machine.
var killFlags = []string{"--training-days", "20", "--webhook-allow", "127.0.0.1", "--trusted-proxy", "127.0.0.0/8"}

// However often the service is killed, whatever it is doing, what it
// acknowledged is there, and nothing is there by half.
func TestKilledAnywhereLosesNothing(t *testing.T) {
	longtest.Mark(t)
	dir, rounds, seed := filepath.Join(t.TempDir(), "data"), killRounds(t), uint64(time.Now().UnixNano())
	if text := os.Getenv("SUNLOOP_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("SUNLOOP_TEST_SEED=%d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	place := newReceiver()
	defer place.Close()
	w := &crowd{book: newBook(), place: place, dirs: []string{dir}, counts: map[string]int{}}
	root := servetest.RootKey(t, dir)
	keys, readers := w.open(t, root)
	begun := time.Now()
	for round := range rounds {
		p := launchToKill(t, dir, round, dice)
		clients := make([]visitor, len(readers))
		for i, key := range readers {
			clients[i] = visitorAt(p.URL, key)
		}
		if err := w.book.check(t.Context(), clients, dice, false); err != nil {
			t.Fatalf("round %d: %v\nthe service says:\n%s", round, err, p.Log())
		}
		for _, c := range clients {
			c.Close()
		}
		ctx, cancel := context.WithCancel(t.Context())
		worked := make(chan struct{})
		own := rand.New(rand.NewPCG(seed, uint64(round)+1))
		go func() { w.work(ctx, p, keys, own); close(worked) }()
		span := time.Duration(50+dice.IntN(450)) * time.Millisecond
		if round%25 == 24 { // time enough for a model to be trained
			span += 4 * time.Second
		}
		time.Sleep(span)
		if round%5 == 3 { // during a clean shutdown
			if err := p.Term(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(dice.IntN(60)) * time.Millisecond)
		}
		p.Kill()
		cancel()
		<-worked
		if strings.Contains(p.Log(), "panic") {
			t.Fatalf("round %d: it panicked:\n%s", round, p.Log())
		}
		if round%50 == 49 {
			checkFolder(t, dir)
		}
	}
	took := time.Since(begun)
	w.settle(t, root)
	checkFolder(t, dir)
	w.report(t, fmt.Sprintf("%d kills in %s", rounds, took.Round(time.Second)))
}

// report says what the crowd did. No answer was an error of the service's own.
func (w *crowd) report(t *testing.T, what string) {
	t.Helper()
	again := 0
	for _, times := range w.place.seen() {
		again += times - 1
	}
	t.Logf("%s; %d acknowledged writes, all there, the audit record of %d in the log alone; %d webhooks, %d of them posted more than once; %d answers lost; refusals: %v",
		what, w.book.acknowledged, w.book.logAlone, len(w.place.seen()), again, w.stockLost, w.book.refusals)
	t.Logf("begun: %v", w.counts)
	for what, n := range w.book.refusals {
		if strings.Contains(what, ": 5") {
			t.Errorf("%d times %s", n, what)
		}
	}
}

// launchToKill starts a service. In some rounds it is killed while it starts,
// once or twice, and started again.
func launchToKill(t *testing.T, dir string, round int, dice *rand.Rand) *servetest.Process {
	t.Helper()
	early := 0
	if round%4 == 1 {
		early = 1 + round%8/4
	}
	for range early {
		p, err := servetest.Launch(dir, killFlags...)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(dice.IntN(250)) * time.Millisecond)
		p.Kill()
	}
	return servetest.Start(t, dir, killFlags...)
}

// open fills a folder without a running service.
func (w *crowd) open(t *testing.T, root string) (keys, readers []string) {
	t.Helper()
	p := servetest.Start(t, w.dirs[0], killFlags...)
	defer p.Kill()
	return w.fill(t, p.URL, root, 39)
}

// fill makes the sites with some telemetry, and keys of administrators: nine for
// the clients, the others for those who check.
func (w *crowd) fill(t *testing.T, url, root string, n int) (keys, readers []string) {
	t.Helper()
	c := visitorAt(url, root)
	defer c.Close()
	for _, site := range plants {
		newSite(t, c.Client, tenant, site, site+"-1", site+"-2")
	}
	if _, err := c.AdjustStock(t.Context(), api.PartsRequest{CustomerID: tenant, PartNumber: stockPart, OnHand: new(0), Reason: "counted"}); err != nil {
		t.Fatal(err)
	}
	// Each maker of keys has its rate.
	maker := c
	for len(keys) < n {
		if len(keys)%40 == 39 {
			maker = visitorAt(url, keys[len(keys)-1])
			defer maker.Close()
		}
		keys = append(keys, newKey(t, maker.Client, "*", api.RoleAdmin))
	}
	keys, readers = keys[:9], keys[9:]
	history := visitorAt(url, keys[1])
	defer history.Close()
	// Two months in which the second inverter is down in the last week: there
	// is a fault to detect and report.
	var b strings.Builder
	b.WriteString("timestamp,asset_id,power_kw\n")
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for day := -60; day < 0; day++ {
		for i := range rowsADay {
			at := today.AddDate(0, 0, day).Add(time.Duration(i) * 30 * time.Minute).Format(time.RFC3339)
			fmt.Fprintf(&b, "%s,North-1,%.2f\n", at, 3*rowPowerKW(0, i))
			if day > -7 {
				i = 0
			}
			fmt.Fprintf(&b, "%s,North-2,%.2f\n", at, 3*rowPowerKW(0, i))
		}
	}
	ack, err := history.UploadTrain(t.Context(), api.UploadRequest{CustomerID: tenant, SiteID: "North", Region: "eu", Location: "48.2,16.4", Timezone: "UTC", CapacityKW: 100}, strings.NewReader(b.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for tries, late := 0, time.Now().Add(2*servetest.ReadyWithin); ; tries++ {
		u, err := visitorAt(url, readers[tries%len(readers)]).Upload(t.Context(), ack.UploadID)
		if err != nil {
			t.Fatal(err)
		}
		if u.Ended() {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("the history is %s, at %s", u.ProcessingStatus, u.Stage)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return keys, readers
}

// settle opens the folder a last time, past all leases, until nothing waits any
// more, and checks all that was ever acknowledged.
func (w *crowd) settle(t *testing.T, root string) {
	t.Helper()
	ahead := func() time.Time { return time.Now().Add(3 * time.Minute) }
	service, err := backend.New(backend.Config{DataDir: w.dirs[0], Now: ahead, Wall: ahead, RequireMFA: true, WebhookAllow: []string{"127.0.0.1"},
		TrainingDays: 20, KeyRate: 1_000_000, UserRate: 1_000_000, Tick: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	defer func() {
		cancel()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	}()
	o := client.Options{Credential: root, Transport: client.InProcess(service.Handler())}
	c := visitor{client.New(o), o}
	w.drain(t, c)
	if err := w.book.checkAll(t.Context(), []visitor{c}); err != nil {
		t.Error(err)
	}
	w.countStock(t, c)
}

// countStock asks for the pieces of which it is not known whether they are
// there, and then counts: each is there once.
func (w *crowd) countStock(t *testing.T, c visitor) {
	t.Helper()
	counter := c.as(w.stockCaller)
	if w.stockKey != "" {
		w.stockOpen = append(w.stockOpen, w.stockKey)
	}
	for _, key := range w.stockOpen {
		late := time.Now().Add(5 * time.Minute)
		for {
			done, err := w.piece(t.Context(), counter, key)
			if done {
				break
			}
			// A process that died holds the key for two minutes.
			if status, _ := refusal(err); status != http.StatusConflict || time.Now().After(late) {
				t.Errorf("%s is not there: %v", key, err)
				break
			}
			time.Sleep(3 * time.Second)
		}
	}
	parts, err := c.Parts(t.Context(), api.PartsRequest{Action: api.ActionList, CustomerID: tenant, Page: api.Page{Limit: api.MaxLimit}})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts.Parts {
		if part.PartNumber != stockPart {
			continue
		}
		if part.OnHand != w.stockBegun {
			t.Errorf("%d pieces are in stock of %d that were put there, each under its Idempotency-Key", part.OnHand, w.stockBegun)
		}
		t.Logf("%d pieces in stock; %d requests were open at the end, %d answers lost", part.OnHand, len(w.stockOpen), w.stockLost)
	}
}

// drain waits until every upload has ended, also those whose answer was lost,
// and every event has come to its subscriber.
func (w *crowd) drain(t *testing.T, c visitor) {
	t.Helper()
	late := time.Now().Add(10 * time.Minute)
	for open := -1; open != 0; time.Sleep(100 * time.Millisecond) {
		open = 0
		q := api.ListQuery{CustomerID: tenant, Page: api.Page{Limit: api.MaxLimit}}
		for first := true; first || q.Cursor != ""; first = false {
			list, err := c.Uploads(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range list.Uploads {
				if !u.Ended() {
					open++
				} else if !strings.HasPrefix(u.ProcessingStatus, api.UploadCompleted) {
					t.Errorf("upload %s is %s: %s", u.UploadID, u.ProcessingStatus, u.Error)
				}
			}
			q.Cursor = list.NextCursor
		}
		if time.Now().After(late) {
			t.Fatalf("%d uploads do not end", open)
		}
	}
	events := map[string]bool{}
	for _, id := range w.subscribed {
		for {
			list, err := c.Deliveries(t.Context(), api.TrackRequest{SubscriptionID: id, Page: api.Page{Limit: api.MaxLimit}})
			if err != nil {
				t.Fatal(err)
			}
			waiting := ""
			for _, d := range list.Deliveries {
				events[d.DeliveryID] = true
				if d.Status != api.DeliveryDelivered {
					waiting = fmt.Sprintf("delivery %s is %s after %d attempts: %s", d.DeliveryID, d.Status, d.Attempts, d.Failure)
				}
			}
			if waiting == "" {
				break
			}
			if time.Now().After(late) {
				t.Fatal(waiting)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	arrived := w.place.seen()
	for id := range events {
		if arrived[id] == 0 {
			t.Errorf("event %s never came", id)
		}
	}
	for id := range arrived {
		if !events[id] {
			t.Errorf("%s came and is no event", id)
		}
	}
}

// checkFolder checks a folder without a running service.
func checkFolder(t *testing.T, dir string) {
	t.Helper()
	if out, err := servetest.Command(dir, "admin", "check").CombinedOutput(); err != nil {
		t.Errorf("sunloop admin check: %v\n%s", err, out)
	}
}
