package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/plain"
)

// AvailabilityCmd prints and changes the availability of units.
type AvailabilityCmd struct {
	List   AvailabilityListCmd   `cmd:"" default:"withargs" help:"Print the availability of a period by unit and category."`
	Set    AvailabilitySetCmd    `cmd:"" help:"Assign an availability category to a period of units, with a reason."`
	Revoke AvailabilityRevokeCmd `cmd:"" help:"Revoke a change of categories, with a reason."`
}

// AvailabilityListCmd prints the availability of the sites' units.
type AvailabilityListCmd struct {
	FactFlags
	From      string `placeholder:"TIME" help:"Start of the period, ISO 8601; in the site's time zone without an offset."`
	To        string `placeholder:"TIME" help:"End of the period (exclusive)."`
	Unit      string `help:"Only this unit."`
	Stretches bool   `help:"Print the periods of each unit."`
}

// Run prints the availability; exit status 1 as that of status.
func (c *AvailabilityListCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if _, _, err := fromTo(c.From, c.To, time.UTC); err != nil {
		return &failure{statusUsage, err}
	}
	return c.report(ctx, g, std, func(ctx context.Context, f *facts) (bool, error) {
		err := each(ctx, f, func(ctx context.Context, site api.Site) (*api.AvailabilityResponse, error) {
			from, to, err := fromTo(c.From, c.To, f.Zones.Of(site.Ref()))
			if err != nil {
				return nil, err
			}
			return client.Call(ctx, f.Client, api.ListAvailability, api.AvailabilityRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, AssetID: c.Unit,
				From: from, To: to, Stretches: c.Stretches, Page: api.Page{Limit: api.MaxLimit}})
		}, func(site api.Site, r *api.AvailabilityResponse) error { return printAvailability(f, site, *r) })
		if err != nil {
			return false, err
		}
		return f.critical(ctx)
	})
}

// printAvailability prints a site's availability and that of its units.
func printAvailability(f *facts, site api.Site, r api.AvailabilityResponse) error {
	zone := f.Zones.Of(site.Ref())
	fmt.Fprintf(f.out, "%s: %s to %s, contractual %s %% of %s %%, operational %s %%, by energy %s %%, data %s %%\n", f.Zones.Label(site.Ref()), plain.When(r.From, zone), plain.When(r.To, zone),
		plain.Maybe(r.Site.ContractualAvailability, 100), plain.Number(100*r.Contract.Target), plain.Maybe(r.Site.TimeAvailability, 100), plain.Maybe(r.Site.EnergyAvailability, 100),
		plain.Maybe(r.Site.DataAvailability, 100))
	t := plain.NewTable("category", "#sun-up hours", "#hours", "#expected kWh", "counts as")
	for _, a := range r.Site.Categories {
		t.Add(plain.Label(a.Category), plain.Number(a.SunUpHours), plain.Number(a.Hours), plain.Number(a.ExpectedKWh), a.Treatment)
	}
	if err := t.Write(f.out, "  "); err != nil {
		return err
	}
	t = plain.NewTable("unit", "#contractual %", "#operational %", "#by energy %", "#data %", "most unavailable in")
	for _, u := range r.Units {
		t.Add(u.AssetID, plain.Maybe(u.ContractualAvailability, 100), plain.Maybe(u.TimeAvailability, 100), plain.Maybe(u.EnergyAvailability, 100), plain.Maybe(u.DataAvailability, 100), worst(u.AvailabilityFigures))
	}
	if err := t.Write(f.out, "  "); err != nil {
		return err
	}
	stretches, found := plain.NewTable("unit", "from", "to", "category", "by", "id"), false
	for _, u := range r.Units {
		for _, s := range u.Stretches {
			found = true
			stretches.Add(u.AssetID, plain.When(s.From, zone), plain.When(s.To, zone), plain.Label(s.Category), plain.Label(s.Source), s.SourceID)
		}
	}
	if !found {
		return nil
	}
	return stretches.Write(f.out, "  ")
}

// worst names the category that takes most sun-up hours from the contractual
// availability.
func worst(f api.AvailabilityFigures) string {
	most, name := 0.0, ""
	for _, a := range f.Categories {
		if a.Treatment == api.TreatmentUnavailable && a.SunUpHours > most {
			most, name = a.SunUpHours, plain.Label(a.Category)
		}
	}
	return name
}

// AvailabilitySetCmd assigns a category to a time of units.
type AvailabilitySetCmd struct {
	FactFlags
	From     string   `required:"" placeholder:"TIME" help:"Start of the period, ISO 8601; in the site's time zone without an offset."`
	To       string   `required:"" placeholder:"TIME" help:"End of the period (exclusive)."`
	Unit     []string `help:"Only these units (all of the site)."`
	Category string   `required:"" help:"Category, such as force_majeure or scheduled_maintenance."`
	Reason   string   `required:"" help:"Reason, which is kept with the change."`
}

// Run assigns the category.
func (c *AvailabilitySetCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if c.Site == "" {
		return wrong("--site is required")
	}
	return c.report(ctx, g, std, func(ctx context.Context, f *facts) (bool, error) {
		return false, each(ctx, f, func(ctx context.Context, site api.Site) (*api.AvailabilityChangeResponse, error) {
			from, to, err := fromTo(c.From, c.To, f.Zones.Of(site.Ref()))
			if err != nil {
				return nil, err
			}
			return client.Call(ctx, f.Client, api.SetAvailability, api.AvailabilityRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, AssetIDs: c.Unit,
				From: from, To: to, Category: c.Category, Reason: c.Reason})
		}, func(site api.Site, r *api.AvailabilityChangeResponse) error { return printChange(f, site, r) })
	})
}

// AvailabilityRevokeCmd revokes a change.
type AvailabilityRevokeCmd struct {
	FactFlags
	Change string `arg:"" help:"Id of the change."`
	Reason string `required:"" help:"Reason, which is kept with the change."`
}

// Run revokes the change.
func (c *AvailabilityRevokeCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if c.Site == "" {
		return wrong("--site is required")
	}
	return c.report(ctx, g, std, func(ctx context.Context, f *facts) (bool, error) {
		return false, each(ctx, f, func(ctx context.Context, site api.Site) (*api.AvailabilityChangeResponse, error) {
			return client.Call(ctx, f.Client, api.RevokeAvailability, api.AvailabilityRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, ChangeID: c.Change, Reason: c.Reason})
		}, func(site api.Site, r *api.AvailabilityChangeResponse) error { return printChange(f, site, r) })
	})
}

func printChange(f *facts, site api.Site, r *api.AvailabilityChangeResponse) error {
	zone, units := f.Zones.Of(site.Ref()), "all units"
	if len(r.Change.AssetIDs) > 0 {
		units = strings.Join(r.Change.AssetIDs, ", ")
	}
	_, err := fmt.Fprintf(f.out, "%s: %s, %s of %s from %s to %s\n", r.Message, r.ChangeID, plain.Label(r.Change.Category), units, plain.When(r.Change.From, zone), plain.When(r.Change.To, zone))
	return err
}
