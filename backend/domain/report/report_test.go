package report_test

import (
	"context"
	"errors"
	"flag"

	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/maintenance"
	"app.sunloop/backend/domain/report"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/notify/channel"
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
)

var update = flag.Bool("update", false, "write the golden files")

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func n[T any](v T) *T { return &v }

// sample is a report over three sites: one that is known, one without a forecast, and one
// whose figures cannot be read.
func sample(t *testing.T, kind string) report.Report {
	t.Helper()
	z := zone(t, "Europe/Berlin")
	now := time.Date(2026, 7, 6, 7, 0, 30, 0, z)
	if kind == report.Monthly {
		now = time.Date(2026, 7, 1, 7, 0, 30, 0, z)
	}
	p, ok := report.Due(kind, now, z)
	if !ok {
		t.Fatalf("%s is not due at %s", kind, now)
	}
	at := func(hour int) api.Time { return api.At(time.Date(2026, 7, 6, hour, 0, 0, 0, z)) }
	known := report.Site{ID: "south", Name: "Süd <1> & Nord", Zone: z, EnergyKWh: n(412.34), ExpectedKWh: n(430.0), LostKWh: n(12.5), Availability: n(0.9912), Ratio: n(0.843), Data: n(1.0),
		Losses: []api.LossCause{{FaultFamily: "soiling", LostKWh: 2.5}, {FaultFamily: "inverter_outage", LostKWh: 10}}, Revision: 2, AsOf: now.Add(-30 * time.Minute),
		Alarms: n(1), Orders: n(2), Overdue: n(0)}
	unknown := report.Site{ID: "west", Name: "West", Zone: zone(t, "America/New_York"), Data: n(0.12), Alarms: n(3), Orders: n(0), Overdue: n(1)}
	if kind == report.Daily {
		known.TodayKWh = n(15250.0)
		known.Windows = []api.WorkWindow{{Start: at(8), End: at(10), EnergyKWh: 12.25}, {Start: at(17), End: at(19), EnergyKWh: 20}}
		unknown.NoWindows = "unknown: there is no forecast"
	}
	return report.Report{Kind: kind, From: p.From, To: p.To, At: now, Zone: z, Sites: []report.Site{unknown, known, {ID: "east", Name: "East", Failure: "The figures of this site are not available."}}, More: 4}
}

// TestGolden compares reports as e-mail with golden files.
func TestGolden(t *testing.T) {
	for name, change := range map[string]func(*report.Report){
		report.Daily: func(*report.Report) {}, report.Weekly: func(*report.Report) {}, report.Monthly: func(r *report.Report) { r.Numbers = "comma" },
		"daily-one": func(r *report.Report) { r.Sites, r.More, r.Numbers = r.Sites[1:2], 0, "space" },
		"daily-unknown": func(r *report.Report) {
			r.Sites, r.More = r.Sites[:1], 0
		},
		"daily-none": func(r *report.Report) { r.Sites, r.More = nil, 0 },
	} {
		kind, _, _ := strings.Cut(name, "-")
		r := sample(t, kind)
		change(&r)
		m := r.Message("rpt_1", "https://sunloop.example")
		got, err := channel.Mail(notify.Target{Kind: notify.ChannelEmail, Address: "ana@example.org", Name: "Ana"}, m)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", "Subject: "+got.Subject+"\n\n"+got.Text)
		golden(t, name+".html", got.HTML)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// TestEachOnce: over two years with clock changes in five zones, whatever the minute of
// the look, there is one daily report for each date, one weekly for each Monday and one
// monthly for each month, each sent at or after seven in the morning; their periods follow
// each other without a gap.
func TestEachOnce(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Santiago"} {
		z := zone(t, name)
		start, end := time.Date(2025, 1, 3, 0, 0, 0, 0, z), time.Date(2027, 1, 1, 0, 0, 0, 0, z)
		last := map[string]report.Period{}
		count := map[string]int{}
		for at := start; at.Before(end); at = at.Add(29 * time.Minute) {
			for _, kind := range []string{report.Daily, report.Weekly, report.Monthly} {
				p, ok := report.Due(kind, at, z)
				if !ok || p.To.Equal(last[kind].To) {
					continue
				}
				if _, some := last[kind]; some && at.In(z).Hour() != 7 {
					t.Fatalf("%s: %s first due at %s", name, kind, at.In(z))
				}
				if before, ok := last[kind]; ok && !before.To.Equal(p.From) {
					t.Fatalf("%s: %s: after %s to %s follows %s to %s", name, kind, before.From, before.To, p.From, p.To)
				}
				last[kind], count[kind] = p, count[kind]+1
			}
		}
		if want := map[string]int{report.Daily: 728, report.Weekly: 104, report.Monthly: 24}; cmp.Diff(want, count) != "" {
			t.Errorf("%s: %v, want %v", name, count, want)
		}
	}
	z := zone(t, "Europe/Berlin")
	for text, want := range map[string]bool{"2026-07-06T06:59:59+02:00": false, "2026-07-06T07:00:00+02:00": true, "2026-07-06T11:59:59+02:00": true, "2026-07-06T12:00:00+02:00": false} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := report.Due(report.Daily, at, z); ok != want {
			t.Errorf("daily report at %s: due %v", text, ok)
		}
	}
	if _, ok := report.Due("hourly", start(), z); ok {
		t.Error("an unknown kind is due")
	}
}

