package state

import (
	"context"
	"fmt"
	"strings"
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
	QueryRuns       Query = "runs" // of the detector, over one unit or [EveryUnit]
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
	Runs       Value[[]api.Detection] // of the unit that is asked for, newest first
	Orders     Value[[]api.Order]     // open ones first
	Order      Value[api.Order]       // with parts and history
	Schedules  Value[[]api.Schedule]
	BOMs       Value[[]api.BOM] // newest first, without items
	Windows    Value[api.ProposeResponse]
	BOM        Value[api.BOM] // with its items
	Parts      Value[[]api.Part]
	Schedule   Value[api.Schedule] // with its history
	Diagnosed  map[string]bool     // findings that were diagnosed from this console

	Reports
	Notify Notify

	Subscriptions Value[[]api.Subscription]
	Deliveries    Value[[]api.Delivery] // of one subscription, newest first

	Alerts      Value[AlertList]
	AlertLog    Value[[]api.Alert] // newest first
	AlertHealth Value[[]api.AlertHealth]
	Span        Value[Day]
	Samples     Value[[]api.Record]          // of one unit, ascending
	Foreseen    Value[api.GeneratedForecast] // for former days, as it was issued: its Past and Days

	wanted map[Query]string // what the queries about one thing are about
	paces  map[string]*Pace // of the files that are imported
	link   *Link            // of the store that holds the site; nil: not known
}

// Store is the console's data: the accessible sites and the one on screen.
// It belongs to the goroutine that runs Update; requests run elsewhere on
// what [Store.Request] copied.
type Store struct {
	Sites   Value[[]api.Site]
	Site    *Site
	Admin   Admin
	Planner Planner

	// Link is how the last request went.
	Link Link

	wanted map[Query]string // what the queries without a site are about

	generation int // rises with each change of site or session, so that late answers are dropped
	dayFull    time.Time
}

// Request is a query that is being sent: it holds copies of all that it needs.
type Request struct {
	Query      Query
	generation int
	site       api.Site
	zone       *time.Location
	from       time.Time // day: first record wanted
	id         string    // of the thing that is asked for
	hours      float64   // of work that windows are proposed for
	now        time.Time // the service's time
}

// Answer is what a request brought back.
type Answer struct {
	Request Request
	Value   any
	Err     error
	Took    time.Duration
	Left    int           // requests that the service still allows; -1 if unknown
	Reset   time.Duration // until it allows one more
	Quota   int           // requests that it allows in a minute; 0 if unknown
}

// SiteLabel returns what names a site for a person: its id, with its customer's
// id before it where another site of all has the same id.
func SiteLabel[T interface{ Ref() api.SiteRef }](all []T, site api.SiteRef) string {
	for _, other := range all {
		if ref := other.Ref(); ref.SiteID == site.SiteID && ref != site {
			return site.CustomerID + "/" + site.SiteID
		}
	}
	return site.SiteID
}

// SiteLabels is [SiteLabel] of many sites: it counts the ids once.
func SiteLabels[T interface{ Ref() api.SiteRef }](all []T) func(api.SiteRef) string {
	n := map[string]int{}
	for _, site := range all {
		n[site.Ref().SiteID]++
	}
	return func(site api.SiteRef) string {
		if n[site.SiteID] > 1 {
			return site.CustomerID + "/" + site.SiteID
		}
		return site.SiteID
	}
}

