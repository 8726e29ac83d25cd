package tui

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/view"
)

// Stock by keys, against the service itself: counted, received, issued,
// refused.
func TestStockByKeys(t *testing.T) {
	d, c := onService(t, "g", "t")
	d.shows("Stock", "FUSE-GPV-15A")
	part := func(number string) api.Part {
		t.Helper()
		r, err := c.Parts(t.Context(), api.PartsRequest{CustomerID: "acme", SiteID: "Durban", Page: api.Page{Limit: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Parts {
			if p.PartNumber == number {
				return p
			}
		}
		t.Fatalf("no part %s", number)
		return api.Part{}
	}
	const fuse = "FUSE-GPV-15A"
	d.press("/", fuse, "enter", "c", "ctrl+u", "many", "enter")
	d.shows("The stock is a whole number from 0 on.")
	d.press("ctrl+u", "20", "tab", "ctrl+u", "12", "enter")
	if p := part(fuse); p.OnHand != 20 || p.Minimum != 12 || !p.Counted || p.BelowMinimum {
		t.Fatalf("counted: %+v\n%s", p, d.text())
	}
	d.shows("20 on hand, 20 free.")
	d.press("a", "-9", "enter")
	d.shows("Where from, or where to?")
	d.press("lent to Havelland", "enter")
	if p := part(fuse); p.OnHand != 11 || !p.BelowMinimum {
		t.Fatalf("issued: %+v\n%s", p, d.text())
	}
	d.minute()
	d.shows("buy 1")
	d.press("a", "-50", "tab", "broken", "enter") // more than there is
	if p := part(fuse); p.OnHand != 11 {
		t.Errorf("issued what is not there: %+v", p)
	}
	if !strings.Contains(d.place(), "Receive or issue") {
		t.Errorf("the refusal is not shown: %s\n%s", d.place(), d.text())
	}
	d.press("esc", "esc", "b")
	d.minute()
	d.shows(fuse)
	d.hides("enough")
}

// An order's changes are posted to a real place; what it refused is posted
// again by key, with the same id; the secret is shown once.
func TestSubscriptionsByKeys(t *testing.T) {
	type post struct {
		id    string
		event api.OrderEvent
	}
	posts := make(chan post, 20)
	status := make(chan int, 20)
	place := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p post
		p.id = r.Header.Get("webhook-id")
		if err := json.NewDecoder(r.Body).Decode(&p.event); err != nil {
			t.Error(err)
		}
		w.WriteHeader(<-status)
		posts <- p
	}))
	defer place.Close()
	c := realService(t, func(cfg *backend.Config) { cfg.WebhookAllow = []string{"127.0.0.1"} })
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Client = c })
	d.press("n", "o", "enter")
	order := orders(t, c)[0]
	d.minute()
	d.press("g", "h")
	d.shows("No webhook subscriptions.")
	d.press("c", "no address", "enter")
	d.shows("Invalid callback URL", "no address")
	d.press("ctrl+u", place.URL+"/hook", "enter")
	d.shows("The new secret", "whsec_")
	d.press("y", "enter")
	d.hides("whsec_")
	d.minute()
	d.shows(place.URL, "active")
	wait := func(what string, ok func(api.Delivery) bool) api.Delivery {
		t.Helper()
		for range 500 {
			r, err := c.Deliveries(t.Context(), api.TrackRequest{OrderID: order.OrderID})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range r.Deliveries {
				if ok(one) {
					return one
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatalf("never %s", what)
		return api.Delivery{}
	}
	status <- http.StatusTeapot
	if _, err := c.MoveOrder(t.Context(), api.OrderRequest{Action: api.ActionStart, OrderID: order.OrderID}); err != nil {
		t.Fatal(err)
	}
	first := <-posts
	if first.event.OrderID != order.OrderID || first.event.Status != api.OrderInProgress {
		t.Errorf("posted: %+v", first)
	}
	wait("refused", func(one api.Delivery) bool { return one.AnswerStatus == http.StatusTeapot })
	d.minute()
	d.shows("418,") // near midnight the day precedes it, and the line breaks within
	d.press("enter")
	d.minute()
	d.shows("Deliveries", "418", "webhook-id", first.id)
	status <- http.StatusNoContent
	d.press("p")
	again := <-posts
	if again.id != first.id || again.event != first.event {
		t.Errorf("posted again: %+v after %+v", again, first)
	}
	wait("delivered", func(one api.Delivery) bool {
		return one.Status == api.DeliveryDelivered && one.AnswerStatus == http.StatusNoContent
	})
	d.minute()
	d.shows("delivered")

	subscription := func() api.Subscription {
		t.Helper()
		r, err := c.Subscriptions(t.Context(), api.ListQuery{CustomerID: "acme", SiteID: "Durban"}, "")
		if err != nil || len(r.Subscriptions) == 0 {
			t.Fatalf("%+v %v", r, err)
		}
		return r.Subscriptions[0]
	}
	d.press("esc", "u")
	d.shows("Unavailable: the subscription is active.")
	d.press("p")
	if s := subscription(); s.Status != api.SubscriptionPaused {
		t.Errorf("paused: %+v\n%s", s, d.text())
	}
	d.minute()
	d.press("u")
	if s := subscription(); s.Status != api.SubscriptionActive {
		t.Errorf("resumed: %+v\n%s", s, d.text())
	}
	d.minute()
	d.press("R", "enter")
	d.shows("Nothing was changed")
	d.press("right", "enter")
	d.shows("The new secret", "whsec_")
	d.press("y", "enter")
	if s := subscription(); s.FormerSecretUntil.IsZero() {
		t.Errorf("rotated: %+v", s)
	}
	d.minute()
	d.press("X", "right", "enter")
	d.minute()
	r, err := c.Subscriptions(t.Context(), api.ListQuery{CustomerID: "acme", SiteID: "Durban"}, "")
	if err != nil || len(r.Subscriptions) > 0 && r.Subscriptions[0].Status != api.SubscriptionDeleted {
		t.Errorf("deleted: %+v %v\n%s", r, err, d.text())
	}
}

// What is of a customer who is not the person's is refused in the service's
// words, and the form keeps what was typed.
func TestForeignCustomer(t *testing.T) {
	c := realService(t)
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Client = c })
	d.m.nav.selection = view.Selection{AssetID: "INV-1"}
	d.press("3")
	d.m.data.Site.CustomerID = "another user" // as if the site had changed hands
	d.press("R", "filters", "enter")
	d.shows("Access denied", "filters")
	if n := len(schedules(t, c)); n != 0 {
		t.Errorf("%d schedules were made", n)
	}
}
