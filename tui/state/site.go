package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// The queries of a site. Each fills one field of [Site].
const (
	QuerySites      Query = "sites"
	QueryAssets     Query = "assets"
	QueryDay        Query = "day"
	QueryPast       Query = "past" // a former day, while one is looked at
	QuerySummary    Query = "summary"
	QueryForecast   Query = "forecast"
	QueryIssued     Query = "issued"
	QueryFindings   Query = "findings"
	QueryModels     Query = "models"
	QueryUploads    Query = "uploads"
	QueryActivities Query = "activities"
	QueryOrders     Query = "orders"
	QueryOrder      Query = "order" // the one that OrderID names, with parts and history
	QuerySchedules  Query = "schedules"
	QueryBOMs       Query = "boms"
	QueryWindows    Query = "windows" // for work at the unit that WindowsOf names
)

// Site is all that the console holds of the site on screen.
type Site struct {
	api.Site
	Zone       *time.Location
	Assets     Value[[]api.Asset]
	Day        Value[Day] // the site's today
	Past       Value[Day] // the day that PastDate names
	PastDate   time.Time  // midnight of the former day on screen; zero while today is
	Summary    Value[api.SiteSummary]
	Forecast   Value[api.GeneratedForecast]
	Issued     Value[[]api.StoredForecast] // newest first
	Findings   Value[[]api.Finding]
	Models     Value[[]api.Model]
	Uploads    Value[[]api.Upload]
	Activities Value[[]api.Activity]
	Orders     Value[[]api.Order] // open ones first
	Order      Value[api.Order]
	OrderID    string // whose details are on screen; empty for none
	Schedules  Value[[]api.Schedule]
	BOMs       Value[[]api.BOM] // newest first, without items
	Windows    Value[api.ProposeResponse]
	WindowsOf  string // unit for which windows are proposed; empty for none
}

// Store is the console's data: the sites in reach and the one on screen. It
// belongs to the goroutine that runs Update; requests run elsewhere on what
// [Store.Request] copied.
type Store struct {
	Sites   Value[[]api.Site]
	Site    *Site
	Admin   Admin
	Planner Planner

	// Link is how the last request went.
	Link Link

	generation int // rises with each change of site or session, so that late answers are dropped
	dayFull    time.Time
}

// Link is the state of the connection to the service.
type Link struct {
	Latency     time.Duration
	Down        bool
	Since       time.Time // when it went down
	Limited     time.Time // until when the service asked for patience
	serviceTime time.Time // the service's own clock, as the newest summary told it
	heardAt     time.Time
}

// Request is a query on its way: it holds copies of all that it needs.
type Request struct {
	Query      Query
	generation int
	site       api.Site
	zone       *time.Location
	from       time.Time // day: first record wanted
	id         string    // of the order or the unit that is asked for
	hours      float64   // of work that windows are proposed for
	now        time.Time // the service's time
}

// Answer is what a request brought back.
type Answer struct {
	Request Request
	Value   any
	Err     error
	Took    time.Duration
}

// Open puts a site on screen and forgets the data of the former one.
func (s *Store) Open(site api.Site) {
	zone, err := time.LoadLocation(site.Timezone)
	if err != nil {
		zone = time.UTC
	}
	s.Site = &Site{Site: site, Zone: zone}
	s.generation++
	s.dayFull = time.Time{}
	s.Planner.Reset()
}

// Renew starts a new session on the same data: answers to the former one's
// requests are dropped, as a late refusal would end the new session.
func (s *Store) Renew() {
	s.generation++
	s.Planner.Reset()
}

// Close forgets everything: the sites, the data of the one on screen, and what
// administrators see.
func (s *Store) Close() {
	s.Sites, s.Site, s.Admin = Value[[]api.Site]{}, nil, Admin{}
	s.Renew()
}

// ShowDay looks at the site's day that holds t; the zero time at today.
func (s *Store) ShowDay(t time.Time) {
	if s.Site == nil {
		return
	}
	if !t.IsZero() {
		t = midnight(t, s.Site.Zone)
	}
	if !s.Site.PastDate.Equal(t) {
		s.Site.PastDate, s.Site.Past = t, Value[Day]{}
		s.Planner.Drop(QueryPast)
	}
}

// ServiceNow is the service's time at the wall time now: a simulated plant's
// clock may run apart from ours. Between answers it advances with the wall.
func (s *Store) ServiceNow(now time.Time) time.Time {
	if s.Link.heardAt.IsZero() {
		return now
	}
	return s.Link.serviceTime.Add(now.Sub(s.Link.heardAt))
}

