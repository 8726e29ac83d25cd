package plain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/clock"
	"app.sunloop/internal/display"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// Options of [Watch].
type Options struct {
	Client *client.Client
	Site   api.SiteRef // without ids: all that the client may see
	Source string      // whose plants these are, for the first line
	Out    io.Writer

	// Look is the least time between two rounds of requests, by the wall clock; it is
	// longer if [lookCosts] does not allow it.
	Look time.Duration
	// Power is the interval at which the power is printed, by the plants' clock; 0: never.
	Power time.Duration

	Now  func() time.Time                                 // the wall
	Wait func(ctx context.Context, d time.Duration) error // nil: by a timer
}

// Limits of the requests of a watch.
const (
	lookCosts   = 1500 * time.Millisecond // for each request of a look: 40 a minute at most
	longestWait = time.Minute             // after failures
)

// watcher is a running watch.
type watcher struct {
	Options
	plants   *Plants
	asked    int // requests of this look
	begun    bool
	now      time.Time // the plants'
	date     string    // of the last line
	printed  time.Time // when the power was, by the plants' clock
	alerts   map[string]Sited[api.Alert]
	findings map[string]Sited[api.Finding]
	orders   map[string]Sited[api.Order]
	gone     time.Time // since when the service is not responding, by the wall clock; zero: it responds
	failures int
	written  error // what kept a line from being printed
}

// Watch prints the present state, then each change once, in a line of text. It ends
// with ctx, with the session, or if output fails.
func Watch(ctx context.Context, o Options) error {
	if o.Wait == nil {
		o.Wait = clock.Sleep
	}
	w := &watcher{Options: o}
	for {
		w.asked = 0
		err := w.look(ctx)
		pause := max(w.Look, time.Duration(w.asked)*lookCosts)
		var nowhere *NoSite
		var several *AmbiguousSite
		switch {
		case ctx.Err() != nil:
			return nil
		case w.written != nil:
			return fmt.Errorf("print: %w", w.written)
		case err == nil:
			w.answers()
		case refused(err), errors.As(err, &nowhere), errors.As(err, &several):
			return err
		default:
			pause = w.silent(err, pause)
		}
		if w.Wait(ctx, pause) != nil {
			return nil
		}
	}
}

// refused reports whether the service refuses the credential, which a retry
// does not fix.
func refused(err error) bool {
	var refusal *api.Error
	return errors.As(err, &refusal) && (refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden)
}

// silent reports once that the service is not responding; the pause before the next
// look grows.
func (w *watcher) silent(err error, pause time.Duration) time.Duration {
	if w.gone.IsZero() {
		w.gone = w.Now()
		w.line("%s Trying again until it responds.", state.Sentence(err))
	}
	w.failures++
	pause = max(pause, min(pause<<min(w.failures, 10), longestWait))
	var refusal *api.Error
	if errors.As(err, &refusal) {
		pause = max(pause, time.Duration(refusal.RetryAfter)*time.Second)
	}
	return pause
}

// answers reports once that the service is reachable again.
func (w *watcher) answers() {
	if !w.gone.IsZero() {
		w.line("The service is reachable again, after %s.", display.Age(w.Now().Sub(w.gone)))
	}
	w.gone, w.failures = time.Time{}, 0
}

// look requests everything and then prints what is new, so that what fails
// midway prints nothing twice.
func (w *watcher) look(ctx context.Context) error {
	plants, err := Find(ctx, w.Client, w.Site.SiteID, w.Site.CustomerID)
	if err != nil {
		return err
	}
	w.asked += 1 + 3*len(plants.Customers())
	alerts, _, err := plants.Alerts(ctx, "")
	if err != nil {
		return err
	}
	findings, err := plants.Findings(ctx, true)
	if err != nil {
		return err
	}
	orders, err := plants.Orders(ctx, api.OrderRequest{OpenOnly: true})
	if err != nil {
		return err
	}
	ended, err := w.endedOrders(ctx, orders)
	if err != nil {
		return err
	}
	vitals, now, err := w.vitals(ctx, plants)
	if err != nil {
		return err
	}
	w.plants, w.now = plants, now
	if !w.begun {
		w.begin()
	}
	w.printPower(vitals)
	w.printAlerts(alerts)
	w.printFindings(findings)
	w.printOrders(append(ended, orders...))
	w.begun = true
	return nil
}

