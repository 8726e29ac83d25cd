package pipeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestSilence: a site that delivers a file each morning is silent when the next one does
// not arrive, with a finding, an issue and an alert, which a run of the detector
// does not end. The next file ends it. A delivery of old data does not, and is
// named.
func TestSilence(t *testing.T) {
	s := fleet(40, 1)
	morning := s.Start.AddDate(0, 0, 20).Truncate(24 * time.Hour).Add(6 * time.Hour)
	p := newPlant(t, morning, nil)
	deliver := func(from, to time.Time) {
		t.Helper()
		p.importNow(request(api.UploadNowcast), csvOf(t, s, from, to, time.Hour))
	}
	tick := func() {
		t.Helper()
		if err := p.enqueueDue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	alerts := func(state string) (out []api.Alert) {
		t.Helper()
		list, _, _, err := p.Data.Domain.Alerts.Alerts(t.Context(), admin, api.ListQuery{}, state)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			if a.AlertType == "data_silence" {
				out = append(out, a)
			}
		}
		return out
	}
	midnight := func() time.Time { return p.now().Truncate(24 * time.Hour) }
	for range 7 {
		deliver(midnight().AddDate(0, 0, -1), midnight())
		for range 24 {
			p.pass(time.Hour)
			tick()
		}
	}
	if list := alerts(""); len(list) > 0 {
		t.Fatalf("alerts of a site that delivers: %+v", list)
	}
	last := p.now().Add(-24 * time.Hour)
	old := midnight().AddDate(0, 0, -1)
	for range 4 { // the portal sends yesterday's file again
		deliver(old.AddDate(0, 0, -1), old)
		p.pass(time.Hour)
		tick()
	}
	open := alerts("")
	if len(open) != 1 {
		t.Fatalf("%d alerts after a day without a file", len(open))
	}
	a := open[0]
	if a.State != api.AlertUnacknowledged || !a.Timestamp.Equal(last) || !strings.Contains(a.Message, "Usually data arrive each day.") || a.AlertSeverity != api.AlertModerate {
		t.Errorf("alert %+v, want one from %s", a, last)
	}
	if err := p.DetectSite(t.Context(), a.SiteID); err != nil {
		t.Fatal(err)
	}
	findings, _, err := p.Data.Domain.Findings.Findings(t.Context(), admin, api.ListQuery{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(findings, func(f api.Finding) bool { return f.FaultFamily == "data_silence" })
	if i < 0 || !findings[i].Active || len(findings[i].Causes) == 0 || len(findings[i].RecommendedActions) == 0 ||
		!slices.ContainsFunc(findings[i].Evidence, func(e api.Evidence) bool { return strings.Contains(e.Text, "repeats old data") }) {
		t.Fatalf("findings %+v", findings)
	}
	if slices.ContainsFunc(findings, func(f api.Finding) bool { return f.FaultFamily == "communication_gap" }) {
		t.Errorf("between two daily files data are missing: %+v", findings)
	}
	p.pass(20 * time.Hour)
	tick()
	deliver(midnight().AddDate(0, 0, -2), midnight())
	tick()
	tick()
	if list := alerts(""); len(list) != 1 || list[0].State != api.AlertReturned || !list[0].ResolvedAt.Equal(p.now()) {
		t.Errorf("after the file arrived: %+v", list)
	}
}

// TestUnitSilence: a unit that is missing in the files of a site is silent by its own
// rhythm, while the site is not. The detector makes no second finding of it, and the next
// file with the unit ends the silence.
func TestUnitSilence(t *testing.T) {
	s := fleet(40, 3)
	morning := s.Start.AddDate(0, 0, 20).Truncate(24 * time.Hour).Add(6 * time.Hour)
	p := newPlant(t, morning, nil)
	var units []string
	for _, u := range s.Units {
		units = append(units, u.AssetID)
	}
	day := func(units ...string) {
		t.Helper()
		midnight := p.now().Truncate(24 * time.Hour)
		p.importNow(request(api.UploadNowcast), csvOf(t, s, midnight.AddDate(0, 0, -1), midnight, time.Hour, units...))
		for range 24 {
			p.pass(time.Hour)
			if err := p.enqueueDue(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	alerts := func() (out []api.Alert) {
		t.Helper()
		list, _, _, err := p.Data.Domain.Alerts.Alerts(t.Context(), admin, api.ListQuery{}, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			if a.AlertType == "data_silence" || a.AlertType == "communication_gap" {
				out = append(out, a)
			}
		}
		return out
	}
	for range 7 {
		day()
	}
	if list := alerts(); len(list) > 0 {
		t.Fatalf("alerts of units that deliver: %+v", list)
	}
	for range 2 {
		day(units[1:]...)
	}
	open := alerts()
	if len(open) != 1 || open[0].AlertType != "data_silence" || open[0].State != api.AlertUnacknowledged || !strings.Contains(open[0].Message, "Usually data arrive each day.") {
		t.Fatalf("alerts of a unit that is missing for two days: %+v", open)
	}
	if err := p.DetectSite(t.Context(), open[0].SiteID); err != nil {
		t.Fatal(err)
	}
	if list := alerts(); len(list) != 1 || list[0].AssetID != open[0].AssetID {
		t.Errorf("after a run of the detector: %+v", list)
	}
	day()
	if list := alerts(); len(list) != 1 || list[0].State != api.AlertReturned {
		t.Errorf("after a file with the unit: %+v", list)
	}
}