// Open puts a site on screen and forgets the data of the former one.
func (s *Store) Open(site api.Site) {
	zone, err := time.LoadLocation(site.Timezone)
	if err != nil {
		zone = time.UTC
	}
	s.Site = &Site{Site: site, Zone: zone, link: &s.Link}
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
	s.Sites, s.Site, s.Admin, s.wanted = Value[[]api.Site]{}, nil, Admin{}, nil
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

// Request prepares a query; ok is false when there is nothing to ask.
func (s *Store) Request(q Query, now time.Time) (r Request, ok bool) {
	r = Request{Query: q, generation: s.generation, now: s.ServiceNow(now)}
	src, known := sources[q]
	switch {
	case known && src.anywhere && src.named:
		r.id = s.wanted[q]
		return r, r.id != ""
	case !known || src.anywhere:
		return r, known
	case s.Site == nil:
		return r, false
	}
	r.site, r.zone = s.Site.Site, s.Site.Zone
	if src.named {
		if r.id = s.Site.Wanted(q); r.id == "" {
			return r, false
		}
	}
	if src.prepare != nil {
		return r, src.prepare(s, &r, now)
	}
	return r, true
}

// Run sends the request. It may be called on any goroutine.
func (r Request) Run(ctx context.Context, c *client.Client) Answer {
	reply := client.Reply{Remaining: -1}
	v, err := sources[r.Query].ask(client.Observe(ctx, &reply), c, r)
	return Answer{Request: r, Value: v, Err: err, Took: reply.Took, Left: reply.Remaining, Reset: reply.Reset, Quota: reply.Quota}
}

// list asks for a part of a list of the site.
func (r Request) list() api.ListQuery {
	return api.ListQuery{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Page: api.Page{Limit: api.MaxLimit}}
}

// about is the thing that a named query is about.
func (s *Store) about(q Query) string {
	if sources[q].anywhere {
		return s.wanted[q]
	}
	return s.Site.Wanted(q)
}

// EveryUnit is what [QueryRuns] is about to ask for the runs over all units of the site.
const EveryUnit = "*"

// Apply takes an answer in and says whether anything on screen may change.
// An answer for a former site, or about a thing that was left, is dropped. The
// error is the answer's, when the session behind it has ended.
func (s *Store) Apply(a Answer, now time.Time) (changed bool, signedOut error) {
	src := sources[a.Request.Query]
	if a.Request.generation != s.generation || src.named && a.Request.id != s.about(a.Request.Query) {
		return false, nil
	}
	if a.Err != nil {
		next, signedOut := s.fail(a, now)
		src.bad(s, a.Err, now, next)
		return true, signedOut
	}
	s.Planner.Succeeded(a.Request.Query)
	s.Planner.Allow(a.Left, a.Quota, a.Reset, now)
	s.Link.Latency, s.Link.Down = a.Took, false
	return src.good(s, a.Request, a.Value, now), nil
}

var siteSources = map[Query]source{
	QuerySites: anywhere(func(s *Store) *Value[[]api.Site] { return &s.Sites }, func(ctx context.Context, c *client.Client, _ Request) ([]api.Site, error) {
		return everyPage(func(p api.Page) ([]api.Site, string, error) {
			v, err := c.Sites(ctx, api.ListQuery{Page: p})
			if err != nil {
				return nil, "", err
			}
			return v.Sites, v.NextCursor, nil
		})
	}),
	QueryAssets: of(func(s *Site) *Value[[]api.Asset] { return &s.Assets }, func(ctx context.Context, c *client.Client, r Request) ([]api.Asset, error) {
		v, err := c.Assets(ctx, r.list())
		return field(v, err, func() []api.Asset { return v.Assets })
	}),
	QueryDay:  day(func(s *Site) *Value[Day] { return &s.Day }, prepareToday, joinToday),
	QueryPast: day(func(s *Site) *Value[Day] { return &s.Past }, preparePast, joinPast),
	QuerySummary: summary(of(func(s *Site) *Value[api.SiteSummary] { return &s.Summary }, func(ctx context.Context, c *client.Client, r Request) (api.SiteSummary, error) {
		v, err := c.SiteSummary(ctx, r.site.Ref())
		return field(v, err, func() api.SiteSummary { return v.Summary })
	})),
	QueryForecast: of(func(s *Site) *Value[api.GeneratedForecast] { return &s.Forecast }, func(ctx context.Context, c *client.Client, r Request) (api.GeneratedForecast, error) {
		v, err := c.Forecast(ctx, api.ForecastQuery{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, HorizonHours: 168})
		return field(v, err, func() api.GeneratedForecast { return *v })
	}),
	QueryIssued: of(func(s *Site) *Value[[]api.StoredForecast] { return &s.Issued }, func(ctx context.Context, c *client.Client, r Request) ([]api.StoredForecast, error) {
		list := r.list()
		list.Limit = 24
		v, err := c.StoredForecasts(ctx, list)
		return field(v, err, func() []api.StoredForecast { return v.ForecastResults })
	}),
	QueryFindings: of(func(s *Site) *Value[[]api.Finding] { return &s.Findings }, func(ctx context.Context, c *client.Client, r Request) ([]api.Finding, error) {
		v, err := c.Findings(ctx, r.list())
		return field(v, err, func() []api.Finding { return v.MLEnhancedActivities })
	}),
	QueryModels: of(func(s *Site) *Value[[]api.Model] { return &s.Models }, func(ctx context.Context, c *client.Client, r Request) ([]api.Model, error) {
		v, err := c.Models(ctx, r.list())
		return field(v, err, func() []api.Model { return v.ModelMetrics })
	}),
	QueryUploads: uploads(of(func(s *Site) *Value[[]api.Upload] { return &s.Uploads }, func(ctx context.Context, c *client.Client, r Request) ([]api.Upload, error) {
		list := r.list()
		list.Limit, list.Kind = 50, api.UploadTrain // a live feed would push the history out
		v, err := c.Uploads(ctx, list)
		return field(v, err, func() []api.Upload { return v.Uploads })
	})),
	QueryRuns: about(func(s *Site) *Value[[]api.Detection] { return &s.Runs }, func(ctx context.Context, c *client.Client, r Request) ([]api.Detection, error) {
		v, err := c.Detections(ctx, api.ListQuery{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, AssetID: strings.TrimPrefix(r.id, EveryUnit), Page: api.Page{Limit: 5}})
		return field(v, err, func() []api.Detection { return v.Detections })
	}),
	QueryActivities: of(func(s *Site) *Value[[]api.Activity] { return &s.Activities }, func(ctx context.Context, c *client.Client, r Request) ([]api.Activity, error) {
		v, err := c.Activities(ctx, r.list())
		return field(v, err, func() []api.Activity { return v.Activities })
	}),
}

// field takes out of an answer what is kept of it.
func field[R, T any](answer *R, err error, take func() T) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return take(), nil
}

