// Package domaintest sets up the domain on a real store, for tests.
package domaintest

import (
	"errors"
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/engine/series"
)

// Fixture is the domain on a real store, with a clock that the test moves.
type Fixture struct {
	*domain.Services
	T       *testing.T
	Store   *bolt.Store   // nil on another storage
	Records store.Records // of the storage
	Clock   time.Time
}

// Morning is the time of the clock at first.
var Morning = time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)

// NewOn returns the domain on a storage that the test has opened and closes.
func NewOn(t *testing.T, open func(now func() time.Time) (store.Records, store.Telemetry)) *Fixture {
	t.Helper()
	d := &Fixture{T: t, Clock: Morning}
	now := func() time.Time { return d.Clock }
	records, telemetry := open(now)
	d.Records = records
	d.Services = domain.New(records, telemetry, now)
	return d
}

// New returns a Desk on an empty store, on a morning of June 2026.
func New(t *testing.T) *Fixture {
	t.Helper()
	d := &Fixture{T: t, Clock: Morning}
	now := func() time.Time { return d.Clock }
	var err error
	if d.Store, err = bolt.Open(t.TempDir(), bolt.Options{Now: now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Store.Close(); err != nil {
			t.Error(err)
		}
	})
	d.Records = d.Store
	d.Services = domain.New(d.Store, d.Store, now)
	return d
}

// ListAlerts returns the alerts of customer acme in a state.
func (d *Fixture) ListAlerts(state string) []api.Alert {
	d.T.Helper()
	list, _, _, err := d.Alerts.Alerts(d.T.Context(), Acme, api.ListQuery{CustomerID: "acme"}, state)
	if err != nil {
		d.T.Fatal(err)
	}
	return list
}

// RecordRun records a run over a month up to the desk's clock.
func (d *Fixture) RecordRun(site api.Site, events ...finding.Event) finding.RunResult {
	d.T.Helper()
	var out finding.RunResult
	d.Update(func(tx store.Tx) error {
		var err error
		out, err = d.Detections.RecordRun(tx, finding.Run{Site: site, ModelVersion: "rules", From: d.Clock.Add(-30 * 24 * time.Hour), Now: d.Clock,
			Units: []string{"INV-1", "INV-2"}, Events: events, DayKWh: func([]string) float64 { return 300 }})
		return err
	})
	return out
}

// ListFindings returns the findings of customer acme.
func (d *Fixture) ListFindings() []api.Finding {
	d.T.Helper()
	list, _, err := d.Findings.Findings(d.T.Context(), Acme, api.ListQuery{CustomerID: "acme"})
	if err != nil {
		d.T.Fatal(err)
	}
	return list
}

// Outage returns an inverter outage of a unit.
func Outage(unit string, start, seen time.Time) finding.Event {
	return finding.Event{Family: "inverter_outage", Units: []string{unit}, Start: start, LastSeen: seen, LossFraction: 1, LostKWh: 12, EnergyAtRiskKW: 20,
		Confidence: 0.9, Severity: api.SeverityCritical, Summary: unit + " makes no power.", Causes: []api.Cause{{Cause: "blown fuse", Confidence: 0.6}}}
}

// Hours is a forecast of constant power from start on.
func Hours(issued, start time.Time, n int, kW float64) forecast.Forecast {
	f := forecast.Forecast{ForecastID: record.NewID("fc", issued), CustomerID: "acme", SiteID: "South", IssuedAt: issued, Start: start, StepMinutes: 60, HorizonHours: 48}
	for range n {
		f.P10KW, f.P50KW, f.P90KW = append(f.P10KW, kW/2), append(f.P50KW, kW), append(f.P90KW, 2*kW)
		f.ClearSkyKW = append(f.ClearSkyKW, 3*kW)
		f.TemperatureC, f.GHIWM2, f.WindMS = append(f.TemperatureC, 20), append(f.GHIWM2, math.NaN()), append(f.WindMS, 2)
	}
	return f
}

