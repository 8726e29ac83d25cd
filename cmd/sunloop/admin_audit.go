package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
)

// AuditCmd lists who changed what.
type AuditCmd struct {
	Actor    string `help:"Username, name of an API key, or the id of either."`
	Site     string `help:"Only records of this site."`
	Customer string `help:"Only records of this customer; required with --site if several customers have a site of that id."`
	From     string `placeholder:"TIME" help:"Start, ISO 8601; UTC without an offset."`
	To       string `placeholder:"TIME" help:"End (exclusive)."`
	Limit    int    `default:"100" help:"Maximum number of records (0: all)."`
	JSON     bool   `name:"json" help:"Print JSON, one record a line."`
}

// Run lists the records.
func (c *AuditCmd) Run(ctx context.Context, g *Globals, std streams) error {
	q := api.AuditQuery{Actor: c.Actor, CustomerID: c.Customer}
	var err error
	if q.From, q.To, err = fromTo(c.From, c.To, time.UTC); err != nil {
		return err
	}
	switch {
	case c.Limit < 0:
		return wrong("--limit %d: must be 0 or more", c.Limit)
	case !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To.Time):
		return wrong("--to: must be later than --from")
	}
	return readDataFolder(g, func(s *backend.Service) error {
		if q.SiteID, err = c.siteKey(ctx, s); err != nil {
			return err
		}
		for left := c.Limit; ; {
			q.Limit = api.MaxLimit
			if c.Limit > 0 {
				q.Limit = min(left, api.MaxLimit)
			}
			list, next, err := s.Trail().List(ctx, api.Unlimited(commandLine), q)
			if err != nil {
				return clientError(err)
			}
			for _, r := range list {
				if err := c.print(std.out, r); err != nil {
					return err
				}
			}
			left -= len(list)
			if q.Cursor = next; next == "" || c.Limit > 0 && left == 0 {
				return nil
			}
		}
	})
}

// siteKey returns the key of the site whose records are listed. Refused requests
// may be about a site that does not exist: an unknown id is its own key.
func (c *AuditCmd) siteKey(ctx context.Context, s *backend.Service) (string, error) {
	if c.Site == "" {
		return "", nil
	}
	all, err := s.Domain().Sites.SitesNamed(ctx, c.Site)
	if err != nil {
		return "", err
	}
	site, err := api.Unlimited(commandLine).Choose(all, c.Customer)
	switch {
	case err == nil:
		return site.SiteID, nil
	case errors.Is(err, api.ErrAmbiguousSite):
		return "", wrong("--site %s: several customers have a site of this id; name one with --customer (%s)", c.Site, strings.Join(customersOf(all), ", "))
	}
	return c.Site, nil
}

func (c *AuditCmd) print(out io.Writer, r api.AuditRecord) error {
	if c.JSON {
		return json.NewEncoder(out).Encode(r)
	}
	about := []string{}
	if r.SiteID != "" {
		about = append(about, "site "+api.PublicSiteID(r.SiteID))
	}
	for _, name := range slices.Sorted(maps.Keys(r.TargetIDs)) {
		about = append(about, name+" "+r.TargetIDs[name])
	}
	if r.Error != "" {
		about = append(about, r.Error)
	}
	if r.Omitted > 0 {
		about = append(about, display.CountOf(r.Omitted, "refusal", "refusals")+" before it not recorded")
	}
	_, err := fmt.Fprintf(out, "%s  %-20s %-28s %d  %s\n", r.Timestamp, cmp.Or(r.Actor, r.ActorID, "a client at "+r.Address), strings.TrimSpace(r.Route+" "+r.Action), r.Status, strings.Join(about, "; "))
	return err
}
