package alert_test

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/alert"
	"app.sunloop/backend/domain/domaintest"
	"github.com/google/go-cmp/cmp"
)

// raised is an alert of a unit that asked for a person at each of the times.
func raised(unit, severity string, at ...time.Time) alert.Alert {
	a := alert.Alert{Alert: api.Alert{AlertType: "inverter_outage", AssetID: unit, AlertSeverity: severity, State: api.AlertUnacknowledged, Timestamp: api.At(at[0])}}
	from := ""
	for _, t := range at {
		a.History = append(a.History, api.AlertMove{From: from, To: api.AlertUnacknowledged, At: api.At(t), Actor: "detector"})
		from = api.AlertReturned
	}
	return a
}

func TestAlertHealthCounts(t *testing.T) {
	now := time.Date(2026, 6, 21, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	var all []alert.Alert
	for i := range 12 { // a flood of twelve in the interval before last, and five in the last
		all = append(all, raised(string(rune('a'+i)), api.AlertCritical, ago(15*time.Minute)))
	}
	for i := range 5 {
		all = append(all, raised(string(rune('a'+i)), api.AlertModerate, ago(5*time.Minute)))
	}
	all = append(all, raised("old", api.AlertMajor, ago(30*time.Hour))) // stale, and out of the day
	event := alert.Alert{Alert: api.Alert{AlertSeverity: api.AlertNormal, State: api.AlertAcknowledged, Timestamp: api.At(ago(40 * time.Hour)), History: []api.AlertMove{{To: api.AlertAcknowledged, At: api.At(ago(time.Hour)), Actor: "detector"}}}}
	all = append(all, event)
	chatter := raised("z", api.AlertMajor, ago(3*time.Hour))
	for i, to := range []string{api.AlertReturned, api.AlertUnacknowledged, api.AlertReturned} {
		chatter.History = append(chatter.History, api.AlertMove{From: chatter.State, To: to, At: api.At(ago(3*time.Hour - time.Duration(i+1)*15*time.Second)), Actor: "detector"})
		chatter.State = to
	}
	all = append(all, chatter)
	got := alert.Health(all, now, 24*time.Hour)
	want := api.AlertHealth{WindowHours: 24, Alarms: 19, PerDay: 19, Peak10Min: 12, Floods: 1, FloodPercent: 100 * 2.0 / 144, Chattering: 1, Stale: 1,
		TopTenPercent: 100 * 16.0 / 19, Priorities: map[string]int{api.AlertCritical: 12, api.AlertModerate: 5, api.AlertMajor: 2}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" {
		t.Errorf("of the day (-want +got):\n%s", diff)
	}
	if month := alert.Health(all, now, 30*24*time.Hour); month.Alarms != 20 || month.PerDay != 20.0/30 || month.Floods != 1 {
		t.Errorf("of the month: %+v", month)
	}
	if none := alert.Health(nil, now, 24*time.Hour); none.Alarms != 0 || none.TopTenPercent != 0 || none.FloodPercent != 0 {
		t.Errorf("of nothing: %+v", none)
	}
}

// What a person does is no alarm, and what comes back from the shelf is one.
func TestAlertHealthOfMoves(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	d.RecordRun(site, domaintest.Outage("INV-1", d.Clock.Add(-2*time.Hour), d.Clock))
	id := d.ListAlerts("")[0].AlertID
	for _, r := range []api.AlertsRequest{{Action: api.ActionAcknowledge, AlertID: id}, {Action: api.ActionShelve, AlertID: id, Minutes: 30, Reason: "known"}} {
		if _, _, err := d.Alerts.MoveAlert(t.Context(), domaintest.Acme, r); err != nil {
			t.Fatal(err)
		}
	}
	alarms := func() int {
		t.Helper()
		h, err := d.Alerts.AlertHealth(t.Context(), domaintest.Acme, api.ListQuery{SiteID: "South"}, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return h[0].Alarms
	}
	if n := alarms(); n != 1 {
		t.Errorf("%d alarms while it is shelved", n)
	}
	d.Clock = d.Clock.Add(time.Hour)
	if n := alarms(); n != 2 {
		t.Errorf("%d alarms after its time on the shelf", n)
	}
}
