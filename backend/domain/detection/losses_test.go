package detection_test

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/alert"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// stored is the only finding of a site, as it is read again.
func stored(t *testing.T, d *domaintest.Fixture, siteID string) (out finding.Finding) {
	t.Helper()
	n := 0
	err := d.Store.View(t.Context(), func(tx store.Tx) error {
		n = 0
		return finding.EachOfSite(tx, siteID, func(f finding.Finding) error {
			out, n = f, n+1
			return nil
		})
	})
	if err != nil || n != 1 {
		t.Fatalf("%d findings, %v", n, err)
	}
	return out
}

func wantKWh(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 2e-3 {
		t.Errorf("%s: %.4f kWh, want %v", what, got, want)
	}
}

// outageOf is an outage that lost 10 kWh in each hour from start on.
func outageOf(start, seen time.Time, perHour ...float64) finding.Event {
	e := domaintest.Outage("INV-1", start, seen)
	e.LostKWh = 0
	for i, kWh := range perHour {
		at := start.Add(time.Duration(i) * time.Hour)
		e.Losses.Add(at.Unix(), at.Add(time.Hour).Unix(), kWh)
	}
	return e
}

// A finding keeps its losses by hour: later estimates move no hour that was over,
// no active loss falls, late data raise it, and its end cuts it.
func TestFindingsKeepLossesByHour(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	start := d.Clock.Add(-3 * time.Hour).Truncate(time.Hour)
	hour := func(f finding.Finding, h int) float64 {
		return f.Ledger(time.UTC).Between(start.Add(time.Duration(h)*time.Hour), start.Add(time.Duration(h+1)*time.Hour))
	}
	run := func(events ...finding.Event) finding.Finding {
		t.Helper()
		d.RecordRun(site, events...)
		f := stored(t, d, site.SiteID)
		wantKWh(t, "the sum of the hours", f.Ledger(time.UTC).Total(), f.LostKWh)
		return f
	}
	f := run(outageOf(start, d.Clock, 10, 10, 10))
	wantKWh(t, "after three hours", f.LostKWh, 30)
	if !f.DetectedAt.Equal(f.CreatedAt.Time) {
		t.Errorf("detected %v, created %v", f.DetectedAt, f.CreatedAt)
	}

	d.Clock = d.Clock.Add(time.Hour)
	f = run(outageOf(start, d.Clock, 10.3, 9.8, 2, 7))
	for h, want := range []float64{10, 10, 10, 7} {
		wantKWh(t, "an hour that is over stays", hour(f, h), want)
	}
	d.Clock = d.Clock.Add(time.Hour)
	f = run(outageOf(start, d.Clock, 12, 0, 10, 10, 3))
	for h, want := range []float64{12, 10, 10, 10, 3} {
		wantKWh(t, "late data raise an hour", hour(f, h), want)
	}
	d.Clock = d.Clock.Add(time.Hour)
	e := outageOf(start, start.Add(4*time.Hour+30*time.Minute), 12, 10, 10, 10, 3)
	e.End = start.Add(4 * time.Hour)
	f = run(e)
	wantKWh(t, "the end cuts", f.LostKWh, 42)
	if f.Active || f.LastedHours != 4 {
		t.Errorf("ended: %+v", f)
	}
	again := run(e)
	again.LossesAsOf = f.LossesAsOf
	if again.LostKWh != f.LostKWh || again.LastedHours != f.LastedHours {
		t.Errorf("the same run again: %+v, want %+v", again, f)
	}
}

