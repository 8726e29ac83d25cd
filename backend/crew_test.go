package backend

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/feed"
	"app.sunloop/backend/store"
	"app.sunloop/engine/simulate"
)

// The demo's crew makes orders of what is found, once.
func TestOperatorsWorkOnFindings(t *testing.T) {
	now := time.Date(2026, 4, 15, 8, 0, 0, 0, time.UTC)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }})
	fleet := simulate.Demo(1, now.AddDate(0, 0, -2), now)
	fleet.Sites = fleet.Sites[:1]
	clock := feed.Clock{Start: now, Wall: now, Speed: 1, WallNow: func() time.Time { return now }}
	player := feed.Player{Client: h.Client, Fleet: fleet, Clock: clock}
	if err := player.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	site, err := h.Site(t.Context(), api.SiteRef{SiteID: fleet.Sites[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	run := finding.Run{Site: *site, Now: now, From: now.AddDate(0, 0, -60)}
	for i, severity := range []string{api.SeverityWarning, api.SeverityCritical, api.SeverityNormal} {
		unit := fleet.Sites[0].Units[i].AssetID
		run.Units = append(run.Units, unit)
		run.Events = append(run.Events, finding.Event{Family: "string_outage", Units: []string{unit}, Start: now.Add(-time.Hour), LastSeen: now, Severity: severity,
			EnergyAtRiskKW: float64(i), Summary: "It makes less than its peers."})
	}
	if err := h.service.opened.Load().records.Update(t.Context(), func(tx store.Tx) error {
		_, err := h.service.Domain().Detections.RecordRun(tx, run)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds the orders there
		ctx, cancel := context.WithCancel(t.Context())
		requests := 0
		counted := client.New(client.Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if requests++; requests > 100 { // of which the first look takes less than half
				cancel()
			}
			return client.InProcess(h.service.Handler()).RoundTrip(r)
		}), Credential: h.key, Now: time.Now})
		crew := feed.Operators{Client: counted, Fleet: fleet, Clock: clock, Look: time.Millisecond}
		if err := crew.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		counted.Close()
	}
	q := api.ListQuery{SiteID: site.SiteID}
	orders, err := h.Orders(t.Context(), q, api.OrderRequest{})
	if err != nil || orders.Count != 2 {
		t.Fatalf("orders %+v, %v", orders, err)
	}
	by := map[string]api.Order{}
	for _, o := range orders.Orders {
		by[o.Status] = o
	}
	if begun := by[api.OrderInProgress]; begun.AssetID != fleet.Sites[0].Units[1].AssetID || begun.Priority != api.PriorityHigh || begun.IssueID == "" {
		t.Errorf("begun is %+v", begun)
	}
	if waits := by[api.OrderPending]; waits.AssetID != fleet.Sites[0].Units[0].AssetID || waits.AssignedTechnician != api.TechnicianUnassigned {
		t.Errorf("what waits is %+v", waits)
	}
	plans, err := h.Schedules(t.Context(), q, api.SchedulePending)
	if err != nil || plans.Count != 3 || plans.Schedules[0].EveryMonths != 12 {
		t.Errorf("inspections %+v, %v", plans, err)
	}
}

// roundTrip is a transport by a function.
type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