// Request prepares a query; ok is false when it makes no sense without a site.
func (s *Store) Request(q Query, now time.Time) (r Request, ok bool) {
	r = Request{Query: q, generation: s.generation, now: s.ServiceNow(now)}
	if !q.ofSite() {
		return r, true
	}
	if s.Site == nil {
		return r, false
	}
	r.site, r.zone = s.Site.Site, s.Site.Zone
	if q == QueryPast {
		r.now, r.from = s.Site.PastDate, s.Site.PastDate
		return r, !s.Site.PastDate.IsZero()
	}
	switch q {
	case QueryOrder:
		r.id = s.Site.OrderID
		return r, r.id != ""
	case QueryWindows:
		r.id, r.hours = s.Site.WindowsOf, s.Site.WorkHours(s.Site.WindowsOf)
		return r, r.id != ""
	}
	if q == QueryDay {
		day := s.Site.Day.Data
		r.from = midnight(r.now, r.zone)
		// Mostly only what is new is asked for; now and then the whole day, for
		// rows that came late.
		if last := day.Last(); day.Start.Equal(r.from) && !last.IsZero() && now.Sub(s.dayFull) < 10*time.Minute {
			r.from = last.Add(-time.Hour).Truncate(5 * time.Minute)
			if r.from.Before(day.Start) {
				r.from = day.Start
			}
		} else {
			s.dayFull = now
		}
	}
	return r, true
}

// Run sends the request. It may be called on any goroutine.
func (r Request) Run(ctx context.Context, c *client.Client) Answer {
	var reply client.Reply
	v, err := r.ask(client.Observe(ctx, &reply), c)
	return Answer{Request: r, Value: v, Err: err, Took: reply.Took}
}

func (r Request) ask(ctx context.Context, c *client.Client) (any, error) {
	list := api.ListQuery{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Page: api.Page{Limit: api.MaxLimit}}
	switch r.Query {
	case QuerySites:
		v, err := c.Sites(ctx, api.ListQuery{Page: api.Page{Limit: api.MaxLimit}})
		return part(v, err, func(v *api.SitesResponse) []api.Site { return v.Sites })
	case QueryKeys:
		return allKeys(ctx, c)
	case QueryAudit:
		return newestAudit(ctx, c)
	case QueryAssets:
		v, err := c.Assets(ctx, list)
		return part(v, err, func(v *api.AssetsResponse) []api.Asset { return v.Assets })
	case QueryDay, QueryPast:
		v, err := c.SiteRecords(ctx, api.RecordsQuery{
			SiteID: r.site.SiteID, Start: api.At(r.from), End: api.At(nextMidnight(r.now, r.zone)),
			Resolution: api.Resolution5Min, // bounds a day, however often a unit is read
		})
		return part(v, err, func(v *api.SiteRecordsResponse) map[string][]api.Record { return v.Records })
	case QuerySummary:
		v, err := c.SiteSummary(ctx, r.site.SiteID)
		return part(v, err, func(v *api.SiteSummaryResponse) api.SiteSummary { return v.Summary })
	case QueryForecast:
		v, err := c.Forecast(ctx, api.ForecastQuery{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, HorizonHours: 168})
		return part(v, err, func(v *api.GeneratedForecast) api.GeneratedForecast { return *v })
	case QueryIssued:
		list.Limit = 6
		v, err := c.StoredForecasts(ctx, list)
		return part(v, err, func(v *api.StoredForecastsResponse) []api.StoredForecast { return v.ForecastResults })
	case QueryFindings:
		v, err := c.Findings(ctx, list)
		return part(v, err, func(v *api.FindingsResponse) []api.Finding { return v.MLEnhancedActivities })
	case QueryModels:
		v, err := c.Models(ctx, list)
		return part(v, err, func(v *api.ModelsResponse) []api.Model { return v.ModelMetrics })
	case QueryUploads:
		list.Limit, list.Kind = 50, api.UploadTrain // a live feed would push the history out
		v, err := c.Uploads(ctx, list)
		return part(v, err, func(v *api.UploadsResponse) []api.Upload { return v.Uploads })
	case QueryActivities:
		v, err := c.Activities(ctx, list)
		return part(v, err, func(v *api.ActivitiesResponse) []api.Activity { return v.Activities })
	}
	if work, ok := r.work(); ok {
		return work(ctx, c, list)
	}
	return nil, fmt.Errorf("there is no query %q", r.Query)
}

