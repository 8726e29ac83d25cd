package model_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/store"
)

func ofPoints(m model.Model, n int) model.Model {
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
		"too few hours":                 {api.ModelScore{Samples: 99, PinballPercent: 2.7, NMAEPercent: 7.5, Coverage80: 0.82}, false, "99 hours of daylight too few", 0},
	} {
		e := model.EvaluateHoldout(production, c.challenger, window, c.age)
		if e.Eligible != c.want || !strings.Contains(e.Verdict, c.words) || e.Samples != c.challenger.Samples || *e.Production != production {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestCompareBacktests(t *testing.T) {
	june := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		production, challenger model.Model
		want                   bool
	}{
		"lower on all of three":            {domaintest.Trained(1, june, 3, 3, 3), domaintest.Trained(2, june, 2.9, 2.9, 2.9), true},
		"lower, but by less than 1 %":      {domaintest.Trained(1, june, 3, 3, 3), domaintest.Trained(2, june, 2.99, 2.99, 2.99), false},
		"lower in the mean, on two alone":  {domaintest.Trained(1, june, 3, 3, 3), domaintest.Trained(2, june, 2, 2, 3.1), false},
		"lower on three of four":           {domaintest.Trained(1, june, 3, 3, 3, 3), domaintest.Trained(2, june, 2.5, 2.5, 2.5, 3.2), true},
		"few in common, later, as good":    {domaintest.Trained(1, june, 3, 3), domaintest.Trained(2, june.AddDate(0, 1, 0), 3.02, 3.02), true},
		"few in common, later, but worse":  {domaintest.Trained(1, june, 3, 3), domaintest.Trained(2, june.AddDate(0, 1, 0), 3.2, 3.2), false},
		"few in common, the same data":     {domaintest.Trained(1, june, 3, 3), domaintest.Trained(2, june, 2, 2), false},
		"nothing in common with no losses": {domaintest.Trained(1, june), domaintest.Trained(2, june.AddDate(0, 1, 0)), true},
		"few in common, twice the data":    {domaintest.Trained(1, june, 3), ofPoints(domaintest.Trained(2, june, 3), 2000), true},
		"few in common, hardly more data":  {domaintest.Trained(1, june, 3), ofPoints(domaintest.Trained(2, june, 3), 1050), false},
	} {
		if e := model.CompareBacktests(c.production, c.challenger); e.Eligible != c.want {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestOneModelInProduction(t *testing.T) {
	d := domaintest.New(t)
	end := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	register := func(m model.Model) {
		t.Helper()
		d.Update(func(tx store.Tx) error {
			var e *api.ModelEvaluation
			if former, err := d.Models.ProductionIn(tx, m.SiteID, m.ModelType); err == nil {
				v := model.CompareBacktests(former, m)
				v.Against = former.ModelVersion
				e = &v
			}
			_, err := d.Models.Register(tx, m, e)
			return err
		})
	}
	register(domaintest.Trained(1, end, 3, 3, 3))
	register(domaintest.Trained(2, end, 3.1, 3, 3)) // loses
	register(domaintest.Trained(3, end, 2.5, 2.5, 2.5))
	register(domaintest.Trained(4, end, 3, 3, 3))
	register(domaintest.Trained(5, end, 3, 3, 3)) // one challenger too many
	list, _, err := d.Models.Models(t.Context(), domaintest.Acme, api.ListQuery{CustomerID: "acme"})
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
	m, err := d.Models.InProduction(t.Context(), "South", "forecasting")
	if err != nil || m.ModelVersion != "3" || len(m.History) != 2 {
		t.Errorf("in production %+v, %v", m, err)
	}
	d.Update(func(tx store.Tx) error { return d.Models.Reject(tx, m, "damaged") })
	if _, err := d.Models.InProduction(t.Context(), "South", "forecasting"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a refused model is still in production: %v", err)
	}
	n, err := d.Models.NextSequence(t.Context(), "South", "forecasting")
	if err != nil || n != 6 {
		t.Errorf("next is %d, %v", n, err)
	}
	domaintest.WantError(t, m.Transition(api.ModelChallenger, model.StatusChange{At: d.Clock}), 409, "")
}

func TestMovesOfTheRegistry(t *testing.T) {
	d := domaintest.New(t)
	if _, err := d.Sites.SetSite(t.Context(), domaintest.Acme, api.Site{SiteID: "South", CustomerID: "acme"}); err != nil {
		t.Fatal(err)
	}
	end := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	var kept []model.Model
	for n := 1; n <= 3; n++ {
		d.Update(func(tx store.Tx) error {
			m, err := d.Models.Register(tx, domaintest.Trained(n, end), &api.ModelEvaluation{Against: "1", Verdict: "its loss is higher"})
			kept = append(kept, m)
			return err
		})
	}
	first, second, third := kept[0], kept[1], kept[2]
	if first.Status != api.ModelProduction || second.Status != api.ModelChallenger || third.Status != api.ModelChallenger {
		t.Fatalf("registered as %s, %s and %s", first.Status, second.Status, third.Status)
	}
	promote := func(m model.Model, forced bool) (done model.Promotion, err error) {
		err = d.Store.Update(t.Context(), func(tx store.Tx) error {
			var err error
			done, err = d.Models.Promote(tx, m, "ada", "seen to be better", forced)
			return err
		})
		return done, err
	}
	last := func(m model.Model) model.StatusChange { return m.History[len(m.History)-1] }
	_, err := promote(second, false)
	domaintest.WantError(t, err, 409, "Model blend 2 is not eligible: its loss is higher")
	done, err := promote(second, true)
	if err != nil || done.Model.Status != api.ModelProduction || done.Former == nil || done.Former.Status != api.ModelArchived || !last(done.Model).Forced {
		t.Fatalf("forced: %+v, %v", done, err)
	}
	if done, err := promote(second, false); err != nil || done.Moved || done.Model.Status != api.ModelProduction {
		t.Errorf("once more: %+v, %v", done, err)
	}
	_, err = promote(first, true)
	domaintest.WantError(t, err, 409, "Model blend 1 is archived: only a challenger is evaluated or promoted")
	_, err = promote(third, false)
	domaintest.WantError(t, err, 409, "Model blend 3 is not eligible: it was not evaluated against 2, which is in production now")
	d.Update(func(tx store.Tx) error {
		_, err := d.Models.SetEvaluation(tx, third, api.ModelEvaluation{Against: "2", Eligible: true, Verdict: "its loss is lower"})
		return err
	})
	if done, err = promote(third, true); err != nil || done.Former.ModelVersion != "2" || last(done.Model).Forced {
		t.Errorf("eligible: %+v, %v", done, err)
	}
	rollback := func(version string) (done model.Promotion, err error) {
		err = d.Store.Update(t.Context(), func(tx store.Tx) error {
			var err error
			done, err = d.Models.Rollback(tx, "South", "forecasting", version, "ada", "the new one is biased")
			return err
		})
		return done, err
	}
	d.Clock = d.Clock.Add(time.Hour)
	if done, err := rollback(""); err != nil || done.Model.ModelVersion != "2" || done.Model.Status != api.ModelProduction || done.Former.ModelVersion != "3" || done.Former.Status != api.ModelArchived {
		t.Errorf("rolled back: %+v, %v", done, err)
	}
	if done, err := rollback("1"); err != nil || done.Model.ModelVersion != "1" {
		t.Errorf("rolled back: %+v, %v", done, err)
	}
	_, err = rollback("1")
	domaintest.WantError(t, err, 409, "Model blend 1 is production: only an archived model is gone back to")
	_, err = rollback("9")
	domaintest.WantError(t, err, 404, "Model not found")
	in, err := d.Models.InProduction(t.Context(), "South", "forecasting")
	if err != nil || in.ModelVersion != "1" {
		t.Errorf("in production %+v, %v", in, err)
	}
	moves, next, err := d.Models.History(t.Context(), domaintest.Acme, "South", "forecasting", "", api.Page{Limit: 3})
	if err != nil || len(moves) != 3 || next == "" || moves[0].Actor != "ada" || moves[0].Reason == "" {
		t.Errorf("history %+v, %q, %v", moves, next, err)
	}
	all, _, err := d.Models.History(t.Context(), domaintest.Acme, "South", "forecasting", "3", api.Page{})
	var steps []string
	for _, m := range all {
		steps = append(steps, m.From+">"+m.To)
	}
	if diff := cmp.Diff([]string{"production>archived", "challenger>production", ">challenger"}, steps); diff != "" || err != nil {
		t.Errorf("history of 3: %v, %v", diff, err)
	}
	_, _, err = d.Models.History(t.Context(), api.Scope{Customers: []string{"else"}, Sites: []string{api.Every}}, "South", "forecasting", "", api.Page{})
	domaintest.WantError(t, err, 403, "")
}

func TestReason(t *testing.T) {
	domaintest.WantError(t, model.CheckReason("  "), 400, "Missing required field: reason")
	domaintest.WantError(t, model.CheckReason("too short "), 400, "Invalid field: reason")
	if err := model.CheckReason("äöüäöüäöüß"); err != nil {
		t.Error(err)
	}
}

func TestInterpolationsKeepTheNewest(t *testing.T) {
	s := domaintest.New(t)
	s.AddSite("roof", "acme")
	for i := range model.KeptInterpolations + 3 {
		s.Update(func(tx store.Tx) error {
			dropped, err := s.Models.AddInterpolation(tx, model.Interpolation{CustomerID: "acme", InterpolationResult: api.InterpolationResult{SiteID: "roof", ResultID: fmt.Sprintf("int_%02d", i)}})
			if late := i - model.KeptInterpolations; late >= 0 && (len(dropped) != 1 || dropped[0].ResultID != fmt.Sprintf("int_%02d", late)) || late < 0 && len(dropped) > 0 {
				t.Errorf("with result %d it drops %+v", i, dropped)
			}
			return err
		})
	}
	for _, q := range []api.ListQuery{{CustomerID: "acme", Page: api.Page{Limit: 100}}, {CustomerID: "acme", SiteID: "roof", Page: api.Page{Limit: 100}}} {
		got, _, err := s.Models.Interpolations(t.Context(), api.Unlimited("test"), q)
		if err != nil || len(got) != model.KeptInterpolations || got[0].ResultID != "int_07" {
			t.Errorf("%+v: %d results, first %v, %v", q, len(got), got, err)
		}
	}
	if _, _, err := s.Models.Interpolations(t.Context(), api.Unlimited("test"), api.ListQuery{CustomerID: "other"}); !errors.Is(err, api.ErrNoInterpolation) {
		t.Errorf("a customer without any: %v", err)
	}
	if got, _, err := s.Models.Interpolations(context.Background(), api.Scope{Customers: []string{"other"}, Sites: []string{api.Every}}, api.ListQuery{CustomerID: "acme", Page: api.Page{Limit: 100}}); len(got) != 0 {
		t.Errorf("another customer's key sees %v, %v", got, err)
	}
}