// summary also hears the service's own clock.
func summary(src source) source {
	keep := src.good
	src.good = func(s *Store, r Request, answer any, now time.Time) bool {
		if v, _ := answer.(api.SiteSummary); !v.ServiceTime.IsZero() {
			s.Link.serviceTime, s.Link.heardAt = v.ServiceTime.Time, now
			// Before the first summary, today is the client's day, which is another
			// one if its clock is wrong.
			if d := &s.Site.Day; !d.Data.Start.IsZero() && !d.Data.Start.Equal(midnight(v.ServiceTime.Time, r.zone)) {
				*d = Value[Day]{}
			}
		}
		return keep(s, r, answer, now)
	}
	return src
}

// day is a query about a day's records: join puts what came to what is known.
func day(slot func(*Site) *Value[Day], prepare func(s *Store, r *Request, now time.Time) bool, join func(s *Store, r Request) (Day, bool)) source {
	src := of(slot, func(context.Context, *client.Client, Request) (Day, error) { return Day{}, nil })
	src.prepare = prepare
	src.ask = func(ctx context.Context, c *client.Client, r Request) (any, error) {
		v, err := c.SiteRecords(ctx, api.RecordsQuery{
			CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Start: api.At(r.from), End: api.LastBefore(nextMidnight(r.now, r.zone)),
			Resolution: api.Resolution5Min, // bounds a day, however often a unit is read
		})
		switch {
		case nothingYet(err):
			return map[string][]api.Record(nil), nil
		case err != nil:
			return nil, err
		}
		return cleaned(v.Records), nil
	}
	src.good = func(s *Store, r Request, answer any, now time.Time) bool {
		records, ok := answer.(map[string][]api.Record)
		if !ok {
			panic(fmt.Sprintf("a day's answer is a %T", answer))
		}
		known, still := join(s, r)
		if still {
			slot(s.Site).Set(known.With(records), now)
		}
		return still
	}
	return src
}

// prepareToday mostly asks for what is new only; now and then for the whole
// day, for rows that came late.
func prepareToday(s *Store, r *Request, now time.Time) bool {
	known := s.Site.Day.Data
	r.from = midnight(r.now, r.zone)
	if last := known.Last(); known.Start.Equal(r.from) && !last.IsZero() && now.Sub(s.dayFull) < 10*time.Minute {
		r.from = last.Add(-time.Hour).Truncate(5 * time.Minute)
		if r.from.Before(known.Start) {
			r.from = known.Start
		}
	} else {
		s.dayFull = now
	}
	return true
}

// joinToday drops an answer for a day that is not the service's.
func joinToday(s *Store, r Request) (Day, bool) {
	if t := s.Link.serviceTime; !t.IsZero() && (midnight(r.now, r.zone).Before(midnight(t, r.zone)) || r.now.Sub(t) > 24*time.Hour) {
		return Day{}, false
	}
	if start := midnight(r.now, r.zone); !s.Site.Day.Data.Start.Equal(start) {
		return Day{Start: start, End: nextMidnight(r.now, r.zone)}, true
	}
	return s.Site.Day.Data, true
}

func preparePast(s *Store, r *Request, _ time.Time) bool {
	r.now, r.from = s.Site.PastDate, s.Site.PastDate
	return !s.Site.PastDate.IsZero()
}

// joinPast drops an answer for a day that was left.
func joinPast(s *Store, r Request) (Day, bool) {
	return Day{Start: r.from, End: nextMidnight(r.from, r.zone)}, r.from.Equal(s.Site.PastDate)
}
