package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/domain/maintenance"
	"app.sunloop/internal/display"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/plain"
)

// Exit statuses of the commands that report facts, in addition to 0.
const (
	statusCritical = 1 // something critical is open
	statusUsage    = 2 // the command line is wrong
	statusUntold   = 3 // the service is not reached, or refuses
)

// FactFlags are the flags of all commands that print facts.
type FactFlags struct {
	Site     string `help:"Only this site."`
	Customer string `help:"Only this customer's sites; required with --site if several customers have a site of that id."`
	JSON     bool   `name:"json" help:"Print JSON in the format of the API."`
	RemoteFlags
}

// facts are what such a command asks, and where and how it prints.
type facts struct {
	*plain.Plants
	json bool
	out  io.Writer
}

// report lets a command print its facts. Failures to report have a separate
// exit status, as scripts take 1 for an alarm.
func (c FactFlags) report(ctx context.Context, g *Globals, std streams, print func(context.Context, *facts) (critical bool, err error)) error {
	return c.reportWith(ctx, g, std, WorkFlags{CrewHours: maintenance.DefaultHours()}, print)
}

// reportWith is report with the times of maintenance that a data folder's work is
// judged by.
func (c FactFlags) reportWith(ctx context.Context, g *Globals, std streams, by WorkFlags, print func(context.Context, *facts) (critical bool, err error)) error {
	critical := false
	err := c.ask(ctx, g, by, func(cl *client.Client) error {
		plants, err := plain.Find(ctx, cl, c.Site, c.Customer)
		if err != nil {
			return untold(err)
		}
		critical, err = print(ctx, &facts{Plants: plants, json: c.JSON, out: std.out})
		return err
	})
	var known *failure
	switch {
	case errors.As(err, &known):
		return err
	case err != nil:
		return &failure{statusUntold, err}
	case critical:
		return exitStatus(statusCritical)
	}
	return nil
}

// ask runs f with a client of the data folder, or of a service elsewhere.
func (c FactFlags) ask(ctx context.Context, g *Globals, by WorkFlags, f func(*client.Client) error) error {
	if c.Remote != "" {
		cl, err := c.client()
		if err != nil {
			return &failure{statusUsage, err}
		}
		defer cl.Close()
		return f(cl)
	}
	cfg := g.embedded()
	if err := by.apply(&cfg); err != nil {
		return &failure{statusUsage, err}
	}
	service, err := openFolder(cfg)
	if err != nil {
		return err
	}
	return errors.Join(withOwnKey(ctx, service, ownKeyLasts, f), service.Close())
}

// failure is an error with its exit status.
type failure struct {
	status int
	error
}

func (f *failure) Unwrap() error { return f.error }

// wrong is a command line that cannot be followed.
func wrong(format string, args ...any) error {
	return &failure{statusUsage, fmt.Errorf(format, args...)}
}

// untold is the reason why the service reported nothing, as a sentence. What
// it did not understand or does not know is the command line's. A 400 without
// the id of a request is not the service's: a proxy or another server is at
// that address.
func untold(err error) error {
	var nowhere *plain.NoSite
	var several *plain.AmbiguousSite
	if errors.As(err, &nowhere) || errors.As(err, &several) {
		return &failure{statusUsage, err}
	}
	var refusal *api.Error
	if errors.As(err, &refusal) && refusal.Status == http.StatusBadRequest && refusal.RequestID != "" {
		return &failure{statusUsage, clientError(err)}
	}
	return clientError(err)
}

