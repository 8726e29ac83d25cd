package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/gateway/forward"
	"app.sunloop/backend/gateway/spool"
	"app.sunloop/backend/store"
)

// cutService is a service whose link is cut, with the batches of each request that it stored.
type cutService struct {
	forward.Service
	cut      bool
	requests [][2]int
	stored   func() // called after each of them
}

func (s *cutService) WriteTelemetry(ctx context.Context, q api.WriteQuery, packed []byte) (*api.WriteResponse, error) {
	if s.cut {
		return nil, errors.New("the link is cut")
	}
	r, err := s.Service.WriteTelemetry(ctx, q, packed)
	if err == nil && q.Sequence > 0 {
		s.requests = append(s.requests, [2]int{cmp.Or(q.FirstSequence, q.Sequence), q.Sequence})
		s.stored()
	}
	return r, err
}

// onlySent is a Store of a gateway whose own samples are not looked at.
type onlySent struct{ *dayPlant }

func (onlySent) Append(context.Context, string, []store.AssetFrame, bool) error { return nil }

// sending is a forwarder that runs until it has nothing to do, or failed, and then waits
// for turn.
type sending struct {
	*forward.Forwarder
	idle, next chan struct{}
	end        context.CancelFunc
	ended      chan struct{}
	spool      *spool.Spool
}

