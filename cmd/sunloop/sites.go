package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/clock"
	"app.sunloop/internal/display"
	"app.sunloop/tui/plain"
)

// SitesCmd manages sites.
type SitesCmd struct {
	List      SitesListCmd      `cmd:"" default:"withargs" help:"List sites."`
	Add       SitesAddCmd       `cmd:"" help:"Add a site without data."`
	Rename    SitesRenameCmd    `cmd:"" help:"Change the name that is shown; the id stays."`
	Archive   SitesArchiveCmd   `cmd:"" help:"Make a site read-only: no new data, forecasts or detection, and not in lists unless asked for."`
	Unarchive SitesUnarchiveCmd `cmd:"" help:"Make an archived site active again."`
	Zone      SitesZoneCmd      `cmd:"" help:"Change the time zone of a site: all kept files are read again in it."`
	Remove    SitesRemoveCmd    `cmd:"" help:"Delete a site with all its data."`
}

// UnitsCmd manages units.
type UnitsCmd struct {
	Merge UnitsMergeCmd `cmd:"" help:"Merge two units of a site: the values of the second fill the gaps of the first."`
}

// SiteFlags name a site of the data folder or of a service.
type SiteFlags struct {
	Site     string `arg:"" help:"Id of the site."`
	Customer string `help:"Customer of the site, if several have one of this id."`
	RemoteFlags
}

func (c SiteFlags) ref() api.SiteRef { return api.SiteRef{CustomerID: c.Customer, SiteID: c.Site} }

// run calls do with a client of the data folder, whose jobs run meanwhile, or of a
// service.
func (f RemoteFlags) run(ctx context.Context, g *Globals, std streams, command string, do func(context.Context, *client.Client) error) error {
	if f.Remote != "" {
		cl, err := f.client()
		if err != nil {
			return err
		}
		defer cl.Close()
		return do(ctx, cl)
	}
	cfg := g.embedded()
	quiet := *g
	if quiet.level() == slog.LevelInfo {
		quiet.LogLevel = "warn" // the command itself says what it does
	}
	cfg.Logger = quiet.headlessLog(std.err).With("command", command)
	service, err := openFolder(cfg)
	if err != nil {
		return err
	}
	return withService(ctx, service, func(ctx context.Context) error {
		return withOwnKey(ctx, service, ownKeyLasts, func(cl *client.Client) error { return do(ctx, cl) })
	})
}

// SitesListCmd lists sites.
type SitesListCmd struct {
	Customer string `help:"Only sites of this customer."`
	Archived bool   `help:"List archived sites too."`
	JSON     bool   `name:"json" help:"Print JSON."`
	RemoteFlags
}

// Run prints the sites.
func (c *SitesListCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return c.run(ctx, g, std, "sites list", func(ctx context.Context, cl *client.Client) error {
		all := []api.Site{}
		q := api.ListQuery{CustomerID: c.Customer, Archived: c.Archived, Page: api.Page{Limit: 1000}}
		for {
			r, err := cl.Sites(ctx, q)
			if err != nil {
				return clientError(err)
			}
			all = append(all, r.Sites...)
			if q.Cursor = r.NextCursor; q.Cursor == "" {
				break
			}
		}
		if c.JSON {
			return printJSON(std.out, map[string]any{"sites": all})
		}
		if len(all) == 0 {
			text := "there are no sites"
			if !c.Archived {
				text += "; --archived lists archived ones too"
			}
			if _, err := fmt.Fprintln(std.out, text); err != nil {
				return fmt.Errorf("print the sites: %w", err)
			}
			return nil
		}
		t := plain.NewTable("site", "customer", "name", "zone", "#units", "state")
		for _, s := range all {
			t.Add(s.SiteID, s.CustomerID, s.Name, s.Timezone, fmt.Sprint(s.AssetCount), siteState(s))
		}
		return t.Write(std.out, "")
	})
}

// siteState is the state of a site as a word or two.
func siteState(s api.Site) string {
	switch {
	case s.Change.Running():
		return "being changed: " + s.Change.Kind
	case !s.ArchivedAt.IsZero():
		return "archived"
	}
	return "active"
}

// SitesAddCmd adds a site.
type SitesAddCmd struct {
	Site       string  `arg:"" help:"Id of the new site."`
	Customer   string  `default:"default" help:"Customer of the site."`
	Name       string  `help:"Name that is shown; by default the id."`
	TZ         string  `name:"tz" placeholder:"ZONE" help:"Time zone of the site, for example Europe/Berlin (UTC)."`
	Location   string  `placeholder:"PLACE" help:"Location: a town, or 47.07,15.44."`
	CapacityKW float64 `name:"capacity-kw" placeholder:"KW" help:"AC capacity of the whole site."`
	RemoteFlags
}

