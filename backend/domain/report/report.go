// Package report makes summaries for people: each morning, each week, each month. A
// report holds the figures of domain/kpi as they are, with their revision; what is unknown
// is shown as unknown. The times at which one is due are those of the recipient's zone.
package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/maintenance"
	"app.sunloop/backend/domain/record"
	"app.sunloop/engine/series"
)

// Kinds of reports.
const (
	Daily   = "daily"
	Weekly  = "weekly"
	Monthly = "monthly"
)

// Report is a summary of sites over some days.
type Report struct {
	Kind     string
	From, To time.Time // dates, as midnights in UTC: the days are From <= t < To
	At       time.Time // when it was made
	Zone     *time.Location
	Sites    []Site
	More     int // sites beyond the largest report
	Numbers  string
}

// Site is what a report says of a site. A nil figure is unknown.
type Site struct {
	ID, Name        string
	Zone            *time.Location
	EnergyKWh       *float64
	ExpectedKWh     *float64 // by the forecast as issued before each interval
	LostKWh         *float64 // by findings
	Availability    *float64 // of energy, 0 to 1
	Ratio           *float64 // performance ratio
	Data            *float64 // share of the data that arrived, 0 to 1
	Losses          []api.LossCause
	Revision        int
	AsOf            time.Time
	Alarms          *int // that are not cleared
	Orders, Overdue *int // open work orders, schedules whose date has passed
	TodayKWh        *float64
	Windows         []api.WorkWindow // the best ones of the next day
	NoWindows       string           // why there are none
	Failure         string           // why the figures could not be read
}

// Limits of a report.
const (
	maxSites    = 100
	workHours   = 2  // length of a proposed window
	maxWindows  = 2  // of a site
	ahead       = 24 // hours within which windows are proposed
	maxListed   = api.MaxLimit
	actor       = "reports"
	bestOf      = 20 // windows that are read
	nameEnergy  = "energy"
	nameRatio   = "performance_ratio"
	nameUp      = "energy_availability"
	nameLost    = "energy_lost"
	failureText = "The figures of this site are not available."
)

// Collector reads what a report says.
type Collector struct {
	Domain      *domain.Services
	Maintenance *maintenance.Service
	Now         func() time.Time // the plant's clock
}

// Collect makes the report of a period for the sites of a customer, or of all customers
// if it is empty.
func (c *Collector) Collect(ctx context.Context, customerID string, p Period) (Report, error) {
	r := Report{Kind: p.Kind, From: p.From, To: p.To, Zone: p.Zone, At: c.Now()}
	scope := api.Unlimited(actor)
	list, next, err := c.Domain.Sites.Sites(ctx, scope, api.ListQuery{CustomerID: customerID, Page: api.Page{Limit: maxSites}})
	if err != nil {
		return r, fmt.Errorf("list the sites of a report: %w", err)
	}
	for _, of := range list {
		one, err := c.site(ctx, scope, of, p)
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		if err != nil {
			one.Failure = failureText
		}
		r.Sites = append(r.Sites, one)
	}
	for next != "" {
		list, next, err = c.Domain.Sites.Sites(ctx, scope, api.ListQuery{CustomerID: customerID, Page: api.Page{Limit: maxListed, Cursor: next}})
		if err != nil {
			return r, fmt.Errorf("count the sites of a report: %w", err)
		}
		r.More += len(list)
	}
	return r, nil
}

// site reads one site. Its days are those of its zone with the dates of the period.
func (c *Collector) site(ctx context.Context, scope api.Scope, of api.Site, p Period) (Site, error) {
	zone := record.Zone(of.Timezone)
	out := Site{ID: of.SiteID, Name: cmp.Or(of.Name, of.SiteID), Zone: zone}
	from, to := dateIn(p.From, zone), dateIn(p.To, zone)
	if !to.After(c.Now()) {
		k, err := c.Domain.KPIs.KPIs(ctx, scope, of.SiteID, from, to)
		if err != nil {
			return out, err
		}
		out.takeKPIs(k)
	}
	alarms, err := c.countAlarms(ctx, scope, of.SiteID)
	if err != nil {
		return out, err
	}
	out.Alarms = &alarms
	if err := c.countWork(ctx, scope, of.SiteID, &out); err != nil {
		return out, err
	}
	if p.Kind != Daily {
		return out, nil
	}
	summary, err := c.Domain.KPIs.SiteSummary(ctx, scope, of.SiteID)
	if err != nil {
		return out, err
	}
	out.TodayKWh = summary.ExpectedKWhToday
	return out, c.findWindows(ctx, scope, of.SiteID, &out)
}

