package state

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// The queries of the analysis screens: accuracy of forecasts, models, KPIs and gap
// filling.
const (
	QueryAccuracy       Query = "accuracy"       // of so many days
	QueryRecords        Query = "records"        // the records of a [Span]
	QueryModelHistory   Query = "model-history"  // the moves of the registry
	QueryInterpolations Query = "interpolations" // runs of gap filling
	QueryGaps           Query = "gaps"           // the longest gaps of one run
	QuerySources        Query = "sources"        // devices that the service reads itself
	QueryDiscovery      Query = "discovery"      // the search for devices
	QuerySource         Query = "source"         // the values of one of them
	QueryGateways       Query = "gateways"       // that send data of the site
	QueryIssues         Query = "issues"
	QueryEvidence       Query = "evidence"     // the records behind a finding, of whole days as SpanOf names them
	QueryAvailability   Query = "availability" // of whole days as SpanOf names them
	QueryStretches      Query = "stretches"    // of a unit: its id follows the days and a bar
	QueryKPIs           Query = "kpis"         // of whole days as SpanOf names them
	QueryManual         Query = "manual-runs"  // that people started
	QueryHistory        Query = "history"      // what was found in a [Span]; without bounds, in all of the past
	QueryShift          Query = "shift"        // the shift log, and until when the user has seen what happened
)

// Reports are what these screens show.
type Reports struct {
	Accuracy       Value[api.Accuracy]
	Records        Value[map[string][]api.Record]
	ModelHistory   Value[[]api.ModelMove]           // newest first
	Interpolations Value[[]api.InterpolationResult] // newest first
	Gaps           Value[api.GapsResponse]
	Sources        Value[api.SourcesResponse]
	Source         Value[api.SourcesResponse] // with the values of one device
	Discovery      Value[api.DiscoveryResponse]
	Gateways       Value[[]api.GatewayRecord]
	Issues         Value[[]api.Issue] // newest first
	Evidence       Value[Day]
	KPIs           Value[api.KPIs]
	OfUnits        Value[api.AvailabilityResponse] // availability
	Stretches      Value[api.AvailabilityResponse] // of one unit
	Daily          Value[[]DayEnergy]              // ascending
	Manual         Value[[]api.ManualRun]          // newest first
	History        Value[api.History]
	Season         Value[[]DayEnergy]       // ascending, of a year ago
	Shift          Value[api.ShiftResponse] // newest first
}

// Span is a time of which a site's records are asked for, and how finely.
type Span struct {
	From, To   time.Time
	Resolution string
}

// Of returns the span as [Need.Of] names it.
func (s Span) Of() string {
	return fmt.Sprintf("%d/%d/%s", s.From.Unix(), s.To.Unix(), s.Resolution)
}

// spanOf reads what [Span.Of] wrote.
func spanOf(text string) (Span, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return Span{}, fmt.Errorf("%q is no span", text)
	}
	from, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return Span{}, err
	}
	to, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return Span{}, err
	}
	return Span{time.Unix(from, 0), time.Unix(to, 0), parts[2]}, nil
}

// shownGaps is how many of a run's gaps are looked at: the longest.
const shownGaps = 100

