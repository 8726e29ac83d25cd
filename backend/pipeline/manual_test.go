package pipeline

import (
	"errors"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/engine/simulate"
)

// Each kind of run ends with its result in words: done, or why not. Of a kind one is in
// progress at a time, and a detection takes a window of the past.
func TestManualRuns(t *testing.T) {
	p := newPlant(t, day0, nil)
	past := day0.AddDate(0, -8, 0)
	down := past.AddDate(0, 0, 8).Add(30 * time.Minute)
	s := simulate.Clean(1, past, 3).Sites[0]
	s.SetFaults([]simulate.Fault{{ID: "a", Kind: simulate.UnitOutage, Units: []string{s.Units[1].AssetID}, From: down, To: down.Add(30 * time.Hour)}})
	p.start()
	p.ended1(p.upload(request(api.UploadTrain), csvOf(t, s, past, past.AddDate(0, 0, 13), 15*time.Minute)))
	p.await("detection of the file", func() bool { track := p.standing(); return track.DetectData == track.Data })

	window := api.RunsRequest{SiteID: "South", Kind: api.RunDetect, From: api.At(past.AddDate(0, 0, 5)), To: api.At(past.AddDate(0, 0, 12))}
	for _, tt := range []struct {
		request api.RunsRequest
		status  string
		words   string
	}{
		{api.RunsRequest{SiteID: "South", Kind: api.RunTrain}, api.RunCompleted, "It starts at"},
		{api.RunsRequest{SiteID: "South", Kind: api.RunForecast}, api.RunFailed, "The site has no model yet: train one first."},
		{api.RunsRequest{SiteID: "South", Kind: api.RunFillGaps}, "", ""},
		{window, api.RunCompleted, "in the window: inverter outage 1"},
		{api.RunsRequest{SiteID: "South", Kind: api.RunDetect, From: api.At(past.AddDate(-2, 0, 0)), To: api.At(past.AddDate(-1, 0, 0))}, api.RunFailed, "There is no telemetry in the window"},
	} {
		started, err := p.StartRun(t.Context(), admin, tt.request)
		if err != nil || started.Status != api.RunQueued {
			t.Fatalf("%+v: %v", started, err)
		}
		var is api.ManualRun
		p.await("the run of "+tt.request.Kind, func() bool {
			list, _, err := p.ManualRuns(t.Context(), admin, api.ListQuery{SiteID: "South"})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				if r.RunID == started.RunID {
					is = r
				}
			}
			return is.Ended()
		})
		if tt.status != "" && is.Status != tt.status || !strings.Contains(is.Result, tt.words) || is.Result == "" || is.Progress != 1 || is.EndedAt.IsZero() {
			t.Errorf("%s: %+v", tt.request.Kind, is)
		}
	}
}

// Of a kind, a site has one run that is not over; those of other sites are not visible.
func TestOneManualRunOfAKind(t *testing.T) {
	p := newPlant(t, day0, nil)
	if _, err := p.Domain.Sites.SetSite(t.Context(), admin, api.Site{SiteID: "South", CustomerID: "acme", Name: "South", Timezone: "UTC", CapacityKW: 10}); err != nil {
		t.Fatal(err)
	}
	start := func(scope api.Scope, kind string) int {
		t.Helper()
		_, err := p.StartRun(t.Context(), scope, api.RunsRequest{SiteID: "South", Kind: kind})
		var refusal *api.Error
		switch {
		case err == nil:
			return 200
		case !errors.As(err, &refusal):
			t.Fatal(err)
		}
		return refusal.Status
	}
	other := api.Scope{Actor: "eve", Customers: []string{"other"}}
	for i, tt := range []struct {
		scope api.Scope
		kind  string
		want  int
	}{{admin, api.RunTrain, 200}, {admin, api.RunTrain, 409}, {admin, api.RunDetect, 200}, {other, api.RunForecast, 403}} {
		p.pass(time.Second)
		if got := start(tt.scope, tt.kind); got != tt.want {
			t.Errorf("%d: %s: status %d, want %d", i, tt.kind, got, tt.want)
		}
	}
	if list, _, err := p.ManualRuns(t.Context(), admin, api.ListQuery{SiteID: "South"}); err != nil || len(list) != 2 || list[0].Kind != api.RunDetect {
		t.Errorf("%+v %v", list, err)
	}
	if list, _, _ := p.ManualRuns(t.Context(), other, api.ListQuery{SiteID: "South"}); len(list) != 0 {
		t.Errorf("another customer sees %+v", list)
	}
}