// Run adds the site.
func (c *SitesAddCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if c.Location != "" {
		if _, err := parsePlace(c.Location); err != nil {
			return err
		}
	}
	return c.run(ctx, g, std, "sites add", func(ctx context.Context, cl *client.Client) error {
		r, err := cl.AddSite(ctx, api.Site{SiteID: c.Site, CustomerID: c.Customer, Name: c.Name, Timezone: c.TZ, Location: c.Location, CapacityKW: c.CapacityKW})
		if err != nil {
			return clientError(err)
		}
		fmt.Fprintf(std.out, "site %s of customer %s added, in the time zone %s\n", r.Site.SiteID, r.Site.CustomerID, r.Site.Timezone)
		return nil
	})
}

// SitesRenameCmd renames a site.
type SitesRenameCmd struct {
	SiteFlags
	Name string `arg:"" help:"New name."`
}

// Run renames the site.
func (c *SitesRenameCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return c.run(ctx, g, std, "sites rename", func(ctx context.Context, cl *client.Client) error {
		return printMove(std.out, c.Site, "renamed to "+c.Name)(cl.RenameSite(ctx, c.ref(), c.Name))
	})
}

// SitesArchiveCmd archives a site.
type SitesArchiveCmd struct{ SiteFlags }

// Run archives the site.
func (c *SitesArchiveCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return c.run(ctx, g, std, "sites archive", func(ctx context.Context, cl *client.Client) error {
		return printMove(std.out, c.Site, "archived; it is read-only")(cl.ArchiveSite(ctx, c.ref()))
	})
}

// SitesUnarchiveCmd ends the archiving of a site.
type SitesUnarchiveCmd struct{ SiteFlags }

// Run ends the archiving.
func (c *SitesUnarchiveCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return c.run(ctx, g, std, "sites unarchive", func(ctx context.Context, cl *client.Client) error {
		return printMove(std.out, c.Site, "is no longer archived")(cl.UnarchiveSite(ctx, c.ref()))
	})
}

// printMove prints the result of a change of a site.
func printMove(out io.Writer, site, text string) func(*api.SitesResponse, error) error {
	return func(_ *api.SitesResponse, err error) error {
		if err != nil {
			return clientError(&subject{"site " + site, err})
		}
		fmt.Fprintf(out, "site %s %s\n", site, text)
		return nil
	}
}

// SitesZoneCmd changes the time zone of a site.
type SitesZoneCmd struct {
	SiteFlags
	Zone   string `arg:"" help:"New time zone, for example Europe/Berlin."`
	DryRun bool   `help:"Only print what would change."`
}

// Run says what changes, changes the zone and waits for the end.
func (c *SitesZoneCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return c.run(ctx, g, std, "sites zone", func(ctx context.Context, cl *client.Client) error {
		r, err := cl.SetZone(ctx, c.ref(), c.Zone, true)
		if err != nil {
			return clientError(&subject{"site " + c.Site, err})
		}
		e := r.Effects
		fmt.Fprintln(std.out, zoneText(*e))
		if !e.FirstRecord.IsZero() {
			fmt.Fprintf(std.out, "data now: %s to %s; then: %s to %s\n", e.FirstRecord, e.LastRecord, e.NewFirst, e.NewLast)
		}
		printNotes(std.out, e.Notes)
		if c.DryRun {
			return nil
		}
		if r, err = cl.SetZone(ctx, c.ref(), c.Zone, false); err != nil {
			return clientError(&subject{"site " + c.Site, err})
		}
		if _, err := waitForChange(ctx, cl, r.Site.Ref()); err != nil {
			return err
		}
		fmt.Fprintf(std.out, "site %s is in the time zone %s\n", c.Site, c.Zone)
		return nil
	})
}

// zoneText says what another time zone changes.
func zoneText(e api.SiteEffects) string {
	return fmt.Sprintf("%s: %s read again, %s; %s",
		display.CountOf(e.Uploads, "upload", "uploads"), display.CountOf(e.UploadsRead, "file is", "files are"), display.CountOf(e.UploadsOwn, "of them carries its own zone and stays", "of them carry their own zone and stay"),
		display.CountOf(e.RowsMoved, "row changes", "rows change"))
}

// removalText counts what a removal deletes.
func removalText(e api.SiteEffects) string {
	return fmt.Sprintf("%s, %s, %s, %s, %s and %s", display.CountOf(e.Units, "unit", "units"), display.CountOf(e.Uploads, "upload with its file", "uploads with their files"),
		display.CountOf(e.Models, "model", "models"), display.CountOf(e.Findings, "finding", "findings"), display.CountOf(e.Alerts, "alarm", "alarms"), display.CountOf(e.Orders, "order", "orders"))
}

