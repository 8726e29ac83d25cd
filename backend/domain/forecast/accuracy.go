package forecast

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// Leads are the bounds in hours of the classes that scores are kept by: a lead
// of n hours is in the first class whose bound is at least n.
var Leads = []int{6, 12, 24, 48, 72, 168, api.MaxHorizonHours}

// LeadClass is the class of an interval that is hourAhead hours after an issue,
// 1 for the first; -1 for what lies beyond all.
func LeadClass(hourAhead int) int {
	for i, most := range Leads {
		if hourAhead <= most {
			return i
		}
	}
	return -1
}

// ScoreSum sums how forecasts did against what came, in shares of capacity.
type ScoreSum struct {
	N       int     `json:"n"`   // forecast hours of daylight
	Abs     float64 `json:"abs"` // of P50
	Bias    float64 `json:"bias"`
	Pinball float64 `json:"pinball"` // mean over P10, P50, P90
	Width   float64 `json:"width"`   // P90 − P10
	Within  int     `json:"within"`  // actuals between P10 and P90
}

// Add counts one hour; all values in kW.
func (t *ScoreSum) Add(p10, p50, p90, actual, capacityKW float64) {
	t.N++
	t.Abs += math.Abs(p50-actual) / capacityKW
	t.Bias += (p50 - actual) / capacityKW
	t.Pinball += model.Pinball(p10, p50, p90, actual) / capacityKW
	t.Width += (p90 - p10) / capacityKW
	if p10 <= actual && actual <= p90 {
		t.Within++
	}
}

// Merge adds the hours of another sum.
func (t *ScoreSum) Merge(o ScoreSum) {
	t.N, t.Within = t.N+o.N, t.Within+o.Within
	t.Abs, t.Bias, t.Pinball, t.Width = t.Abs+o.Abs, t.Bias+o.Bias, t.Pinball+o.Pinball, t.Width+o.Width
}

// Score is the means, percentages of capacity.
func (t ScoreSum) Score() api.ModelScore {
	if t.N == 0 {
		return api.ModelScore{}
	}
	n := float64(t.N)
	return api.ModelScore{Samples: t.N, PinballPercent: record.Known(100 * t.Pinball / n), NMAEPercent: record.Known(100 * t.Abs / n), BiasPercent: record.Known(100 * t.Bias / n),
		Coverage80: record.Known(float64(t.Within) / n), WidthPercent: record.Known(100 * t.Width / n)}
}

// ScoreDay is how all forecasts issued for one day of a site did, by lead.
type ScoreDay struct {
	SiteID     string     `json:"site_id" limit:"id"`
	CustomerID string     `json:"customer_id" limit:"id"`
	Day        string     `json:"day" limit:"word"`    // 2006-01-02, the site's
	Classes    []ScoreSum `json:"classes" limit:"100"` // by [Leads]
}

var scoreDays = store.Table[ScoreDay]{
	Bucket:  "forecast-scores",
	Key:     func(d ScoreDay) []byte { return store.Key(d.SiteID, d.Day) },
	Indexes: []store.Index[ScoreDay]{{Name: "customer", Key: func(d ScoreDay) []byte { return store.Key(d.CustomerID) }}},
}

// PutScores stores days again.
func (s *Service) PutScores(tx store.Tx, days []ScoreDay) error {
	for _, d := range days {
		if err := scoreDays.Put(tx, d); err != nil {
			return fmt.Errorf("store the scores of site %s on %s: %w", d.SiteID, d.Day, err)
		}
	}
	return nil
}