// Curtailment on three days is one finding. It lasted six hours, not two days, and
// each day lost what that day lost.
func TestCurtailmentLastsItsOccasions(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	zone := record.Zone(site.Timezone)
	today := series.Midnight(d.Clock, zone)
	var events []finding.Event
	for ago, kWh := range map[int]float64{3: 30, 2: 20, 1: 10} {
		from := today.AddDate(0, 0, -ago).Add(11 * time.Hour)
		e := finding.Event{Family: "curtailment", Units: []string{"INV-1", "INV-2"}, Start: from, LastSeen: from.Add(2 * time.Hour), End: from.Add(2 * time.Hour), LossFraction: 0.3, LostKWh: kWh, Severity: api.SeverityNormal}
		e.Losses.Add(from.Unix(), e.End.Unix(), kWh)
		events = append(events, e)
	}
	d.RecordRun(site, events...)
	f := stored(t, d, site.SiteID)
	if f.LastedHours != 6 || len(f.Periods()) != 3 || f.Lasted() != 6*time.Hour {
		t.Errorf("it lasted %v h in %v", f.LastedHours, f.Periods())
	}
	for ago, want := range map[int]float64{4: 0, 3: 30, 2: 20, 1: 10, 0: 0} {
		wantKWh(t, "a day", f.Ledger(time.UTC).Between(today.AddDate(0, 0, -ago), today.AddDate(0, 0, 1-ago)), want)
	}
	// A run of a shorter span sees the last day only.
	d.Clock = d.Clock.Add(time.Hour)
	last := events[0]
	for _, e := range events {
		if e.Start.After(last.Start) {
			last = e
		}
	}
	d.RecordRun(site, last)
	if f = stored(t, d, site.SiteID); f.LastedHours != 6 || f.LostKWh != 60 {
		t.Errorf("after a run that saw the last day: %v h, %v kWh", f.LastedHours, f.LostKWh)
	}
}

// A finding of an earlier version has its sum only: 60 kWh over a day and a half,
// from six to eighteen of the next day. They are divided over the daylight, the
// same on both days.
func TestLossesOfEarlierFindings(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	day := time.Date(2026, 6, 1, 0, 0, 0, 0, zone)
	var f finding.Finding
	f.StartedAt, f.EndedAt, f.LostKWh = api.At(day.Add(6*time.Hour)), api.At(day.Add(42*time.Hour)), 60
	l := f.Ledger(zone)
	wantKWh(t, "in all", l.Total(), 60)
	wantKWh(t, "the first day", l.Between(day, day.AddDate(0, 0, 1)), 30)
	wantKWh(t, "the night", l.Between(day.Add(18*time.Hour), day.Add(30*time.Hour)), 0)
	wantKWh(t, "noon: 30 · (cos 75° · 2) / 2", l.Between(day.Add(11*time.Hour), day.Add(13*time.Hour)), 30*math.Cos(75*math.Pi/180))
}

// A fault that was over when its data arrived counts as detected when the rule
// was met.
func TestDetectedInThePast(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	start := d.Clock.Add(-200 * time.Hour).Truncate(time.Hour)
	e := outageOf(start, start.Add(2*time.Hour), 10, 10)
	e.End, e.DetectedAt = e.LastSeen, start.Add(30*time.Minute)
	d.RecordRun(site, e)
	if f := stored(t, d, site.SiteID); !f.DetectedAt.Equal(start.Add(30 * time.Minute)) {
		t.Errorf("detected %v", f.DetectedAt)
	}
}

