package maintenance

import (
	"context"
	"fmt"
	"math"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/internal/display"
)

// A repair is good when on a clear day the unit made at least wellShare of
// what was expected; below illShare it is not. Between the two, and on days
// that are not clear, nothing is said.
const (
	repairedShare = 0.97
	failedShare   = 0.90
)

// endsWithin is how long the finding of a fault may outlast its repair while the unit makes
// what is expected: losses of some per cent are found, and end, over several clear days.
const endsWithin = 14 * day

// verifyWithin is how long a repair waits for a clear day.
const verifyWithin = 31 * day

// RepairsWait says whether a repair at the site waits to be verified.
func (s *Service) RepairsWait(ctx context.Context, siteID string) (wait bool, err error) {
	err = s.Records.View(ctx, func(tx store.Tx) error {
		list, _, err := orders.List(tx, store.Query{Index: "waiting", Prefix: store.Key(siteID), Limit: 1})
		wait = len(list) > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("look for repairs of site %s: %w", siteID, err)
	}
	return wait, nil
}

// Verify holds the repairs of a site against a run of the detector. With the
// first complete clear day after a repair, the issue is resolved if the unit
// produces the expected power and no finding of the fault is active; if one
// is, or the unit produces clearly too little, reopening of the order is
// proposed. A finding that is still active while the unit produces the expected
// power is given two weeks to end.
func (s *Service) Verify(tx store.Tx, run finding.Run) error {
	list, _, err := orders.List(tx, store.Query{Index: "waiting", Prefix: store.Key(run.Site.SiteID)})
	if err != nil {
		return fmt.Errorf("look for repairs of site %s: %w", run.Site.SiteID, err)
	}
	for _, o := range list {
		if err := s.verify(tx, o, run); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) verify(tx store.Tx, o order, run finding.Run) error {
	var yield *finding.DayYield
	for i, y := range run.DayYields[o.AssetID] {
		if y.Clear && y.Known && !y.From.Before(o.CompletedAt.Time) {
			yield = &run.DayYields[o.AssetID][i]
		}
	}
	v := api.Verification{At: api.At(s.Now())}
	if yield == nil {
		if s.Now().Sub(o.CompletedAt.Time) <= verifyWithin {
			return nil
		}
		v.State = api.VerificationExpired
		return s.verified(tx, o, v, "Repair not verified")
	}
	v.Day, v.Ratio = yield.From.In(record.Zone(run.Site.Timezone)).Format("2006-01-02"), math.Round(yield.Ratio*1000)/1000
	active, err := s.Domain.Findings.Active(tx, o.SiteID)
	if err != nil {
		return err
	}
	ill := slices.ContainsFunc(active, func(f api.Finding) bool {
		return f.FaultFamily == o.FaultFamily && f.Affects(o.AssetID)
	})
	switch {
	case ill && yield.Ratio >= repairedShare && s.Now().Sub(o.CompletedAt.Time) <= endsWithin:
		return nil // decided when the finding has ended
	case ill || yield.Ratio < failedShare:
		v.State = api.VerificationFailed
		text := fmt.Sprintf("On %s, a clear day, the unit made %s of the expected energy", v.Day, display.Percent(yield.Ratio))
		if ill {
			text += ", and the fault is still present"
		}
		o.Proposals = []api.Proposal{{Kind: api.ProposeReopen, IssueID: o.IssueID, Text: text + ": reopen the order.", At: v.At}}
		return s.verified(tx, o, v, "Repair not effective")
	case yield.Ratio < repairedShare:
		return nil // neither verified nor failed: decided on another day
	}
	v.State, o.Proposals = api.VerificationVerified, nil
	if o.IssueID != "" {
		i, err := s.Domain.Issues.FindInTx(tx, api.Unlimited("detector"), o.SiteID, o.IssueID)
		if err != nil {
			return err
		}
		others := slices.ContainsFunc(active, func(f api.Finding) bool { return f.SummaryID == i.SummaryID })
		if others { // units of the same finding are still affected
			return s.verified(tx, o, v, "Repair verified")
		}
		if _, err := s.Domain.Issues.SetStatus(tx, i, api.IssueResolved, "detector", fmt.Sprintf("order %s: on %s the unit made %s of what was expected", o.OrderID, v.Day, display.Percent(yield.Ratio))); err != nil {
			return err
		}
	}
	return s.verified(tx, o, v, "Repair verified")
}

// verified keeps what was found out.
func (s *Service) verified(tx store.Tx, o order, v api.Verification, title string) error {
	o.Verification = &v
	o.UpdatedAt, o.UpdatedAtMS = v.At, v.At.UnixMilli()
	o.Version++
	if err := orders.Put(tx, o); err != nil {
		return fmt.Errorf("store order %s: %w", o.OrderID, err)
	}
	return s.note(tx, o.CustomerID, o.SiteID, o.AssetID, api.PhaseObserve, title, "order "+o.OrderID, "detector")
}
