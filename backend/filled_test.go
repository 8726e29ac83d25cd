package backend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/backup"
	"app.sunloop/backend/check"
	"app.sunloop/backend/client"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/engine/simulate"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

// filledAt is the plant's clock when a filled folder is closed.
var filledAt = time.Date(2026, 1, 17, 13, 0, 0, 0, time.UTC)

// Of a filled folder: the person, and the site with orders.
const (
	filledUser     = "ana"
	filledPassword = "kestrel-over-Adige-31"
	filledSite     = "South"
)

// linkSender receives the acknowledgement links of messages.
type linkSender chan string

func (s linkSender) Send(_ context.Context, _ notify.Target, m notify.Message) (notify.Receipt, error) {
	for _, a := range m.Actions {
		select {
		case s <- a.URL:
		default:
		}
	}
	return notify.Receipt{}, nil
}

// filled is what opens a filled folder.
type filled struct {
	Key      string `json:"key"`      // of the API
	Recovery string `json:"recovery"` // of the person
}

// forecasts are weather that a provider has said, and not the climate alone.
type forecasts struct{ weather.Offline }

func (f forecasts) Forecast(ctx context.Context, loc solar.Location, issue time.Time, horizon, step time.Duration) (weather.Forecast, error) {
	said, err := f.Offline.Forecast(ctx, loc, issue, horizon, step)
	said.Source = "a provider"
	return said, err
}

