package pipeline

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/simulate"
	"app.sunloop/internal/longtest"
)

// A new site of a customer with two trained ones has a forecast after a week;
// with the days that training needs it trains on its own. Sites of another
// customer are not used for training.
func TestANewSiteLearnsFromItsFleet(t *testing.T) {
	longtest.Mark(t)
	p := newPlant(t, day0, quickTraining)
	feed := func(customer, site, location string, seed, from, days int) {
		t.Helper()
		r := request(api.UploadTrain)
		r.CustomerID, r.SiteID, r.Location = customer, site, location
		s := simulate.Clean(uint64(seed), day0.AddDate(0, 0, -120), 1).Sites[0]
		start := day0.AddDate(0, 0, -from)
		p.importNow(r, csvOf(t, s, start, start.AddDate(0, 0, days), time.Hour))
	}
	feed("acme", "East", "47.2,15.8", 2, 100, 100)
	feed("acme", "New", "47,15", 4, 20, 20)
	if _, err := p.Model(t.Context(), "New"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("one trained site of the fleet made a model: %v", err)
	}
	feed("other", "Theirs", "47.1,15.1", 3, 100, 100)
	feed("acme", "New", "47,15", 4, 20, 20)
	if _, err := p.Model(t.Context(), "New"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("another customer's site taught it: %v", err)
	}
	feed("acme", "West", "46.8,14.1", 5, 100, 100)
	p.pass(8 * day) // of new data, after which it is tried again
	feed("acme", "New", "47,15", 4, 0, 8)
	m, err := p.Model(t.Context(), "New")
	if err != nil {
		t.Fatal(err)
	}
	r := m.Model.Report()
	if !m.Record.Young || !slices.Equal(r.Siblings, []string{"East", "West"}) || r.FleetShare != 1 {
		t.Errorf("short history %v, trained on %v with a share of %g", m.Record.Young, r.Siblings, r.FleetShare)
	}
	if !slices.ContainsFunc(m.Record.Decisions, func(s string) bool { return strings.HasPrefix(s, "fleet: the model also learns from 2 other sites") }) {
		t.Errorf("decided %q", m.Record.Decisions)
	}
	f, err := p.Generate(t.Context(), admin, api.ForecastQuery{CustomerID: "acme", SiteID: "New", HorizonHours: 24})
	if err != nil || len(f.Forecasts) != 24 {
		t.Fatalf("%d points, %v", len(f.Forecasts), err)
	}
	p.pass(50 * day)
	feed("acme", "New", "47,15", 4, -8, 50)
	if m, err = p.Model(t.Context(), "New"); err != nil {
		t.Fatal(err)
	}
	if r = m.Model.Report(); m.Record.Young || r.Days < 70 || !(r.FleetShare > 0.5 && r.FleetShare < 1) {
		t.Errorf("of age: young %v, %d days, a share of %g", m.Record.Young, r.Days, r.FleetShare)
	}
}
