package finding

import (
	"cmp"
	"context"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// within says whether the finding was there between two times, to excluded; a zero
// time is no bound.
func (f Finding) within(from, to time.Time) bool {
	return (to.IsZero() || f.StartedAt.Before(to)) && (from.IsZero() || f.Active || !f.Until().Before(from))
}

// History sums up the findings within the scope that were there from q.From to before
// q.To; zero times are no bounds. What they lost and how long they lasted are those of
// the period.
func (s *Service) History(ctx context.Context, scope api.Scope, q api.ListQuery) (api.History, error) {
	ids := api.ListQuery{CustomerID: q.CustomerID, SiteID: q.SiteID}
	matches := record.Matches(scope, ids)
	out := api.History{}
	type loser struct {
		finding api.Finding
		lost    float64
	}
	var losers []loser
	err := s.records.View(ctx, func(tx store.Tx) error {
		out, losers = api.History{From: q.From, To: q.To, Families: []api.HistoryFamily{}, LargestLoss: []api.Finding{}}, nil
		return findings.Each(tx, record.Narrowest(q), func(f Finding) error {
			if !matches(f.CustomerID, f.SiteID, "") || !f.within(q.From.Time, q.To.Time) {
				return nil
			}
			lost, lasted := f.lostWithin(q.From.Time, q.To.Time), f.lastedWithin(q.From.Time, q.To.Time)
			i := slices.IndexFunc(out.Families, func(x api.HistoryFamily) bool { return x.FaultFamily == f.FaultFamily })
			if i < 0 {
				i = len(out.Families)
				out.Families = append(out.Families, api.HistoryFamily{FaultFamily: f.FaultFamily})
			}
			family := &out.Families[i]
			family.Count, out.Count = family.Count+1, out.Count+1
			if f.Active {
				family.Active, out.Active = family.Active+1, out.Active+1
			}
			family.LastedHours, family.LostKWh, out.LostKWh = family.LastedHours+lasted.Hours(), family.LostKWh+lost, out.LostKWh+lost
			family.AssetIDs = append(family.AssetIDs, f.Units()...)
			if q.From.IsZero() && (out.From.IsZero() || f.StartedAt.Before(out.From.Time)) {
				out.From = f.StartedAt
			}
			if q.To.IsZero() {
				out.To = record.Latest(out.To, api.At(f.Until()))
			}
			losers = append(losers, loser{f.Finding, lost})
			return nil
		})
	})
	if err != nil {
		return out, record.Wrap(err, "sum up findings")
	}
	slices.SortStableFunc(losers, func(a, b loser) int { return cmp.Compare(b.lost, a.lost) })
	for _, l := range losers {
		if l.lost > 0 && len(out.LargestLoss) < api.MaxHistoryFindings {
			l.finding.LostKWh = l.lost
			out.LargestLoss = append(out.LargestLoss, l.finding)
		}
	}
	for i := range out.Families {
		f := &out.Families[i]
		slices.Sort(f.AssetIDs)
		f.AssetIDs = slices.Compact(f.AssetIDs)
		f.LastedHours, f.LostKWh = record.Known(f.LastedHours), record.Known(f.LostKWh)
	}
	slices.SortStableFunc(out.Families, func(a, b api.HistoryFamily) int {
		return cmp.Or(cmp.Compare(b.LostKWh, a.LostKWh), cmp.Compare(b.Count, a.Count), cmp.Compare(a.FaultFamily, b.FaultFamily))
	})
	out.LostKWh = record.Known(out.LostKWh)
	return out, nil
}

// lostWithin returns the part of the losses between two times.
func (f Finding) lostWithin(from, to time.Time) float64 {
	if from.IsZero() && to.IsZero() || !from.After(f.StartedAt.Time) && (to.IsZero() || !to.Before(f.Until())) {
		return f.LostKWh
	}
	if to.IsZero() {
		to = f.Until().Add(time.Hour)
	}
	return f.Ledger(time.UTC).Between(from, to)
}

// lastedWithin returns how long the finding was there between two times.
func (f Finding) lastedWithin(from, to time.Time) (sum time.Duration) {
	for _, p := range f.Periods() {
		begin, end := record.Later(p.From, from), p.To
		if !to.IsZero() {
			end = record.Earlier(end, to)
		}
		sum += max(end.Sub(begin), 0)
	}
	return sum
}
