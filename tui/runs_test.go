package tui

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// Work of the service is started by keys, against the service itself: each run shows its
// progress and its result, and one that ends behind another screen is announced.
func TestRunsByKeys(t *testing.T) {
	d, c := onService(t, "g", "j")
	d.shows("Runs", "Nothing was started by hand", "t trains a model now")
	runs := func() []api.ManualRun {
		t.Helper()
		r, err := client.Call(t.Context(), c, api.ListRuns, api.RunsRequest{CustomerID: "acme", SiteID: "Durban"})
		if err != nil {
			t.Fatal(err)
		}
		return r.Runs
	}
	ended := func(kind string) api.ManualRun {
		t.Helper()
		for range 1000 {
			for _, r := range runs() {
				if r.Kind == kind && r.Ended() {
					return r
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatalf("no %s has ended: %+v", kind, runs())
		return api.ManualRun{}
	}
	d.press("t")
	d.shows("The run is started: training.")
	if r := ended(api.RunTrain); r.Status != api.RunCompleted || r.Result == "" {
		t.Errorf("training: %+v", r)
	}
	d.minute()
	d.shows("training", "completed", "It starts at")
	d.press("d")
	d.shows("Run detection now", "2026-11-21 00:00")
	d.press("tab", "ctrl+u", "tomorrow", "enter")
	d.shows("The end is a date and a time as in")
	d.press("ctrl+u", "2026-11-20 00:00", "enter")
	d.shows("The end must be after the start.")
	d.press("ctrl+u", "2026-11-28 10:00", "enter")
	if r := ended(api.RunDetect); r.Status != api.RunCompleted || r.From.IsZero() {
		t.Errorf("detection: %+v", r)
	}
	d.minute()
	d.shows("detection", "inverter outage 1")
	d.press("f")
	d.press("esc", "4")
	r := ended(api.RunForecast)
	if r.Status != api.RunFailed {
		t.Errorf("forecast: %+v", r)
	}
	d.press("g", "j", "b")
	d.shows("The run is started: backcast.")
	if r := ended(api.RunBackcast); r.Status != api.RunFailed || r.Result == "" { // without a model
		t.Errorf("backcast: %+v", r)
	}
	d.press("esc", "4")
	d.m.data.runsGoing = map[string]bool{r.RunID: true} // as the console saw it, if it was slower
	d.pass(3)
	d.shows("Forecast has ended: The site has no model yet: train one first.")
}

// What the history shows is opened by its keys and sums up the findings that the service
// holds, against the service itself.
func TestHistoryByKeys(t *testing.T) {
	d, c := onService(t, "g", "b")
	h, err := c.History(t.Context(), api.ListQuery{CustomerID: "acme", SiteID: "Durban"})
	if err != nil {
		t.Fatal(err)
	}
	d.minute()
	if h.History.Count == 0 {
		d.shows("What the history shows", "No fault was found in this period")
		return
	}
	d.shows("What the history shows", "findings", "lost")
}

// A role that only reads starts nothing, and of a kind one run is in progress.
func TestRunsThatCannotStart(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("g", "j")
	d.shows("42 %", "2 findings were there in the window")
	d.press("t")
	d.shows("Unavailable: a training run is in progress.")
}
