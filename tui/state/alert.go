package state

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// The queries of alarms and of details.
const (
	QueryAlerts      Query = "alerts"       // all but cleared ones, with counts
	QueryAlertLog    Query = "alert-log"    // those that began in the last days, cleared ones among them
	QueryAlertHealth Query = "alert-health" // the figures of the alarm system
	QuerySpan        Query = "span"         // records of several days, as SpanOf names them
	QuerySamples     Query = "samples"      // a unit's records as they were measured
	QueryForeseen    Query = "foreseen"     // what was forecast for former days, from the day that is named on
)

// AlertLogDays is the number of days that the log of alarms covers.
const AlertLogDays = 30

// SampleHours is the number of hours of a unit's measured records.
const SampleHours = 3

// AlertList are the active alerts in the order of the service: most urgent
// first.
type AlertList struct {
	Alerts []api.Alert
	Counts api.AlertCounts
}

// SpanOf names the whole site days that a span touches, for [QuerySpan].
func SpanOf(from, to time.Time, zone *time.Location) string {
	last := to.Add(-time.Second)
	return midnight(from, zone).Format(time.DateOnly) + " " + nextMidnight(last, zone).Format(time.DateOnly)
}

// spanDays returns the ends of a span that SpanOf has named.
func spanDays(id string, zone *time.Location) (from, to time.Time, err error) {
	first, last, _ := strings.Cut(id, " ")
	from, err1 := time.ParseInLocation(time.DateOnly, first, zone)
	to, err2 := time.ParseInLocation(time.DateOnly, last, zone)
	return from, to, errors.Join(err1, err2)
}

// SpanStep returns the resolution at which a span of that length is asked for.
func SpanStep(span time.Duration) (step time.Duration, name string) {
	switch {
	case span <= 50*time.Hour:
		return 5 * time.Minute, api.Resolution5Min
	case span <= 4*25*time.Hour:
		return 15 * time.Minute, api.Resolution15Min
	}
	return time.Hour, api.ResolutionHour
}

var alertSources = map[Query]source{
	QueryAlerts: of(func(s *Site) *Value[AlertList] { return &s.Alerts }, func(ctx context.Context, c *client.Client, r Request) (AlertList, error) {
		v, err := c.Alerts(ctx, r.list(), "")
		return field(v, err, func() AlertList {
			list := AlertList{Alerts: v.Alerts}
			if v.Counts != nil {
				list.Counts = *v.Counts
			}
			return list
		})
	}),
	QueryAlertLog: of(func(s *Site) *Value[[]api.Alert] { return &s.AlertLog }, func(ctx context.Context, c *client.Client, r Request) ([]api.Alert, error) {
		from := midnight(r.now, r.zone).AddDate(0, 0, -AlertLogDays) // the same all day, so that an unchanged response is not sent again
		v, err := c.SiteAlerts(ctx, api.AlertsQuery{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Start: api.At(from), End: api.LastBefore(nextMidnight(r.now, r.zone))})
		return field(v, err, func() []api.Alert {
			var all []api.Alert
			for _, device := range v.Alerts {
				all = append(all, device...)
			}
			slices.SortFunc(all, func(a, b api.Alert) int {
				if n := b.Timestamp.Compare(a.Timestamp.Time); n != 0 {
					return n
				}
				return strings.Compare(a.AlertID, b.AlertID)
			})
			return all
		})
	}),
	QueryAlertHealth: of(func(s *Site) *Value[[]api.AlertHealth] { return &s.AlertHealth }, func(ctx context.Context, c *client.Client, r Request) ([]api.AlertHealth, error) {
		v, err := c.AlertHealth(ctx, r.list())
		return field(v, err, func() []api.AlertHealth { return v.Health })
	}),
	QuerySpan: about(func(s *Site) *Value[Day] { return &s.Span }, askSpan),
	QueryForeseen: about(func(s *Site) *Value[api.GeneratedForecast] { return &s.Foreseen }, func(ctx context.Context, c *client.Client, r Request) (api.GeneratedForecast, error) {
		first, err := time.Parse(time.DateOnly, r.id)
		if err != nil {
			return api.GeneratedForecast{}, err
		}
		today, err := time.Parse(time.DateOnly, r.now.In(r.zone).Format(time.DateOnly))
		if err != nil {
			return api.GeneratedForecast{}, err
		}
		days := min(int(today.Sub(first).Hours()/24), api.MaxPastDays)
		if days < 1 {
			return api.GeneratedForecast{}, nil
		}
		v, err := c.Forecast(ctx, api.ForecastQuery{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, HorizonHours: 1, PastDays: days})
		return field(v, err, func() api.GeneratedForecast { return api.GeneratedForecast{Past: v.Past, Days: v.Days} })
	}),
	QuerySamples: about(func(s *Site) *Value[[]api.Record] { return &s.Samples }, func(ctx context.Context, c *client.Client, r Request) ([]api.Record, error) {
		from := r.now.Add(-SampleHours * time.Hour).Truncate(time.Minute)
		v, err := c.Inverter(ctx, api.RecordsQuery{AssetID: r.id, CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Start: api.At(from), End: api.At(r.now)})
		return field(v, err, func() []api.Record { return v.Records })
	}),
}

// askSpan asks for the records of all units in the whole days of a span.
func askSpan(ctx context.Context, c *client.Client, r Request) (Day, error) {
	from, to, err := spanDays(r.id, r.zone)
	if err != nil {
		return Day{}, err
	}
	_, resolution := SpanStep(to.Sub(from))
	v, err := c.SiteRecords(ctx, api.RecordsQuery{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Start: api.At(from), End: api.LastBefore(to), Resolution: resolution})
	return field(v, err, func() Day { return Day{Start: from, End: to}.With(v.Records) })
}
