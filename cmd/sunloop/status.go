package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/plain"
	"app.sunloop/tui/view/widget"
)

// StatusCmd prints the sites' facts.
type StatusCmd struct {
	FactFlags
	ChartFlags
}

// siteStatus is one site's facts, as --json prints them.
type siteStatus struct {
	Site     api.Site      `json:"site"`
	Summary  summaryStatus `json:"summary"`
	Findings []api.Finding `json:"findings"` // active ones
}

// summaryStatus is a summary in which a power or an energy that is unknown is null.
type summaryStatus struct {
	api.SiteSummary
	TotalKWhToday   *float64 `json:"total_kWh_today"`
	TotalPowerKW    *float64 `json:"total_power_kw"`
	ActiveInverters *int     `json:"active_inverters"`
}

// statusOf takes a summary of the service.
func statusOf(s api.SiteSummary) summaryStatus {
	out := summaryStatus{SiteSummary: s}
	if s.HasPower() {
		out.TotalPowerKW, out.ActiveInverters = &s.TotalPowerKW, &s.ActiveInverters
	}
	if s.HasEnergy() {
		out.TotalKWhToday = &s.TotalKWhToday
	}
	return out
}

// Run prints the facts; exit status 1 when a critical finding is active.
func (c *StatusCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return c.report(ctx, g, std, c.print)
}

func (c *StatusCmd) print(ctx context.Context, f *facts) (bool, error) {
	findings, err := f.Findings(ctx, true)
	if err != nil {
		return false, untold(err)
	}
	critical := slices.ContainsFunc(findings, criticalFinding)
	all := []siteStatus{}
	for _, site := range f.Sites {
		s := siteStatus{Site: site, Findings: []api.Finding{}}
		summary, err := f.Client.SiteSummary(ctx, site.Ref())
		if err != nil {
			return critical, f.ofSite(site, untold(err))
		}
		s.Summary = statusOf(summary.Summary)
		for _, v := range findings {
			if v.Site == site.Ref() {
				s.Findings = append(s.Findings, v.Fact)
			}
		}
		if all = append(all, s); f.json {
			continue
		}
		if err := printStatus(f.out, s, f.Zones); err != nil {
			return critical, err
		}
		if c.Chart {
			if err := c.printDay(ctx, f, site, s.Summary.ServiceTime.Time); err != nil {
				return critical, err
			}
		}
	}
	switch {
	case f.json:
		return critical, f.encode(map[string]any{"sites": all, "critical": critical})
	case len(all) == 0:
		return critical, f.noSite()
	}
	return critical, nil
}

// printStatus prints a site in a few lines that read well aloud.
func printStatus(out io.Writer, s siteStatus, zones plain.Zones) error {
	zone := zones.Of(s.Site.Ref())
	fmt.Fprintf(out, "%s: %s", zones.Label(s.Site.Ref()), plain.Vitals(s.Summary.SiteSummary))
	if !s.Summary.LastUpdated.IsZero() {
		fmt.Fprintf(out, ", data of %s", plain.When(api.Time(s.Summary.LastUpdated), zone))
	}
	fmt.Fprintln(out)
	for _, f := range s.Findings {
		fmt.Fprintf(out, "  %s: %s %s since %s, %s at risk (daylight mean), %s, %s sure\n", widget.FindingPriority(f), plain.Unit(f.AssetID, f.AssetIDs), widget.Family(f.FaultFamily),
			plain.When(f.StartedAt, zone), display.Power(f.EnergyAtRiskKW), widget.LostWords(f), display.Percent(f.Confidence))
	}
	if len(s.Findings) == 0 {
		fmt.Fprintln(out, "  "+noFindings(s.Summary.SiteSummary, zone))
	}
	return nil
}

// noFindings says that no finding is active, and of a site without current data that
// what is abnormal now is unknown.
func noFindings(s api.SiteSummary, zone *time.Location) string {
	switch {
	case s.HasPower():
		return "nothing abnormal is known"
	case s.LastUpdated.IsZero():
		return "what is abnormal is unknown: there are no data"
	}
	return "what is abnormal now is unknown: there are no data since " + plain.When(api.Time(s.LastUpdated), zone)
}

// printDay charts the site's day.
func (c *StatusCmd) printDay(ctx context.Context, f *facts, site api.Site, now time.Time) error {
	const step = 15 * time.Minute
	start := midnight(now.In(f.Zones.Of(site.Ref())))
	end := start.AddDate(0, 0, 1)
	records, err := f.Client.SiteRecords(ctx, api.RecordsQuery{CustomerID: site.CustomerID, SiteID: site.SiteID, Start: api.At(start), End: api.LastBefore(end), Resolution: api.Resolution15Min})
	if err != nil {
		return f.ofSite(site, untold(err))
	}
	total := map[int64]float64{}
	for _, list := range records.Records {
		for _, r := range list {
			total[r.Timestamp.Unix()] += r.Power
		}
	}
	points := chart.Points{Step: step}
	for t := start; t.Before(end); t = t.Add(step) {
		if v, ok := total[t.Unix()]; ok {
			points.At, points.Value = append(points.At, t.Unix()), append(points.Value, v)
		}
	}
	return c.day(f.out, site, start, f.Zones.Label(site.Ref()), points)
}