// part takes out of an answer what is kept. That there is nothing yet is an
// answer too, not a failure.
func part[R, V any](answer *R, err error, take func(*R) V) (any, error) {
	var none V
	for _, nothing := range []error{api.ErrNoModel, api.ErrNoForecastResult, api.ErrNoSummaries} {
		if errors.Is(err, nothing) {
			return none, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return cleaned(take(answer)), nil
}

// Apply takes an answer in and says whether anything on screen may change.
// An answer for a former site is dropped. The error is the answer's, when the
// session behind it has ended.
func (s *Store) Apply(a Answer, now time.Time) (changed bool, signedOut error) {
	if a.Request.generation != s.generation {
		return false, nil
	}
	if a.Err != nil {
		return true, s.fail(a, now)
	}
	s.Planner.Succeeded(a.Request.Query)
	s.Link.Latency, s.Link.Down = a.Took, false
	switch v := a.Value.(type) {
	case []api.Site:
		s.Sites.Good(v, now)
	case []api.KeyRecord:
		s.Admin.Keys.Good(v, now)
	case []api.AuditRecord:
		s.Admin.Audit.Good(v, now)
	case []api.Asset:
		s.Site.Assets.Good(v, now)
	case map[string][]api.Record:
		if a.Request.Query == QueryPast {
			if !a.Request.from.Equal(s.Site.PastDate) {
				return false, nil // of a day that was left
			}
			past := Day{Start: a.Request.from, End: nextMidnight(a.Request.from, a.Request.zone)}
			s.Site.Past.Good(past.With(v), now)
			return true, nil
		}
		day := s.Site.Day.Data
		if start := midnight(a.Request.now, a.Request.zone); !day.Start.Equal(start) {
			day = Day{Start: start, End: nextMidnight(a.Request.now, a.Request.zone)}
		}
		s.Site.Day.Good(day.With(v), now)
	case api.SiteSummary:
		s.Site.Summary.Good(v, now)
		if !v.ServiceTime.IsZero() {
			s.Link.serviceTime, s.Link.heardAt = v.ServiceTime.Time, now
		}
	case api.GeneratedForecast:
		s.Site.Forecast.Good(v, now)
	case []api.StoredForecast:
		s.Site.Issued.Good(v, now)
	case []api.Finding:
		s.Site.Findings.Good(v, now)
	case []api.Model:
		s.Site.Models.Good(v, now)
	case []api.Upload:
		s.Site.Uploads.Good(v, now)
	case []api.Activity:
		s.Site.Activities.Good(v, now)
	default:
		return s.applyWork(a, now), nil
	}
	return true, nil
}

// fail records a failure where it belongs.
func (s *Store) fail(a Answer, now time.Time) (signedOut error) {
	var refusal *api.Error
	var wait time.Duration
	if errors.As(a.Err, &refusal) {
		wait = time.Duration(refusal.RetryAfter) * time.Second
		if wait > 0 {
			s.Link.Limited = now.Add(wait)
		}
		if refusal.Status == 401 {
			signedOut = a.Err
		}
	} else if !s.Link.Down {
		s.Link.Down, s.Link.Since = true, now
	}
	next := s.Planner.Failed(a.Request.Query, now, wait)
	switch a.Request.Query {
	case QuerySites:
		s.Sites.Bad(a.Err, now, next)
		return signedOut
	case QueryKeys:
		s.Admin.Keys.Bad(a.Err, now, next)
		return signedOut
	case QueryAudit:
		s.Admin.Audit.Bad(a.Err, now, next)
		return signedOut
	}
	for q, bad := range map[Query]func(error, time.Time, time.Time){
		QueryAssets: s.Site.Assets.Bad, QueryDay: s.Site.Day.Bad, QueryPast: s.Site.Past.Bad, QuerySummary: s.Site.Summary.Bad,
		QueryForecast: s.Site.Forecast.Bad, QueryIssued: s.Site.Issued.Bad, QueryFindings: s.Site.Findings.Bad,
		QueryModels: s.Site.Models.Bad, QueryUploads: s.Site.Uploads.Bad, QueryActivities: s.Site.Activities.Bad,
		QueryOrders: s.Site.Orders.Bad, QueryOrder: s.Site.Order.Bad, QuerySchedules: s.Site.Schedules.Bad, QueryBOMs: s.Site.BOMs.Bad, QueryWindows: s.Site.Windows.Bad,
	} {
		if q == a.Request.Query {
			bad(a.Err, now, next)
		}
	}
	return signedOut
}
