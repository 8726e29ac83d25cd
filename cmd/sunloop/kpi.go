package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/tui/plain"
)

// KPICmd prints the sites' KPIs.
type KPICmd struct {
	FactFlags
	From    string `placeholder:"TIME" help:"Start of the period, ISO 8601; in the site's time zone without an offset."`
	To      string `placeholder:"TIME" help:"End of the period (exclusive)."`
	Details bool   `help:"Also print what each figure is based on: formula, revision, rating, irradiance, shares of the energy, excluded hours."`
	Period  string `placeholder:"PERIOD" help:"Instead of --from and --to: a day, month or year of the site's calendar [2026-03-14, 2026-03, 2026], or a number of whole days up to its last midnight [7d] (30d)."`
}

// Run prints the KPIs; exit status 1 as that of status.
func (c *KPICmd) Run(ctx context.Context, g *Globals, std streams) error {
	if _, err := c.window(api.SiteRef{}, time.Now(), time.UTC); err != nil {
		return err
	}
	return c.report(ctx, g, std, func(ctx context.Context, f *facts) (bool, error) {
		err := each(ctx, f, func(ctx context.Context, site api.Site) (*api.KPIs, error) {
			var now time.Time
			if c.Period != "" { // of the plant's clock, which a simulation runs fast
				s, err := f.Client.SiteSummary(ctx, site.Ref())
				if err != nil {
					return nil, err
				}
				now = s.Summary.ServiceTime.Time
			}
			q, err := c.window(site.Ref(), now, f.Zones.Of(site.Ref()))
			if err != nil {
				return nil, err
			}
			return f.Client.KPIs(ctx, q)
		}, func(site api.Site, k *api.KPIs) error { return printKPIs(f, site, *k, c.Details) })
		if err != nil {
			return false, err
		}
		return f.critical(ctx)
	})
}

// window is what is asked about a site. It is called without one to check the
// command line.
func (c *KPICmd) window(site api.SiteRef, now time.Time, zone *time.Location) (api.KPIQuery, error) {
	q := api.KPIQuery{CustomerID: site.CustomerID, SiteID: site.SiteID}
	if c.Period != "" {
		if c.From != "" || c.To != "" {
			return q, wrong("--period: cannot be combined with --from and --to")
		}
		from, to, ok := period(c.Period, now, zone)
		if !ok {
			return q, wrong("--period: invalid value %q; give a day, a month, a year or a number of days, as in 2026-03-14, 2026-03, 2026 or 7d", c.Period)
		}
		q.From, q.To = api.At(from), api.At(to)
		return q, nil
	}
	var err error
	if q.From, q.To, err = fromTo(c.From, c.To, zone); err != nil {
		return q, &failure{statusUsage, err}
	}
	return q, nil
}

// fromTo reads --from and --to, in zone where they have no offset; what is not
// given is the zero time.
func fromTo(from, to string, zone *time.Location) (begin, end api.Time, err error) {
	for _, t := range []struct {
		flag, text string
		at         *api.Time
	}{{"--from", from, &begin}, {"--to", to, &end}} {
		if t.text == "" {
			continue
		}
		if *t.at, err = api.ParseTime(t.text, zone); err != nil {
			return begin, end, wrong("%s: invalid time %q; example: 2026-01-31T12:00", t.flag, t.text)
		}
	}
	return begin, end, nil
}

// period is the window that a word means: a day, month or year of zone, or so
// many whole days before now.
func period(word string, now time.Time, zone *time.Location) (from, to time.Time, ok bool) {
	if n, err := strconv.Atoi(strings.TrimSuffix(word, "d")); err == nil && strings.HasSuffix(word, "d") {
		to = midnight(now.In(zone))
		return to.AddDate(0, 0, -n), to, n > 0
	}
	for _, form := range []struct {
		layout              string
		years, months, days int
	}{{"2006-01-02", 0, 0, 1}, {"2006-01", 0, 1, 0}, {"2006", 1, 0, 0}} {
		if from, err := time.ParseInLocation(form.layout, word, zone); err == nil {
			return from, from.AddDate(form.years, form.months, form.days), true
		}
	}
	return from, to, false
}

// printKPIs prints a site's figures and where its useful time went.
func printKPIs(f *facts, site api.Site, k api.KPIs, details bool) error {
	zone := f.Zones.Of(site.Ref())
	arrived := "of the data nothing was due"
	if k.DataAvailability != nil {
		arrived = display.Percent(math.Floor(100**k.DataAvailability)/100) + " of the data arrived" // rounded as in the notes of figures
	}
	fmt.Fprintf(f.out, "%s: %s to %s, %s rated %s, %s\n", f.Zones.Label(site.Ref()), plain.When(k.From, zone), plain.When(k.To, zone),
		count(k.Units, "unit", "units"), display.Power(k.RatedKW), arrived)
	for _, words := range plain.KPIWords(k, zone) {
		fmt.Fprintf(f.out, "  %s\n", words)
	}
	if err := plain.Figures(k).Write(f.out, "  "); err != nil {
		return err
	}
	if details {
		if err := plain.FigureDetails(k, zone).Write(f.out, "  "); err != nil {
			return err
		}
	}
	return plain.Availability(k).Write(f.out, "  ")
}
