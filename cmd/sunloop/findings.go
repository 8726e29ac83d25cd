package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/tui/plain"
)

// FindingsCmd prints the findings.
type FindingsCmd struct {
	FactFlags
	ListFlags
	State    string `enum:"active,ended,all" default:"active" help:"Which: ${enum} (${default})."`
	Severity string `enum:",critical,warning,normal" default:"" help:"Only those of this severity (critical, warning, normal)."`
}

// Run prints the findings; exit status 1 when a critical one is active.
func (c *FindingsCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.tell(ctx, g, std, func(ctx context.Context, f *facts) (bool, error) {
		all, err := f.findings(ctx, c.State == "active")
		if err != nil {
			return false, err
		}
		return list[api.Finding]{
			all: all,
			wanted: func(v api.Finding) bool {
				return c.wants(v.FaultFamily, v.AssetID, v.AssetIDs) && (c.Severity == "" || v.SeverityLabel == c.Severity) && (c.State != "ended" || !v.Active)
			},
			critical: criticalFinding,
			table:    plain.Findings,
			sum: func(wanted []api.Finding) string {
				active, critical := 0, 0
				for _, v := range wanted {
					if v.Active {
						active++
					}
					if criticalFinding(v) {
						critical++
					}
				}
				return fmt.Sprintf("%s, %d active, %d of them critical", count(len(wanted), "finding", "findings"), active, critical)
			},
			json: func(listed []api.Finding) any {
				return api.FindingsResponse{Success: true, CustomerID: f.customer(), MLEnhancedActivities: listed, Count: len(listed)}
			},
		}.print(f, c.Limit)
	})
}

func criticalFinding(f api.Finding) bool { return f.Active && f.SeverityLabel == api.SeverityCritical }

// findings are those of the sites that are asked about: active ones first, then
// the most power at risk; active ones alone if told so.
func (f *facts) findings(ctx context.Context, active bool) ([]api.Finding, error) {
	var done func(api.Finding) bool
	if active { // they stand first
		done = func(v api.Finding) bool { return !v.Active }
	}
	all, err := ofCustomers(f, func(q api.ListQuery) ([]api.Finding, string, error) {
		r, err := f.Findings(ctx, q)
		if errors.Is(err, api.ErrNoSummaries) {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		return r.MLEnhancedActivities, r.NextCursor, nil
	}, done)
	if err != nil {
		return nil, untold(err)
	}
	slices.SortStableFunc(all, func(a, b api.Finding) int {
		if a.Active != b.Active {
			if a.Active {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.EnergyAtRiskKW, a.EnergyAtRiskKW)
	})
	return all, nil
}

// critical says whether a critical finding is active at the sites that are
// asked about.
func (f *facts) critical(ctx context.Context) (bool, error) {
	all, err := f.findings(ctx, true)
	return slices.ContainsFunc(all, criticalFinding), err
}
