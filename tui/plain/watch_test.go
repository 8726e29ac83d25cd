package plain

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// fleet is a made-up service whose facts a test changes between two looks.
type fleet struct {
	now      time.Time // the plants'
	sites    []api.Site
	alerts   []api.Alert
	findings []api.Finding
	orders   []api.Order // all
	refuse   *api.Error
	requests int
}

func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.requests++
	var q struct {
		Action     string `json:"action"`
		SiteID     string `json:"site_id"`
		CustomerID string `json:"customer_id"`
		OrderID    string `json:"order_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		panic(err)
	}
	var answer any
	refusal := f.refuse
	switch {
	case refusal != nil:
	case r.URL.Path == api.PathSites && q.Action == api.ActionGet:
		refusal = api.ErrSiteNotFound
		for _, s := range f.sites {
			if s.SiteID == q.SiteID && answer != nil {
				answer, refusal = nil, api.ErrAmbiguousSite
				break
			}
			if s.SiteID == q.SiteID && (q.CustomerID == "" || q.CustomerID == s.CustomerID) {
				answer, refusal = api.SitesResponse{Site: &s}, nil
			}
		}
	case r.URL.Path == api.PathSites:
		answer = api.SitesResponse{Sites: f.sites}
	case r.URL.Path == api.PathAlerts:
		answer = api.AlertsResponse{Alerts: of(f.ofCustomer(q.CustomerID), q.SiteID, func(a api.Alert) string { return a.SiteID })}
	case r.URL.Path == api.PathOODA:
		answer = api.FindingsResponse{MLEnhancedActivities: of(f.findings, q.SiteID, func(v api.Finding) string { return v.SiteID })}
	case r.URL.Path == api.PathOrder && q.Action == api.ActionGet:
		for _, o := range f.orders {
			if o.OrderID == q.OrderID {
				answer = api.OrderResponse{Order: &o}
			}
		}
	case r.URL.Path == api.PathOrder:
		open := []api.Order{}
		for _, o := range of(f.orders, q.SiteID, func(o api.Order) string { return o.SiteID }) {
			if OrderOpen(o) {
				open = append(open, o)
			}
		}
		answer = api.OrderResponse{Orders: open}
	case r.URL.Path == api.PathTerminalTelemetry:
		expected := 500.0
		s := api.SiteSummary{ServiceTime: api.At(f.now), TotalPowerKW: 341.4, PowerState: api.PowerMeasured, ExpectedPowerKW: &expected, TotalKWhToday: 1234, ActiveInverters: 7, TotalInverters: 8}
		answer = api.SiteSummaryResponse{Summary: s, SiteSummary: s}
	default:
		refusal = api.ErrNotFound
	}
	if refusal != nil {
		w.WriteHeader(refusal.Status)
		answer = api.ErrorBody{Status: "error", Error: refusal.Message}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

// ofCustomer returns the alerts of a customer: their ids begin with it where there
// are several customers.
func (f *fleet) ofCustomer(id string) []api.Alert {
	if len(f.sites) < 2 || f.sites[0].CustomerID == f.sites[1].CustomerID {
		return f.alerts
	}
	return slices.DeleteFunc(slices.Clone(f.alerts), func(a api.Alert) bool { return !strings.HasPrefix(a.AlertID, id+"-") })
}

// of returns the items of a site; an empty one is all.
func of[T any](list []T, siteID string, site func(T) string) []T {
	out := []T{}
	for _, v := range list {
		if siteID == "" || site(v) == siteID {
			out = append(out, v)
		}
	}
	return out
}

// watched returns what a watch of f prints while it waits after each look for the
// next step; the last step is followed by the end.
func watched(t *testing.T, f *fleet, site string, steps ...func()) (string, error) {
	t.Helper()
	var out strings.Builder
	wall := noon
	c := client.New(client.Options{Transport: client.InProcess(f), Credential: "key"})
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := Watch(ctx, Options{
		Client: c, Site: api.SiteRef{SiteID: site}, Source: "ops.example.com", Out: &out, Look: 10 * time.Second, Power: 15 * time.Minute,
		Now: func() time.Time { return wall },
		Wait: func(_ context.Context, d time.Duration) error {
			wall, f.now = wall.Add(d), f.now.Add(d)
			if len(steps) == 0 {
				cancel()
				return ctx.Err()
			}
			steps[0]()
			steps = steps[1:]
			return nil
		},
	})
	return out.String(), err
}

func sibaya() *fleet {
	return &fleet{now: noon, sites: []api.Site{{SiteID: "Sibaya", CustomerID: "c", Timezone: "Africa/Johannesburg"}}}
}

func diff(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("printed:\n%s\nwant:\n%s", got, want)
	}
}

// TestWatchOfOneID watches two customers' sites of one id: each line names the
// customer and has the time of its site.
func TestWatchOfOneID(t *testing.T) {
	alert := func(customer string) api.Alert {
		return api.Alert{AlertID: customer + "-1", SiteID: "Sibaya", AssetID: "of " + customer, AlertType: "inverter_outage", AlertSeverity: api.AlertCritical, State: api.AlertUnacknowledged, Timestamp: api.At(noon)}
	}
	f := sibaya()
	f.sites = append(f.sites, api.Site{SiteID: "Sibaya", CustomerID: "n", Timezone: "Europe/Berlin"})
	f.alerts = []api.Alert{alert("c"), alert("n")}
	got, err := watched(t, f, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"11:30 c/Sibaya: critical alarm, not acknowledged: of c inverter outage since 11:30", "10:30 n/Sibaya: critical alarm, not acknowledged: of n inverter outage since 10:30"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
	if _, err := watched(t, f, "Sibaya"); err == nil || !strings.Contains(err.Error(), "--customer") {
		t.Errorf("an ambiguous site: %v", err)
	}
	c := client.New(client.Options{Transport: client.InProcess(f), Credential: "key"})
	defer c.Close()
	p, err := Find(t.Context(), c, "Sibaya", "n")
	if err != nil || len(p.Sites) != 1 || p.Sites[0].CustomerID != "n" {
		t.Errorf("the site of n: %+v, %v", p, err)
	}
}

// Each change is printed once, in a line that says what, where and when.
func TestWatch(t *testing.T) {
	f := sibaya()
	dead := api.Alert{AlertID: "a1", SiteID: "Sibaya", AssetID: "INV-03", AlertType: "inverter_outage", AlertSeverity: api.AlertCritical, State: api.AlertUnacknowledged,
		Timestamp: api.At(noon.Add(-15 * time.Minute)), EnergyAtRiskKW: 24.66}
	found := api.Finding{SummaryID: "f1", SiteID: "Sibaya", AssetID: "INV-03", FaultFamily: "inverter_outage", SeverityLabel: api.SeverityCritical, Active: true,
		StartedAt: api.At(noon.Add(-24 * time.Hour)), EnergyAtRiskKW: 24.66, Confidence: 0.95, LostKWh: 361, RootCause: "A fuse has blown."}
	order := api.Order{OrderID: "o1", SiteID: "Sibaya", AssetID: "INV-03", Status: api.OrderPending, Priority: api.PriorityHigh, FaultFamily: "inverter_outage",
		AssignedTechnician: api.TechnicianUnassigned, Clocks: api.OrderClocks{AcknowledgeDue: api.At(noon.Add(time.Minute)), StartDue: api.At(noon.Add(time.Hour)), RestoreDue: api.At(noon.Add(48 * time.Hour))}}
	f.alerts, f.findings = []api.Alert{dead}, []api.Finding{found}
	got, err := watched(t, f, "",
		func() {}, // nothing happens, and nothing is printed
		func() { f.orders = []api.Order{order} },
		func() {
			f.alerts[0].State, f.alerts[0].AcknowledgedBy = api.AlertAcknowledged, "anna"
			f.orders[0].Clocks.Breached = []string{"acknowledge"}
		},
		func() {
			f.orders[0].AssignedTechnician, f.orders[0].Clocks.AcknowledgedAt = "crew 1", api.At(f.now)
		},
		func() { f.orders[0].Status, f.orders[0].HoldReason = api.OrderOnHold, api.HoldParts },
		func() {
			f.orders[0].Status, f.orders[0].HoldReason = api.OrderInProgress, ""
			f.orders[0].Clocks.StartedAt = api.At(f.now)
		},
		func() { f.findings[0].SeverityLabel, f.alerts[0].AlertSeverity = api.SeverityWarning, api.AlertMajor },
		func() { f.alerts[0].State, f.alerts[0].AcknowledgedBy = api.AlertReturned, "" },
		func() { f.alerts[0].State = api.AlertUnacknowledged },
		func() { f.alerts, f.findings = nil, nil; f.orders[0].Status = api.OrderCompleted },
		func() {},
		func() { f.now = f.now.Add(15 * time.Minute) },
		func() {
			f.now = time.Date(2026, 11, 28, 22, 5, 0, 0, time.UTC)
			f.alerts = append(f.alerts, api.Alert{AlertID: "a2", SiteID: "Sibaya", AlertType: "site_outage_grid", AlertSeverity: api.AlertCritical, Timestamp: api.At(f.now), State: api.AlertUnacknowledged})
			f.findings = append(f.findings, api.Finding{SummaryID: "f2", SiteID: "Sibaya", FaultFamily: "soiling", SeverityLabel: api.SeverityWarning, Active: true,
				AssetIDs: []string{"INV-01", "INV-02"}, StartedAt: api.At(noon), Confidence: 0.8, RootCause: "dust\x1b[2J"})
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, got, `Sunloop, ops.example.com, Sibaya. The current state first, then changes. Times are those of the sites. Ctrl+c ends.
2026-11-28 11:30 Sibaya: 341 kW of 500 kW expected, 1.23 MWh today, 7 of 8 units active
11:30 Sibaya: critical alarm, not acknowledged: INV-03 inverter outage since 11:15, 24.7 kW at risk (daylight mean)
11:30 Sibaya: critical finding: INV-03 inverter outage since 2026-11-27 11:30, 24.7 kW at risk (daylight mean), 95 % sure. A fuse has blown.
11:30 Sibaya: new high order, pending, for no one yet: INV-03 inverter outage, to assign by 11:31
11:30 Sibaya: critical alarm now acknowledged by anna: INV-03 inverter outage
11:30 Sibaya: order late: INV-03 inverter outage, to assign by 11:31
11:30 Sibaya: order now for crew 1: INV-03 inverter outage, to begin by 12:30
11:30 Sibaya: order now on hold for parts: INV-03 inverter outage, to begin by 12:30
11:31 Sibaya: order now in progress: INV-03 inverter outage, to restore by 2026-11-30 11:30
11:31 Sibaya: alarm now high, was critical: INV-03 inverter outage since 11:15, 24.7 kW at risk (daylight mean)
11:31 Sibaya: finding now medium, was critical: INV-03 inverter outage since 2026-11-27 11:30, 24.7 kW at risk (daylight mean), 95 % sure. A fuse has blown.
11:31 Sibaya: high alarm now over, not acknowledged: INV-03 inverter outage
11:31 Sibaya: high alarm again: INV-03 inverter outage since 11:15, 24.7 kW at risk (daylight mean)
11:31 Sibaya: high alarm cleared: INV-03 inverter outage
11:31 Sibaya: finding over: INV-03 inverter outage, 361 kWh lost
11:31 Sibaya: order now completed: INV-03 inverter outage
11:47 Sibaya: 341 kW of 500 kW expected, 1.23 MWh today, 7 of 8 units active
2026-11-29 00:05 Sibaya: 341 kW of 500 kW expected, 1.23 MWh today, 7 of 8 units active
00:05 Sibaya: new critical alarm: site outage of the whole site since 00:05, 0 kW at risk (daylight mean)
00:05 Sibaya: new medium finding: 2 units soiling since 2026-11-28 11:30, 0 kW at risk (daylight mean), 80 % sure. dust[2J
`)
}

// A service that does not respond is reported once, and so is its return;
// changes in between are reported then.
func TestWatchWithoutAnswers(t *testing.T) {
	f := sibaya()
	gone := &api.Error{Status: http.StatusServiceUnavailable, Message: "Service unavailable"}
	got, err := watched(t, f, "Sibaya",
		func() { f.refuse = gone }, func() {}, func() {},
		func() {
			f.refuse = nil
			f.alerts = []api.Alert{{AlertID: "a1", SiteID: "Sibaya", AssetID: "INV-03", AlertType: "soiling", AlertSeverity: api.AlertMinor, State: api.AlertUnacknowledged, Timestamp: api.At(noon)}}
		})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, got, `Sunloop, ops.example.com, Sibaya. The current state first, then changes. Times are those of the sites. Ctrl+c ends.
2026-11-28 11:30 Sibaya: 341 kW of 500 kW expected, 1.23 MWh today, 7 of 8 units active
Service unavailable. Trying again until it responds.
11:32 Sibaya: new low alarm: INV-03 soiling since 11:30, 0 kW at risk (daylight mean)
The service is reachable again, after 2 min.
`)
}

// An error that a retry does not fix ends the watch.
func TestWatchEnds(t *testing.T) {
	f := sibaya()
	_, err := watched(t, f, "", func() { f.refuse = api.ErrTokenExpired })
	if !errors.Is(err, api.ErrTokenExpired) {
		t.Errorf("an ended session: %v", err)
	}
	f = sibaya()
	var nowhere *NoSite
	if _, err = watched(t, f, "attic"); !errors.As(err, &nowhere) || err.Error() != `there is no site "attic"` {
		t.Errorf("an unknown site: %v", err)
	}
	c := client.New(client.Options{Transport: client.InProcess(sibaya()), Credential: "key"})
	defer c.Close()
	if err := Watch(t.Context(), Options{Client: c, Out: closed{}, Now: func() time.Time { return noon }}); !errors.Is(err, errClosed) {
		t.Errorf("a closed output: %v", err)
	}
}

var errClosed = errors.New("closed")

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errClosed }

// A minute sees fewer than the sixty requests that an API key has, however many
// customers there are.
func TestWatchSparesTheService(t *testing.T) {
	f := sibaya()
	for i := range 26 {
		id := string(rune('a' + i))
		f.sites = append(f.sites, api.Site{SiteID: id, CustomerID: id, Timezone: "UTC"})
	}
	start, steps := f.now, make([]func(), 40)
	for i := range steps {
		steps[i] = func() {}
	}
	if _, err := watched(t, f, "", steps...); err != nil {
		t.Fatal(err)
	}
	if perMinute := float64(f.requests) / f.now.Sub(start).Minutes(); perMinute >= api.RequestsPerMinute || perMinute < 10 {
		t.Errorf("%.0f requests a minute", perMinute)
	}
}
