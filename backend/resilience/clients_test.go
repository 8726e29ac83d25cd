package resilience

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/servetest"
	"app.sunloop/internal/clock"
)

// tenant is the customer of the crash test, and plants the sites it has.
const tenant = "acme"

var plants = []string{"North", "South", "West"}

// day0 is the first day of the crash test's telemetry; a file holds one day of
// one inverter, every half hour.
var day0 = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -900)

const rowsADay = 48

// file is a day of an inverter that no other file has: n counts the files.
func file(n int) (site, asset string, day time.Time, csv string) {
	site, asset = plants[n%len(plants)], fmt.Sprintf("%s-%d", plants[n%len(plants)], 1+n/len(plants)%2)
	day = day0.AddDate(0, 0, n/(2*len(plants)))
	var b strings.Builder
	b.WriteString("timestamp,asset_id,power_kw\n")
	for i := range rowsADay {
		fmt.Fprintf(&b, "%s,%s,%.2f\n", day.Add(time.Duration(i)*30*time.Minute).Format(time.RFC3339), asset, rowPowerKW(n, i))
	}
	return site, asset, day, b.String()
}

// rowPowerKW is row i of file n.
func rowPowerKW(n, i int) float64 {
	if i < 12 || i > 36 {
		return 0
	}
	return float64(100*(12-max(i-24, 24-i))+n%97) / 100
}

// upload sends file after file, for training and for nowcasts.
func (w *crowd) upload(ctx context.Context, c visitor) error {
	n := w.next("file")
	site, asset, day, csv := file(n)
	req := api.UploadRequest{CustomerID: tenant, SiteID: site, Region: "eu", Location: "48.2,16.4", Timezone: "UTC", CapacityKW: 100}
	send := c.UploadTrain
	if n%3 == 1 {
		send = c.UploadNowcast
	}
	var ack *api.UploadAck
	if err := w.book.write(ctx, "upload", func(ctx context.Context) (err error) {
		ack, err = send(ctx, req, strings.NewReader(csv), nil)
		return err
	}); err != nil {
		return err
	}
	w.book.keep("upload "+ack.UploadID, func(ctx context.Context, c visitor, atEnd bool) error {
		u, err := c.Upload(ctx, ack.UploadID)
		switch {
		case err != nil:
			return err
		case !u.Ended() && !atEnd:
			return nil
		case !strings.HasPrefix(u.ProcessingStatus, api.UploadCompleted) || u.RowsStored != rowsADay:
			return fmt.Errorf("it is %s with %d rows of %d: %s", u.ProcessingStatus, u.RowsStored, rowsADay, u.Error)
		}
		got, err := c.Inverter(ctx, api.RecordsQuery{AssetID: asset, SiteID: site, Start: api.At(day), End: api.LastBefore(day.AddDate(0, 0, 1))})
		if err != nil {
			return err
		}
		if len(got.Records) != rowsADay {
			return fmt.Errorf("%d records of %d of %s on %s", len(got.Records), rowsADay, asset, day)
		}
		for i, r := range got.Records {
			if at := day.Add(time.Duration(i) * 30 * time.Minute); !r.Timestamp.Equal(at) || r.Power != rowPowerKW(n, i) {
				return fmt.Errorf("record %d of %s is %g kW at %s, not %g at %s", i, asset, r.Power, r.Timestamp, rowPowerKW(n, i), at)
			}
		}
		return nil
	})
	return nil
}

// order makes a bill, an order with a subscription, and moves it to its end.
func (w *crowd) order(ctx context.Context, c visitor) error {
	n := w.next("order")
	site := plants[n%len(plants)]
	var bill *api.BOMResponse
	if err := w.book.write(ctx, "bill", func(ctx context.Context) (err error) {
		bill, err = c.GenerateBOM(ctx, api.BOMRequest{AssetID: site + "-1", SiteID: site, CustomerID: tenant, MaintenanceType: api.MaintenanceCorrective})
		return err
	}); err != nil {
		return err
	}
	w.book.keep("bill "+bill.BOMID, func(ctx context.Context, c visitor, _ bool) error {
		_, err := c.BOM(ctx, bill.BOMID)
		return err
	})
	var made *api.OrderResponse
	if err := w.book.write(ctx, "order", func(ctx context.Context) (err error) {
		made, err = c.CreateOrder(client.WithIdempotencyKey(ctx, fmt.Sprint("order ", n)), api.OrderRequest{CustomerID: tenant, BOMID: bill.BOMID, AssignedTechnician: "grace", Additional: true})
		return err
	}); err != nil {
		return err
	}
	w.keepOrder(made.Order, 0)
	var sub *api.TrackResponse
	if err := w.book.write(ctx, "subscribe", func(ctx context.Context) (err error) {
		sub, err = c.Subscribe(ctx, made.OrderID, w.place.URL)
		return err
	}); err != nil {
		return err
	}
	since := len(made.Order.History)
	w.keepOrder(made.Order, since)
	w.mu.Lock()
	w.subscribed = append(w.subscribed, sub.SubscriptionID)
	w.mu.Unlock()
	for _, r := range []api.OrderRequest{
		{Action: api.ActionHold, HoldReason: api.HoldWeather}, {Action: api.ActionResume}, {Action: api.ActionStart, Force: true, Note: "crash test"},
		{Action: api.ActionHold, HoldReason: api.HoldOther}, {Action: api.ActionResume}, {Action: api.ActionComplete, CompletionNotes: "done"}, {Action: api.ActionReopen, Reason: "again"},
	} {
		r.OrderID = made.OrderID
		var moved *api.OrderResponse
		if err := w.book.write(ctx, "move", func(ctx context.Context) (err error) {
			moved, err = c.MoveOrder(ctx, r)
			return err
		}); err != nil {
			return err
		}
		w.keepOrder(moved.Order, since)
	}
	return nil
}

