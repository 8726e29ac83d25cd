package main

import (
	"context"
	"fmt"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/tui/plain"
)

// FindingsCmd prints the findings.
type FindingsCmd struct {
	FactFlags
	ListFlags
	State    string `enum:"active,ended,all" default:"active" help:"Type: ${enum} (default ${default})."`
	Severity string `enum:",critical,warning,normal" default:"" help:"Only findings of this severity: critical, warning, normal."`
}

// Run prints the findings; exit status 1 when a critical one is active.
func (c *FindingsCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.tell(ctx, g, std, func(ctx context.Context, f *facts) (bool, error) {
		all, err := f.Findings(ctx, c.State == "active")
		if err != nil {
			return false, untold(err)
		}
		return list[plain.Sited[api.Finding]]{
			all: all,
			wanted: func(sited plain.Sited[api.Finding]) bool {
				v := sited.Fact
				return c.matches(v.FaultFamily, v.AssetID, v.AssetIDs) && (c.Severity == "" || v.SeverityLabel == c.Severity) && (c.State != "ended" || !v.Active)
			},
			critical: criticalFinding,
			table:    plain.Findings,
			sum: func(wanted []plain.Sited[api.Finding]) string {
				active, critical := 0, 0
				for _, v := range wanted {
					if v.Fact.Active {
						active++
					}
					if criticalFinding(v) {
						critical++
					}
				}
				return fmt.Sprintf("%s, %d active, %d of them critical", count(len(wanted), "finding", "findings"), active, critical)
			},
			json: func(listed []plain.Sited[api.Finding]) any {
				customer := "" // of several
				if ids := f.Customers(); len(ids) == 1 {
					customer = ids[0]
				}
				return api.FindingsResponse{Success: true, CustomerID: customer, MLEnhancedActivities: plain.Facts(listed), Count: len(listed)}
			},
		}.print(f, c.Limit)
	})
}

func criticalFinding(f plain.Sited[api.Finding]) bool {
	return f.Fact.Active && f.Fact.SeverityLabel == api.SeverityCritical
}

// critical says whether a critical finding is active at the sites that are
// asked about.
func (f *facts) critical(ctx context.Context) (bool, error) {
	all, err := f.Findings(ctx, true)
	if err != nil {
		return false, untold(err)
	}
	return slices.ContainsFunc(all, criticalFinding), nil
}
