package state

import (
	"context"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// QueryDaily is the site's energy day by day, of whole days as SpanOf names them.
const QueryDaily Query = "daily"

// QuerySeason is the energy of the days of a year ago, as those of QueryDaily.
const QuerySeason Query = "season"

// DayEnergy is the energy of the site on one of its days.
type DayEnergy struct {
	Day   time.Time // its midnight
	KWh   float64   // NaN where no unit reported
	Units int       // that reported
}

var dailySources = map[Query]source{
	QueryDaily:  about(func(s *Site) *Value[[]DayEnergy] { return &s.Daily }, askDaily),
	QuerySeason: about(func(s *Site) *Value[[]DayEnergy] { return &s.Season }, askDaily),
}

func askDaily(ctx context.Context, c *client.Client, r Request) ([]DayEnergy, error) {
	from, to, err := spanDays(r.id, r.zone)
	if err != nil {
		return nil, err
	}
	v, err := c.SiteRecords(ctx, api.RecordsQuery{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Start: api.At(from), End: api.LastBefore(to), Resolution: api.ResolutionDaily})
	return field(v, err, func() []DayEnergy { return dailyOf(v.Records, from, to, r.zone) })
}

// dailyOf adds the units' records up by the site's days, every day of from..to.
func dailyOf(records map[string][]api.Record, from, to time.Time, zone *time.Location) []DayEnergy {
	var days []DayEnergy
	for day := from; day.Before(to); day = nextMidnight(day, zone) {
		days = append(days, DayEnergy{Day: day, KWh: math.NaN()})
	}
	for _, unit := range records {
		for _, rec := range unit {
			i, ok := slices.BinarySearchFunc(days, midnight(rec.Timestamp.Time, zone), func(d DayEnergy, t time.Time) int { return d.Day.Compare(t) })
			if !ok {
				continue
			}
			d := &days[i]
			if math.IsNaN(d.KWh) {
				d.KWh = 0
			}
			d.KWh += rec.KWh
			d.Units++
		}
	}
	return days
}