// IssuedSince are a site's stored forecasts that were issued at or after a
// time, oldest first.
func (s *Service) IssuedSince(ctx context.Context, siteID string, since time.Time) ([]Forecast, error) {
	var out []Forecast
	err := s.records.View(ctx, func(tx store.Tx) error {
		out = nil
		prefix := store.Key(siteID)
		for e, err := range tx.Scan(forecasts.Bucket, prefix, store.After(prefix), true) {
			if err != nil {
				return err
			}
			if made, ok := record.MadeAt(store.Parts(e.Key)); ok && made.Before(since) {
				return nil // ids sort by the time of issue
			}
			f, err := forecasts.Get(tx, e.Key)
			if err != nil {
				return err
			}
			out = append(out, f)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the forecasts of site %s: %w", siteID, err)
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out, nil
}

// defaultAccuracyDays is the window of an accuracy that names none.
const defaultAccuracyDays = 30

// Accuracy is how the forecasts of a site, or of all of a customer's sites,
// have done over the last days, by lead, and what their models promised.
func (s *Service) Accuracy(ctx context.Context, scope api.Scope, q api.AccuracyRequest) (api.Accuracy, error) {
	if q.SiteID != "" {
		if _, err := s.sites.Site(ctx, scope, q.SiteID); err != nil {
			return api.Accuracy{}, err
		}
	}
	days := q.Days
	if days <= 0 {
		days = defaultAccuracyDays
	}
	// The unfinished day is the last one; sites ahead of UTC may have begun
	// the next.
	to := s.now().UTC().AddDate(0, 0, 1)
	from := to.AddDate(0, 0, -days-1)
	out := api.Accuracy{CustomerID: q.CustomerID, SiteID: q.SiteID, Days: days, Leads: []api.LeadAccuracy{}}
	classes := make([]ScoreSum, len(Leads))
	var all, backcast ScoreSum
	var promised, perfect backtestScore
	sites, err := s.scoredSites(ctx, scope, q)
	if err != nil {
		return out, err
	}
	err = s.records.View(ctx, func(tx store.Tx) error {
		clear(classes)
		all, backcast, promised, perfect, out.From, out.To = ScoreSum{}, ScoreSum{}, backtestScore{}, backtestScore{}, "", ""
		for _, site := range sites {
			if err := s.addScores(tx, site, from, to, classes, &out); err != nil {
				return err
			}
			if err := addBackcasts(tx, site, from.Format(time.DateOnly), to.Format(time.DateOnly), &backcast); err != nil {
				return err
			}
			m, err := model.Production(tx, site, api.ModelForecasting)
			switch {
			case err == nil && m.Score != nil && m.Score.MeasuredWeather:
				perfect.add(m)
			case err == nil:
				promised.add(m)
			case !errors.Is(err, store.ErrNotFound):
				return err
			}
		}
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("sum the scores: %w", err)
	}
	first := 1
	for i, t := range classes {
		if t.N > 0 {
			out.Leads = append(out.Leads, api.LeadAccuracy{FromHours: first, ToHours: Leads[i], ModelScore: t.Score()})
		}
		all.Merge(t)
		first = Leads[i] + 1
	}
	out.Overall = all.Score()
	if backcast.N > 0 {
		score := backcast.Score()
		out.Backcast = &score
	}
	out.Promised, out.MeasuredWeather = promised.mean(), perfect.mean()
	if out.MeasuredWeather != nil {
		out.MeasuredWeather.MeasuredWeather = true
	}
	return out, nil
}

func (s *Service) scoredSites(ctx context.Context, scope api.Scope, q api.AccuracyRequest) ([]string, error) {
	if q.SiteID != "" {
		return []string{q.SiteID}, nil
	}
	var ids []string
	list := api.ListQuery{CustomerID: q.CustomerID, Page: api.Page{Limit: api.MaxLimit}}
	for {
		part, next, err := s.sites.Sites(ctx, scope, list)
		if err != nil {
			return nil, err
		}
		for _, site := range part {
			ids = append(ids, site.SiteID)
		}
		if list.Cursor = next; next == "" {
			return ids, nil
		}
	}
}

func (s *Service) addScores(tx store.Tx, siteID string, from, to time.Time, classes []ScoreSum, out *api.Accuracy) error {
	first, last := store.Key(siteID, from.Format(time.DateOnly)), store.Key(siteID, to.Format(time.DateOnly))
	for e, err := range tx.Scan(scoreDays.Bucket, first, store.After(last), false) {
		if err != nil {
			return err
		}
		d, err := scoreDays.Get(tx, e.Key)
		if err != nil {
			return err
		}
		for i := range min(len(d.Classes), len(classes)) {
			classes[i].Merge(d.Classes[i])
		}
		if out.From == "" || d.Day < out.From {
			out.From = d.Day
		}
		out.To = max(out.To, d.Day)
	}
	return nil
}

// backtestScore is what models' own backtests said of them, by the data they saw.
type backtestScore struct {
	weight, nmae, coverage, pinball float64
}

func (p *backtestScore) add(m model.Model) {
	w := float64(max(m.Points, 1))
	p.weight += w
	p.nmae += w * 100 * (1 - m.ModelAccuracy)
	p.coverage += w * m.Coverage80
	p.pinball += w * m.BacktestLoss()
}

func (p backtestScore) mean() *api.ModelScore {
	if p.weight == 0 {
		return nil
	}
	return &api.ModelScore{NMAEPercent: record.Known(p.nmae / p.weight), Coverage80: record.Known(p.coverage / p.weight), PinballPercent: record.Known(p.pinball / p.weight)}
}