func start() time.Time { return time.Date(2026, 7, 6, 7, 30, 0, 0, time.UTC) }

// outbox keeps what is enqueued, once for each id, as that of notifications does.
type outbox struct {
	people []report.Recipient
	sent   map[string]notify.Message
	calls  int
	fail   bool
}

func (o *outbox) Recipients(context.Context) ([]report.Recipient, error) { return o.people, nil }

func (o *outbox) Enqueue(_ context.Context, owner, person string, m notify.Message) error {
	o.calls++
	if o.fail {
		return errors.New("the store is unavailable")
	}
	key := owner + " " + person + " " + m.ID
	if _, ok := o.sent[key]; !ok {
		o.sent[key] = m
	}
	return nil
}

// TestSendDue: the report of a site holds the figures of its KPIs and their revision, is
// sent once to each person at their hour, also after a restart and after a failure, and
// says that the figures of a site without data are unknown.
func TestSendDue(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	d.AddUnit("INV-1", "South")
	d.AddSite("Empty", "acme")
	d.AddSite("Foreign", "other")
	vienna := zone(t, site.Timezone)
	day := time.Date(2026, 6, 14, 0, 0, 0, 0, vienna)
	var kW, temperature []float64
	for i := range 96 {
		kW, temperature = append(kW, 0), append(temperature, 20)
		if i >= 24 && i < 72 {
			kW[i] = 10
		}
	}
	d.Clock = day.Add(24 * time.Hour)
	d.Report(site, "INV-1", day, kW, temperature)
	d.Update(func(tx store.Tx) error {
		return d.Forecasts.Add(tx, domaintest.Hours(day.Add(-time.Hour), day, 48, 6), vienna)
	})
	d.RecordRun(site, domaintest.Outage("INV-1", day.Add(10*time.Hour), day.Add(12*time.Hour)))
	d.Clock = day.Add(31 * time.Hour) // seven in the morning in Vienna
	now := func() time.Time { return d.Clock }
	guard, err := webhook.NewGuard()
	if err != nil {
		t.Fatal(err)
	}
	work, err := maintenance.New(maintenance.Config{Records: d.Store, Domain: d.Services, Now: now, Wall: now, Guard: guard, Sealer: auth.Key{2}})
	if err != nil {
		t.Fatal(err)
	}
	box := &outbox{sent: map[string]notify.Message{}, people: []report.Recipient{
		{Owner: "acme", PersonID: "ana", Zone: vienna, Kinds: []string{report.Daily, report.Weekly}},
		{Owner: "acme", PersonID: "bo", Zone: vienna, Kinds: []string{report.Daily}, Numbers: "comma"},
		{Owner: "*", PersonID: "op", Zone: zone(t, "America/New_York"), Kinds: []string{report.Daily}}, // it is one in the morning there
	}}
	service := func() *report.Service {
		return &report.Service{Collector: &report.Collector{Domain: d.Services, Maintenance: work, Now: now}, Outbox: box, Wall: now, PublicURL: "https://sunloop.example"}
	}
	s := service()
	box.fail = true
	if err := s.SendDue(t.Context()); err == nil {
		t.Error("a failure of the outbox is no error")
	}
	box.fail = false
	for range 3 {
		if err := s.SendDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.Clock = d.Clock.Add(time.Minute)
	}
	made := box.calls
	if err := service().SendDue(t.Context()); err != nil { // after a restart
		t.Fatal(err)
	}
	if len(box.sent) != 3 || made != 6 { // three that failed
		t.Fatalf("%d messages by %d calls: %v", len(box.sent), made, box.sent)
	}
	k, _ := d.KPIsOf(day, day.Add(24*time.Hour))
	for key, m := range box.sent {
		text := strings.Join(m.Lines, "\n")
		if !strings.HasPrefix(key, "acme ") || m.Kind != notify.KindReport || strings.Contains(text, "Foreign") {
			t.Errorf("%s: %s", key, text)
		}
		if !strings.Contains(m.Title, "Morning") {
			continue
		}
		mark := "."
		if strings.HasPrefix(key, "acme bo") {
			mark = ","
		}
		for _, want := range []string{"Energy: 40" + mark + "0 kWh of 48" + mark + "0 kWh expected (83" + mark + "3 %)", "  Figures: revision " + string(rune('0'+k.Revision)) + " of ", "Energy: unknown", "1 alarm, 0 work orders", "Expected today: 144 kWh", "1 of 2 sites known"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", key, want, text)
			}
		}
		if len(m.ChartPNG) == 0 || m.HTML == "" || len(m.Links) != 1 {
			t.Errorf("%s: chart of %d bytes, HTML of %d", key, len(m.ChartPNG), len(m.HTML))
		}
	}
	d.Clock = d.Clock.Add(6 * time.Hour) // seven in New York, too late for Vienna
	if err := service().SendDue(t.Context()); err != nil || len(box.sent) != 4 {
		t.Errorf("%d messages, %v", len(box.sent), err)
	}
}
