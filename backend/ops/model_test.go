package ops

import (
	"errors"
	"strings"
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
	m.Points = 1000
	m.TrainingDataWindow.End = api.At(end)
	for i, l := range losses {
		m.Origins = append(m.Origins, Origin{At: time.Date(2026, time.Month(1+i), 1, 0, 0, 0, 0, time.UTC), Pinball: l})
	}
	return m
}

func ofPoints(m Model, n int) Model {
	m.Points = n
	return m
}

func TestHeldOut(t *testing.T) {
	window := api.Window{Start: api.At(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)), End: api.At(time.Date(2026, 5, 31, 0, 0, 0, 0, time.UTC))}
	production := api.ModelScore{Samples: 400, PinballPercent: 3, NMAEPercent: 8, Coverage80: 0.75}
	for name, c := range map[string]struct {
		challenger api.ModelScore
		want       bool
		words      string
		age        time.Duration
	}{
		"better":                        {api.ModelScore{Samples: 400, PinballPercent: 2.7, NMAEPercent: 7.5, Coverage80: 0.82}, true, "on 30 days that neither model had seen its loss is lower by 10.0 %", 0},
		"hardly better":                 {api.ModelScore{Samples: 400, PinballPercent: 2.98, NMAEPercent: 7.5, Coverage80: 0.82}, false, "lower by 0.7 %; 1 % is asked", 0},
		"hardly better than an old one": {api.ModelScore{Samples: 400, PinballPercent: 2.98, NMAEPercent: 7.5, Coverage80: 0.82}, true, "lower by 0.7 %", 91 * 24 * time.Hour},
		"worse":                         {api.ModelScore{Samples: 400, PinballPercent: 3.3, NMAEPercent: 7.5, Coverage80: 0.82}, false, "higher by 10.0 %; 1 % is asked", 0},
		"another figure":                {api.ModelScore{Samples: 400, PinballPercent: 2.7, NMAEPercent: 8.2, Coverage80: 0.82}, false, "its mean error is 8.2 % of capacity against 8.0 %", 0},
		"bands that are none":           {api.ModelScore{Samples: 400, PinballPercent: 2.7, NMAEPercent: 7.5, Coverage80: 0.65}, false, "hold 65 % of the actuals against 75 %", 0},
		"too few hours":                 {api.ModelScore{Samples: 99, PinballPercent: 2.7, NMAEPercent: 7.5, Coverage80: 0.82}, false, "99 hours of daylight are too few", 0},
	} {
		e := HeldOut(production, c.challenger, window, c.age)
		if e.Eligible != c.want || !strings.Contains(e.Verdict, c.words) || e.Samples != c.challenger.Samples || *e.Production != production {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestCompareBacktests(t *testing.T) {
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
		"few in common, twice the data":    {trained(1, june, 3), ofPoints(trained(2, june, 3), 2000), true},
		"few in common, hardly more data":  {trained(1, june, 3), ofPoints(trained(2, june, 3), 1050), false},
	} {
		if e := CompareBacktests(c.production, c.challenger); e.Eligible != c.want {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestOneModelInProduction(t *testing.T) {
	d := newDesk(t)
	end := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	register := func(m Model) {
		t.Helper()
		d.update(func(tx store.Tx) error {
			var e *api.ModelEvaluation
			if former, err := d.Production(tx, m.SiteID, m.ModelType); err == nil {
				v := CompareBacktests(former, m)
				v.Against = former.ModelVersion
				e = &v
			}
			_, err := d.RegisterModel(tx, m, e)
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
	wantRefusal(t, m.move(api.ModelChallenger, Move{At: d.clock}), 409, "")
}

func TestMovesOfTheRegistry(t *testing.T) {
	d := newDesk(t)
	if _, err := d.SetSite(t.Context(), acme, api.Site{SiteID: "South", CustomerID: "acme"}); err != nil {
		t.Fatal(err)
	}
	end := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	var kept []Model
	for n := 1; n <= 3; n++ {
		d.update(func(tx store.Tx) error {
			m, err := d.RegisterModel(tx, trained(n, end), &api.ModelEvaluation{Against: "1", Verdict: "its loss is higher"})
			kept = append(kept, m)
			return err
		})
	}
	first, second, third := kept[0], kept[1], kept[2]
	if first.Status != api.ModelProduction || second.Status != api.ModelChallenger || third.Status != api.ModelChallenger {
		t.Fatalf("registered as %s, %s and %s", first.Status, second.Status, third.Status)
	}
	promote := func(m Model, forced bool) (done Promotion, err error) {
		err = d.Service.records.Update(t.Context(), func(tx store.Tx) error {
			var err error
			done, err = d.PromoteModel(tx, m, "ada", "seen to be better", forced)
			return err
		})
		return done, err
	}
	last := func(m Model) Move { return m.History[len(m.History)-1] }
	_, err := promote(second, false)
	wantRefusal(t, err, 409, "Model blend 2 is not eligible: its loss is higher")
	done, err := promote(second, true)
	if err != nil || done.Model.Status != api.ModelProduction || done.Former == nil || done.Former.Status != api.ModelArchived || !last(done.Model).Forced {
		t.Fatalf("forced: %+v, %v", done, err)
	}
	if done, err := promote(second, false); err != nil || done.Moved || done.Model.Status != api.ModelProduction {
		t.Errorf("once more: %+v, %v", done, err)
	}
	_, err = promote(first, true)
	wantRefusal(t, err, 409, "Model blend 1 is archived: only a challenger is evaluated or promoted")
	_, err = promote(third, false)
	wantRefusal(t, err, 409, "Model blend 3 is not eligible: it was not evaluated against 2, which is in production now")
	d.update(func(tx store.Tx) error {
		_, err := d.EvaluateModel(tx, third, api.ModelEvaluation{Against: "2", Eligible: true, Verdict: "its loss is lower"})
		return err
	})
	if done, err = promote(third, true); err != nil || done.Former.ModelVersion != "2" || last(done.Model).Forced {
		t.Errorf("eligible: %+v, %v", done, err)
	}
	rollback := func(version string) (done Promotion, err error) {
		err = d.Service.records.Update(t.Context(), func(tx store.Tx) error {
			var err error
			done, err = d.RollbackModel(tx, "South", "forecasting", version, "ada", "the new one is biased")
			return err
		})
		return done, err
	}
	d.clock = d.clock.Add(time.Hour)
	if done, err := rollback(""); err != nil || done.Model.ModelVersion != "2" || done.Model.Status != api.ModelProduction || done.Former.ModelVersion != "3" || done.Former.Status != api.ModelArchived {
		t.Errorf("rolled back: %+v, %v", done, err)
	}
	if done, err := rollback("1"); err != nil || done.Model.ModelVersion != "1" {
		t.Errorf("rolled back: %+v, %v", done, err)
	}
	_, err = rollback("1")
	wantRefusal(t, err, 409, "Model blend 1 is production: only an archived model is gone back to")
	_, err = rollback("9")
	wantRefusal(t, err, 404, "Model not found")
	in, err := d.ProductionModel(t.Context(), "South", "forecasting")
	if err != nil || in.ModelVersion != "1" {
		t.Errorf("in production %+v, %v", in, err)
	}
	moves, next, err := d.ModelHistory(t.Context(), acme, "South", "forecasting", "", api.Page{Limit: 3})
	if err != nil || len(moves) != 3 || next == "" || moves[0].Actor != "ada" || moves[0].Reason == "" {
		t.Errorf("history %+v, %q, %v", moves, next, err)
	}
	all, _, err := d.ModelHistory(t.Context(), acme, "South", "forecasting", "3", api.Page{})
	var steps []string
	for _, m := range all {
		steps = append(steps, m.From+">"+m.To)
	}
	if diff := cmp.Diff([]string{"production>archived", "challenger>production", ">challenger"}, steps); diff != "" || err != nil {
		t.Errorf("history of 3: %v, %v", diff, err)
	}
	_, _, err = d.ModelHistory(t.Context(), api.Scope{Customers: []string{"else"}, Sites: []string{api.Every}}, "South", "forecasting", "", api.Page{})
	wantRefusal(t, err, 403, "")
}

func TestReason(t *testing.T) {
	wantRefusal(t, CheckReason("  "), 400, "Missing required field: reason")
	wantRefusal(t, CheckReason("too short "), 400, "Invalid field: reason")
	if err := CheckReason("äöüäöüäöüß"); err != nil {
		t.Error(err)
	}
}