// ListIssues of acme, newest first.
func (d *Fixture) ListIssues() []api.Issue {
	d.T.Helper()
	list, _, err := d.Issues.Issues(d.T.Context(), Acme, api.ListQuery{CustomerID: "acme"})
	if err != nil {
		d.T.Fatal(err)
	}
	return list
}

// KPIsOf of a desk's site South as figures by name.
func (d *Fixture) KPIsOf(from, to time.Time) (api.KPIs, map[string]api.KPI) {
	d.T.Helper()
	k, err := d.KPIs.KPIs(d.T.Context(), Acme, "South", from, to)
	if err != nil {
		d.T.Fatal(err)
	}
	by := map[string]api.KPI{}
	for _, f := range k.Figures {
		if f.Unit == "" || f.Source == "" || f.From.IsZero() || !f.To.After(f.From.Time) || f.Reportable != (f.Value != nil) || f.Reportable == (f.Note != "") {
			d.T.Errorf("figure %+v", f)
		}
		by[f.Name] = f
	}
	return k, by
}

// Trained returns a forecast model of site South with the losses of its backtest.
func Trained(sequence int, end time.Time, losses ...float64) model.Model {
	m := model.Model{Sequence: sequence, Hash: string(rune('a' + sequence))}
	m.ModelName, m.ModelVersion, m.ModelType = "blend", string(rune('0'+sequence)), "forecasting"
	m.SiteID, m.CustomerID = "South", "acme"
	m.Points = 1000
	m.TrainingDataWindow.End = api.At(end)
	for i, l := range losses {
		m.Origins = append(m.Origins, model.Origin{At: time.Date(2026, time.Month(1+i), 1, 0, 0, 0, 0, time.UTC), Pinball: l})
	}
	return m
}

// Report stores samples of a unit of South every five minutes from a time on.
func (d *Fixture) Report(site api.Site, asset string, from time.Time, powerKW, temperatureC []float64) {
	d.T.Helper()
	var f series.Frame
	for i := range powerKW {
		f.Times = append(f.Times, from.Add(time.Duration(i)*5*time.Minute).Unix())
	}
	f.Set(series.PowerKW, powerKW)
	if temperatureC != nil {
		f.Set(series.TemperatureC, temperatureC)
	}
	if err := d.Store.Append(d.T.Context(), store.SiteKey{ID: site.SiteID, Zone: record.Zone(site.Timezone)}, []store.AssetFrame{{AssetID: asset, Frame: f}}); err != nil {
		d.T.Fatal(err)
	}
}

// Update runs fn in a transaction and fails the test if it fails.
func (d *Fixture) Update(fn func(tx store.Tx) error) {
	d.T.Helper()
	if err := d.Records.Update(d.T.Context(), fn); err != nil {
		d.T.Fatal(err)
	}
}

// AddSite creates a site of 100 kW in Vienna.
func (d *Fixture) AddSite(id, customer string) api.Site {
	d.T.Helper()
	s, err := d.Sites.SetSite(d.T.Context(), api.Unlimited("test"), api.Site{SiteID: id, CustomerID: customer, Timezone: "Europe/Vienna", CapacityKW: 100})
	if err != nil {
		d.T.Fatal(err)
	}
	return s
}

// AddUnit creates an inverter of 50 kW at a site.
func (d *Fixture) AddUnit(id, site string) api.Asset {
	d.T.Helper()
	a, err := d.Sites.AddAsset(d.T.Context(), api.Unlimited("test"), api.Asset{AssetID: id, Name: id, Type: "Solar Inverter", CapacityKW: 50, Location: "roof", SiteID: site})
	if err != nil {
		d.T.Fatal(err)
	}
	return a
}

// WantError fails the test unless err is an [api.Error] with the status and, if not
// empty, the message.
func WantError(t *testing.T, err error, status int, message string) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Status != status || message != "" && e.Message != message {
		t.Errorf("got %v, want %d %q", err, status, message)
	}
}

// Acme is the scope of all sites of customer acme.
var Acme = api.Scope{Customers: []string{"acme"}, Sites: []string{api.Every}, Actor: "ada"}
