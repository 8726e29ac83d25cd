package forecast_test

import (
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/store"
	"github.com/google/go-cmp/cmp"
)

func TestPinball(t *testing.T) {
	// 0.1·10 + 0.5·5 + 0.1·10 below the actual and above it.
	if got, want := model.Pinball(40, 45, 60, 50), (1.0+2.5+1.0)/3; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	// Both ends miss: 0.9 of what P10 lies above.
	if got, want := model.Pinball(60, 70, 80, 50), (0.9*10+0.5*20+0.1*30)/3; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestLeadClass(t *testing.T) {
	for lead, want := range map[int]int{1: 0, 6: 0, 7: 1, 12: 1, 13: 2, 24: 2, 25: 3, 48: 3, 49: 4, 72: 4, 73: 5, 168: 5, 720: 6, 721: -1} {
		if got := forecast.LeadClass(lead); got != want {
			t.Errorf("%d h is in class %d, want %d", lead, got, want)
		}
	}
}

// TestAccuracySums adds two days of one site and one of another by hand.
func TestAccuracySums(t *testing.T) {
	d := domaintest.New(t) // 15 June
	d.AddSite("South", "acme")
	d.AddSite("North", "acme")
	d.AddSite("Other", "else")
	row := func(customer, site, day string, near, far forecast.ScoreSum) forecast.ScoreDay {
		return forecast.ScoreDay{SiteID: site, CustomerID: customer, Day: day, Classes: []forecast.ScoreSum{near, {}, far}}
	}
	d.Update(func(tx store.Tx) error {
		m := domaintest.Trained(1, d.Clock, 3, 3)
		m.ModelAccuracy, m.Coverage80 = 0.93, 0.81
		if _, err := d.Models.Register(tx, m, nil); err != nil {
			return err
		}
		return d.Forecasts.PutScores(tx, []forecast.ScoreDay{
			row("acme", "South", "2026-04-01", forecast.ScoreSum{N: 100, Abs: 100}, forecast.ScoreSum{}), // too old for 30 days
			row("acme", "South", "2026-06-13", forecast.ScoreSum{N: 2, Abs: 0.2, Bias: -0.1, Pinball: 0.06, Width: 0.4, Within: 1}, forecast.ScoreSum{N: 1, Abs: 0.3, Bias: 0.3, Pinball: 0.1, Width: 0.5}),
			row("acme", "South", "2026-06-14", forecast.ScoreSum{N: 2, Abs: 0.1, Bias: 0.1, Pinball: 0.02, Width: 0.4, Within: 2}, forecast.ScoreSum{}),
			row("acme", "North", "2026-06-14", forecast.ScoreSum{N: 4, Abs: 0.1, Bias: 0, Pinball: 0.04, Width: 0.8, Within: 4}, forecast.ScoreSum{}),
			row("else", "Other", "2026-06-14", forecast.ScoreSum{N: 50, Abs: 50}, forecast.ScoreSum{}),
		})
	})
	south := api.ModelScore{Samples: 4, NMAEPercent: 7.5, BiasPercent: 0, PinballPercent: 2, Coverage80: 0.75, WidthPercent: 20}
	far := api.ModelScore{Samples: 1, NMAEPercent: 30, BiasPercent: 30, PinballPercent: 10, WidthPercent: 50}
	want := api.Accuracy{CustomerID: "acme", SiteID: "South", Days: 30, From: "2026-06-13", To: "2026-06-14",
		Leads:    []api.LeadAccuracy{{FromHours: 1, ToHours: 6, ModelScore: south}, {FromHours: 13, ToHours: 24, ModelScore: far}},
		Overall:  api.ModelScore{Samples: 5, NMAEPercent: 12, BiasPercent: 6, PinballPercent: 3.6, Coverage80: 0.6, WidthPercent: 26},
		Promised: &api.ModelScore{NMAEPercent: 7, Coverage80: 0.81, PinballPercent: 3},
	}
	got, err := d.Forecasts.Accuracy(t.Context(), domaintest.Acme, api.AccuracyRequest{CustomerID: "acme", SiteID: "South"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	all, err := d.Forecasts.Accuracy(t.Context(), domaintest.Acme, api.AccuracyRequest{CustomerID: "acme", Days: 2})
	if err != nil || all.Overall.Samples != 9 || all.Leads[0].NMAEPercent != 5 || all.SiteID != "" {
		t.Errorf("%+v, %v", all, err)
	}
	_, err = d.Forecasts.Accuracy(t.Context(), domaintest.Acme, api.AccuracyRequest{CustomerID: "else", SiteID: "Other"})
	domaintest.WantError(t, err, 403, "")
}