// keepOrder expects that an order keeps its transitions; from the transition
// number since on, each change of its status has one event.
func (w *crowd) keepOrder(was *api.Order, since int) {
	w.book.keep("order "+was.OrderID, func(ctx context.Context, c visitor, _ bool) error {
		o, err := c.Order(ctx, was.OrderID)
		switch {
		case err != nil:
			return err
		case o.Version < was.Version || len(o.History) < len(was.History) || !slices.Equal(o.History[:len(was.History)], was.History):
			return fmt.Errorf("version %d with %v was acknowledged, version %d with %v is there", was.Version, was.History, o.Version, o.History)
		case o.Version != len(o.History) || o.History[len(o.History)-1].To != o.Status:
			return fmt.Errorf("half a move: version %d, %s, %v", o.Version, o.Status, o.History)
		case since == 0:
			return nil
		}
		var moves, events []string
		for _, m := range o.History[since:] {
			if m.From != m.To {
				moves = append(moves, m.To)
			}
		}
		list, err := c.Deliveries(ctx, api.TrackRequest{OrderID: o.OrderID, Page: api.Page{Limit: api.MaxLimit}})
		if err != nil {
			return err
		}
		for _, d := range list.Deliveries {
			events = append(events, d.Event.Status)
		}
		slices.Reverse(events) // the newest are first
		if !slices.Equal(events, moves) {
			return fmt.Errorf("moves %v, events %v", moves, events)
		}
		return nil
	})
}

// schedule makes planned work and confirms, completes or cancels it.
func (w *crowd) schedule(ctx context.Context, c visitor) error {
	n := w.next("schedule")
	site := plants[n%len(plants)]
	var made *api.ScheduleResponse
	if err := w.book.write(ctx, "schedule", func(ctx context.Context) (err error) {
		made, err = c.CreateSchedule(ctx, api.ScheduleRequest{AssetID: site + "-2", SiteID: site, CustomerID: tenant, MaintenanceType: api.MaintenancePreventive,
			ScheduledDate: api.At(time.Now().AddDate(0, 0, 3+n%60)), Priority: api.PriorityLow, Reason: fmt.Sprint("inspection ", n)})
		return err
	}); err != nil {
		return err
	}
	w.keepSchedule(made.Schedule)
	for _, action := range [][]string{{api.ActionConfirm, api.ActionComplete}, {api.ActionConfirm, api.ActionCancel}, {api.ActionCancel}}[n%3] {
		var moved *api.ScheduleResponse
		if err := w.book.write(ctx, "schedule "+action, func(ctx context.Context) (err error) {
			moved, err = c.MoveSchedule(ctx, api.ScheduleRequest{Action: action, ScheduleID: made.ScheduleID, Reason: "crash test"})
			return err
		}); err != nil {
			return err
		}
		w.keepSchedule(moved.Schedule)
	}
	return nil
}

func (w *crowd) keepSchedule(was *api.Schedule) {
	w.book.keep("schedule "+was.ScheduleID, func(ctx context.Context, c visitor, _ bool) error {
		s, err := c.Schedule(ctx, was.ScheduleID)
		if err == nil && (s.Version < was.Version || len(s.History) < len(was.History) || !slices.Equal(s.History[:len(was.History)], was.History)) {
			err = fmt.Errorf("version %d with %v was acknowledged, version %d with %v is there", was.Version, was.History, s.Version, s.History)
		}
		return err
	})
}

// stockPart is the part that the crash test counts.
const stockPart = "PCB-CTRL"

// stock puts one more piece into the stock. A request whose response was lost
// is repeated with its Idempotency-Key, after the next start of the service
// or, if it may still be running there, at the end: each counts once.
func (w *crowd) stock(ctx context.Context, c visitor) error {
	w.mu.Lock()
	w.stockCaller = c.options.Credential
	if w.stockKey == "" {
		w.stockBegun++
		w.stockKey = fmt.Sprint("piece ", w.stockBegun)
	}
	key := w.stockKey
	w.mu.Unlock()
	done, err := w.piece(ctx, c.Client, key)
	status, _ := refusal(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case done:
		w.stockKey = ""
	case status == 409: // a process that died holds it for its lease
		w.stockOpen = append(w.stockOpen, key)
		w.stockKey = ""
	default:
		return err
	}
	return nil
}