func startSending(t *testing.T, dir string, to forward.Service, now *time.Time) *sending {
	t.Helper()
	queue, err := spool.Open(filepath.Join(dir, "forward"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &sending{idle: make(chan struct{}), next: make(chan struct{}), end: cancel, ended: make(chan struct{}), spool: queue}
	s.Forwarder = forward.New(forward.Options{Spool: queue, Service: to, SiteID: "roof", GatewayID: "g", Version: "1", Refused: filepath.Join(dir, "refused.jsonl"),
		Now: func() time.Time { return *now }, Log: slog.New(slog.DiscardHandler), Pause: func(ctx context.Context, _ time.Duration) error {
			select {
			case s.idle <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			select {
			case <-s.next:
			case <-ctx.Done():
			}
			return ctx.Err()
		}})
	go func() { defer close(s.ended); s.Run(ctx) }()
	<-s.idle
	return s
}

// turn lets it send what it can.
func (s *sending) turn() {
	s.next <- struct{}{}
	<-s.idle
}

func (s *sending) stop() {
	s.end()
	<-s.ended
	_ = s.spool.Close()
}

// TestCut cuts the link between a gateway, whose inverters misbehave in turn, and a service
// over a data folder, and starts the gateway again meanwhile. When the link is there again,
// the newest minute is stored first, each new batch is the next request, and the history
// follows, oldest first; in the end each power that was served and should be stored is
// stored at the service once and right, and nothing else. SUNLOOP_TEST_CUT_HOURS and
// SUNLOOP_TEST_CUT_DEVICES change the 2 hours and 2 devices of the usual run; all times are
// those of the clock of the devices.
func TestCut(t *testing.T) {
	devices, hours := 2, 2
	for name, to := range map[string]*int{"DEVICES": &devices, "HOURS": &hours} {
		if n, err := strconv.Atoi(os.Getenv("SUNLOOP_TEST_CUT_" + name)); err == nil && n > 0 {
			*to = n
		}
	}
	const around = time.Hour // before the cut, and for what is read after it
	now := time.Date(2026, 6, 15, 8, 0, 0, 0, time.UTC)
	cut := time.Duration(hours) * time.Hour
	plant := newDayPlant(&now, devices, int((2*around+cut)/dayPoll))
	ends := plant.start.Add(2*around + cut)
	clock := func() time.Time { return now }
	central, err := backend.New(backend.Config{DataDir: t.TempDir(), Now: clock, Wall: clock, KeyRate: 1_000_000}) // Run is not called: no worker takes jobs
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := central.Close(); err != nil {
			t.Error(err)
		}
	}()
	call := func(role string, sites ...string) *client.Client {
		key, _, err := central.Auth().CreateKey(t.Context(), auth.NewKey{Name: role, Role: role, Customers: []string{"default"}, Sites: sites})
		if err != nil {
			t.Fatal(err)
		}
		return client.New(client.Options{Transport: client.InProcess(central.Handler()), Credential: key, Now: clock})
	}
	if _, err := call(api.RoleAdmin).AddSite(t.Context(), api.Site{SiteID: "roof", CustomerID: "default", Timezone: "UTC", CapacityKW: float64(30 * devices)}); err != nil {
		t.Fatal(err)
	}
	link := &cutService{Service: call(api.RoleCollector, "roof"), stored: func() {}}
	folder := t.TempDir()
	sender := startSending(t, folder, link, &now)
	defer func() { sender.stop() }()
	poller := plant.poller(t, onlySent{plant}, sender)
	commit := func() { // ten seconds
		for range 2 {
			for _, l := range poller.lines {
				poller.poll(t.Context(), l, now)
			}
			now = now.Add(dayPoll)
		}
		poller.commit(t.Context(), now)
	}
	until := func(end time.Time) {
		for now.Before(end) {
			commit()
			sender.turn()
		}
	}
	until(plant.start.Add(around))
	before := sender.Status()
	if before.Batches != 0 || before.State != forward.StateSending {
		t.Fatalf("before the cut: %+v", before)
	}
	link.cut = true
	until(plant.start.Add(around + cut/2))
	sender.stop() // the process ends
	sender = startSending(t, folder, link, &now)
	poller.options.Forward = sender
	until(plant.start.Add(around + cut))
	waiting := sender.Status()
	if waiting.LastSequence-before.LastSequence < int(cut/(20*time.Second)) || waiting.State != forward.StateWaiting {
		t.Errorf("after the cut: %+v", waiting)
	}
	link.cut, link.requests = false, nil
	newest := waiting.LastSequence
	history, began := before.LastSequence, time.Now()
	var refilled time.Duration
	link.stored = func() { // while one request is sent, ten seconds pass
		r := link.requests[len(link.requests)-1]
		switch {
		case len(link.requests) == 1:
			if r[1] != newest || r[0] != newest-5 {
				t.Errorf("the first request has the batches %d to %d, want the minute before %d", r[0], r[1], newest)
			}
		case r[1] > newest:
			if r[0] != newest+1 || r[1] != newest+1 {
				t.Errorf("request %d has the batches %d to %d, the newest one is %d", len(link.requests), r[0], r[1], newest+1)
			}
			newest = r[1]
			return
		case r[0] != history+1:
			t.Errorf("request %d has the batches %d to %d, want from %d on", len(link.requests), r[0], r[1], history+1)
			history = r[1]
		default:
			history = r[1]
		}
		if history == waiting.LastSequence-6 {
			refilled = time.Since(began)
			return
		}
		if now.Before(ends) {
			commit()
		}
	}
	sender.turn()
	if refilled == 0 {
		t.Fatalf("the history is not filled: %+v, requests %v", sender.Status(), link.requests)
	}
	requests := len(link.requests)
	link.stored = func() {}
	until(ends)
	st := sender.Status()
	if st.Batches != 0 || st.Acknowledged != st.LastSequence || st.Refused+st.Renumbered+st.Damaged > 0 || st.Dropped > 0 {
		t.Errorf("in the end: %+v", st)
	}
	list, _, err := central.Live().Gateways(t.Context(), api.Scope{Customers: []string{api.Every}, Sites: []string{api.Every}}, api.ListQuery{SiteID: "roof"})
	if err != nil || len(list) != 1 || len(list[0].Received) != 1 || list[0].Received[0] != (api.SequenceRange{First: 1, Last: st.LastSequence}) {
		t.Errorf("the service has %+v, %v", list, err)
	}
	for _, d := range poller.lines[0].devices {
		for f, err := range central.Live().Telemetry.Read(t.Context(), "roof", d.Asset, plant.start.AddDate(-1, 0, 0), ends.AddDate(1, 0, 0)) {
			if err != nil {
				t.Fatal(err)
			}
			if err := plant.Append(t.Context(), "", []store.AssetFrame{{AssetID: d.Asset, Frame: f}}, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d batches waited after a cut of %s, and were stored by %d requests in %.1f s", waiting.LastSequence-before.LastSequence, cut, requests, refilled.Seconds())
	plant.check(t, "at the service")
}