// encode prints JSON as people read it too.
func (f *facts) encode(v any) error {
	e := json.NewEncoder(f.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// noSite is the error for an empty list of sites.
func (f *facts) noSite() error {
	_, err := fmt.Fprintln(f.out, "No sites yet. Import a file: sunloop import FILE --site NAME --tz ZONE --capacity-kw KW")
	return err
}

// each prints one site after another: as JSON the response itself if the
// command line names the site, otherwise all of them under "sites".
func each[T any](ctx context.Context, f *facts, ask func(context.Context, api.Site) (*T, error), text func(api.Site, *T) error) error {
	all := []*T{}
	for _, site := range f.Sites {
		v, err := ask(ctx, site)
		if errors.Is(err, api.ErrNoModel) && !f.Named {
			if !f.json {
				fmt.Fprintf(f.out, "%s: no forecast yet, as no model is trained\n", f.Zones.Label(site.Ref()))
			}
			continue
		}
		if err != nil {
			return f.ofSite(site, untold(err))
		}
		if all = append(all, v); f.json {
			continue
		}
		if err := text(site, v); err != nil {
			return err
		}
	}
	switch {
	case !f.json && len(f.Sites) == 0:
		return f.noSite()
	case !f.json:
		return nil
	case f.Named:
		return f.encode(all[0])
	}
	return f.encode(map[string]any{"sites": all})
}

// ofSite puts a site before what went wrong with it, which keeps its exit
// status.
func (f *facts) ofSite(site api.Site, err error) error {
	var known *failure
	if errors.As(err, &known) {
		return &failure{known.status, fmt.Errorf("site %s: %w", f.Zones.Label(site.Ref()), known.error)}
	}
	return fmt.Errorf("site %s: %w", f.Zones.Label(site.Ref()), err)
}

// ListFlags narrow the commands that list things.
type ListFlags struct {
	Unit   string `help:"Only this unit."`
	Family string `help:"Only this fault family, for example string_outage."`
	Limit  int    `default:"0" help:"Maximum number of lines (0: all). The exit status covers all."`
}

// check refuses a limit that is none.
func (l ListFlags) check() error {
	if l.Limit < 0 {
		return wrong("--limit is 0 or more, not %d", l.Limit)
	}
	return nil
}

// matches reports whether facts of a unit and a family are requested.
func (l ListFlags) matches(family, unit string, units []string) bool {
	return (l.Family == "" || strings.ReplaceAll(l.Family, " ", "_") == family) && (l.Unit == "" || l.Unit == unit || slices.Contains(units, l.Unit))
}

// list is a list that a command prints: what of it is wanted, what of it is
// critical and open, and how it is said.
type list[T any] struct {
	all      []T
	wanted   func(T) bool
	critical func(T) bool
	table    func([]T, plain.Zones) *plain.Table
	sum      func([]T) string     // the last line, of all that are wanted
	json     func(listed []T) any // the API's answer
}

// print prints the list, cut to a limit.
func (l list[T]) print(f *facts, limit int) (critical bool, err error) {
	wanted := slices.DeleteFunc(l.all, func(v T) bool { return !l.wanted(v) })
	listed := wanted
	if limit > 0 {
		listed = wanted[:min(limit, len(wanted))]
	}
	critical = slices.ContainsFunc(wanted, l.critical)
	if f.json {
		return critical, f.encode(l.json(listed))
	}
	if err := l.table(listed, f.Zones).Write(f.out, ""); err != nil {
		return critical, err
	}
	sum := l.sum(wanted)
	if len(listed) < len(wanted) {
		sum += fmt.Sprintf("; the first %d are listed", len(listed))
	}
	_, err = fmt.Fprintln(f.out, sum)
	return critical, err
}

// count returns a number with its noun, "no" for zero.
func count(n int, one, many string) string {
	if n == 0 {
		return "no " + one
	}
	return display.CountOf(n, one, many)
}

// ChartFlags are for charts as text.
type ChartFlags struct {
	Chart bool `help:"Print a chart of each day."`
	ASCII bool `help:"Draw charts with ASCII characters only."`
}

// day charts a site's day that begins at start.
func (c ChartFlags) day(out io.Writer, site api.Site, start time.Time, caption string, lines ...chart.Points) error {
	_, err := fmt.Fprintln(out, chart.Plain{Start: start, Location: start.Location(), Columns: 64, Rows: 8, Unit: "kW", Caption: caption, ASCII: c.ASCII, Top: site.CapacityKW}.Render(lines...))
	return err
}

// midnight begins the day of a time in its zone.
func midnight(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}
