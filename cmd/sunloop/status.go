package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/chart"
)

// StatusCmd prints a site's facts.
type StatusCmd struct {
	Site  string `help:"Only this site."`
	JSON  bool   `name:"json" help:"As JSON."`
	Chart bool   `help:"With a chart of the day."`
	ASCII bool   `help:"Draw the chart with ASCII characters alone."`
	Service
}

// Service is what a command asks: the data folder, or one elsewhere.
type Service struct {
	RemoteFlags
}

// ask runs f with a client of the service.
func (s Service) ask(ctx context.Context, g *Globals, f func(*client.Client) error) error {
	if s.Remote != "" {
		cl, err := s.client()
		if err != nil {
			return err
		}
		return f(cl)
	}
	service, err := backend.New(backend.Config{DataDir: g.Data, Now: time.Now, Wall: time.Now})
	if err != nil {
		return openFailed(g.Data, err)
	}
	return errors.Join(withOwnKey(ctx, service, f), service.Close())
}

// siteStatus is one site's facts, as --json prints them.
type siteStatus struct {
	Site     api.Site        `json:"site"`
	Summary  api.SiteSummary `json:"summary"`
	Findings []api.Finding   `json:"findings"`
}

// Run prints the facts; exit status 1 when something critical is open.
func (c *StatusCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return c.ask(ctx, g, func(cl *client.Client) error { return c.print(ctx, cl, std.out) })
}

func (c *StatusCmd) print(ctx context.Context, cl *client.Client, out io.Writer) error {
	sites, err := cl.Sites(ctx, api.ListQuery{Page: api.Page{Limit: api.MaxLimit}})
	if err != nil {
		return inWords(err)
	}
	var all []siteStatus
	critical := false
	for _, site := range sites.Sites {
		if c.Site != "" && site.SiteID != c.Site {
			continue
		}
		s := siteStatus{Site: site, Findings: []api.Finding{}}
		summary, err := cl.SiteSummary(ctx, site.SiteID)
		if err != nil {
			return fmt.Errorf("site %s: %w", site.SiteID, inWords(err))
		}
		s.Summary = summary.Summary
		findings, err := cl.Findings(ctx, api.ListQuery{CustomerID: site.CustomerID, SiteID: site.SiteID, Page: api.Page{Limit: api.MaxLimit}})
		if err != nil && !strings.HasPrefix(inWords(err).Error(), api.ErrNoSummaries.Message) {
			return fmt.Errorf("site %s: %w", site.SiteID, inWords(err))
		}
		if err == nil {
			for _, f := range findings.MLEnhancedActivities {
				if f.Active {
					s.Findings = append(s.Findings, f)
					critical = critical || f.SeverityLabel == api.SeverityCritical
				}
			}
		}
		all = append(all, s)
		if !c.JSON {
			printStatus(out, s)
			if c.Chart {
				if err := c.printDay(ctx, cl, site, summary.Summary.ServiceTime.Time, out); err != nil {
					return err
				}
			}
		}
	}
	if c.Site != "" && len(all) == 0 {
		return fmt.Errorf("there is no site %q", c.Site)
	}
	if c.JSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		if all == nil {
			all = []siteStatus{}
		}
		if err := e.Encode(map[string]any{"sites": all, "critical": critical}); err != nil {
			return err
		}
	} else if len(all) == 0 {
		fmt.Fprintln(out, "There is no site yet. Import a file: sunloop import FILE --site NAME --tz ZONE --capacity-kw KW")
	}
	if critical {
		return exitStatus(1)
	}
	return nil
}

// printStatus prints a site in a few lines that read well aloud.
func printStatus(out io.Writer, s siteStatus) {
	d := s.Summary
	fmt.Fprintf(out, "%s: %.1f kW", s.Site.SiteID, d.TotalPowerKW)
	if d.ExpectedPowerKW != nil {
		fmt.Fprintf(out, " of %.1f kW expected", *d.ExpectedPowerKW)
	}
	fmt.Fprintf(out, ", %.1f kWh today, %d of %d units feed in", d.TotalKWhToday, d.ActiveInverters, d.TotalInverters)
	if d.FleetPRPct != nil {
		fmt.Fprintf(out, ", performance ratio %.2f", *d.FleetPRPct/100)
	}
	if d.FleetAvailabilityPct != nil {
		fmt.Fprintf(out, ", availability %.1f %%", *d.FleetAvailabilityPct)
	}
	if !d.LastUpdated.IsZero() {
		fmt.Fprintf(out, ", data of %s", d.LastUpdated)
	}
	fmt.Fprintln(out)
	for _, f := range s.Findings {
		unit := f.AssetID
		if unit == "" {
			unit = "whole site"
		}
		fmt.Fprintf(out, "  %s: %s %s since %s, %.1f kW at risk, %.1f kWh lost, %.0f %% sure\n", f.SeverityLabel, unit, strings.ReplaceAll(f.FaultFamily, "_", " "), f.StartedAt, f.EnergyAtRiskKW, f.LostKWh, f.Confidence*100)
	}
	if len(s.Findings) == 0 {
		fmt.Fprintln(out, "  nothing abnormal is known")
	}
}

// printDay charts the site's day.
func (c *StatusCmd) printDay(ctx context.Context, cl *client.Client, site api.Site, now time.Time, out io.Writer) error {
	zone, err := time.LoadLocation(site.Timezone)
	if err != nil {
		zone = time.UTC
	}
	y, m, d := now.In(zone).Date()
	start := time.Date(y, m, d, 0, 0, 0, 0, zone)
	records, err := cl.SiteRecords(ctx, api.RecordsQuery{SiteID: site.SiteID, Start: api.At(start), End: api.At(start.AddDate(0, 0, 1)), Resolution: api.Resolution15Min})
	if err != nil {
		return fmt.Errorf("site %s: %w", site.SiteID, inWords(err))
	}
	total := map[int64]float64{}
	for _, list := range records.Records {
		for _, r := range list {
			total[r.Timestamp.Unix()] += r.Power
		}
	}
	points := chart.Points{Step: 15 * time.Minute}
	for t := start; t.Before(start.AddDate(0, 0, 1)); t = t.Add(15 * time.Minute) {
		if v, ok := total[t.Unix()]; ok {
			points.At, points.Value = append(points.At, t.Unix()), append(points.Value, v)
		}
	}
	fmt.Fprintln(out, chart.Plain{Start: start, Location: zone, Columns: 64, Rows: 8, Unit: "kW", Caption: site.SiteID, ASCII: c.ASCII, Top: site.CapacityKW}.Render(points))
	return nil
}