// piece asks for one piece under the key; done means that the service says that
// it is there.
func (w *crowd) piece(ctx context.Context, c *client.Client, key string) (done bool, err error) {
	err = w.book.write(ctx, "stock", func(ctx context.Context) error {
		_, err := c.AdjustStock(client.WithIdempotencyKey(ctx, key), api.PartsRequest{CustomerID: tenant, PartNumber: stockPart, Change: new(1), Reason: "delivery"})
		return err
	})
	lost := err != nil && strings.Contains(err.Error(), "was carried out")
	if lost {
		w.mu.Lock()
		w.stockLost++
		w.mu.Unlock()
	}
	return err == nil || lost, err
}

// key makes API keys and ends every other.
func (w *crowd) key(ctx context.Context, c visitor) error {
	n := w.next("key")
	var made *api.KeysResponse
	if err := w.book.write(ctx, "key", func(ctx context.Context) (err error) {
		made, err = c.CreateKey(ctx, api.KeysRequest{Name: fmt.Sprint("key ", n), RoleID: api.RoleAnalyst, CustomerIDs: []string{tenant}})
		return err
	}); err != nil {
		return err
	}
	info := func(ctx context.Context, c visitor) error {
		_, err := c.APIKeyInfo(ctx, made.APIKey)
		return err
	}
	w.book.keep("key "+made.APIKeyID, func(ctx context.Context, c visitor, _ bool) error { return info(ctx, c) })
	if n%2 == 0 {
		return nil
	}
	w.book.keep("key "+made.APIKeyID, func(context.Context, visitor, bool) error { return nil }) // either
	if err := w.book.write(ctx, "revoke", func(ctx context.Context) error { _, err := c.RevokeKey(ctx, made.APIKeyID); return err }); err != nil {
		return err
	}
	w.book.keep("key "+made.APIKeyID, func(ctx context.Context, c visitor, _ bool) error { return refused(info(ctx, c)) })
	return nil
}

// acknowledge sees to alerts: it acknowledges, shelves and unshelves them.
func (w *crowd) acknowledge(ctx context.Context, c visitor) error {
	list, err := c.Alerts(ctx, api.ListQuery{CustomerID: tenant}, "")
	if err != nil || len(list.Alerts) == 0 {
		return errors.Join(err, clock.Sleep(ctx, 50*time.Millisecond))
	}
	n := w.next("alert")
	a := list.Alerts[n%len(list.Alerts)]
	r := api.AlertsRequest{Action: api.ActionAcknowledge, AlertID: a.AlertID}
	switch a.State {
	case api.AlertAcknowledged:
		r = api.AlertsRequest{Action: api.ActionShelve, AlertID: a.AlertID, Minutes: 30, Reason: "crash test"}
	case api.AlertShelved:
		r = api.AlertsRequest{Action: api.ActionUnshelve, AlertID: a.AlertID}
	}
	var moved *api.AlertsResponse
	if err := w.book.write(ctx, "alert", func(ctx context.Context) (err error) {
		moved, err = c.MoveAlert(ctx, r)
		return err
	}); err != nil || moved.Alert == nil || len(moved.Alert.History) == 0 {
		return err
	}
	last := moved.Alert.History[len(moved.Alert.History)-1]
	w.book.keep("alert "+a.AlertID, func(ctx context.Context, c visitor, _ bool) error {
		now, err := c.Alert(ctx, a.AlertID)
		if err == nil && !slices.Contains(now.Alert.History, last) {
			err = fmt.Errorf("the move %v is not in %v", last, now.Alert.History)
		}
		return err
	})
	return nil
}

// crowd is the clients of the crash test.
type crowd struct {
	book  *book
	place *receiver
	dirs  []string // data folders of the service, or of each replica

	mu         sync.Mutex
	counts     map[string]int
	subscribed []string

	stockCaller, stockKey string   // who counts, and the piece that is asked for
	stockOpen             []string // pieces of which it is not known whether they are there
	stockBegun, stockLost int      // pieces, and answers that were lost
}

// next counts from 0.
func (w *crowd) next(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
	return w.counts[what] - 1
}

// jobs are what the clients do, at a time; the last two want much computing.
func (w *crowd) jobs() []func(context.Context, visitor) error {
	return []func(context.Context, visitor) error{w.upload, w.order, w.order, w.schedule, w.stock, w.key, w.acknowledge, w.account, w.forecastWithout}
}

// work runs all clients concurrently, each with a separate key, until ctx ends.
// A client stops at its first error: the service is gone.
func (w *crowd) work(ctx context.Context, p *servetest.Process, keys []string, dice *rand.Rand) {
	var all sync.WaitGroup
	for i, job := range w.jobs() {
		if pause := dice.IntN(4); i >= 7 && pause != 0 { // expensive operations
			continue
		}
		all.Go(func() {
			c := visitorAt(p.URL, keys[i])
			defer c.Close()
			for ctx.Err() == nil && job(ctx, c) == nil {
			}
		})
	}
	all.Wait()
}