// A run, its finding and its alert name each other and have the same losses.
func TestRunFindingAndAlertAgree(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	start := d.Clock.Add(-2 * time.Hour).Truncate(time.Hour)
	e := outageOf(start, d.Clock, 10, 10)
	e.LostKWh = 23 // of a run that saw less than the finding holds
	analysis := api.Analysis{SeverityLabel: e.Severity, Status: api.AnomalyDetected, Anomalies: []api.Anomaly{{FaultFamily: e.Family, SeverityLabel: e.Severity,
		StartedAt: api.At(e.Start), LastSeenAt: api.At(e.LastSeen), LostKWh: e.LostKWh}}}
	var out finding.RunResult
	d.Update(func(tx store.Tx) (err error) {
		out, err = d.Detections.RecordRun(tx, finding.Run{Site: site, From: d.Clock.AddDate(0, 0, -30), Now: d.Clock, Units: []string{"INV-1"}, Events: []finding.Event{e},
			Requested: []string{"INV-1"}, Analyses: map[string]api.Analysis{"INV-1": analysis}})
		return err
	})
	f, run := stored(t, d, site.SiteID), out.Detections["INV-1"]
	if len(run.Analysis.Anomalies) != 1 || run.AnomaliesDetected != 1 || run.Severity != f.SeverityLabel {
		t.Fatalf("the run is %+v", run)
	}
	a := run.Analysis.Anomalies[0]
	if a.SummaryID != f.SummaryID || a.LostKWh != f.LostKWh || f.LostKWh != 20 || len(f.Detections) != 1 || f.Detections[0] != run.DetectionID {
		t.Errorf("the run says %+v, the finding %+v", a, f)
	}
	err := d.Store.View(t.Context(), func(tx store.Tx) error {
		last, err := alert.LatestOf(tx, site.SiteID, f.SummaryID)
		if err == nil && (last == nil || last.Metadata.SummaryID != f.SummaryID || last.Metadata.LostKWh != f.LostKWh || last.AssetID != f.AssetID) {
			t.Errorf("the alert is %+v", last)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A run reports the active findings that it did not evaluate, and the diagnosis of a fault
// that has ended says what it was; neither calls an ended fault critical.
func TestRunReportsWhatIsActive(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	if _, err := d.Sites.AddAsset(t.Context(), domaintest.Acme, api.Asset{AssetID: "INV-1", Name: "INV-1", Type: "inverter", CapacityKW: 100, Location: "Roof", SiteID: site.SiteID}); err != nil {
		t.Fatal(err)
	}
	soiling := domaintest.Outage("INV-1", d.Clock.Add(-400*time.Hour), d.Clock)
	soiling.Family, soiling.Severity, soiling.Summary = "soiling", api.SeverityWarning, "dust"
	outage := domaintest.Outage("INV-1", d.Clock.Add(-2*time.Hour), d.Clock)
	outage.End = d.Clock
	d.RecordRun(site, soiling, outage)

	d.Clock = d.Clock.Add(time.Hour)
	runOnce := func(anomalies []api.Anomaly, events ...finding.Event) api.Detection {
		var out finding.RunResult
		d.Update(func(tx store.Tx) (err error) {
			out, err = d.Detections.RecordRun(tx, finding.Run{Site: site, From: d.Clock.AddDate(0, 0, -60), Now: d.Clock, Units: []string{"INV-1"}, Events: events, NotJudged: []string{"soiling"},
				Requested: []string{"INV-1"}, Analyses: map[string]api.Analysis{"INV-1": {Anomalies: anomalies}}})
			return err
		})
		return out.Detections["INV-1"]
	}
	run := runOnce(nil, outage)
	if run.AnomaliesDetected != 1 || run.Severity != api.SeverityWarning || run.Analysis.Status != api.AnomalyDetected || run.Analysis.FaultType != "soiling" || run.Analysis.SeverityLabel != run.Severity {
		t.Errorf("with soiling that the run did not evaluate: %+v, %+v", run, run.Analysis)
	}

	ended := api.Anomaly{FaultFamily: outage.Family, SeverityLabel: outage.Severity, StartedAt: api.At(outage.Start), LastSeenAt: api.At(outage.LastSeen), EndedAt: api.At(outage.End), Summary: outage.Summary}
	d.Clock = d.Clock.Add(60 * time.Hour)
	soiling.End, soiling.LastSeen = d.Clock.Add(-50*time.Hour), d.Clock.Add(-50*time.Hour)
	d.RecordRun(site, soiling, outage) // ends the soiling too
	run = runOnce([]api.Anomaly{ended}, outage)
	if run.AnomaliesDetected != 1 || run.Severity != api.SeverityWarning || run.Analysis.Status != api.AnomalyDetected || run.Analysis.FaultType != "inverter_outage" {
		t.Errorf("of an outage that has ended: %+v, %+v", run, run.Analysis)
	}
	diagnosis, err := d.Detections.Diagnose(t.Context(), domaintest.Acme, api.DiagnoseRequest{AssetID: "INV-1", DetectionID: run.DetectionID})
	if err != nil || diagnosis.Analysis.Category != "inverter_outage" || diagnosis.RootCause != "blown fuse" || diagnosis.Severity != api.SeverityWarning {
		t.Errorf("the diagnosis of the run, 61 h after the outage: %+v, %v", diagnosis, err)
	}
	if none, err := d.Detections.Diagnose(t.Context(), domaintest.Acme, api.DiagnoseRequest{AssetID: "INV-1", DetectionID: runOnce(nil).DetectionID}); err != nil || none.RootCause != "none" {
		t.Errorf("the diagnosis of a run without anomalies: %+v, %v", none, err)
	}
}
