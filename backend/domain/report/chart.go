package report

import (
	"context"
	"errors"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/notify/picture"
)

// errNoChart is returned if a report has no chart.
var errNoChart = errors.New("the report has no chart")

// Chart draws the day of a daily report: that of its only site, or of the one that lost
// the most.
func (c *Collector) Chart(ctx context.Context, r Report) ([]byte, error) {
	if r.Kind != Daily || len(r.Sites) == 0 {
		return nil, errNoChart
	}
	worst, most := 0, math.Inf(-1)
	for i, s := range r.Sites {
		if s.LostKWh != nil && *s.LostKWh > most {
			worst, most = i, *s.LostKWh
		}
	}
	return c.chart(ctx, r.Sites[worst].ID, r.From)
}

// DayChart draws the day of a site that holds a time.
func (c *Collector) DayChart(ctx context.Context, siteID string, at time.Time) ([]byte, error) {
	of, err := c.Domain.Sites.Site(ctx, api.Unlimited(actor), siteID)
	if err != nil {
		return nil, err
	}
	return c.chart(ctx, siteID, at.In(record.Zone(of.Timezone)))
}

// chart draws the day of a site that has the date of a time.
func (c *Collector) chart(ctx context.Context, siteID string, date time.Time) ([]byte, error) {
	d, err := c.Domain.KPIs.DayPower(ctx, api.Unlimited(actor), siteID, date)
	if err != nil {
		return nil, err
	}
	return picture.PNG(picture.Day{Start: d.Start, End: d.End, Zone: d.Zone, Step: d.Step, Actual: d.ActualKW, Expected: d.ExpectedKW, Now: c.Now()})
}