// dateIn is the beginning of a date in a zone.
func dateIn(date time.Time, zone *time.Location) time.Time {
	y, m, d := date.Date()
	return series.Midnight(time.Date(y, m, d, 12, 0, 0, 0, zone), zone)
}

// takeKPIs takes the figures of a window.
func (s *Site) takeKPIs(k api.KPIs) {
	for _, f := range k.Figures {
		if !f.Reportable {
			continue
		}
		switch f.Name {
		case nameEnergy:
			s.EnergyKWh = f.Value
		case nameRatio:
			s.Ratio = f.Value
		case nameUp:
			s.Availability = f.Value
		case nameLost:
			s.LostKWh = f.Value
		}
	}
	s.Data, s.Revision, s.AsOf = k.DataAvailability, k.Revision, k.AsOf.Time
	if l := k.Losses; l != nil {
		s.Losses = l.ByCause
		if l.ExpectedBy == api.ExpectedByForecast {
			s.ExpectedKWh = &l.ExpectedKWh
		}
	}
}

func (c *Collector) countAlarms(ctx context.Context, scope api.Scope, siteID string) (int, error) {
	n, page := 0, api.Page{Limit: maxListed}
	for {
		list, _, next, err := c.Domain.Alerts.Alerts(ctx, scope, api.ListQuery{SiteID: siteID, Page: page}, "")
		if err != nil {
			return 0, err
		}
		for _, a := range list {
			if a.State == api.AlertUnacknowledged || a.State == api.AlertAcknowledged {
				n++
			}
		}
		if next == "" {
			return n, nil
		}
		page.Cursor = next
	}
}

// countWork counts open orders, and schedules that are overdue. Lists have what is open
// first.
func (c *Collector) countWork(ctx context.Context, scope api.Scope, siteID string, out *Site) error {
	orders := 0
	for _, status := range []string{api.OrderPending, api.OrderInProgress, api.OrderOnHold} {
		for page, more := (api.Page{Limit: maxListed}), true; more; {
			list, next, err := c.Maintenance.Orders(ctx, scope, api.ListQuery{SiteID: siteID, Page: page}, api.OrderRequest{Status: status})
			if err != nil {
				return err
			}
			orders, page.Cursor, more = orders+len(list), next, next != ""
		}
	}
	overdue := 0
	for page, more := (api.Page{Limit: maxListed}), true; more; {
		list, next, err := c.Maintenance.Schedules(ctx, scope, api.ListQuery{SiteID: siteID, Page: page}, "", true)
		if err != nil {
			return err
		}
		overdue, page.Cursor, more = overdue+len(list), next, next != ""
	}
	out.Orders, out.Overdue = &orders, &overdue
	return nil
}

// findWindows finds the best times for isolating work within the next day.
func (c *Collector) findWindows(ctx context.Context, scope api.Scope, siteID string, out *Site) error {
	r, err := c.Maintenance.Propose(ctx, scope, api.ScheduleRequest{SiteID: siteID, Kind: api.WorkIsolating, EstimatedDurationHours: workHours, Page: api.Page{Limit: bestOf}})
	switch {
	case errors.Is(err, api.ErrNoForecastResult):
		out.NoWindows = "unknown: there is no forecast"
		return nil
	case err != nil:
		return err
	}
	for _, w := range r.Windows {
		overlaps := slices.ContainsFunc(out.Windows, func(o api.WorkWindow) bool { return w.Start.Before(o.End.Time) && o.Start.Before(w.End.Time) })
		if !overlaps && w.Start.Sub(c.Now()) < ahead*time.Hour && len(out.Windows) < maxWindows {
			out.Windows = append(out.Windows, w)
		}
	}
	if len(out.Windows) == 0 {
		out.NoWindows = fmt.Sprintf("none of %d h within the crew's hours", workHours)
	}
	return nil
}
