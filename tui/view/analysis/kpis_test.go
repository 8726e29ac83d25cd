package analysis

import (
	"encoding/json"
	"math"
	"net/http"
	"reflect"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/operations"
	"app.sunloop/tui/view/widget"
)

// Months hold their days' energy and median; a day of silence is counted, a month with
// a day that no forecast covered has no median, and one of several days has no band.
func TestMonths(t *testing.T) {
	day := func(month time.Month, d int) time.Time { return time.Date(2026, month, d, 0, 0, 0, 0, time.UTC) }
	list := months([]dayResult{
		{day: day(10, 31), kwh: 5, p10: math.NaN(), p50: math.NaN(), p90: math.NaN()},
		{day: day(11, 1), kwh: 10, p10: 8, p50: 10, p90: 12},
		{day: day(11, 2), kwh: math.NaN(), p10: 8, p50: 10, p90: 12},
		{day: day(11, 3), kwh: 4, p10: 1, p50: 2, p90: 3},
	})
	if len(list) != 2 || list[0].kwh != 5 || !math.IsNaN(list[0].p50) || !math.IsNaN(list[0].p10) || !math.IsNaN(list[0].ratio()) {
		t.Fatalf("%+v", list)
	}
	if m := list[1]; m.kwh != 14 || !math.IsNaN(m.p10) || m.p50 != 22 || !math.IsNaN(m.p90) || m.days != 3 || m.reported != 2 {
		t.Errorf("%+v", m)
	}
}

// The period goes round, and each has its own questions.
func TestPeriods(t *testing.T) {
	v, b := bookView(t, false), NewKPIs()
	seen := map[string]bool{}
	for range operations.LossPeriods {
		seen[b.Queries(v)[0].Of] = true
		stage.Do(b, v, keymap.NextPeriod)
	}
	if len(seen) != len(operations.LossPeriods) || b.Queries(v)[0].Of != state.SpanOf(view.MidnightOf(v.SiteNow).AddDate(0, 0, -30), view.MidnightOf(v.SiteNow), v.Site.Zone) {
		t.Errorf("%v, then %s", seen, b.Queries(v)[0].Of)
	}
}

// A stretch is changed by the form, which has its time, and a change is revoked only
// at a stretch that it assigned.
func TestChangeOfAvailability(t *testing.T) {
	v, b := bookView(t, false), NewKPIs()
	if why := b.Disabled(keymap.ChangeAvailability, v); why == "" {
		t.Error("a category is changed without a stretch")
	}
	turned(v, b, len(b.Tabs)-1)
	drawBook(v, b, 78, 20)
	l := b.Current()
	opened := func(a keymap.Action, row int) *widget.StepForm {
		l.List.Selected = l.Rows(v)[row].ID
		open, ok := stage.Do(b, v, a).(view.OpenDialog)
		if !ok {
			return nil
		}
		return open.Dialog.(*widget.StepForm)
	}
	d := opened(keymap.ChangeAvailability, 2) // newest first: the forced outage
	if d == nil || d.Value("category") != "forced_outage" || d.Value("from") != "2026-11-27 11:30" || d.Value("to") != "2026-11-27 13:00" {
		t.Fatalf("the form is %+v", d)
	}
	if _, ok := d.Send(d); ok {
		t.Error("a change without a reason is sent")
	}
	if opened(keymap.RevokeAvailability, 2) != nil {
		t.Error("a stretch that no change assigned is revoked")
	}
	if d = opened(keymap.RevokeAvailability, 1); d == nil || d.Heading != "Revoke force majeure" {
		t.Errorf("the form is %+v", d)
	}
}

// The contract of availability is sent as a whole, without what has its default.
func TestContractForm(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	v.Site.Availability = &api.AvailabilityContract{Target: 0.97, Rules: map[string]string{api.AvailabilityGrid: api.TreatmentExcluded}}
	d := NewContract(v.Site.Site)
	for i, name := range d.Names {
		if name == "site.availability.rules."+api.AvailabilityForceMajeure {
			d.Fields[i].Set(api.TreatmentAvailable)
		}
	}
	var sent api.SitesRequest
	c := client.New(client.Options{Credential: "t", Transport: client.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		_, _ = w.Write([]byte(`{"success":true,"sites":[],"site":{"site_id":"Sibaya","customer_id":"acme"},"count":0}`))
	}))})
	t.Cleanup(c.Close)
	call, ok := d.Accept().(view.Call)
	if !ok {
		t.Fatal("nothing is sent")
	}
	if _, err := call.Do(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	want := &api.AvailabilityContract{Target: 0.97, Rules: map[string]string{api.AvailabilityGrid: api.TreatmentExcluded, api.AvailabilityForceMajeure: api.TreatmentAvailable}}
	if sent.Site == nil || !reflect.DeepEqual(sent.Site.Availability, want) {
		t.Errorf("sent %+v", sent.Site)
	}
}