var reportSources = map[Query]source{
	QueryAccuracy: about(func(s *Site) *Value[api.Accuracy] { return &s.Accuracy }, func(ctx context.Context, c *client.Client, r Request) (api.Accuracy, error) {
		days, err := strconv.Atoi(r.id)
		if err != nil {
			return api.Accuracy{}, err
		}
		v, err := c.Accuracy(ctx, api.AccuracyRequest{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Days: days})
		return field(v, err, func() api.Accuracy { return *v })
	}),
	QueryRecords: about(func(s *Site) *Value[map[string][]api.Record] { return &s.Records }, func(ctx context.Context, c *client.Client, r Request) (map[string][]api.Record, error) {
		span, err := spanOf(r.id)
		if err != nil {
			return nil, err
		}
		v, err := c.SiteRecords(ctx, api.RecordsQuery{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Start: api.At(span.From), End: api.LastBefore(span.To), Resolution: span.Resolution})
		return field(v, err, func() map[string][]api.Record { return v.Records })
	}),
	QueryModelHistory: of(func(s *Site) *Value[[]api.ModelMove] { return &s.ModelHistory }, func(ctx context.Context, c *client.Client, r Request) ([]api.ModelMove, error) {
		v, err := c.ModelHistory(ctx, api.ModelsRequest{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Page: api.Page{Limit: api.MaxLimit}})
		return field(v, err, func() []api.ModelMove { return v.History })
	}),
	QueryInterpolations: of(func(s *Site) *Value[[]api.InterpolationResult] { return &s.Interpolations }, func(ctx context.Context, c *client.Client, r Request) ([]api.InterpolationResult, error) {
		v, err := c.Interpolations(ctx, r.list())
		return field(v, err, func() []api.InterpolationResult { return v.InterpolationResults })
	}),
	QueryGaps: about(func(s *Site) *Value[api.GapsResponse] { return &s.Gaps }, func(ctx context.Context, c *client.Client, r Request) (api.GapsResponse, error) {
		list := r.list()
		list.Limit = shownGaps
		v, err := c.Gaps(ctx, list, r.id)
		return field(v, err, func() api.GapsResponse { return *v })
	}),
	QueryManual: of(func(s *Site) *Value[[]api.ManualRun] { return &s.Manual }, func(ctx context.Context, c *client.Client, r Request) ([]api.ManualRun, error) {
		v, err := client.Call(ctx, c, api.ListRuns, api.RunsRequest{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID})
		return field(v, err, func() []api.ManualRun { return v.Runs })
	}),
	QueryHistory: about(func(s *Site) *Value[api.History] { return &s.History }, func(ctx context.Context, c *client.Client, r Request) (api.History, error) {
		span, err := spanOf(r.id)
		if err != nil {
			return api.History{}, err
		}
		v, err := c.History(ctx, api.ListQuery{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, From: api.At(span.From), To: api.At(span.To)})
		return field(v, err, func() api.History { return v.History })
	}),
	QuerySources: of(func(s *Site) *Value[api.SourcesResponse] { return &s.Sources }, func(ctx context.Context, c *client.Client, r Request) (api.SourcesResponse, error) {
		v, err := c.Sources(ctx, api.SourcesRequest{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID})
		return field(v, err, func() api.SourcesResponse { return *v })
	}),
	QuerySource: about(func(s *Site) *Value[api.SourcesResponse] { return &s.Source }, func(ctx context.Context, c *client.Client, r Request) (api.SourcesResponse, error) {
		v, err := c.Sources(ctx, api.SourcesRequest{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Device: r.id})
		return field(v, err, func() api.SourcesResponse { return *v })
	}),
	QueryDiscovery: of(func(s *Site) *Value[api.DiscoveryResponse] { return &s.Discovery }, func(ctx context.Context, c *client.Client, r Request) (api.DiscoveryResponse, error) {
		v, err := client.Call(ctx, c, api.GetDiscovery, api.GatewaysRequest{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID})
		return field(v, err, func() api.DiscoveryResponse { return *v })
	}),
	QueryGateways: of(func(s *Site) *Value[[]api.GatewayRecord] { return &s.Gateways }, func(ctx context.Context, c *client.Client, r Request) ([]api.GatewayRecord, error) {
		v, err := c.Gateways(ctx, api.GatewaysRequest{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Page: api.Page{Limit: api.MaxLimit}})
		return field(v, err, func() []api.GatewayRecord { return v.Gateways })
	}),
	QueryEvidence: about(func(s *Site) *Value[Day] { return &s.Evidence }, askSpan),
	QueryKPIs: about(func(s *Site) *Value[api.KPIs] { return &s.KPIs }, func(ctx context.Context, c *client.Client, r Request) (api.KPIs, error) {
		from, to, err := spanDays(r.id, r.zone)
		if err != nil {
			return api.KPIs{}, err
		}
		v, err := c.KPIs(ctx, api.KPIQuery{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, From: api.At(from), To: api.At(to)})
		return field(v, err, func() api.KPIs { return *v })
	}),
	QueryAvailability: about(func(s *Site) *Value[api.AvailabilityResponse] { return &s.OfUnits }, func(ctx context.Context, c *client.Client, r Request) (api.AvailabilityResponse, error) {
		return availabilityOf(ctx, c, r, r.id, "")
	}),
	QueryStretches: about(func(s *Site) *Value[api.AvailabilityResponse] { return &s.Stretches }, func(ctx context.Context, c *client.Client, r Request) (api.AvailabilityResponse, error) {
		days, unit, _ := strings.Cut(r.id, "|")
		return availabilityOf(ctx, c, r, days, unit)
	}),
	QueryShift: of(func(s *Site) *Value[api.ShiftResponse] { return &s.Shift }, func(ctx context.Context, c *client.Client, r Request) (api.ShiftResponse, error) {
		v, err := client.Call(ctx, c, api.ListShift, api.ShiftRequest{Action: api.ActionList, CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Page: api.Page{Limit: api.MaxLimit}})
		return field(v, err, func() api.ShiftResponse { return *v })
	}),
	QueryIssues: of(func(s *Site) *Value[[]api.Issue] { return &s.Issues }, func(ctx context.Context, c *client.Client, r Request) ([]api.Issue, error) {
		v, err := c.Issues(ctx, r.list())
		return field(v, err, func() []api.Issue { return v.Issues })
	}),
}

// availabilityOf asks for the availability of whole days: of all units, or of one
// with its stretches.
func availabilityOf(ctx context.Context, c *client.Client, r Request, days, unit string) (api.AvailabilityResponse, error) {
	from, to, err := spanDays(days, r.zone)
	if err != nil {
		return api.AvailabilityResponse{}, err
	}
	v, err := client.Call(ctx, c, api.ListAvailability, api.AvailabilityRequest{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, AssetID: unit, Stretches: unit != "",
		From: api.At(from), To: api.At(to), Page: api.Page{Limit: api.MaxLimit}})
	return field(v, err, func() api.AvailabilityResponse { return *v })
}
