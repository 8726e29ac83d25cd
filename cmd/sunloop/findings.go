package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/plain"
	"app.sunloop/tui/view/widget"
)

// FindingsCmd prints the findings.
type FindingsCmd struct {
	FactFlags
	ListFlags
	State    string `enum:",active,ended,all" default:"" help:"Type: active, ended, all (default active, with --from or --to all)."`
	Severity string `enum:",critical,high,medium,low,journal,warning,normal" default:"" help:"Only findings of this priority, as the table prints it [critical, high, medium, low, journal], or of this severity of the API: critical, warning, normal."`
	From     string `placeholder:"TIME" help:"Only findings active at this time or later, ISO 8601; in the site's time zone without an offset."`
	To       string `placeholder:"TIME" help:"Only findings active before this time."`
	Summary  bool   `help:"Print a summary of the findings of each site instead."`
}

// Run prints the findings; exit status 1 when a critical one is active.
func (c *FindingsCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if err := c.check(); err != nil {
		return err
	}
	from, to, err := fromTo(c.From, c.To, time.UTC)
	if err != nil {
		return &failure{statusUsage, err}
	}
	if !from.IsZero() && !to.IsZero() && !from.Before(to.Time) {
		return wrong("--to: it must be later than --from")
	}
	if c.Summary && (c.Unit != "" || c.Family != "" || c.Severity != "" || c.State != "" || c.Limit != 0) {
		return wrong("--summary: cannot be combined with --unit, --family, --severity, --state or --limit; it sums up all findings of a site")
	}
	if c.State == "" {
		c.State = "active"
		if c.From != "" || c.To != "" {
			c.State = "all"
		}
	}
	if c.Summary {
		return c.report(ctx, g, std, c.summary)
	}
	return c.report(ctx, g, std, func(ctx context.Context, f *facts) (bool, error) {
		all, err := f.Findings(ctx, c.State == "active")
		if err != nil {
			return false, untold(err)
		}
		return list[plain.Sited[api.Finding]]{
			all: all,
			wanted: func(sited plain.Sited[api.Finding]) bool {
				v := sited.Fact
				return c.within(v, f.Zones.Of(sited.Site)) && c.matches(v.FaultFamily, v.AssetID, v.AssetIDs) && c.ofSeverity(v) && (c.State != "ended" || !v.Active)
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

// ofSeverity reports whether a finding has the wanted severity, or the priority that
// the table prints for it.
func (c *FindingsCmd) ofSeverity(v api.Finding) bool {
	return c.Severity == "" || v.SeverityLabel == c.Severity || widget.FindingPriority(v) == c.Severity
}

// within says whether a finding was there in the period, in the zone of its site.
func (c *FindingsCmd) within(v api.Finding, zone *time.Location) bool {
	from, to, err := fromTo(c.From, c.To, zone)
	until := v.EndedAt.Time
	if v.Active {
		until = time.Time{}
	}
	return err == nil && (to.IsZero() || v.StartedAt.Before(to.Time)) && (from.IsZero() || until.IsZero() || !until.Before(from.Time))
}

// summary prints what the history of each site shows.
func (c *FindingsCmd) summary(ctx context.Context, f *facts) (bool, error) {
	err := each(ctx, f, func(ctx context.Context, site api.Site) (*api.HistoryResponse, error) {
		from, to, err := fromTo(c.From, c.To, f.Zones.Of(site.Ref()))
		if err != nil {
			return nil, err
		}
		return f.Client.History(ctx, api.ListQuery{CustomerID: site.CustomerID, SiteID: site.SiteID, From: from, To: to})
	}, func(site api.Site, r *api.HistoryResponse) error {
		zone := f.Zones.Of(site.Ref())
		fmt.Fprintf(f.out, "%s: what the history shows%s\n", f.Zones.Label(site.Ref()), periodOf(r.History, zone))
		printHistoryLines(ctx, f.Client, site.Ref(), r.History, zone, f.out)
		return nil
	})
	if err != nil {
		return false, err
	}
	return f.critical(ctx)
}

// periodOf describes the period of a history.
func periodOf(h api.History, zone *time.Location) string {
	if h.From.IsZero() || h.To.IsZero() {
		return ""
	}
	return ", " + plain.When(h.From, zone) + " to " + plain.When(h.To, zone)
}

func criticalFinding(f plain.Sited[api.Finding]) bool {
	return f.Fact.Active && widget.FindingSeverity(f.Fact) == api.AlertCritical
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
