package notification_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/notification"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/store"
	"app.sunloop/internal/longtest"
)

// receiver takes messages, and refuses some.
type receiver struct {
	mu     sync.Mutex
	got    []sent
	refuse func(to notify.Target, m notify.Message) error
	after  func() // a message was received
}

type sent struct {
	to notify.Target
	notify.Message
}

func (r *receiver) Send(_ context.Context, to notify.Target, m notify.Message) (notify.Receipt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		if err := r.refuse(to, m); err != nil {
			return notify.Receipt{}, err
		}
	}
	r.got = append(r.got, sent{to, m})
	if r.after != nil {
		r.after()
	}
	return notify.Receipt{Detail: "taken", Reference: "ref-" + m.ID}, nil
}

// titles returns kind and address of what was received, in order.
func (r *receiver) titles() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, m := range r.got {
		out = append(out, string(m.Kind)+" "+m.to.Address)
	}
	return strings.Join(out, ", ")
}

// desk is the domain with a notification service.
type desk struct {
	*domaintest.Fixture
	*receiver
	service *notification.Service
	site    api.Site
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	return newDeskOn(domaintest.New(t))
}

func newDeskOn(f *domaintest.Fixture) *desk {
	d := &desk{Fixture: f, receiver: new(receiver)}
	d.restart()
	d.site = d.AddSite("South", "acme")
	d.AddUnit("INV-1", "South")
	return d
}

// restart forgets all that the process knew.
func (d *desk) restart() {
	var err error
	d.service, err = notification.New(notification.Config{Records: d.Records, Domain: d.Services, Wall: func() time.Time { return d.Clock }, Sender: d.receiver, Sealer: auth.Key{7},
		Key: []byte("a key of the test"), PublicURL: "https://sunloop.example.com"})
	if err != nil {
		d.T.Fatal(err)
	}
}