func printNotes(out io.Writer, notes []string) {
	for _, n := range notes {
		fmt.Fprintln(out, "! ", n)
	}
}

// SitesRemoveCmd deletes a site.
type SitesRemoveCmd struct {
	SiteFlags
	Confirm string `placeholder:"SITE" help:"Id of the site once more, which confirms that all its data are deleted."`
}

// Run says what is deleted, deletes it and waits for the end.
func (c *SitesRemoveCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return c.run(ctx, g, std, "sites remove", func(ctx context.Context, cl *client.Client) error {
		r, err := cl.RemoveSite(ctx, c.ref(), "", true)
		if err != nil {
			return clientError(&subject{"site " + c.Site, err})
		}
		e := r.Effects
		fmt.Fprintf(std.out, "site %s has %s", c.Site, removalText(*e))
		if !e.FirstRecord.IsZero() {
			fmt.Fprintf(std.out, ", and data from %s to %s", e.FirstRecord, e.LastRecord)
		}
		fmt.Fprintln(std.out)
		if c.Confirm != c.Site {
			return wrong("to delete all of this, repeat the id: --confirm %s", c.Site)
		}
		if r, err = cl.RemoveSite(ctx, c.ref(), c.Confirm, false); err != nil {
			return clientError(&subject{"site " + c.Site, err})
		}
		if _, err := waitForChange(ctx, cl, r.Site.Ref()); err != nil {
			return err
		}
		fmt.Fprintf(std.out, "site %s deleted\n", c.Site)
		return nil
	})
}

// waitForChange waits until the change of a site has ended; gone if the site has.
func waitForChange(ctx context.Context, cl *client.Client, ref api.SiteRef) (gone bool, err error) {
	for {
		site, err := cl.Site(ctx, ref)
		var refusal *api.Error
		switch {
		case errors.Is(err, api.ErrSiteNotFound), errors.Is(err, api.ErrForbidden):
			return true, nil
		case errors.As(err, &refusal) && refusal.RetryAfter > 0:
			if err := clock.Sleep(ctx, time.Duration(refusal.RetryAfter)*time.Second); err != nil {
				return false, err
			}
			continue
		case err != nil:
			return false, fmt.Errorf("follow the change of site %s: %w", ref.SiteID, clientError(err))
		case site.Change != nil && site.Change.Error != "":
			return false, fmt.Errorf("site %s is unchanged: %s", ref.SiteID, strings.TrimSpace(site.Change.Error))
		case !site.Change.Running():
			return false, nil
		}
		if err := clock.Sleep(ctx, 1100*time.Millisecond); err != nil { // within an API key's 60 a minute
			return false, err
		}
	}
}

// UnitsMergeCmd merges two units.
type UnitsMergeCmd struct {
	Unit     string `arg:"" help:"Unit that is kept."`
	From     string `arg:"" help:"Unit whose values fill gaps of the first; it is removed."`
	Site     string `help:"Site of the units, if several have such units."`
	Customer string `help:"Customer of the site."`
	DryRun   bool   `help:"Only print how much would change."`
	Confirm  bool   `help:"Merge even if both have different values at the same times; those of the second are dropped."`
	RemoteFlags
}

// Run counts what the merge does, makes it and waits for the end.
func (c *UnitsMergeCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return c.run(ctx, g, std, "units merge", func(ctx context.Context, cl *client.Client) error {
		ref := api.AssetRef{AssetID: c.Unit, SiteID: c.Site, CustomerID: c.Customer}
		r, err := cl.MergeAssets(ctx, ref, c.From, true)
		if err != nil {
			return clientError(&subject{"unit " + c.Unit, err})
		}
		e := r.Effects
		fmt.Fprintf(std.out, "%s filled, %d equal, %d in conflict: there the values of %s are kept\n", display.CountOf(e.RowsFilled, "row", "rows"), e.RowsEqual, e.RowsConflict, c.Unit)
		if !e.FirstConflict.IsZero() {
			fmt.Fprintf(std.out, "first conflict: %s\n", e.FirstConflict)
		}
		if c.DryRun {
			return nil
		}
		if e.RowsConflict > 0 && !c.Confirm {
			return fmt.Errorf("%s has other values at %s: --confirm drops them and merges the units", c.From, display.CountOf(e.RowsConflict, "time", "times"))
		}
		if r, err = cl.MergeAssets(ctx, ref, c.From, false); err != nil {
			return clientError(&subject{"unit " + c.Unit, err})
		}
		if _, err := waitForChange(ctx, cl, api.SiteRef{CustomerID: r.Asset.CustomerID, SiteID: r.Asset.SiteID}); err != nil {
			return err
		}
		fmt.Fprintf(std.out, "%s is now part of %s\n", c.From, c.Unit)
		return nil
	})
}