// begin prints the first line.
func (w *watcher) begin() {
	sites := display.CountOf(len(w.plants.Sites), "site", "sites")
	switch len(w.plants.Sites) {
	case 0:
		sites = "no site yet"
	case 1:
		sites = w.plants.Sites[0].SiteID
	}
	w.line("Sunloop, %s, %s. The current state first, then changes. Times are those of the sites. Ctrl+c ends.", w.Source, sites)
}

// vitals returns the vital signs of the sites if they are due, else only those of the
// first site, for the plants' clock.
func (w *watcher) vitals(ctx context.Context, p *Plants) (map[api.SiteRef]api.SiteSummary, time.Time, error) {
	vitals, now := map[api.SiteRef]api.SiteSummary{}, w.Now()
	for i, s := range p.Sites {
		if i > 0 && !w.due(now) {
			break
		}
		w.asked++
		r, err := p.Client.SiteSummary(ctx, s.Ref())
		if err != nil {
			return nil, now, err
		}
		vitals[s.Ref()] = r.Summary
		if i == 0 {
			now = r.Summary.ServiceTime.Time
		}
	}
	return vitals, now, nil
}

// due reports whether the power is to be printed at a time of the plants'
// clock.
func (w *watcher) due(now time.Time) bool {
	return w.Power > 0 && (w.printed.IsZero() || now.Sub(w.printed) >= w.Power)
}

func (w *watcher) printPower(vitals map[api.SiteRef]api.SiteSummary) {
	if !w.due(w.now) {
		return
	}
	for _, s := range w.plants.Sites {
		if v, ok := vitals[s.Ref()]; ok {
			w.at(s.Ref(), "%s", Vitals(v))
		}
	}
	w.printed = w.now
}

// endedOrders returns the orders that were open and are not any more, as they are
// now.
func (w *watcher) endedOrders(ctx context.Context, open []Sited[api.Order]) ([]Sited[api.Order], error) {
	gone := map[string]bool{}
	for id := range w.orders {
		gone[id] = true
	}
	for _, o := range open {
		delete(gone, o.Fact.OrderID)
	}
	var ended []Sited[api.Order]
	for _, id := range slices.Sorted(maps.Keys(gone)) {
		w.asked++
		o, err := w.Client.Order(ctx, id)
		if errors.Is(err, api.ErrOrderNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		ended = append(ended, Sited[api.Order]{w.orders[id].Site, *o})
	}
	return ended, nil
}

// line prints a line.
func (w *watcher) line(format string, args ...any) {
	if w.written == nil {
		_, w.written = fmt.Fprintln(w.Out, terminal.Printable(fmt.Sprintf(format, args...)))
	}
}

// at prints a line about a site, which begins with its time; with the date
// where that is another than in the line before.
func (w *watcher) at(site api.SiteRef, format string, args ...any) {
	here := w.now.In(w.plants.Zones.Of(site))
	stamp := display.Clock(here)
	if date := here.Format(time.DateOnly); date != w.date {
		stamp, w.date = date+" "+stamp, date
	}
	w.line("%s %s: %s", stamp, w.plants.Zones.Label(site), fmt.Sprintf(format, args...))
}

// when returns a time at a site, without the date if it is today's.
func (w *watcher) when(site api.SiteRef, t api.Time) string {
	zone := w.plants.Zones.Of(site)
	if here := t.In(zone); here.Format(time.DateOnly) == w.now.In(zone).Format(time.DateOnly) {
		return display.Clock(here)
	}
	return display.DateTime(t.In(zone))
}
