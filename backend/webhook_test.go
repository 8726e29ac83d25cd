package backend

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"app.sunloop/backend/api"
	"app.sunloop/backend/webhook"
)

// call is a webhook as it came in.
type call struct {
	header http.Header
	body   []byte
}

// event is what it says.
func (c call) event(t *testing.T) (e api.OrderEvent) {
	t.Helper()
	if err := json.Unmarshal(c.body, &e); err != nil {
		t.Fatalf("%s: %v", c.body, err)
	}
	return e
}

// endpoint receives webhooks.
func endpoint(t testing.TB) (*httptest.Server, chan call) {
	t.Helper()
	calls := make(chan call, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		calls <- call{q.Header.Clone(), body}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	return s, calls
}

// worksite makes a site with a unit and an order of it that is in progress.
func worksite(t testing.TB, h *instance) (orderID string) {
	t.Helper()
	ctx := t.Context()
	if _, err := h.SetSite(ctx, api.Site{SiteID: "South", CustomerID: "acme", Timezone: "Europe/Vienna", CapacityKW: 50}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.AddAsset(ctx, api.Asset{AssetID: "INV-1", SiteID: "South", Name: "One", Type: "inverter", CapacityKW: 50, Location: "roof"}); err != nil {
		t.Fatal(err)
	}
	return workOrder(t, h)
}

// workOrder makes an order of the unit and starts it.
func workOrder(t testing.TB, h *instance) (orderID string) {
	t.Helper()
	ctx := t.Context()
	bill, err := h.GenerateBOM(ctx, api.BOMRequest{AssetID: "INV-1", MaintenanceType: api.MaintenanceCorrective})
	if err != nil {
		t.Fatal(err)
	}
	o, err := h.CreateOrder(ctx, api.OrderRequest{CustomerID: "acme", BOMID: bill.BOMID})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.MoveOrder(ctx, api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID, AssignedTechnician: "grace"}); err != nil {
		t.Fatal(err)
	}
	return o.OrderID
}

// A change of an order's status comes to its subscriber, who can verify it.
func TestWebhookOverTheWire(t *testing.T) {
	place, calls := endpoint(t)
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now, WebhookAllow: []string{place.Listener.Addr().String()}})
	order := worksite(t, h)
	sub, err := h.Subscribe(t.Context(), order, place.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.MoveOrder(t.Context(), api.OrderRequest{Action: api.ActionComplete, OrderID: order, CompletionNotes: "Fan replaced"}); err != nil {
		t.Fatal(err)
	}
	got := <-calls
	verifier, err := standardwebhooks.NewWebhook(sub.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := verifier.Verify(got.body, got.header); err != nil {
		t.Errorf("it does not verify: %v", err)
	}
	if e := got.event(t); e.OrderID != order || e.Status != api.OrderCompleted || e.CompletionNotes != "Fan replaced" || e.UpdatedAt.IsZero() || e.Sequence == 0 || strings.Count(string(got.body), `":`) != 5 {
		t.Errorf("it says %s", got.body)
	}
	// What the service notes of it may come a moment later.
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		list, err := h.Deliveries(t.Context(), api.TrackRequest{OrderID: order})
		if err != nil {
			t.Fatal(err)
		}
		if d := list.Deliveries[0]; d.Status == api.DeliveryDelivered && d.DeliveryID == got.header.Get(webhook.HeaderID) && d.Attempts == 1 && d.AnswerStatus == 204 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the delivery is %+v", d)
		}
	}
	if subs, err := h.Subscriptions(t.Context(), api.ListQuery{}, order); err != nil || subs.Subscriptions[0].Status != api.SubscriptionCompleted {
		t.Errorf("the subscription is %+v, %v", subs, err)
	}
}

// BenchmarkWebhook is the time from the request that changes an order to the
// webhook at its subscriber, both in this process.
func BenchmarkWebhook(b *testing.B) {
	place, calls := endpoint(b)
	h := open(b, Config{DataDir: b.TempDir(), Now: time.Now, WebhookAllow: []string{place.Listener.Addr().String()}})
	order := worksite(b, h)
	if _, err := h.Subscribe(b.Context(), order, place.URL); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		if n%200 == 199 { // a history that grows for ever is no measure
			order = workOrder(b, h)
			if _, err := h.Subscribe(b.Context(), order, place.URL); err != nil {
				b.Fatal(err)
			}
		}
		r := api.OrderRequest{Action: api.ActionHold, OrderID: order, HoldReason: api.HoldWeather}
		if held, err := h.Order(b.Context(), order); err != nil {
			b.Fatal(err)
		} else if held.Status == api.OrderOnHold {
			r = api.OrderRequest{Action: api.ActionResume, OrderID: order}
		}
		begun := time.Now()
		if _, err := h.MoveOrder(b.Context(), r); err != nil {
			b.Fatal(err)
		}
		<-calls
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms/p99")
}

// killDir and killPlace give a copy of the test program its working folder until it
// is killed.
const (
	killDir   = "SUNLOOP_TEST_KILL_DIR"
	killPlace = "SUNLOOP_TEST_KILL_PLACE"
)

// TestWebhookChild is the program that is killed: it changes an order and says
// so.
func TestWebhookChild(t *testing.T) {
	dir, place := os.Getenv(killDir), os.Getenv(killPlace)
	if dir == "" {
		t.Skip("it runs for TestKilledBetweenChangeAndPost")
	}
	h := open(t, Config{DataDir: dir, Now: time.Now, WebhookAllow: []string{"127.0.0.1"}})
	order := worksite(t, h)
	sub, err := h.Subscribe(t.Context(), order, place)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.MoveOrder(t.Context(), api.OrderRequest{Action: api.ActionHold, OrderID: order, HoldReason: api.HoldWeather}); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("changed %s %s\n", order, sub.Secret)
	time.Sleep(2 * time.Minute) // it is killed long before
}

// A process that is killed between the change of an order and the answer of
// its subscriber loses nothing: the next one posts the event, under the same
// id if it was posted before.
func TestKilledBetweenChangeAndPost(t *testing.T) {
	dir := t.TempDir()
	// The endpoint accepts the connection and never responds, so the child
	// dies while the event is posted.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestWebhookChild$", "-test.v")
	child.Env = append(os.Environ(), killDir+"="+dir, killPlace+"=http://"+silent.Addr().String()+"/hook")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	order, secret := "", ""
	for lines := bufio.NewScanner(out); order == "" && lines.Scan(); {
		if n, _ := fmt.Sscanf(lines.Text(), "changed %s %s", &order, &secret); n != 2 {
			order = ""
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	if err := silent.Close(); err != nil {
		t.Fatal(err)
	}
	if order == "" {
		t.Fatal("the child changed nothing")
	}
	// The same address, with a server that responds now.
	calls := make(chan call, 10)
	l, err := net.Listen("tcp", silent.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		calls <- call{q.Header.Clone(), body}
	}))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	defer server.Close()
	ahead := func() time.Time { return time.Now().Add(2 * time.Minute) } // past the lease of the dead
	service, err := New(Config{DataDir: dir, Now: ahead, Wall: ahead, WebhookAllow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- service.Run(context.Background()) }()
	got := <-calls
	if e := got.event(t); e.OrderID != order || e.Status != api.OrderOnHold {
		t.Errorf("it says %s", got.body)
	}
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := verifier.Verify(got.body, got.header); err != nil {
		t.Errorf("it does not verify: %v", err)
	}
	if err := service.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
