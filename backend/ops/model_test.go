package ops

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

func trained(sequence int, end time.Time, losses ...float64) Model {
	m := Model{Sequence: sequence, Hash: string(rune('a' + sequence))}
	m.ModelName, m.ModelVersion, m.ModelType = "blend", string(rune('0'+sequence)), "forecasting"
	m.SiteID, m.CustomerID = "South", "acme"
	m.TrainingDataWindow.End = api.At(end)
	for i, l := range losses {
		m.Origins = append(m.Origins, Origin{At: time.Date(2026, time.Month(1+i), 1, 0, 0, 0, 0, time.UTC), Pinball: l})
	}
	return m
}

func TestVerdict(t *testing.T) {
	june := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		production, challenger Model
		want                   bool
	}{
		"lower on all of three":            {trained(1, june, 3, 3, 3), trained(2, june, 2.9, 2.9, 2.9), true},
		"lower, but by less than 1 %":      {trained(1, june, 3, 3, 3), trained(2, june, 2.99, 2.99, 2.99), false},
		"lower in the mean, on two alone":  {trained(1, june, 3, 3, 3), trained(2, june, 2, 2, 3.1), false},
		"lower on three of four":           {trained(1, june, 3, 3, 3, 3), trained(2, june, 2.5, 2.5, 2.5, 3.2), true},
		"few in common, later, as good":    {trained(1, june, 3, 3), trained(2, june.AddDate(0, 1, 0), 3.02, 3.02), true},
		"few in common, later, but worse":  {trained(1, june, 3, 3), trained(2, june.AddDate(0, 1, 0), 3.2, 3.2), false},
		"few in common, the same data":     {trained(1, june, 3, 3), trained(2, june, 2, 2), false},
		"nothing in common with no losses": {trained(1, june), trained(2, june.AddDate(0, 1, 0)), true},
	} {
		if got, why := Verdict(c.production, c.challenger); got != c.want {
			t.Errorf("%s: %v (%s)", name, got, why)
		}
	}
}

func TestOneModelInProduction(t *testing.T) {
	d := newDesk(t)
	end := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	register := func(m Model) {
		t.Helper()
		d.update(func(tx store.Tx) error {
			_, err := d.RegisterModel(tx, m)
			return err
		})
	}
	register(trained(1, end, 3, 3, 3))
	register(trained(2, end, 3.1, 3, 3)) // loses
	register(trained(3, end, 2.5, 2.5, 2.5))
	register(trained(4, end, 3, 3, 3))
	register(trained(5, end, 3, 3, 3)) // one challenger too many
	list, _, err := d.Models(t.Context(), acme, api.ListQuery{CustomerID: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range list {
		got[m.ModelVersion] = m.Status
	}
	want := map[string]string{"1": "archived", "2": "archived", "3": "production", "4": "challenger", "5": "challenger"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	m, err := d.ProductionModel(t.Context(), "South", "forecasting")
	if err != nil || m.ModelVersion != "3" || len(m.History) != 2 {
		t.Errorf("in production %+v, %v", m, err)
	}
	d.update(func(tx store.Tx) error { return d.RefuseModel(tx, m, "damaged") })
	if _, err := d.ProductionModel(t.Context(), "South", "forecasting"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a refused model is still in production: %v", err)
	}
	n, err := d.NextModel(t.Context(), "South", "forecasting")
	if err != nil || n != 6 {
		t.Errorf("next is %d, %v", n, err)
	}
	wantRefusal(t, m.move(api.ModelChallenger, d.clock, "", ""), 409, "")
}
