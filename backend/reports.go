package backend

import (
	"context"
	"time"

	"app.sunloop/backend/domain/notification"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/report"
)

// reportOutbox sends reports to the people of notifications.
type reportOutbox struct{ *notification.Service }

// Recipients returns the people who subscribed to reports.
func (o reportOutbox) Recipients(ctx context.Context) (list []report.Recipient, err error) {
	people, err := o.People(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range people {
		if len(p.Reports) > 0 {
			list = append(list, report.Recipient{Owner: p.Owner, PersonID: p.ID, Zone: record.Zone(p.Zone), Kinds: p.Reports, Numbers: p.Numbers})
		}
	}
	return list, nil
}

// composeReports makes the reports. The figures of sites are compared with the plant's
// clock, and the hours of people are those of the real clock.
func (p *parts) composeReports(cfg Config, st *storage) {
	p.reports = &report.Service{Collector: p.collector(cfg), Outbox: reportOutbox{p.notify}, Wall: cfg.Wall, Cluster: st.records, PublicURL: cfg.PublicURL, Log: cfg.Logger}
}

func (p *parts) collector(cfg Config) *report.Collector {
	return &report.Collector{Domain: p.domain, Maintenance: p.maintenance, Now: cfg.Now}
}

// dayChart draws the day of a site for e-mail about its alarms, whose times are those of
// the real clock.
func (p *parts) dayChart(cfg Config) func(ctx context.Context, siteID string, at time.Time) ([]byte, error) {
	return func(ctx context.Context, siteID string, _ time.Time) ([]byte, error) {
		return p.collector(cfg).DayChart(ctx, siteID, cfg.Now())
	}
}