// fill makes a folder with records in every table, and closes it.
func fill(t *testing.T, dir string) (keys filled) {
	var clock atomic.Int64
	start := filledAt.AddDate(0, 0, -2)
	clock.Store(start.UnixNano())
	now := func() time.Time { return time.Unix(0, clock.Load()).UTC() }
	begun := time.Now()
	wall := func() time.Time { return filledAt.Add(time.Since(begun)) }
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	notified := make(linkSender, 100)
	h := open(t, Config{DataDir: dir, Now: now, Wall: wall, TrainingDays: 20, WebhookAllow: []string{"127.0.0.1"}, RequireMFA: true, Weather: forecasts{},
		NotifySender: notified, PublicURL: "https://sunloop.example.com"})
	_, err := client.Call(ctx, h.Client, api.ApplyNotificationConfig, api.NotificationsRequest{CustomerID: "acme", Configuration: &api.NotificationConfig{
		Channels:  []api.NotificationChannel{{ChannelID: "hook", Kind: "webhook", URL: "https://127.0.0.1:9/hook", Secret: "whsec_c2VjcmV0"}},
		People:    []api.NotificationPerson{{PersonID: "ana", Addresses: []api.NotificationAddress{{ChannelID: "hook"}}}},
		Rotations: []api.NotificationRotation{{RotationID: "solar", Start: "2026-01-05", Handovers: []string{"09:00"}, People: []string{"ana"}}},
		Routes:    []api.NotificationRoute{{RouteID: "all", Steps: []api.NotificationStep{{To: []string{"rotation:solar"}}}}}}})
	must(err)

	// A site with a model, its forecasts compared with measurements, and a fault.
	plant := simulate.Clean(1, start.AddDate(0, 0, -80), 2).Sites[0]
	plant.SetFaults([]simulate.Fault{{ID: "f", Kind: simulate.UnitOutage, Units: []string{plant.Units[0].AssetID}, From: filledAt.Add(-5 * time.Hour)}})
	send := func(from, to time.Time, how func(*client.Client) func(api.UploadRequest, *bytes.Buffer) (*api.UploadAck, error)) {
		t.Helper()
		var body bytes.Buffer
		must(plant.WriteCSV(&body, from, to, time.Hour))
		ack, err := how(h.Client)(api.UploadRequest{CustomerID: "acme", SiteID: plant.ID, Region: "eu", Location: "Berlin", Timezone: "Europe/Berlin"}, &body)
		must(err)
		if u := h.follow(ack.UploadID); u.Error != "" {
			t.Fatal(u.Error)
		}
	}
	nowcast := func(c *client.Client) func(api.UploadRequest, *bytes.Buffer) (*api.UploadAck, error) {
		return func(r api.UploadRequest, b *bytes.Buffer) (*api.UploadAck, error) {
			return c.UploadNowcast(ctx, r, b, nil)
		}
	}
	mapping := func(c *client.Client) func(api.UploadRequest, *bytes.Buffer) (*api.UploadAck, error) {
		return func(r api.UploadRequest, b *bytes.Buffer) (*api.UploadAck, error) {
			file := bytes.Clone(b.Bytes())
			read, err := c.Inspect(ctx, r, bytes.NewReader(file), nil)
			if err != nil {
				return nil, err
			}
			r.Mapping = read.Mapping
			return c.UploadTrain(ctx, r, bytes.NewReader(file), nil)
		}
	}
	send(start.AddDate(0, 0, -72), start.AddDate(0, 0, -5), mapping)
	send(start.AddDate(0, 0, -5).Add(30*time.Hour), start, nowcast) // a gap to fill
	h.wait("a model", "models", "forecasts")
	for at := start.Add(12 * time.Hour); !at.After(filledAt); at = at.Add(12 * time.Hour) {
		clock.Store(at.UnixNano())
		send(at.Add(-12*time.Hour), at, nowcast)
	}
	unit := plant.Units[0].AssetID
	_, err = h.Detect(ctx, api.AssetRef{AssetID: unit}, 24)
	must(err)
	_, err = h.Diagnose(ctx, api.DiagnoseRequest{Action: api.ActionRun, AssetID: unit})
	must(err)
	_, err = client.Call(ctx, h.Client, api.SetAvailability, api.AvailabilityRequest{SiteID: plant.ID, AssetIDs: []string{unit}, Category: api.AvailabilityForced,
		From: api.At(filledAt.Add(-5 * time.Hour)), To: api.At(filledAt.Add(-4 * time.Hour)), Reason: "The breaker was open"})
	must(err)
	_, err = client.Call(ctx, h.Client, api.HandOver, api.ShiftRequest{SiteID: plant.ID, Text: "The breaker was open"})
	must(err)
	_, err = client.Call(ctx, h.Client, api.MarkSeen, api.ShiftRequest{SiteID: plant.ID})
	must(err)
	_, err = h.KPIs(ctx, api.KPIQuery{SiteID: plant.ID}) // keeps the window's figures
	must(err)
	_, err = h.CreateIssue(ctx, api.IssuesRequest{Site: plant.ID, Component: unit, IssueType: "dust", Description: "Dust on the filter"})
	must(err)

	// An alarm that was acknowledged by the link of a message.
	link := <-notified
	page, err := h.service.Notifications().AcknowledgeByLink(ctx, link[strings.LastIndex(link, "/")+1:], "seen")
	must(err)
	if page.State != api.AcknowledgeDone {
		t.Fatalf("the link of a message: %s", page.State)
	}

	// A run that a person started, and work, with webhooks that no endpoint accepts.
	_, err = client.Call(ctx, h.Client, api.StartRun, api.RunsRequest{SiteID: plant.ID, Kind: api.RunDetect})
	must(err)
	_, err = client.Call(ctx, h.Client, api.SubscribeEvents, api.SubscriptionsRequest{CustomerID: "acme", Events: []string{"*"}, CallbackURL: "http://127.0.0.1:9/events"})
	must(err)
	order := worksite(t, h)
	_, err = h.Subscribe(ctx, order, "http://127.0.0.1:9/hook")
	must(err)
	_, err = h.MoveOrder(ctx, api.OrderRequest{Action: api.ActionComplete, OrderID: order, CompletionNotes: "Fan replaced"})
	must(err)
	_, err = h.CreateSchedule(ctx, api.ScheduleRequest{AssetID: "INV-1", MaintenanceType: api.MaintenancePreventive, ScheduledDate: api.At(filledAt.AddDate(0, 0, 9)), CustomerID: "acme", Priority: api.PriorityMedium, Reason: "Yearly service", EveryMonths: 12})
	must(err)
	three := 3
	parts, err := h.Parts(ctx, api.PartsRequest{CustomerID: "acme"})
	must(err)
	_, err = h.AdjustStock(ctx, api.PartsRequest{CustomerID: "acme", SiteID: filledSite, PartNumber: parts.Parts[0].PartNumber, OnHand: &three, Reason: "Counted"})
	must(err)

	// A person who signs in twice, the second time half; a key; a forecast without an account.
	_, err = h.AddUser(client.WithIdempotencyKey(ctx, "user"), api.UsersRequest{Username: filledUser, Password: filledPassword, RoleID: api.RoleAdmin, CustomerIDs: []string{api.Every}})
	must(err)
	person := client.New(client.Options{Transport: client.InProcess(h.service.Handler()), Now: time.Now})
	defer person.Close()
	started, err := person.Login(ctx, filledUser, filledPassword)
	must(err)
	device, err := otp.NewKeyFromURL(started.ProvisioningURI)
	must(err)
	code, err := totp.GenerateCode(device.Secret(), wall())
	must(err)
	in, err := person.VerifyMFA(ctx, started.MFAToken, code)
	must(err)
	_, err = person.Login(ctx, filledUser, filledPassword)
	must(err)
	_, err = person.FreemiumVerify(ctx, "ana@example.org")
	must(err)
	messages, err := filepath.Glob(filepath.Join(dir, check.OutboxFolder, "*.eml"))
	must(err)
	message, err := os.ReadFile(messages[0])
	must(err)
	mailed := regexp.MustCompile(`(?m)^ +([0-9]{6})\r?$`).FindSubmatch(message)
	var file bytes.Buffer
	must(plant.WriteCSV(&file, start.AddDate(0, 0, -4), start, time.Hour))
	_, err = person.FreemiumForecast(ctx, api.FreemiumRequest{Email: "ana@example.org", VerificationCode: string(mailed[1]), SiteName: "Roof", Location: "Durban", CapacityKW: 50, TOUAccepted: true}, &file, nil)
	must(err)
	_, err = person.FreemiumVerify(ctx, "ben@example.org")
	must(err)
	// A file of which one part of two was sent.
	large := bytes.Repeat([]byte("2026-06-01 00:00,1\n"), 20_000)
	session, err := client.Call(ctx, h.Client, api.CreateUploadSession, api.UploadSessionRequest{CustomerID: "acme", SiteID: filledSite, Kind: api.UploadNowcast, Size: int64(len(large)), SHA256: fmt.Sprintf("%x", sha256.Sum256(large))})
	must(err)
	_, err = h.Client.SendPart(ctx, session.Session.SessionID, 0, large[:session.Session.MinPart])
	must(err)
	// A gateway that may join, and one that has asked which of its batches are stored.
	_, err = h.InviteGateway(ctx, api.GatewaysRequest{SiteID: filledSite, Name: "roof"})
	must(err)
	_, err = h.WriteTelemetry(ctx, api.WriteQuery{SiteID: filledSite, GatewayID: "gateway-1", Epoch: "epoch-1"}, nil)
	must(err)
	// A file of a watched folder, and how far a mailbox was read.
	sources := h.service.Deliveries("acme", plant.ID)
	delivered, err := sources.Deliver(ctx, api.UploadRequest{Kind: api.UploadNowcast, Filename: "note.csv"}, upload.Delivery{Source: "exports", Name: "note.csv", Mark: "10 1", Message: "m1"}, true, strings.NewReader("no table"))
	must(err)
	must(sources.Finish(ctx, delivered))
	must(sources.SetPosition(ctx, upload.Position{Source: "reports", Validity: 1, Next: 7}))
	h.wait("snapshots", "partner-snapshots", "interpolations", "forecast-scores", "calibrations")
	h.restart() // all running jobs have ended
	must(h.service.Close())

	// What a process that is killed leaves: an upload and a plan half way.
	db, err := bolt.Open(dir, bolt.Options{})
	must(err)
	must(db.Update(ctx, func(tx store.Tx) error {
		event := store.Key(filledSite, "nev_0")
		return errors.Join(tx.Put("notify-events", event, []byte(`{"event_id":"nev_0","site_id":"`+filledSite+`","alarm":{"alert_id":"alt_0","customer_id":"acme","site_id":"`+filledSite+`","family":"inverter_outage","priority":"major","state":"cleared","text":"","onset":"2026-01-17T12:00:00Z","at":"2026-01-17T12:00:00Z"}}`)),
			tx.Put("notify-events/id", append(store.Key("nev_0"), event...), event), tx.Put("object-intents", store.Key("nowcast/half.csv"), []byte("a former life")),
			tx.Put("site-changes", store.Key(filledSite), []byte(`{"site_id":"`+filledSite+`","customer_id":"acme","kind":"zone","timezone":"Europe/Rome","actor":"ana","started_at":"2026-06-01T00:00:00Z","error":"a file cannot be read"}`)),
			tx.Put("partner-planned", store.Key(filledSite), []byte(`{"site_id":"`+filledSite+`","token":"a"}`)))
	}))
	// What replicas leave in the records that they share.
	must(db.Update(ctx, func(tx store.Tx) error {
		// A setup that a second process began while the first one ended it.
		return errors.Join(tx.Put("progress", store.Key(filledSite), []byte(`{"stage":"training","share":0.5}`)),
			tx.Put("auth/setup", store.Key("nonce"), []byte(`{"nonce":"AAECAwQFBgcICQoLDA0ODw=="}`)))
	}))
	key, err := auth.SharedKey(ctx, db, filepath.Join(dir, backup.Key))
	must(err)
	accounts, err := auth.New(ctx, auth.Options{Records: db, Key: key, Now: wall, Shared: true})
	must(err)
	if _, err := accounts.Login(ctx, "unknown", "a wrong one", "192.0.2.1"); err == nil {
		t.Error("an unknown user signs in")
	}
	for _, table := range check.Tables() {
		must(db.View(ctx, func(tx store.Tx) error {
			if table.Check(tx, func(err error) { t.Error(err) }) == 0 {
				t.Errorf("a filled folder has nothing in %s: fill it, or no test reads it", table.Buckets()[0])
			}
			return nil
		}))
	}
	must(db.Close())
	return filled{h.key, in.RecoveryCodes[0]}
}

// wait waits until the tables have records.
func (h *instance) wait(what string, buckets ...string) {
	h.t.Helper()
	waitFor(h.t.(*testing.T), what, func() bool {
		for _, table := range check.Tables() {
			for _, b := range buckets {
				if table.Buckets()[0] == b && h.count(table) == 0 {
					return false
				}
			}
		}
		return true
	})
}

// count is how many records a table has.
func (h *instance) count(table store.Checked) (n int) {
	err := h.service.opened.Load().records.View(h.t.Context(), func(tx store.Tx) error {
		n = table.Check(tx, func(err error) { h.t.Error(err) })
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}