func (d *desk) apply(c api.NotificationConfig) []api.NotificationChange {
	d.T.Helper()
	changes, err := d.service.Apply(d.T.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", Configuration: &c})
	if err != nil {
		d.T.Fatal(err)
	}
	return changes
}

// work plans and sends all that is due now.
func (d *desk) work() (next time.Time) {
	d.T.Helper()
	next, err := d.service.PlanDue(d.T.Context())
	if err == nil {
		_, err = d.service.SendDue(d.T.Context(), 1000)
	}
	if err != nil {
		d.T.Fatal(err)
	}
	return next
}

// pass lets time pass, with all that is due meanwhile.
func (d *desk) pass(by time.Duration) {
	d.T.Helper()
	end := d.Clock.Add(by)
	for {
		next := d.work()
		if next.IsZero() || next.After(end) {
			break
		}
		if next.After(d.Clock) {
			d.Clock = next
		}
	}
	d.Clock = end
	d.work()
}

func onePerson() api.NotificationConfig {
	return api.NotificationConfig{
		Channels: []api.NotificationChannel{{ChannelID: "mail", Kind: "email"}, {ChannelID: "hook", Kind: "webhook", URL: "https://ops.example.com/in", Secret: "whsec_c2VjcmV0"}},
		People:   []api.NotificationPerson{{PersonID: "anna", Name: "Anna", Addresses: []api.NotificationAddress{{ChannelID: "mail", Address: "anna@example.com"}}}},
		Routes:   []api.NotificationRoute{{RouteID: "all", Steps: []api.NotificationStep{{To: []string{"person:anna"}}, {AfterMinutes: 30, To: []string{"channel:hook"}}}}},
	}
}

// TestFirstMessage follows an alarm from its detection to the all-clear: the event is in
// the transaction of the run, escalation continues until the link of a message
// acknowledges, and the link works once.
func TestFirstMessage(t *testing.T) {
	onStorages(t, firstMessage)
}

func firstMessage(t *testing.T, d *desk) {
	if n := len(d.apply(onePerson())); n != 4 {
		t.Fatalf("%d changes", n)
	}
	start := d.Clock.Add(-time.Hour)
	d.RecordRun(d.site, domaintest.Outage("INV-1", start, d.Clock))
	d.work()
	if got := d.titles(); got != "raised anna@example.com" {
		t.Fatalf("received %q", got)
	}
	m := d.got[0]
	if m.Title == "" || m.SiteID != "South" || m.LostKW == nil || *m.LostKW != 20 || len(m.Actions) != 1 {
		t.Errorf("message %+v", m.Message)
	}
	d.RecordRun(d.site, domaintest.Outage("INV-1", start, d.Clock)) // nothing new
	d.pass(31 * time.Minute)
	if got := d.titles(); got != "raised anna@example.com, escalated " {
		t.Fatalf("received %q", got)
	}
	if to := d.got[1].to; to.URL != "https://ops.example.com/in" || to.Secret != "whsec_c2VjcmV0" {
		t.Errorf("target %+v", to)
	}
	token := m.Actions[0].URL[strings.LastIndex(m.Actions[0].URL, "/")+1:]
	for range 2 { // to look changes nothing
		if p, err := d.service.PendingAcknowledgement(t.Context(), token); err != nil || p.State != api.AcknowledgeOpen || len(p.AlertIDs) != 1 {
			t.Fatalf("page %+v, %v", p, err)
		}
	}
	p, err := d.service.AcknowledgeByLink(t.Context(), token, "fuse ordered")
	if err != nil || p.State != api.AcknowledgeDone || p.By != "Anna" {
		t.Fatalf("page %+v, %v", p, err)
	}
	a := d.ListAlerts("")[0]
	if last := a.History[len(a.History)-1]; a.State != api.AlertAcknowledged || a.AcknowledgedBy != "Anna" || !strings.HasSuffix(last.Reason, "fuse ordered") {
		t.Errorf("alert %+v", a)
	}
	if p, err := d.service.AcknowledgeByLink(t.Context(), token, ""); err != nil || p.State != api.AcknowledgeUsed {
		t.Errorf("a second time: %+v, %v", p, err)
	}
	for _, bad := range []string{"", "x", token + "x", "ntd_0." + strings.Repeat("A", 43), strings.ToUpper(token)} {
		if _, err := d.service.AcknowledgeByLink(t.Context(), bad, ""); !errors.Is(err, api.ErrAcknowledgeLink) {
			t.Errorf("token %q: %v", bad, err)
		}
	}
	// The other link of the incident has nothing to acknowledge, and expires.
	if len(d.got[1].Actions) == 1 {
		other := d.got[1].Actions[0].URL
		if p, _ := d.service.PendingAcknowledgement(t.Context(), other[strings.LastIndex(other, "/")+1:]); p.State != api.AcknowledgeNothing {
			t.Errorf("the other link: %s", p.State)
		}
	}
	d.pass(5 * time.Hour)
	if got := d.titles(); got != "raised anna@example.com, escalated " {
		t.Errorf("after the acknowledgement: %q", got)
	}
	d.RecordRun(d.site)
	d.pass(time.Hour)
	if got := d.titles(); got != "raised anna@example.com, escalated , all_clear anna@example.com, all_clear " {
		t.Errorf("at the end: %q", got)
	}
	if got := d.got[2].Reference; got != "ref-"+m.ID {
		t.Errorf("the all-clear refers to %q", got)
	}
	list, decisions, err := d.service.Explain(t.Context(), domaintest.Acme, api.NotificationsRequest{AlertID: a.AlertID})
	if err != nil || len(list) != 4 || list[0].Status != "delivered" || list[0].Detail != "taken" || len(decisions) != 1 {
		t.Errorf("explained: %+v %+v %v", list, decisions, err)
	}
}

// observed counts attempts and suppressed messages.
type observed map[string]int

func (o observed) Notified(channel, result string, _ time.Duration) { o[channel+" "+result]++ }
func (o observed) NotificationSuppressed(reason string)             { o[reason]++ }

// TestObserved counts each attempt by channel and result, suppressed messages by reason,
// and what waits.
func TestObserved(t *testing.T) {
	d := newDesk(t)
	c := onePerson()
	c.People = append(c.People, api.NotificationPerson{PersonID: "ben", Threshold: "critical", Addresses: c.People[0].Addresses},
		api.NotificationPerson{PersonID: "carla", Addresses: []api.NotificationAddress{{ChannelID: "mail", Address: "carla@example.com", Priority: "critical"}}})
	c.Routes[0].Priority, c.Routes[0].Steps = "normal", []api.NotificationStep{{To: []string{"person:anna", "person:ben", "person:carla"}}}
	d.apply(c)
	o := observed{}
	d.service.Observer = o
	d.refuse = func(notify.Target, notify.Message) error { return errors.New("connection refused") }
	e := domaintest.Outage("INV-1", d.Clock.Add(-time.Hour), d.Clock)
	e.Severity = api.SeverityWarning
	d.RecordRun(d.site, e)
	d.work()
	waiting, err := d.service.Status(t.Context())
	if err != nil || waiting.Waiting != 1 || !waiting.Oldest.Equal(d.Clock) || waiting.Held != 0 || !waiting.OldestEvent.IsZero() {
		t.Errorf("%+v, %v", waiting, err)
	}
	d.refuse = nil
	d.Clock = d.Clock.Add(time.Minute)
	d.work()
	if o["email failed"] != 1 || o["email delivered"] != 1 || o["threshold"] != 1 || o["no_address"] != 1 {
		t.Errorf("counted %v", o)
	}
}

// TestLinkExpires: a link acknowledges nothing after three days.
func TestLinkExpires(t *testing.T) {
	d := newDesk(t)
	d.apply(onePerson())
	d.RecordRun(d.site, domaintest.Outage("INV-1", d.Clock.Add(-time.Hour), d.Clock))
	d.work()
	url := d.got[0].Actions[0].URL
	d.Clock = d.Clock.Add(73 * time.Hour)
	if p, err := d.service.AcknowledgeByLink(t.Context(), url[strings.LastIndex(url, "/")+1:], ""); err != nil || p.State != api.AcknowledgeExpired || d.ListAlerts("")[0].State != api.AlertUnacknowledged {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestEventsAreInTheTransaction: a change that is not committed announces nothing, and a
// committed one is announced by another process.
func TestEventsAreInTheTransaction(t *testing.T) {
	onStorages(t, eventsAreInTheTransaction)
}

func eventsAreInTheTransaction(t *testing.T, d *desk) {
	d.apply(onePerson())
	d.RecordRun(d.site, domaintest.Outage("INV-1", d.Clock.Add(-time.Hour), d.Clock))
	d.restart()
	d.work()
	if got := d.titles(); got != "raised anna@example.com" {
		t.Errorf("after a restart: %q", got)
	}
}

// TestRetries tries again what was refused, keeps the order of an incident, and ends with
// a dead delivery that is sent when a person asks for it.
func TestRetries(t *testing.T) {
	onStorages(t, retries)
}

func retries(t *testing.T, d *desk) {
	d.apply(onePerson())
	tries := 0
	d.refuse = func(notify.Target, notify.Message) error { tries++; return errors.New("connection refused") }
	d.RecordRun(d.site, domaintest.Outage("INV-1", d.Clock.Add(-time.Hour), d.Clock))
	d.work()
	d.RecordRun(d.site) // it ends before its first message is received
	for range 5 {
		d.Clock = d.Clock.Add(time.Minute)
		d.work()
	}
	if tries < 4 || tries > 6 {
		t.Errorf("%d attempts in five minutes", tries)
	}
	d.refuse = nil
	d.Clock = d.Clock.Add(10 * time.Minute)
	d.work()
	if got := d.titles(); got != "raised anna@example.com, all_clear anna@example.com" {
		t.Errorf("received %q", got)
	}
	// A permanent error is not repeated.
	d.refuse = func(notify.Target, notify.Message) error { return notify.Permanent(errors.New("unknown address")) }
	d.Clock = d.Clock.Add(2 * time.Hour)
	d.RecordRun(d.site, domaintest.Outage("INV-1", d.Clock.Add(-time.Minute), d.Clock))
	d.work()
	dead, _, err := d.service.List(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", Status: "dead"})
	if err != nil || len(dead) != 1 || dead[0].Failure != "unknown address" || dead[0].Attempts != 1 {
		t.Fatalf("dead deliveries %+v, %v", dead, err)
	}
	d.refuse = nil
	if _, err := d.service.Retry(t.Context(), domaintest.Acme, dead[0].DeliveryID); err != nil {
		t.Fatal(err)
	}
	d.work()
	if got := d.titles(); !strings.HasSuffix(got, "all_clear anna@example.com, raised anna@example.com") {
		t.Errorf("received %q", got)
	}
	_, err = d.service.Retry(t.Context(), domaintest.Acme, dead[0].DeliveryID)
	domaintest.WantError(t, err, 409, "")
}

// TestConfigurationIsIdempotent applies a configuration twice, with dry runs, and returns no secrets.
func TestConfigurationIsIdempotent(t *testing.T) {
	onStorages(t, configurationIsIdempotent)
}

func configurationIsIdempotent(t *testing.T, d *desk) {
	c := onePerson()
	d.apply(c)
	if changes := d.apply(c); len(changes) != 0 {
		t.Errorf("applied twice: %+v", changes)
	}
	got, err := d.service.Configuration(t.Context(), domaintest.Acme, "acme")
	if err != nil || len(got.Channels) != 2 || !got.Channels[0].HasURL || got.Channels[0].URL != "" || got.Channels[0].Secret != "" {
		t.Errorf("configuration %+v, %v", got, err)
	}
	c.Channels[1].Secret = "whsec_b3RoZXI="
	c.Channels[1].URL = "" // it stays
	c.People[0].Threshold = "critical"
	dry, err := d.service.Apply(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", Configuration: &c, DryRun: true})
	if err != nil || len(dry) != 2 || dry[0].Change != "changed" || strings.Contains(fmt.Sprint(dry), "b3RoZXI") {
		t.Errorf("dry run %+v, %v", dry, err)
	}
	if changes := d.apply(c); len(changes) != 2 {
		t.Errorf("a dry run changed something: %+v", changes)
	}
	if _, err := d.service.Remove(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", Kind: "person", ItemID: "anna"}); err == nil {
		t.Error("a person of a route was removed")
	}
	_, _, _, err = d.service.Set(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", Person: &api.NotificationPerson{PersonID: "anna", Addresses: c.People[0].Addresses, Version: 1}})
	domaintest.WantError(t, err, 409, "")
	_, _, _, err = d.service.Set(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "other", Person: &api.NotificationPerson{PersonID: "anna", Addresses: c.People[0].Addresses}})
	domaintest.WantError(t, err, 403, "")
	c.Routes[0].Steps[0].To = []string{"person:absent"}
	_, err = d.service.Apply(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", Configuration: &c})
	domaintest.WantError(t, err, 400, "")
}

// checker refuses channels without a token in their URL.
type checker struct{ checked []notify.Target }

func (c *checker) Check(_ context.Context, to notify.Target) error {
	c.checked = append(c.checked, to)
	if to.Kind != "email" && !strings.Contains(to.URL, "token") {
		return notify.Invalid{Kind: "channel", ID: to.ChannelID, Field: "url", Reason: "it lacks the token"}
	}
	return nil
}

func (c *checker) CheckAddress(kind, address string) error {
	if kind == "email" && !strings.Contains(address, "@") {
		return errors.New("it is not a bare e-mail address")
	}
	return nil
}

// TestChannelsAreChecked refuses channels and addresses when they are stored, also in a dry
// run. A change is checked with the stored URL, which another kind does not keep.
func TestChannelsAreChecked(t *testing.T) {
	d := newDesk(t)
	c := &checker{}
	d.service.Checker = c
	set := func(ch api.NotificationChannel) error {
		_, _, _, err := d.service.Set(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", Channel: &ch})
		return err
	}
	domaintest.WantError(t, set(api.NotificationChannel{ChannelID: "push", Kind: "ntfy", URL: "https://ntfy.sh/topic"}), 400, api.InvalidField("channel", `channel "push": url: it lacks the token`).Message)
	if err := set(api.NotificationChannel{ChannelID: "push", Kind: "ntfy", URL: "https://:token@ntfy.sh/topic"}); err != nil {
		t.Fatal(err)
	}
	if err := set(api.NotificationChannel{ChannelID: "push", Kind: "ntfy", Name: "Push"}); err != nil || c.checked[2].URL != "https://:token@ntfy.sh/topic" {
		t.Errorf("a change is checked with %+v, %v", c.checked[2], err)
	}
	domaintest.WantError(t, set(api.NotificationChannel{ChannelID: "push", Kind: "gotify"}), 400, "")
	if last := c.checked[len(c.checked)-1]; last.URL != "" {
		t.Errorf("another kind keeps the URL %s", last.URL)
	}
	config := onePerson()
	config.People[0].Addresses[0].Address = "anna"
	config.Channels = config.Channels[:1]
	config.Routes = nil
	_, err := d.service.Apply(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", Configuration: &config, DryRun: true})
	domaintest.WantError(t, err, 400, api.InvalidField("person", `person "anna": addresses: channel "mail": it is not a bare e-mail address`).Message)
}

// TestChannelSecretsAreSealed finds no URL and no secret of a channel in the store, and
// both where they are used.
func TestChannelSecretsAreSealed(t *testing.T) {
	d := newDesk(t)
	d.apply(onePerson())
	for _, table := range notification.Tables() {
		err := d.Records.View(t.Context(), func(tx store.Tx) error {
			for e, err := range tx.Scan(table.Buckets()[0], nil, nil, false) {
				if err != nil {
					return err
				}
				if strings.Contains(string(e.Value), "ops.example.com") || strings.Contains(string(e.Value), "c2VjcmV0") {
					t.Errorf("%s has a secret: %s", table.Buckets()[0], e.Value)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.service.Test(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", ChannelID: "hook"}); err != nil {
		t.Fatal(err)
	}
	if to := d.got[0].to; to.URL != "https://ops.example.com/in" || to.Secret != "whsec_c2VjcmV0" {
		t.Errorf("target %+v", to)
	}
}

// TestLatency measures the time from the end of the detection's transaction to the
// message, of 100 sites by the real clock, and counts the messages. It asserts no time.
func TestLatency(t *testing.T) {
	d := newDesk(t)
	d.apply(onePerson())
	const sites = 100
	var all []api.Site
	for n := range sites {
		all = append(all, d.AddSite(fmt.Sprintf("Site %d", n), "acme"))
	}
	c := onePerson()
	c.People[0].Limit = 1000
	d.apply(c)
	received := make(chan sent, sites)
	service, err := notification.New(notification.Config{Records: d.Records, Domain: d.Services, Wall: time.Now, Sender: senderFunc(func(to notify.Target, m notify.Message) { received <- sent{to, m} }),
		Sealer: auth.Key{7}, Key: []byte("a key of the test")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); service.Run(ctx) }()
	defer func() { cancel(); <-done }()
	var mu sync.Mutex
	begun := map[string]time.Time{}
	var runs sync.WaitGroup
	for _, s := range all {
		runs.Go(func() {
			e := domaintest.Outage("INV-1", d.Clock.Add(-time.Hour), d.Clock)
			err := d.Records.Update(t.Context(), func(tx store.Tx) error {
				_, err := d.Detections.RecordRun(tx, finding.Run{Site: s, ModelVersion: "rules", From: d.Clock.Add(-30 * 24 * time.Hour), Now: d.Clock, Units: []string{"INV-1"}, Events: []finding.Event{e}})
				mu.Lock()
				begun[s.SiteID] = time.Now() // before the commit: it counts too
				mu.Unlock()
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	var took []time.Duration
	for range sites {
		m := <-received
		mu.Lock()
		took = append(took, time.Since(begun[m.SiteID]))
		mu.Unlock()
	}
	runs.Wait()
	slices.Sort(took)
	t.Logf("%d messages: median %s, p99 %s", len(took), took[len(took)/2].Round(time.Millisecond), took[len(took)*99/100].Round(time.Millisecond))
}

type senderFunc func(to notify.Target, m notify.Message)

func (f senderFunc) Send(_ context.Context, to notify.Target, m notify.Message) (notify.Receipt, error) {
	f(to, m)
	return notify.Receipt{}, nil
}

// TestSweep removes what is over after 90 days, and nothing before.
func TestSweep(t *testing.T) {
	onStorages(t, sweep)
}

func sweep(t *testing.T, d *desk) {
	d.apply(onePerson())
	d.RecordRun(d.site, domaintest.Outage("INV-1", d.Clock.Add(-time.Hour), d.Clock))
	d.work()
	d.RecordRun(d.site)
	d.pass(time.Hour)
	left := func() (n int) {
		if err := d.service.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := d.Records.View(t.Context(), func(tx store.Tx) error {
			for _, table := range notification.Tables() {
				if table.Buckets()[0] != "notify-items" {
					n += table.Check(tx, func(err error) { t.Error(err) })
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := left()
	if d.Clock = d.Clock.Add(89 * 24 * time.Hour); before != 5 || left() != before {
		t.Errorf("%d records after an hour, %d after 89 days", before, left())
	}
	if d.Clock = d.Clock.Add(2 * 24 * time.Hour); left() != 0 {
		t.Errorf("%d records after 91 days", left())
	}
}

// TestSimulation says whom an alarm would notify, and leaves nothing behind.
func TestSimulation(t *testing.T) {
	onStorages(t, simulation)
}

func simulation(t *testing.T, d *desk) {
	c := onePerson()
	c.People[0].QuietHours = []api.NotificationHours{{From: "00:00", To: "06:00"}}
	d.apply(c)
	r := api.NotificationsRequest{SiteID: "South", Family: "inverter_outage", Priority: "major", At: api.At(time.Date(2026, 6, 16, 1, 0, 0, 0, time.UTC))}
	list, decisions, err := d.service.Simulate(t.Context(), domaintest.Acme, r)
	if err != nil || len(decisions) != 1 || !decisions[0].Selects || len(list) < 2 || list[0].Recipient != "person:anna" || list[1].Recipient != "channel:hook" {
		t.Fatalf("%+v %+v %v", list, decisions, err)
	}
	if summary := list[len(list)-1]; list[0].Status != "grouped" || summary.Kind == "" {
		t.Errorf("in quiet hours: %+v", list)
	}
	r.Priority = "minor"
	list, decisions, err = d.service.Simulate(t.Context(), domaintest.Acme, r)
	if err != nil || len(list) != 0 || decisions[0].Selects || decisions[0].Reason == "" {
		t.Errorf("a minor alarm: %+v %+v %v", list, decisions, err)
	}
	if all, _, _ := d.service.List(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme"}); len(all) != 0 {
		t.Errorf("a simulation left %+v", all)
	}
}

// TestCalendar reads absences and writes who is on call.
func TestCalendar(t *testing.T) {
	d := newDesk(t)
	c := onePerson()
	c.People = append(c.People, api.NotificationPerson{PersonID: "ben", Addresses: c.People[0].Addresses})
	c.Rotations = []api.NotificationRotation{{RotationID: "r", Timezone: "Europe/Vienna", Start: "2026-06-15", Handovers: []string{"09:00"}, People: []string{"anna", "ben"}}}
	d.apply(c)
	text := "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20260616\r\nDTEND;VALUE=DATE:20260618\r\nSUMMARY:Holi\r\n days\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	n, _, _, err := d.service.ImportAbsences(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", RotationID: "r", PersonID: "anna", Calendar: text})
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	shifts, err := d.service.OnCall(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", RotationID: "r", From: api.At(d.Clock), To: api.At(d.Clock.AddDate(0, 0, 7))})
	if err != nil || len(shifts) != 4 || shifts[1].PersonID != "ben" || shifts[1].From.String() != "2026-06-15T22:00:00Z" {
		t.Errorf("shifts %+v, %v", shifts, err)
	}
	out, err := d.service.Calendar(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", RotationID: "r", To: api.At(d.Clock.AddDate(0, 0, 7))})
	if err != nil || strings.Count(out, "BEGIN:VEVENT") != 4 || !strings.Contains(out, "SUMMARY:On call: Anna\r\n") {
		t.Errorf("calendar %s, %v", out, err)
	}
	if back, err := notify.ParseCalendar(out, "x", time.UTC); err != nil || len(back) != 4 {
		t.Errorf("read back: %v, %v", back, err)
	}
	for _, bad := range []string{"", "x", strings.Replace(text, "SUMMARY", "RRULE", 1), strings.Replace(text, "20260618", "20260601", 1), strings.Replace(text, "20260616", "soon", 1)} {
		_, _, _, err := d.service.ImportAbsences(t.Context(), domaintest.Acme, api.NotificationsRequest{CustomerID: "acme", RotationID: "r", PersonID: "anna", Calendar: bad})
		domaintest.WantError(t, err, 400, "")
	}
	// The configuration from a file keeps what the calendar brought.
	if changes := d.apply(c); len(changes) != 0 {
		t.Errorf("applied again: %+v", changes)
	}
}

// TestKills ends the process at random: between detection and plan, between plan and
// delivery, and after the receiver took a message before that was recorded. The receiver
// refuses 15 % of the messages. Every alarm is announced, and none after its all-clear.
func TestKills(t *testing.T) {
	kills := 30
	if longtest.Enabled() {
		kills = 500
	}
	d := newDesk(t)
	c := onePerson()
	c.People[0].Limit = 1000
	c.Routes[0].Steps = c.Routes[0].Steps[:1]
	d.apply(c)
	random := rand.New(rand.NewPCG(24, 15))
	d.refuse = func(notify.Target, notify.Message) error {
		if random.Float64() < 0.15 {
			return errors.New("service unavailable")
		}
		return nil
	}
	var units []string
	for n := range kills {
		units = append(units, fmt.Sprintf("INV-%d", n))
	}
	run := func(events ...finding.Event) {
		d.Update(func(tx store.Tx) error {
			_, err := d.Detections.RecordRun(tx, finding.Run{Site: d.site, ModelVersion: "rules", From: d.Clock.Add(-30 * 24 * time.Hour), Now: d.Clock, Units: units, Events: events})
			return err
		})
	}
	raised, killed := map[string]bool{}, 0
	for killed < kills {
		// Each run ends the alarm of the run before and raises another.
		run(domaintest.Outage(units[killed], d.Clock.Add(-time.Minute), d.Clock))
		for _, a := range d.ListAlerts(api.AlertUnacknowledged) {
			raised[a.AlertID] = true
		}
		switch random.IntN(4) {
		case 0: // before the plan
		case 1: // before the delivery
			if _, err := d.service.PlanDue(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 2: // the message was received, which no one recorded
			if _, err := d.service.PlanDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			var process sync.WaitGroup
			d.after = runtime.Goexit
			process.Go(func() { _, _ = d.service.SendDue(t.Context(), 100) })
			process.Wait()
			d.after = nil
		default:
			d.work()
		}
		killed++
		d.restart()
		d.Clock = d.Clock.Add(time.Duration(40+random.IntN(30)) * time.Minute)
	}
	run()
	d.pass(40 * time.Hour)
	first, cleared, duplicates := map[string]int{}, map[string]bool{}, map[string]int{}
	missed, disordered := 0, 0
	for _, m := range d.got {
		if duplicates[m.ID]++; duplicates[m.ID] > 1 {
			continue
		}
		for _, id := range m.AlertIDs {
			first[id]++
			if cleared[id] && m.Kind != notify.KindAllClear && m.Kind != notify.KindSummary {
				disordered++
			}
			cleared[id] = cleared[id] || m.Kind == notify.KindAllClear
		}
	}
	for id := range raised {
		if first[id] == 0 || !cleared[id] {
			missed++
		}
	}
	again := 0
	for _, n := range duplicates {
		again += n - 1
	}
	t.Logf("%d kills: %d alarms, %d missed, %d out of order, %d messages, %d of them repeated", killed, len(raised), missed, disordered, len(d.got), again)
	if missed > 0 || disordered > 0 {
		t.Errorf("%d alarms missed, %d messages out of order", missed, disordered)
	}
}
